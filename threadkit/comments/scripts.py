"""Atomic writes of comments."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct

from threadkit.clock import from_iso
from threadkit.comments.model import (
    Closing,
    Comment,
    CommentChanged,
    CommentNotFound,
    NotInThisState,
    ParentNotFound,
    Sort,
    Status,
)
from threadkit.comments.window import Cursor
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.pages.model import Page, PageLocked
from threadkit.storage.keys import SiteKeys
from threadkit.storage.lua import KeyedScript
from threadkit.storage.records import to_hash
from threadkit.users.model import DELETED_USER

REPEATED_S = 86_400
UNDO_S = 30
Listing = Literal["listed", "held", "shadowed"]


def level_keys(keys: SiteKeys, page_id: PageId, parent_id: CommentId | None) -> list[str]:
    """The four indexes of the level a comment stands in: by time, top, hot, controversial."""
    if parent_id is None:
        return [keys.roots(page_id, sort) for sort in ("new", "top", "hot", "controversial")]
    return [keys.replies(parent_id), *(keys.replies_by(parent_id, sort) for sort in ("top", "hot", "controversial"))]


def level_index(keys: SiteKeys, page_id: PageId, parent_id: CommentId | None, sort: Sort) -> str:
    """The index that holds a level in one order; oldest and newest first share one."""
    by = "new" if sort == "old" else sort
    if parent_id is None:
        return keys.roots(page_id, by)
    return keys.replies(parent_id) if by == "new" else keys.replies_by(parent_id, by)


def _flat(fields: dict[str, str]) -> str:
    return msgspec.json.encode(list(chain.from_iterable(fields.items()))).decode()


def change_keys(keys: SiteKeys, page_id: PageId) -> list[str]:
    """Where a visible change is announced."""
    return [keys.page_changes(page_id), keys.page_channel(page_id)]


class _CommentScript(KeyedScript):
    uses: ClassVar[tuple[str, ...]] = ("announce.lua",)
    repeatable = True


class PageMoved(Exception):
    """The page's thread is elsewhere by now; whoever wrote there writes again."""

    def __init__(self, page_id: PageId) -> None:
        super().__init__(page_id)
        self.page_id = page_id


class ClockAhead(Exception):
    """The time of writing is more than two seconds after the store's."""

    def __init__(self, store_ms: int) -> None:
        super().__init__()
        self.store_ms = store_ms


class PostComment(_CommentScript):
    file = "post_comment.lua"
    uses = ("announce.lua", "staff.lua")

    async def __call__(
        self, comment: Comment, page: Page, *, listing: Listing, hot: str, event: bytes, request_key: str | None
    ) -> CommentId:
        """The id of the comment: this one's, or that of the same request before."""
        keys = self._keys.site(comment.site_id)
        page_fields = {name: value for name, value in to_hash(page).items() if name in ("site_id", "url", "title")}
        reply = await self._run(
            keys=[
                keys.comment(comment.id),
                keys.page(comment.page_id),
                keys.page_new(comment.page_id),
                keys.page_top(comment.page_id),
                keys.page_hot(comment.page_id),
                *level_keys(keys, comment.page_id, comment.parent_id),
                keys.comment(comment.parent_id or comment.id),
                keys.comments(),
                keys.comments_of(comment.author_id),
                keys.modqueue(),
                keys.unlisted(comment.page_id, comment.author_id),
                keys.outbox(),
                keys.repeated(request_key or "none"),
                keys.pages(),
                *change_keys(keys, comment.page_id),
                keys.staff_channel(),
                keys.shadowbanned(),
            ],
            args=[
                comment.id,
                _flat(to_hash(comment)),
                comment.created_ms,
                hot,
                listing,
                _flat(page_fields),
                event.decode(),
                comment.parent_id or "",
                comment.page_id,
                REPEATED_S if request_key else 0,
                comment.author_id,
                comment.site_id,
            ],
        )
        match reply:
            case ["AHEAD", store_ms]:
                raise ClockAhead(int(store_ms))
            case ["LOCKED"]:
                raise PageLocked
            case ["MOVED", page_id]:
                raise PageMoved(PageId(page_id))
            case ["PARENT_MISSING"]:
                raise ParentNotFound
            case ["REPEATED", before]:
                return CommentId(before)
        return comment.id


def difference(before: Comment, after: Comment) -> tuple[dict[str, str], list[str]]:
    """Which fields of the record an edit sets, and which it removes."""
    old, new = to_hash(before), to_hash(after)
    return {name: value for name, value in new.items() if old.get(name) != value}, [
        name for name in old if name not in new
    ]


class EditComment(_CommentScript):
    file = "edit_comment.lua"

    async def __call__(self, before: Comment, after: Comment, *, now_ms: int) -> None:
        keys = self._keys.site(before.site_id)
        changed, gone = difference(before, after)
        reply = await self._run(
            keys=[
                keys.comment(before.id),
                keys.page(before.page_id),
                *change_keys(keys, before.page_id),
                keys.outbox(),
            ],
            args=[
                before.updated_at,
                _flat(changed),
                now_ms,
                msgspec.json.encode(gone).decode(),
                after.content,
                before.page_id,
                before.id,
                renamed_event(before, after).decode(),
                before.status.value,
            ],
        )
        if reply == "LOCKED":
            raise PageLocked
        if reply == "GONE":
            raise CommentNotFound
        if reply == "CHANGED":
            raise CommentChanged


class RerenderComment(_CommentScript):
    file = "rerender_comment.lua"

    async def __call__(self, comment: Comment, html: str, *, version: int) -> bool:
        """Whether the HTML is another than before."""
        keys = self._keys.site(comment.site_id)
        reply = await self._run(
            keys=[
                keys.comment(comment.id),
                keys.page(comment.page_id),
                keys.page_new(comment.page_id),
                *change_keys(keys, comment.page_id),
            ],
            args=[comment.id, comment.page_id, comment.content, html, version],
        )
        if reply == "CHANGED":
            raise CommentChanged
        return bool(reply == "OK")


class UnnameComment(_CommentScript):
    file = "unname_comment.lua"

    async def __call__(self, comment: Comment, user_id: UserId) -> None:
        keys = self._keys.site(comment.site_id)
        await self._run(
            keys=[
                keys.comment(comment.id),
                keys.page(comment.page_id),
                keys.page_new(comment.page_id),
                *change_keys(keys, comment.page_id),
            ],
            args=[comment.id, user_id, DELETED_USER],
        )


def renamed_event(before: Comment, after: Comment) -> bytes:
    """Whom an edit names anew, and whom it names no longer; nothing when both are nobody."""
    old, new = before.mentions or [], after.mentions or []
    named, unnamed = [name for name in new if name not in old], [name for name in old if name not in new]
    if not named and not unnamed:
        return b""
    event = {"type": "comment_edited", "comment_id": before.id, "named": named, "unnamed": unnamed}
    return msgspec.json.encode(event | {"at_ms": from_iso(after.updated_at)})


class Deletion(Struct, frozen=True):
    """What a comment was before it was deleted, and under which entry of the log that can be undone."""

    before: Status
    entry_id: str


class DeleteComment(_CommentScript):
    file = "delete_comment.lua"
    makes_room = True
    uses = ("announce.lua", "closing.lua", "reopening.lua", "staff.lua")
    repeatable = False

    async def __call__(
        self,
        comment: Comment,
        ancestors: list[Comment],
        *,
        fields: dict[str, str],
        now_ms: int,
        by: UserId | None = None,
        entry: dict[str, Any] | None = None,
        events: Sequence[bytes] = (),
        expects: Status | None = None,
        seen: str | None = None,
    ) -> Deletion | None:
        """`ancestors` from the parent up to the root. None when it was deleted already. With an `entry` for the log it
        can be undone for a while; without, nothing is kept. `seen` is the `updated_at` it must still have."""
        # Whoever deletes what they wrote themselves has not judged those who reported it.
        closing = Closing(
            comment_id=comment.id, outcome="removed", by=by, at_ms=now_ms, is_verdict=by != comment.author_id
        )
        keys = self._keys.site(comment.site_id)
        reply = await self._run(
            keys=[
                *_around(keys, comment, author_id=comment.author_id),
                keys.claims(),
                keys.staff_channel(),
                *_chain_keys(keys, [comment, *ancestors]),
            ],
            args=[
                _flat(fields),
                now_ms,
                comment.page_id,
                msgspec.json.encode(closing).decode(),
                msgspec.json.encode(entry).decode() if entry else "",
                msgspec.json.encode([event.decode() for event in events]).decode(),
                expects.value if expects else "",
                UNDO_S,
                seen or "",
                *(node.id for node in [comment, *ancestors]),
            ],
        )
        match reply:
            case ["OK", before, entry_id]:
                return Deletion(Status(before), entry_id)
            case ["CHANGED"]:
                raise CommentChanged
            case ["UNFIT", now]:
                raise NotInThisState(status=now)
        return None


class RestoreComment(_CommentScript):
    file = "restore_comment.lua"
    uses = ("announce.lua", "reopening.lua", "staff.lua")
    repeatable = False

    async def __call__(
        self,
        comment: Comment,
        ancestors: list[Comment],
        *,
        author_id: UserId,
        hot: Sequence[str],
        undoes: str,
        now_ms: int,
        entry: dict[str, Any],
        events: Sequence[bytes],
        told_again: bytes,
    ) -> Deletion | None:
        """`hot` are the scores of the comment and its ancestors. None when it is too late."""
        keys = self._keys.site(comment.site_id)
        chain_up = [comment, *ancestors]
        placed = [
            [node.id, str(node.created_ms), str(node.upvotes), str(node.downvotes), score]
            for node, score in zip(chain_up, hot, strict=True)
        ]
        reply = await self._run(
            keys=[
                *_around(keys, comment, author_id=author_id),
                keys.staff_channel(),
                keys.pages(),
                *_chain_keys(keys, chain_up),
            ],
            args=[
                undoes,
                now_ms,
                comment.page_id,
                msgspec.json.encode(entry).decode(),
                msgspec.json.encode([event.decode() for event in events]).decode(),
                told_again.decode(),
                msgspec.json.encode(placed).decode(),
            ],
        )
        match reply:
            case ["OK", before, entry_id]:
                return Deletion(Status(before), entry_id)
            case ["UNFIT", now]:
                raise NotInThisState(status=now)
            case ["CHANGED"]:
                raise CommentChanged
            case ["PARENT_GONE"]:
                raise ParentNotFound
        return None


def _around(keys: SiteKeys, comment: Comment, *, author_id: UserId) -> list[str]:
    """What else changes when a comment is deleted or comes back."""
    page_id = comment.page_id
    return [
        keys.page(page_id),
        keys.page_new(page_id),
        keys.page_top(page_id),
        keys.page_hot(page_id),
        keys.pinned(page_id),
        keys.modqueue(),
        keys.unlisted(page_id, author_id),
        *change_keys(keys, page_id),
        keys.reports(),
        keys.comment_reports(comment.id),
        keys.appeals(),
        keys.outbox(),
        keys.modlog(),
        keys.kept(comment.id),
        keys.closed_reports(comment.id),
    ]


def _chain_keys(keys: SiteKeys, chain_up: Sequence[Comment]) -> list[str]:
    return [
        key for node in chain_up for key in (keys.comment(node.id), *level_keys(keys, node.page_id, node.parent_id))
    ]


class AnonymiseComment(_CommentScript):
    file = "anonymise_comment.lua"
    makes_room = True

    async def __call__(self, comment: Comment, author_id: UserId, *, fields: dict[str, str], now_ms: int) -> bool:
        keys = self._keys.site(comment.site_id)
        done = await self._run(
            keys=[
                keys.comment(comment.id),
                keys.page(comment.page_id),
                keys.comments_of(author_id),
                keys.unlisted(comment.page_id, author_id),
                keys.page_new(comment.page_id),
                *change_keys(keys, comment.page_id),
                keys.appeals(),
                keys.kept(comment.id),
                keys.closed_reports(comment.id),
            ],
            args=[author_id, comment.id, _flat(fields), now_ms, comment.page_id],
        )
        if done == "CHANGED":
            raise CommentChanged
        return bool(done)


class TogglePin(_CommentScript):
    file = "toggle_pin.lua"
    repeatable = False

    async def __call__(
        self,
        site_id: SiteId,
        page_id: PageId,
        comment_id: CommentId,
        *,
        now_ms: int,
        by: UserId,
        seen: str | None = None,
    ) -> bool:
        keys = self._keys.site(site_id)
        entry = {"site_id": site_id, "comment_id": comment_id, "by": by, "at_ms": now_ms}
        pinned = await self._run(
            keys=[
                keys.comment(comment_id),
                keys.page(page_id),
                keys.page_new(page_id),
                keys.pinned(page_id),
                *change_keys(keys, page_id),
                keys.modlog(),
            ],
            args=[comment_id, now_ms, page_id, msgspec.json.encode(entry).decode(), seen or ""],
        )
        if pinned == "CHANGED":
            raise CommentChanged
        if int(pinned) < 0:
            raise CommentNotFound
        return bool(pinned)


class SliceLevels(KeyedScript):
    file = "slice_levels.lua"
    repeatable = True

    async def __call__(
        self, site_id: SiteId, page_id: PageId, levels: Sequence[CommentId | None], cursor: Cursor, *, limit: int
    ) -> list[list[tuple[CommentId, str]]]:
        """The next comments of each level (None: the roots) with their scores; the cursor holds for all of them."""
        return _slices(await self._run(**self._asked(site_id, page_id, levels, cursor, limit)))

    def put(self, pipe: Any, site_id: SiteId, page_id: PageId, cursor: Cursor, *, limit: int) -> None:
        """Ask for roots in somebody else's round trip; `got` reads the answer."""
        self._put(pipe, **self._asked(site_id, page_id, [None], cursor, limit))

    async def got(
        self, reply: Any, site_id: SiteId, page_id: PageId, cursor: Cursor, *, limit: int
    ) -> list[tuple[CommentId, str]]:
        (roots,) = _slices(await self._got(reply, **self._asked(site_id, page_id, [None], cursor, limit)))
        return roots

    def _asked(
        self, site_id: SiteId, page_id: PageId, levels: Sequence[CommentId | None], cursor: Cursor, limit: int
    ) -> dict[str, Any]:
        keys = self._keys.site(site_id)
        return {
            "keys": [level_index(keys, page_id, parent_id, cursor.sort) for parent_id in levels],
            "args": ["least" if cursor.sort == "old" else "best", limit, *[cursor.score, cursor.after] * len(levels)],
        }


def _slices(answers: Any) -> list[list[tuple[CommentId, str]]]:
    return [list(zip(map(CommentId, flat[::2]), flat[1::2], strict=True)) for flat in answers]
