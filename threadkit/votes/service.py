"""Voting: count and rank in one step."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from threadkit.comments.model import CommentChanged, CommentNotFound, CommentPlace, VotingOff
from threadkit.comments.queries import CommentQueries
from threadkit.comments.snapshots import Snapshots
from threadkit.ids import CommentId, SiteId
from threadkit.pages.model import PageRef
from threadkit.pages.queries import PageQueries
from threadkit.sites.model import Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.viewer import Viewer
from threadkit.votes.places import Places
from threadkit.votes.scripts import CastVote

Direction = Literal["up", "down"]


class VoteResult(Struct):
    upvotes: int
    downvotes: int
    user_vote: Direction | None
    version: int
    """That of the page with this vote: counts with a smaller one are older."""


class VoteService:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        comment_queries: CommentQueries,
        page_queries: PageQueries,
        snapshots: Snapshots,
        wake_outbox: Callable[[SiteId], None],
    ) -> None:
        self._wake_outbox = wake_outbox
        self._snapshots = snapshots
        self._comment_queries = comment_queries
        self._page_queries = page_queries
        self._cast_vote = CastVote(redis, keys)
        self._places = Places()

    async def cast(
        self, site: Site, comment_id: CommentId, direction: Direction, *, voter: Viewer, page: PageRef | None = None
    ) -> VoteResult:
        """Whoever names a page must name the comment's."""
        if site.settings.voting == "off":
            raise VotingOff
        if page is None and (known := self._places.get(site.id, comment_id)):
            try:
                return await self._count(site, known, direction, voter)
            except (CommentChanged, CommentNotFound):
                self._places.drop(site.id, comment_id)
        comment = await self._comment_queries.place(site.id, comment_id)
        if page is not None:
            await self._page_queries.check_place(site, comment.page_id if comment else None, page)
        if comment is None:
            raise CommentNotFound
        return await self._count(site, comment, direction, voter)

    async def _count(self, site: Site, comment: CommentPlace, direction: Direction, voter: Viewer) -> VoteResult:
        counts = await self._cast_vote(
            comment,
            voter=voter.id,
            direction=direction,
            up_only=site.settings.voting == "up",
            is_shadowed=voter.is_shadowed,
            formula=site.settings.hot,
        )
        self._places.keep(replace(comment, score=counts.up - counts.down))
        self._snapshots.outdate(comment.page_id)
        self._wake_outbox(site.id)
        return VoteResult(counts.up, counts.down, counts.own, counts.version)  # type: ignore[arg-type]
