"""Atomic looking and putting right of what a rebuild does not know."""

from collections.abc import Sequence

from threadkit.ids import CommentId, PageId, SessionId, SiteId, UserId
from threadkit.rebuild.scripts import Mode
from threadkit.storage.keys import SiteKeys
from threadkit.storage.lua import KeyedScript, LuaScript


class SettleLifetime(LuaScript):
    file = "settle_lifetime.lua"
    repeatable = True

    async def __call__(self, key: str, limit_s: int | None) -> None:
        await self._run(keys=[key], args=["" if limit_s is None else limit_s])


class SettleSession(KeyedScript):
    file = "settle_session.lua"
    repeatable = True

    async def __call__(self, mode: Mode, user_id: UserId, session_id: SessionId) -> str:
        """OK, MISSING, SHORT or NO_USER."""
        keys = self._keys.user(user_id)
        return str(
            await self._run(keys=[keys.session(session_id), keys.profile(), keys.sessions()], args=[mode, session_id])
        )


class SettleUnread(KeyedScript):
    file = "settle_unread.lua"
    repeatable = True

    async def __call__(self, mode: Mode, user_id: UserId, most: int) -> list[tuple[str, str, str, str]]:
        """For each number that is wrong: kind, subject, found, wanted; wanted is '' where nothing can be done."""
        keys = self._keys.user(user_id)
        reply = await self._run(
            keys=[keys.notifications(), keys.unread(), keys.unread_by_site()], args=[mode, user_id, most]
        )
        return [(kind, subject, was, wanted) for kind, subject, was, wanted in reply]


class SettleReports(KeyedScript):
    file = "settle_reports.lua"
    repeatable = True

    async def __call__(
        self, mode: Mode, site_id: SiteId, comment_id: CommentId, reports: Sequence[tuple[str, str, int]]
    ) -> list[str]:
        """`reports` of a comment: who, the report, when. The people whose report is not in the site's list, or not in
        its place."""
        keys = self._keys.site(site_id)
        args = [part for who, report, at_ms in reports for part in (who, report, at_ms)]
        return list(await self._run(keys=[keys.comment_reports(comment_id), keys.reports()], args=[mode, *args]))


class SweepReports(KeyedScript):
    file = "sweep_reports.lua"
    repeatable = True

    async def __call__(self, mode: Mode, site_id: SiteId, reports: Sequence[tuple[CommentId, str, str]]) -> list[int]:
        """`reports` in the site's list: of which comment, by whom, as it stands there. The places of those that their
        comment does not know."""
        keys = self._keys.site(site_id)
        found = await self._run(
            keys=[keys.reports(), *(keys.comment_reports(comment_id) for comment_id, _, _ in reports)],
            args=[mode, *(part for _, who, report in reports for part in (who, report))],
        )
        return [int(number) - 1 for number in found]


class SettleAppeals(KeyedScript):
    file = "settle_appeals.lua"
    repeatable = True

    async def __call__(
        self, mode: Mode, site_id: SiteId, comments: Sequence[CommentId]
    ) -> list[tuple[int, str, str, str]]:
        """For each comment that is wrongly listed or not: its place, what, found, wanted."""
        keys = self._keys.site(site_id)
        reply = await self._run(keys=[keys.appeals(), *(keys.comment(i) for i in comments)], args=[mode, *comments])
        return [(int(number) - 1, what, was, wanted) for number, what, was, wanted in reply]


class SettleVersions(KeyedScript):
    file = "settle_versions.lua"
    repeatable = True

    async def __call__(self, mode: Mode, site_id: SiteId, pages: Sequence[PageId]) -> list[tuple[int, str, str]]:
        """For each page whose version fell: its place, found, wanted."""
        keys: SiteKeys = self._keys.site(site_id)
        reply = await self._run(
            keys=[key for page_id in pages for key in (keys.page(page_id), keys.page_changes(page_id))], args=[mode]
        )
        return [(int(number) - 1, was, wanted) for number, was, wanted in reply]
