"""Voting: the count in one step, the rank right after it."""

from typing import Literal

from msgspec import Struct

from threadkit import scoring
from threadkit.comments.model import CommentNotFound, VotingOff
from threadkit.comments.queries import CommentQueries
from threadkit.comments.snapshots import Snapshots
from threadkit.ids import CommentId
from threadkit.sites.model import Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.viewer import Viewer
from threadkit.votes.scripts import CastVote, SettleRank

Direction = Literal["up", "down"]


class VoteResult(Struct):
    upvotes: int
    downvotes: int
    user_vote: Direction | None


class VoteService:
    def __init__(self, *, redis: Commands, keys: Keys, comment_queries: CommentQueries, snapshots: Snapshots) -> None:
        self._snapshots = snapshots
        self._comment_queries = comment_queries
        self._cast_vote = CastVote(redis, keys)
        self._settle_rank = SettleRank(redis, keys)

    async def cast(self, site: Site, comment_id: CommentId, direction: Direction, *, voter: Viewer) -> VoteResult:
        if site.settings.voting == "off":
            raise VotingOff
        comment = await self._comment_queries.by_id(site.id, comment_id)
        if comment is None:
            raise CommentNotFound
        counts = await self._cast_vote(
            comment,
            voter=voter.id,
            direction=direction,
            up_only=site.settings.voting == "up",
            is_shadowed=voter.is_shadowed,
        )
        self._snapshots.drop(comment.page_id)
        hot = scoring.hot(site.settings.hot, counts.up, counts.down, counts.created_ms)
        if not voter.is_shadowed:
            await self._settle_rank(comment, counts, hot=scoring.as_text(hot))
        return VoteResult(counts.up, counts.down, counts.own)  # type: ignore[arg-type]
