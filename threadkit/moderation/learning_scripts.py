"""Atomic writes of the learning filter and of what is remembered about authors."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from threadkit.ids import SiteId, UserId, digest
from threadkit.moderation.tokens import Reading
from threadkit.storage.lua import KeyedScript

MOST_LEARNT = 2_000
LEARNT_MS = 30 * 86_400_000
MOST_TOKENS = 50_000
LATELY_MS = 7 * 86_400_000
MOST_LATELY = 200
REMEMBERED_MS = 3_600_000
MOST_REMEMBERED = 20

Decision = Literal["approved", "rejected", "undo"]


class Learn(KeyedScript):
    file = "learn.lua"
    repeatable = True

    async def __call__(
        self,
        site_id: SiteId,
        comment_id: str,
        decision: Decision,
        reading: Reading,
        *,
        stamp: str,
        at_ms: int,
        author: UserId | None = None,
        most_learnt: int = MOST_LEARNT,
        most_tokens: int = MOST_TOKENS,
    ) -> bool:
        """Whether anything is different now: not when this decision, or a later one about the comment, was known."""
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[
                keys.filter_tokens(),
                keys.filter_totals(),
                keys.filter_learnt(),
                keys.filter_order(),
                keys.filter_texts(),
                keys.author_decisions(author or "nobody"),
                keys.author_lately(author or "nobody"),
            ],
            args=[
                comment_id,
                decision,
                stamp,
                msgspec.json.encode(reading.all).decode(),
                print_of(reading),
                at_ms,
                int(author is not None),
                most_learnt,
                LEARNT_MS,
                most_tokens,
                LATELY_MS,
                MOST_LATELY,
            ],
        )
        return bool(reply) and reply[0] != reply[1]


class LetGo(KeyedScript):
    file = "let_go.lua"
    repeatable = True

    async def __call__(self, site_id: SiteId, comment_ids: Sequence[str]) -> None:
        keys = self._keys.site(site_id)
        await self._run(keys=[keys.filter_learnt(), keys.filter_order(), keys.filter_texts()], args=list(comment_ids))


class RememberText(KeyedScript):
    file = "remember_text.lua"
    repeatable = True

    async def __call__(self, site_id: SiteId, who: str, text: str, *, now_ms: int) -> None:
        await self._run(
            keys=[self._keys.site(site_id).recent_texts(who)], args=[text, now_ms, REMEMBERED_MS, MOST_REMEMBERED]
        )


def print_of(reading: Reading) -> str:
    """The same for readings with the same tokens."""
    return digest("\n".join(sorted(reading.all)))[:16]


def stamp_of(entry_id: str) -> str:
    """A stream id, or `ms-number`, as text that compares like it."""
    ms, _, number = entry_id.partition("-")
    return f"{int(ms):020d}-{int(number):010d}"
