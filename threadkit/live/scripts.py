"""Who looks at a page and who writes there: short-lived, and published in the same step."""

from collections.abc import Iterable
from typing import NamedTuple

from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.pages.model import named_page_id
from threadkit.storage.keys import SiteKeys
from threadkit.storage.lua import KeyedScript

KEPT_S = 60  # of a page on which nobody is left to notice that a worker was killed
TYPING_KEPT_S = 60
TYPING_MS = 5_000
GONE_AFTER_MS = 40_000  # with a heartbeat every 15 s, whoever was on a killed worker is gone within 60 s


class Pulse(NamedTuple):
    """What the store answers to a heartbeat."""

    viewers: int
    version: int


class Sight(NamedTuple):
    """What there is to see on a page besides its comments."""

    version: int
    present: list[UserId]
    typing: list[UserId]


def id_apart(site_id: SiteId, page_id: PageId) -> PageId:
    """What a page is called on the lists of a site that has nothing on it, be it another's or nobody's yet."""
    return named_page_id(site_id, f"not ours: {page_id}")


def _lists(keys: SiteKeys, page_id: PageId) -> list[str]:
    return [keys.presence(page_id), keys.presence_conns(page_id), keys.viewers(page_id), keys.typing(page_id)]


class _PresenceScript(KeyedScript):
    uses = ("lists.lua", "gone.lua")
    repeatable = True

    def _keys_of(self, site_id: SiteId, page_id: PageId) -> list[str]:
        keys = self._keys.site(site_id)
        apart = id_apart(site_id, page_id)
        return [keys.page_channel(page_id), keys.page(page_id), *_lists(keys, page_id), *_lists(keys, apart)]


class JoinPage(_PresenceScript):
    file = "join_page.lua"

    async def __call__(self, site_id: SiteId, page_id: PageId, user_id: UserId, *, worker: str, now_ms: int) -> None:
        await self._run(
            keys=self._keys_of(site_id, page_id),
            args=[user_id, worker, now_ms, now_ms - GONE_AFTER_MS, site_id, KEPT_S],
        )


class LeavePage(_PresenceScript):
    file = "leave_page.lua"

    async def __call__(self, site_id: SiteId, page_id: PageId, user_id: UserId, *, worker: str) -> None:
        await self._run(keys=self._keys_of(site_id, page_id), args=[user_id, worker, site_id])


class LookAtPage(_PresenceScript):
    file = "look_at_page.lua"

    async def __call__(self, site_id: SiteId, page_id: PageId, *, now_ms: int, most: int) -> Sight:
        return Sight(*await self._run(keys=self._keys_of(site_id, page_id), args=[site_id, now_ms - TYPING_MS, most]))


class Beat(_PresenceScript):
    file = "beat.lua"

    async def __call__(
        self,
        site_id: SiteId,
        page_id: PageId,
        *,
        worker: str,
        now_ms: int,
        connections: int,
        users: Iterable[UserId],
    ) -> Pulse:
        return Pulse(
            *await self._run(
                keys=self._keys_of(site_id, page_id),
                args=[worker, now_ms, now_ms - GONE_AFTER_MS, site_id, KEPT_S, connections, *users],
            )
        )


class NoteTyping(_PresenceScript):
    file = "note_typing.lua"

    async def __call__(
        self,
        site_id: SiteId,
        page_id: PageId,
        user_id: UserId,
        *,
        now_ms: int,
        has_stopped: bool = False,
        reply_to: CommentId | None = None,
    ) -> None:
        await self._run(
            keys=self._keys_of(site_id, page_id),
            args=[
                user_id,
                now_ms,
                now_ms - TYPING_MS,
                "stop_typing" if has_stopped else "typing",
                reply_to or "",
                site_id,
                TYPING_KEPT_S,
            ],
        )
