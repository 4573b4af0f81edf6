"""Who looks at a page and who writes there: short-lived, and published in the same step."""

from collections.abc import Iterable

from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.storage.lua import KeyedScript

KEPT_S = 60  # of a page on which nobody is left to notice that a worker was killed
TYPING_KEPT_S = 60
TYPING_MS = 5_000
GONE_AFTER_MS = 40_000  # with a heartbeat every 15 s, whoever was on a killed worker is gone within 60 s


class _PresenceScript(KeyedScript):
    uses = ("gone.lua",)
    repeatable = True

    def _presence_keys(self, site_id: SiteId, page_id: PageId) -> list[str]:
        keys = self._keys.site(site_id)
        return [keys.presence(page_id), keys.presence_conns(page_id), keys.page_channel(page_id)]


class JoinPage(_PresenceScript):
    file = "join_page.lua"

    async def __call__(
        self, site_id: SiteId, page_id: PageId, user_id: UserId, *, worker: str, now_ms: int, most: int
    ) -> list[UserId]:
        present = await self._run(
            keys=self._presence_keys(site_id, page_id),
            args=[user_id, worker, now_ms, now_ms - GONE_AFTER_MS, site_id, most, KEPT_S],
        )
        return [UserId(found) for found in present]


class LeavePage(_PresenceScript):
    file = "leave_page.lua"

    async def __call__(self, site_id: SiteId, page_id: PageId, user_id: UserId, *, worker: str) -> None:
        await self._run(keys=self._presence_keys(site_id, page_id), args=[user_id, worker, site_id])


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
    ) -> int:
        """How many connections look at the page."""
        viewers = self._keys.site(site_id).viewers(page_id)
        total = await self._run(
            keys=[*self._presence_keys(site_id, page_id), viewers],
            args=[worker, now_ms, now_ms - GONE_AFTER_MS, site_id, KEPT_S, connections, *users],
        )
        return int(total)


class NoteTyping(KeyedScript):
    file = "note_typing.lua"
    repeatable = True

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
        keys = self._keys.site(site_id)
        await self._run(
            keys=[keys.typing(page_id), keys.page_channel(page_id)],
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
