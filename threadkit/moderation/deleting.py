"""Deleting a comment as a moderator, and taking that back while it can be undone."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from threadkit import scoring
from threadkit.clock import Clock
from threadkit.comments.model import Comment, CommentChanged, CommentNotFound, ParentNotFound, Status, deleted_fields
from threadkit.comments.queries import CommentQueries
from threadkit.comments.scripts import DeleteComment, RestoreComment
from threadkit.comments.snapshots import Snapshots
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.moderation.decision_scripts import Decided, TooLateToUndo
from threadkit.moderation.log import LogEntry
from threadkit.notifications.model import ModAction
from threadkit.pages.service import PageService
from threadkit.sites.model import Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.viewer import Viewer

MOST_TRIES = 10


class _KeptFields(Struct):
    author_id: UserId
    is_unposted: str | None = None


class _Kept(Struct):
    """As much as one must know beforehand of what a deletion took."""

    fields: _KeptFields


class Deleting:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        comment_queries: CommentQueries,
        snapshots: Snapshots,
        pages: PageService,
        wake_outbox: Callable[[SiteId], None],
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._comment_queries = comment_queries
        self._snapshots = snapshots
        self._pages = pages
        self._wake_outbox = wake_outbox
        self._delete_comment = DeleteComment(redis, keys)
        self._restore_comment = RestoreComment(redis, keys)

    async def delete(
        self,
        site: Site,
        comment_id: CommentId,
        *,
        by: Viewer,
        reason: str | None = None,
        expects: Literal["pending"] | None = None,
        seen: str | None = None,
    ) -> Decided:
        for _ in range(MOST_TRIES):
            comment = await self._comment_queries.by_id(site.id, comment_id)
            if comment is None or comment.is_gone:
                raise CommentNotFound
            seen = comment.text_seen(seen)
            ancestors = await self._comment_queries.ancestors(comment)
            now_ms = self._clock.now_ms()
            try:
                deleted = await self._delete_comment(
                    comment,
                    ancestors,
                    fields=deleted_fields(),
                    by=by.id,
                    now_ms=now_ms,
                    entry=_entry(site, "delete", comment, comment.author_id, by, now_ms) | {"reason": reason},
                    events=[_told("delete", comment, comment.author_id, by, now_ms, reason=reason)],
                    expects=Status(expects) if expects else None,
                    seen=seen or comment.updated_at,
                )
            except CommentChanged:  # its page moved, or its author was at it
                await self._pages.bring(site.id, comment)
                continue
            if deleted is None:
                raise CommentNotFound
            self._done(site, comment)
            return Decided(deleted.before, deleted.entry_id)
        raise CommentChanged

    async def restore(self, site: Site, deletion: LogEntry, *, by: Viewer) -> Decided:
        """The comment as it was. Whatever happened around it meanwhile stays."""
        comment_id = deletion.comment_id
        for _ in range(MOST_TRIES):
            comment = await self._comment_queries.by_id(site.id, comment_id) if comment_id else None
            if comment is None:
                raise CommentNotFound
            kept = await self._redis.get(self._keys.site(site.id).kept(comment.id))
            if kept is None:
                break
            fields = msgspec.json.decode(kept, type=_Kept).fields
            author_id = fields.author_id
            counted = {} if fields.is_unposted else {"author_id": author_id}
            ancestors = await self._comment_queries.ancestors(comment)
            now_ms = self._clock.now_ms()
            try:
                restored = await self._restore_comment(
                    comment,
                    ancestors,
                    author_id=author_id,
                    hot=[self._hot(site, node) for node in [comment, *ancestors]],
                    undoes=deletion.id,
                    now_ms=now_ms,
                    entry=_entry(site, "undo_delete", comment, author_id, by, now_ms),
                    events=[_told("undo_delete", comment, author_id, by, now_ms)],
                    told_again=msgspec.json.encode({"type": "comment_restored", "comment_id": comment.id} | counted),
                )
            except CommentChanged:  # somebody voted in between, or its page moved
                await self._pages.bring(site.id, comment)
                continue
            except ParentNotFound:
                raise TooLateToUndo(why="what it hangs on has changed too much") from None
            if restored is None:
                break
            self._done(site, comment)
            return Decided(restored.before, restored.entry_id)
        raise TooLateToUndo(why="what it takes is not kept any more")

    def _done(self, site: Site, comment: Comment) -> None:
        self._snapshots.drop(comment.page_id)
        self._wake_outbox(site.id)

    def _hot(self, site: Site, comment: Comment) -> str:
        return scoring.as_text(scoring.hot(site.settings.hot, comment.upvotes, comment.downvotes, comment.created_ms))


def _entry(site: Site, action: str, comment: Comment, author_id: UserId, by: Viewer, now_ms: int) -> dict[str, Any]:
    facts: dict[str, Any] = {"site_id": site.id, "action": action, "comment_id": comment.id, "by": by.id}
    return facts | {"user_id": author_id, "at_ms": now_ms, "seen": comment.updated_at}


def _told(
    action: str, comment: Comment, author_id: UserId, by: Viewer, now_ms: int, *, reason: str | None = None
) -> bytes:
    """The author hears of it."""
    told = ModAction(user_id=author_id, action=action, comment_id=comment.id, by=by.id, reason=reason, at_ms=now_ms)
    return told.encoded
