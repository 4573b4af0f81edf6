"""What moderators decide, taught to the filter and kept with the author: the handler of the outbox."""

from typing import TypeVar

import msgspec
from msgspec import Struct

from threadkit.clock import Clock, from_iso
from threadkit.comments.model import Comment
from threadkit.comments.queries import CommentQueries
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.moderation.authors import AuthorRecords
from threadkit.moderation.filter import LearningFilter
from threadkit.moderation.learning_scripts import Decision, stamp_of
from threadkit.moderation.tokens import Reading, read
from threadkit.outbox.handlers import Event, Handlers
from threadkit.outbox.model import NotUnderstood
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.model import ANONYMOUS_USER, DELETED_USER

T = TypeVar("T")

DECISIONS: dict[str, Decision] = {
    "approve": "approved",
    "appeal_granted": "approved",
    "reject": "rejected",
    "spam": "rejected",
    "undo_approve": "undo",
    "undo_appeal_granted": "undo",
    "undo_reject": "undo",
    "undo_spam": "undo",
}
"""Other actions (deleting, hiding after reports) may have any reason, so nothing is learnt from them."""


class _Moderated(Struct):
    """`text` is there when the comment may be gone before it is read; `seen` is the `updated_at` of what was decided
    about."""

    comment_id: CommentId
    user_id: UserId
    action: str
    at: str | None = None
    text: str | None = None
    seen: str | None = None


class Learning:
    """Each decision counts once, and the latest about a comment is the one that counts, in whatever order they come."""

    def __init__(
        self, *, redis: Commands, keys: Keys, clock: Clock, learning: LearningFilter, comment_queries: CommentQueries
    ) -> None:
        self._clock = clock
        self._learning = learning
        self._comment_queries = comment_queries
        self._authors = AuthorRecords(redis=redis, keys=keys)

    def register(self, handlers: Handlers) -> None:
        handlers.on("moderated", "learning", self.moderated)

    async def moderated(self, site_id: SiteId, entry_id: str, event: Event) -> None:
        decided = _understood(event, _Moderated)
        decision = DECISIONS.get(decided.action)
        if decision is None:
            return
        author = None if decided.user_id in (ANONYMOUS_USER, DELETED_USER) else decided.user_id
        comment = await self._comment_queries.by_id(site_id, decided.comment_id)
        await self._learning.learn(
            site_id,
            decided.comment_id,
            decision,
            await self._reading(site_id, decided, comment, author),
            stamp=stamp_of(entry_id),
            at_ms=_ms(decided.at) or self._clock.now_ms(),
            author=author,
        )

    async def _reading(
        self, site_id: SiteId, decided: _Moderated, comment: Comment | None, author: UserId | None
    ) -> Reading:
        text = decided.text
        if text is None and comment is not None and not comment.is_gone and decided.seen in (None, comment.updated_at):
            text = comment.content
        if text is None:
            return Reading([], {})
        is_known = False
        if author:
            written_ms = comment.created_ms if comment else self._clock.now_ms()
            _, is_known = await self._authors.look(site_id, author, now_ms=written_ms, besides=decided.comment_id)
        return read(text, is_new=not is_known)


def _ms(at: str | None) -> int | None:
    try:
        return from_iso(at) if at else None
    except ValueError:
        raise NotUnderstood(f"moderated: {at!r} is not a time") from None


def _understood(event: Event, kind: type[T]) -> T:
    try:
        return msgspec.convert(event, kind)
    except msgspec.ValidationError as error:
        raise NotUnderstood(f"{event.get('type')}: {error}") from None
