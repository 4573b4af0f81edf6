"""Atomic decisions of moderators."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec
import structlog
from msgspec import Struct

from threadkit.comments.model import (
    HIDE_AT,
    Closing,
    Comment,
    CommentChanged,
    CommentNotFound,
    ParentNotFound,
    Status,
)
from threadkit.comments.model import NotInThisState as NotInThisState
from threadkit.comments.scripts import UNDO_S, change_keys, level_keys
from threadkit.errors import Conflict, StoreUnavailable, ThreadKitError
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.pages.model import PageLocked
from threadkit.storage.keys import REPORT_SOURCES_S, SiteKeys
from threadkit.storage.lua import KeyedScript

log = structlog.get_logger()


class NoOpenAppeal(Conflict):
    """No appeal of this comment waits for a decision."""

    code = "no_open_appeal"


class TooLateToUndo(Conflict):
    """This can no longer be undone: {why}."""

    code = "too_late_to_undo"


class Decided(Struct, frozen=True):
    """What a decision changed, and the place of its entry in the log."""

    before: Status
    entry_id: str


class Ranked(Struct, frozen=True):
    """A comment with the hot score of its votes."""

    comment: Comment
    hot: str


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


class Case(Struct, frozen=True, kw_only=True):
    """Everything that a decision about one comment needs."""

    ranked: Ranked
    under: Sequence[Ranked]
    """What hangs on it."""
    above: Sequence[Ranked]
    """What it hangs on, when that may go or come back with it."""
    status: Status
    allowed: Sequence[Status]
    now_ms: int
    set_fields: dict[str, str]
    remove_fields: Sequence[str]
    entry: dict[str, Any]
    events: Sequence[bytes]
    shown_events: tuple[bytes, bytes]
    """That it was posted, and that it can be seen again."""
    closing: Closing | None
    undoes: str = ""
    """The log entry that is taken back, if nothing was decided since."""
    least_reports: float = 0.0
    """What its reports must weigh together."""
    is_out_of_shadow: bool = False
    """Its author was shadow-banned when they wrote it, and is not any more."""
    seen: str | None = None
    """The `updated_at` it must still have."""
    is_edit: bool = False


class Decide(KeyedScript):
    file = "decide.lua"
    makes_room = True
    uses = ("announce.lua", "closing.lua", "pins.lua", "reopening.lua", "staff.lua")

    async def __call__(self, case: Case) -> Decided:
        keys, args = self._call(case)
        decided = _understood(await self._run(keys=keys, args=args))
        if isinstance(decided, ThreadKitError):
            raise decided
        return decided

    async def all(self, cases: Sequence[Case]) -> list[Decided | ThreadKitError]:
        """Many in one round trip, in this order, each for itself."""
        return [_understood(reply) for reply in await self._run_all([self._call(case) for case in cases])]

    def _call(self, case: Case) -> tuple[list[str], list[str | int]]:
        comment = case.ranked.comment
        keys = self._keys.site(comment.site_id)
        page_id = comment.page_id
        set_fields = [part for field in case.set_fields.items() for part in field]
        return (
            [
                keys.comment(comment.id),
                keys.page(page_id),
                keys.page_new(page_id),
                keys.page_top(page_id),
                keys.page_hot(page_id),
                *level_keys(keys, page_id, comment.parent_id),
                keys.comment(comment.parent_id or comment.id),
                keys.modqueue(),
                keys.unlisted(page_id, comment.author_id),
                keys.pinned(page_id),
                keys.outbox(),
                keys.modlog(),
                *change_keys(keys, page_id),
                keys.pages(),
                keys.reports(),
                keys.comment_reports(comment.id),
                keys.appeals(),
                keys.claims(),
                keys.staff_channel(),
                keys.closed_reports(comment.id),
                *(keys.comment(one.comment.id) for one in case.under),
                *chain.from_iterable(
                    [keys.comment(one.comment.id), *level_keys(keys, page_id, one.comment.parent_id)]
                    for one in case.above
                ),
            ],
            [
                comment.id,
                page_id,
                comment.parent_id or "",
                case.status.value,
                " ".join(case.allowed),
                case.now_ms,
                comment.created_ms,
                _json([str(comment.upvotes), str(comment.downvotes), case.ranked.hot, str(comment.reply_count)]),
                _json([set_fields, list(case.remove_fields)]),
                _json(case.entry),
                _json([event.decode() for event in case.events]),
                _json([event.decode() for event in case.shown_events]),
                _json(case.closing) if case.closing else "",
                _json([_placed(one) for one in case.under]),
                _json([_placed(one) for one in case.above]),
                UNDO_S,
                case.undoes,
                repr(case.least_reports),
                "1" if case.is_out_of_shadow else "",
                case.seen or "",
                "true" if case.is_edit else "",
                repr(HIDE_AT),
            ],
        )


def _understood(reply: Any) -> Decided | ThreadKitError:
    if isinstance(reply, Exception):
        log.warning("decision_failed", why=str(reply))
        return StoreUnavailable()
    match reply:
        case ["OK", before, entry_id]:
            return Decided(Status(before), entry_id)
        case ["UNFIT", now]:
            return NotInThisState(status=now)
        case ["CHANGED"]:
            return CommentChanged()
        case ["LOCKED"]:
            return PageLocked()
        case ["PARENT_GONE"]:
            return ParentNotFound()
        case ["NO_APPEAL"]:
            return NoOpenAppeal()
        case ["LATER"]:
            return TooLateToUndo(why="something else was decided since")
    return CommentNotFound()


def _placed(one: Ranked) -> list[str]:
    comment = one.comment
    return [comment.id, str(comment.created_ms), str(comment.upvotes), str(comment.downvotes), one.hot]


class SettleUnder(KeyedScript):
    file = "settle_under.lua"
    makes_room = True
    uses = ("announce.lua", "pins.lua")
    repeatable = True

    async def __call__(self, page_id: PageId, replies: Sequence[Ranked], *, now_ms: int) -> int | None:
        """How many changed; None when something was voted on or moved meanwhile."""
        keys = self._keys.site(replies[0].comment.site_id)
        parents = [one.comment.parent_id or one.comment.id for one in replies]
        reply = await self._run(
            keys=[
                keys.page(page_id),
                keys.page_new(page_id),
                keys.page_top(page_id),
                keys.page_hot(page_id),
                keys.pinned(page_id),
                *change_keys(keys, page_id),
                *chain.from_iterable(
                    [keys.comment(one.comment.id), keys.comment(parent), keys.replies(parent)]
                    for one, parent in zip(replies, parents, strict=True)
                ),
            ],
            args=[
                page_id,
                now_ms,
                _json([[*_placed(one), parent] for one, parent in zip(replies, parents, strict=True)]),
            ],
        )
        return None if reply == "CHANGED" else int(reply)


class AddReport(KeyedScript):
    file = "add_report.lua"
    repeatable = True

    async def __call__(
        self,
        site_id: SiteId,
        comment_id: CommentId,
        reporter: UserId,
        report: bytes,
        *,
        now_ms: int,
        weight: float,
        source: str,
        event: bytes,
    ) -> tuple[int, float]:
        """How many people reported it, and with which weight together."""
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[
                keys.comment(comment_id),
                keys.reports(),
                keys.comment_reports(comment_id),
                keys.report_sources(comment_id),
                keys.outbox(),
            ],
            args=[
                reporter,
                report.decode(),
                now_ms,
                repr(weight),
                source,
                REPORT_SOURCES_S,
                repr(HIDE_AT),
                event.decode(),
            ],
        )
        if not reply:
            raise CommentNotFound
        return int(reply[0]), float(reply[1])


class CloseReports(KeyedScript):
    file = "close_reports.lua"
    makes_room = True
    uses = ("closing.lua", "reopening.lua")

    async def __call__(
        self, site_id: SiteId, closing: Closing, *, entry: dict[str, Any], seen: str | None
    ) -> tuple[int, str | None]:
        """How many people had reported it, and under which entry of the log that can be undone. `seen` is the
        `updated_at` it must still have."""
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=_report_keys(keys, closing.comment_id),
            args=[_json(entry), _json(closing), UNDO_S, site_id, seen or ""],
        )
        match reply:
            case ["CHANGED"]:
                raise CommentChanged
            case ["UNFIT", status]:
                raise NotInThisState(status=status)
            case [closed, entry_id]:
                return int(closed), str(entry_id)
            case [0]:
                return 0, None
        raise CommentNotFound


class ReopenReports(KeyedScript):
    file = "reopen_reports.lua"
    uses = ("reopening.lua",)

    async def __call__(
        self, site_id: SiteId, comment_id: CommentId, *, undoes: str, entry: dict[str, Any]
    ) -> str | None:
        """The id of the log entry; None when it is too late."""
        keys = _report_keys(self._keys.site(site_id), comment_id)
        reply = await self._run(keys=keys, args=[comment_id, undoes, _json(entry), site_id])
        return None if reply == "LATE" else str(reply)


def _report_keys(keys: SiteKeys, comment_id: CommentId) -> list[str]:
    return [
        keys.comment(comment_id),
        keys.reports(),
        keys.comment_reports(comment_id),
        keys.modlog(),
        keys.outbox(),
        keys.closed_reports(comment_id),
    ]
