"""What is known about an author on one site: what moderators decided, and whether anything of theirs has stood here."""

from collections.abc import Sequence
from typing import Any

from threadkit.comments.model import Status
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.moderation.learning_scripts import LATELY_MS
from threadkit.moderation.model import History
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

STOOD_MS = 86_400_000
"""Who has had a comment on the site for a day is no newcomer, though no moderator ever approved it by hand."""
OLDEST = 5


class AuthorRecords:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def look(
        self, site_id: SiteId, user_id: UserId, *, now_ms: int, besides: str | None = None
    ) -> tuple[History, bool]:
        """The history, and whether the author was known at that time by something besides one comment."""
        async with self._redis.pipeline(transaction=False) as pipe:
            self.ask(pipe, site_id, user_id, now_ms=now_ms)
            return await self.answer(site_id, await pipe.execute(), now_ms=now_ms, besides=besides)

    def ask(self, pipe: Any, site_id: SiteId, user_id: UserId, *, now_ms: int) -> int:
        """Put the questions about an author into a pipeline; says how many answers they have."""
        keys = self._keys.site(site_id)
        pipe.hmget(keys.author_decisions(user_id), "approved", "rejected")
        pipe.zrange(keys.author_lately(user_id), f"({now_ms - LATELY_MS}", "+inf", byscore=True)
        pipe.zrange(keys.comments_of(user_id), 0, OLDEST - 1, withscores=True)
        return 3

    async def answer(
        self, site_id: SiteId, answers: Sequence[Any], *, now_ms: int, besides: str | None = None
    ) -> tuple[History, bool]:
        (approved, rejected), lately, oldest = answers
        history = History(
            approved=int(approved or 0),
            rejected=int(rejected or 0),
            decided_lately=len(lately),
            rejected_lately=sum(member.endswith(" rejected") for member in lately),
        )
        if history.approved:
            return history, True
        stood = [
            CommentId(comment_id) for comment_id, ms in oldest if ms <= now_ms - STOOD_MS and comment_id != besides
        ]
        return history, await self._any_shown(site_id, stood)

    async def _any_shown(self, site_id: SiteId, comment_ids: Sequence[CommentId]) -> bool:
        if not comment_ids:
            return False
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            for comment_id in comment_ids:
                pipe.hmget(keys.comment(comment_id), "status", "is_shadowed")
            return any(
                status == Status.APPROVED.value and shadowed != "true" for status, shadowed in await pipe.execute()
            )
