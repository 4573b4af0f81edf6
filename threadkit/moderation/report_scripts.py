"""Atomic writes about those who report, and about authors who ask for another look."""

from typing import Any, Literal

import msgspec

from threadkit.comments.model import HIDE_AT, CommentChanged, CommentNotFound, NotYourComment
from threadkit.errors import Conflict
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.moderation.decision_scripts import NoOpenAppeal, TooLateToUndo
from threadkit.moderation.log import LogEntry
from threadkit.storage.lua import KeyedScript

MOST_VERDICTS = 100

Verdict = Literal["upheld", "dismissed"]


class AlreadyAppealed(Conflict):
    """You have already appealed about this comment. That can be done once."""

    code = "already_appealed"


class NothingToAppeal(Conflict):
    """This comment is {status}: only one that was turned down, or hidden after reports, can be appealed about."""

    code = "nothing_to_appeal"


class CountVerdict(KeyedScript):
    file = "count_verdict.lua"
    makes_room = True
    repeatable = True

    async def __call__(
        self, site_id: SiteId, reporter: UserId, comment_id: CommentId, verdict: Verdict, *, at_ms: int
    ) -> None:
        await self._run(
            keys=[self._keys.site(site_id).reporter(reporter)], args=[comment_id, verdict, at_ms, MOST_VERDICTS]
        )


class WithdrawReport(KeyedScript):
    file = "withdraw_report.lua"
    makes_room = True
    repeatable = True

    async def __call__(self, site_id: SiteId, comment_id: CommentId, reporter: UserId) -> None:
        keys = self._keys.site(site_id)
        await self._run(
            keys=[keys.comment(comment_id), keys.reports(), keys.comment_reports(comment_id)], args=[reporter]
        )


class Appeal(KeyedScript):
    file = "appeal.lua"
    repeatable = True

    async def __call__(
        self, site_id: SiteId, comment_id: CommentId, author: UserId, text: str, *, now_ms: int, entry: dict[str, Any]
    ) -> None:
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[keys.comment(comment_id), keys.appeals(), keys.modlog()],
            args=[comment_id, author, text, now_ms, repr(HIDE_AT), _json(entry), site_id],
        )
        match reply:
            case ["OK"]:
                return
            case ["APPEALED"]:
                raise AlreadyAppealed
            case ["UNFIT", status]:
                raise NothingToAppeal(status=status)
            case ["NOT_YOURS"]:
                raise NotYourComment
        raise CommentNotFound


class DeclineAppeal(KeyedScript):
    file = "decline_appeal.lua"

    async def __call__(
        self, site_id: SiteId, comment_id: CommentId, by: UserId, *, seen: str, entry: dict[str, Any], event: bytes
    ) -> str:
        """The id of the log entry."""
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[keys.comment(comment_id), keys.appeals(), keys.modlog(), keys.outbox()],
            args=[comment_id, by, _json(entry), event.decode(), seen],
        )
        match reply:
            case ["OK", entry_id]:
                return str(entry_id)
            case ["NO_APPEAL"]:
                raise NoOpenAppeal
            case ["CHANGED"]:
                raise CommentChanged
        raise CommentNotFound


class ReopenAppeal(KeyedScript):
    file = "reopen_appeal.lua"

    async def __call__(
        self, site_id: SiteId, comment_id: CommentId, declined: LogEntry, *, entry: dict[str, Any], event: bytes
    ) -> str:
        """The id of the log entry."""
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[keys.comment(comment_id), keys.appeals(), keys.modlog(), keys.outbox()],
            args=[comment_id, declined.id, _json(declined.said or {}), _json(entry), event.decode()],
        )
        match reply:
            case ["OK", entry_id]:
                return str(entry_id)
        raise TooLateToUndo(why="something else was decided since")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
