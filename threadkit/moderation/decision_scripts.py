"""Atomic decisions of moderators."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct

from threadkit.comments.model import Comment, CommentChanged, CommentNotFound, ParentNotFound, Status
from threadkit.comments.scripts import change_keys, level_keys
from threadkit.errors import Conflict
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.storage.lua import KeyedScript


class NotInThisState(Conflict):
    """This comment is {status}."""

    code = "not_in_this_state"


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


class Decide(KeyedScript):
    file = "decide.lua"
    uses = ("announce.lua",)

    async def __call__(
        self,
        ranked: Ranked,
        under: Sequence[Ranked],
        above: Sequence[Comment],
        *,
        status: Status,
        allowed: Sequence[Status],
        now_ms: int,
        set_fields: dict[str, str],
        remove_fields: Sequence[str],
        entry: dict[str, Any],
        events: Sequence[bytes],
        posted_event: bytes,
        closes_reports: bool,
    ) -> Decided:
        comment = ranked.comment
        keys = self._keys.site(comment.site_id)
        page_id = comment.page_id
        reply = await self._run(
            keys=[
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
                *(keys.comment(one.comment.id) for one in under),
                *chain.from_iterable(
                    [keys.comment(one.id), *level_keys(keys, page_id, one.parent_id)] for one in above
                ),
            ],
            args=[
                comment.id,
                page_id,
                comment.parent_id or "",
                status.value,
                " ".join(allowed),
                now_ms,
                comment.created_ms,
                _json([str(comment.upvotes), str(comment.downvotes), ranked.hot]),
                _json([[part for field in set_fields.items() for part in field], list(remove_fields)]),
                _json(entry),
                _json([event.decode() for event in events]),
                posted_event.decode(),
                "close" if closes_reports else "",
                _json([_placed(one) for one in under]),
                _json([one.id for one in above]),
            ],
        )
        match reply:
            case ["OK", before, entry_id]:
                return Decided(Status(before), entry_id)
            case ["UNFIT", now]:
                raise NotInThisState(status=now)
            case ["CHANGED"]:
                raise CommentChanged
            case ["PARENT_GONE"]:
                raise ParentNotFound
        raise CommentNotFound


def _placed(one: Ranked) -> list[str]:
    comment = one.comment
    return [comment.id, str(comment.created_ms), str(comment.upvotes), str(comment.downvotes), one.hot]


class AddReport(KeyedScript):
    file = "add_report.lua"
    repeatable = True

    async def __call__(
        self, site_id: SiteId, comment_id: CommentId, reporter: UserId, report: bytes, *, now_ms: int, weight: float
    ) -> tuple[int, float]:
        """How many people reported it, and with which weight together."""
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[keys.comment(comment_id), keys.reports(), keys.comment_reports(comment_id)],
            args=[reporter, report.decode(), now_ms, repr(weight)],
        )
        if not reply:
            raise CommentNotFound
        return int(reply[0]), float(reply[1])


class CloseReports(KeyedScript):
    file = "close_reports.lua"

    async def __call__(self, site_id: SiteId, comment_id: CommentId, *, entry: dict[str, Any]) -> list[UserId]:
        keys = self._keys.site(site_id)
        people = await self._run(
            keys=[keys.comment(comment_id), keys.reports(), keys.comment_reports(comment_id), keys.modlog()],
            args=[_json(entry)],
        )
        return [UserId(person) for person in people]


class SetStanding(KeyedScript):
    file = "set_standing.lua"

    async def __call__(
        self,
        site_id: SiteId,
        user_id: UserId,
        *,
        is_shadow: bool,
        is_on: bool,
        until_ms: int | None,
        entry: dict[str, Any],
        event: bytes = b"",
    ) -> bool:
        keys = self._keys.site(site_id)
        changed = await self._run(
            keys=[
                keys.shadowbanned() if is_shadow else keys.blocked(),
                keys.ban_ends(),
                keys.modlog(),
                keys.outbox(),
            ],
            args=[user_id, "on" if is_on else "off", until_ms or "", _json(entry), event.decode()],
        )
        return bool(changed)
