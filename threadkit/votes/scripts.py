"""Atomic writes of votes."""

from typing import Any

from msgspec import Struct

from threadkit import scoring
from threadkit.comments.model import Comment, CommentChanged, CommentNotFound, CommentPlace, OnlyUpvotes
from threadkit.comments.scripts import change_keys, level_keys
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.scoring import HotFormula
from threadkit.storage.lua import KeyedScript

REACH = 6
MOST_TRIES = 100


class Counts(Struct, frozen=True):
    up: int
    down: int
    own: str | None
    version: int


class Ranks(Struct, frozen=True):
    """The hot ranks a comment has with a score, the next higher one, and so on."""

    lowest: int
    texts: list[str]

    @classmethod
    def around(cls, formula: HotFormula, score: int, created_ms: int) -> "Ranks":
        scores = range(score - REACH, score + REACH + 1)
        return cls(scores[0], [scoring.as_text(scoring.hot(formula, one, 0, created_ms)) for one in scores])


class CastVote(KeyedScript):
    file = "cast_vote.lua"
    uses = ("announce.lua",)

    async def __call__(
        self,
        comment: CommentPlace | Comment,
        *,
        voter: UserId,
        direction: str,
        up_only: bool,
        is_shadowed: bool,
        formula: HotFormula,
    ) -> Counts:
        """Ranks go along for every score the comment may have by then. Should so many have voted meanwhile that none
        fits, nothing was done, and it is tried again around the score of that moment."""
        score = comment.score
        for _ in range(MOST_TRIES):
            reply = await self._cast(
                comment,
                Ranks.around(formula, score, comment.created_ms),
                args=[comment.id, direction, voter, comment.page_id, _word(up_only), _word(is_shadowed)],
                voter=voter,
            )
            if reply == "MISSING":
                raise CommentNotFound
            if reply == "UP_ONLY":
                raise OnlyUpvotes
            if reply == "CHANGED":
                raise CommentChanged
            if reply[0] != "FAR":
                up, down, own, version = reply
                return Counts(int(up), int(down), own or None, int(version))
            score = int(reply[1])
        raise CommentChanged

    async def _cast(
        self, comment: CommentPlace | Comment, ranks: Ranks, *, args: list[str | int], voter: UserId
    ) -> Any:
        keys = self._keys.site(comment.site_id)
        page_id = comment.page_id
        _, level_top, level_hot, level_controversial = level_keys(keys, page_id, comment.parent_id)
        return await self._run(
            keys=[
                keys.comment(comment.id),
                keys.vote(voter, comment.id),
                keys.page_votes(voter, page_id),
                keys.voted_pages(voter),
                keys.page(page_id),
                keys.page_top(page_id),
                level_top,
                level_controversial,
                keys.outbox(),
                *change_keys(keys, page_id),
                keys.page_hot(page_id),
                level_hot,
                keys.shadowbanned(),
            ],
            args=[*args, ranks.lowest, *ranks.texts],
        )


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
