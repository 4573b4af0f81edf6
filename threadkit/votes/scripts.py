"""Atomic writes of votes."""

from msgspec import Struct

from threadkit.clock import from_iso
from threadkit.comments.model import Comment, CommentNotFound, OnlyUpvotes
from threadkit.comments.scripts import level_keys
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.storage.lua import KeyedScript


class Counts(Struct, frozen=True):
    up: int
    down: int
    own: str | None
    created_ms: int


class CastVote(KeyedScript):
    file = "cast_vote.lua"

    async def __call__(
        self, comment: Comment, *, voter: UserId, direction: str, up_only: bool, is_shadowed: bool
    ) -> Counts:
        keys = self._keys.site(comment.site_id)
        _, level_top, _, level_controversial = level_keys(keys, comment.page_id, comment.parent_id)
        reply = await self._run(
            keys=[
                keys.comment(comment.id),
                keys.vote(voter, comment.id),
                keys.page_votes(voter, comment.page_id),
                keys.voted_pages(voter),
                keys.page(comment.page_id),
                keys.page_top(comment.page_id),
                level_top,
                level_controversial,
                keys.outbox(),
            ],
            args=[comment.id, direction, voter, comment.page_id, _word(up_only), _word(is_shadowed)],
        )
        if reply == "MISSING":
            raise CommentNotFound
        if reply == "UP_ONLY":
            raise OnlyUpvotes
        up, down, own, created_at = reply
        return Counts(int(up), int(down), own or None, from_iso(created_at))


def _word(value: bool) -> str:
    return "true" if value else "false"


class ForgetVotes(KeyedScript):
    file = "forget_votes.lua"
    repeatable = True

    async def __call__(self, site_id: SiteId, voter: UserId, page_id: PageId, comment_ids: list[CommentId]) -> int:
        keys = self._keys.site(site_id)
        forgotten = await self._run(
            keys=[
                keys.page_votes(voter, page_id),
                keys.voted_pages(voter),
                *(keys.vote(voter, comment_id) for comment_id in comment_ids),
            ],
            args=[page_id, *comment_ids],
        )
        return int(forgotten)


class SettleRank(KeyedScript):
    file = "settle_rank.lua"
    repeatable = True

    async def __call__(self, comment: Comment, counts: Counts, *, hot: str) -> None:
        keys = self._keys.site(comment.site_id)
        level_hot = level_keys(keys, comment.page_id, comment.parent_id)[2]
        await self._run(
            keys=[keys.comment(comment.id), keys.page_hot(comment.page_id), level_hot],
            args=[comment.id, hot, counts.up, counts.down],
        )
