"""Atomic writes of comments."""

from collections.abc import Sequence
from itertools import chain
from typing import Literal

import msgspec

from threadkit.comments.model import Comment, CommentChanged, CommentNotFound, ParentNotFound, Sort
from threadkit.comments.window import Cursor
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.pages.model import Page, PageLocked
from threadkit.storage.keys import SiteKeys
from threadkit.storage.lua import KeyedScript
from threadkit.storage.records import to_hash

REPEATED_S = 86_400
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
    uses = ("announce.lua",)
    repeatable = True


class PageMoved(Exception):
    """The page's thread is elsewhere by now; whoever wrote there writes again."""

    def __init__(self, page_id: PageId) -> None:
        super().__init__(page_id)
        self.page_id = page_id


class PostComment(_CommentScript):
    file = "post_comment.lua"

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
            ],
        )
        match reply:
            case ["LOCKED"]:
                raise PageLocked
            case ["MOVED", page_id]:
                raise PageMoved(PageId(page_id))
            case ["PARENT_MISSING"]:
                raise ParentNotFound
            case ["REPEATED", before]:
                return CommentId(before)
        return comment.id


class EditComment(_CommentScript):
    file = "edit_comment.lua"

    async def __call__(self, before: Comment, after: Comment, *, now_ms: int) -> None:
        keys = self._keys.site(before.site_id)
        old, new = to_hash(before), to_hash(after)
        changed = {name: value for name, value in new.items() if old.get(name) != value}
        gone = [name for name in old if name not in new]
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
                _renamed_event(before, after).decode(),
            ],
        )
        if reply == "LOCKED":
            raise PageLocked
        if reply == "GONE":
            raise CommentNotFound
        if reply == "CHANGED":
            raise CommentChanged


def _renamed_event(before: Comment, after: Comment) -> bytes:
    """Whom an edit names anew, and whom it names no longer; nothing when both are nobody."""
    old, new = before.mentions or [], after.mentions or []
    named, unnamed = [name for name in new if name not in old], [name for name in old if name not in new]
    if not named and not unnamed:
        return b""
    event = {"type": "comment_edited", "comment_id": before.id, "named": named, "unnamed": unnamed}
    return msgspec.json.encode(event)


class DeleteComment(_CommentScript):
    file = "delete_comment.lua"
    repeatable = False

    async def __call__(
        self, comment: Comment, ancestors: list[Comment], *, fields: dict[str, str], now_ms: int
    ) -> bool:
        """`ancestors` from the parent up to the root. False when it was deleted already."""
        keys = self._keys.site(comment.site_id)
        page_id = comment.page_id
        chain_up = [comment, *ancestors]
        gone = await self._run(
            keys=[
                keys.page(page_id),
                keys.page_new(page_id),
                keys.page_top(page_id),
                keys.page_hot(page_id),
                keys.pinned(page_id),
                keys.modqueue(),
                keys.unlisted(page_id, comment.author_id),
                *change_keys(keys, page_id),
                *chain.from_iterable(
                    [keys.comment(node.id), *level_keys(keys, page_id, node.parent_id)] for node in chain_up
                ),
                keys.outbox(),
            ],
            args=[_flat(fields), now_ms, page_id, *(node.id for node in chain_up)],
        )
        if int(gone) == -2:
            raise CommentChanged
        return int(gone) >= 0


class AnonymiseComment(_CommentScript):
    file = "anonymise_comment.lua"

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
            ],
            args=[author_id, comment.id, _flat(fields), now_ms],
        )
        return bool(done)


class TogglePin(_CommentScript):
    file = "toggle_pin.lua"
    repeatable = False

    async def __call__(self, site_id: SiteId, page_id: PageId, comment_id: CommentId, *, now_ms: int) -> bool:
        keys = self._keys.site(site_id)
        pinned = await self._run(
            keys=[
                keys.comment(comment_id),
                keys.page(page_id),
                keys.page_new(page_id),
                keys.pinned(page_id),
                *change_keys(keys, page_id),
            ],
            args=[comment_id, now_ms, page_id],
        )
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
        keys = self._keys.site(site_id)
        answers = await self._run(
            keys=[level_index(keys, page_id, parent_id, cursor.sort) for parent_id in levels],
            args=["least" if cursor.sort == "old" else "best", limit, *[cursor.score, cursor.after] * len(levels)],
        )
        return [list(zip(map(CommentId, flat[::2]), flat[1::2], strict=True)) for flat in answers]
