"""A notification as it is kept and as it is sent. No I/O here.

Kept is only what cannot be looked up again. The words of a comment, the address of its page and the name of its author
are taken from where they are when somebody reads, so that nothing outlives what it was taken from.
"""

import html
import re
import uuid
from collections.abc import Container
from typing import Annotated, Literal, NewType, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from threadkit.clock import iso
from threadkit.comments.model import Comment, Status
from threadkit.comments.tree import is_visible
from threadkit.errors import NotFound
from threadkit.ids import CommentId, PageId, SiteId, UserId, digest
from threadkit.users.model import ANONYMOUS_USER, DELETED_USER, User, UserPublic

NotificationId = NewType("NotificationId", str)
Kind = Literal["reply", "mention", "upvote", "mod_action"]
"""What clients know (contract 3.2). What became of one's reports is a `mod_action` to them."""
Topic = Literal["reply", "mention", "upvote", "mod_action", "report_outcome"]
"""What people can switch off."""
TOPICS: tuple[Topic, ...] = get_args(Topic)
NOBODY = frozenset({ANONYMOUS_USER, DELETED_USER})

UPVOTES_GROUPED_MS = 3_600_000
LONGEST_EXCERPT = 140
LONGEST_REASON = 500

_BLOCKS = re.compile(r"</?(?:p|br|hr|li|ul|ol|pre|blockquote|h[1-6]|t[rdh])\b[^>]*(?:>|$)")
_TAGS = re.compile(r"<[^>]*(?:>|$)")


class NotificationNotFound(NotFound):
    """There is no such notification."""

    code = "notification_not_found"


class Notification(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A member of `user:{id}:notifications`. The scripts change `read`, `count` and `from_user_id` where they stand, so
    the id stays first and none of these last."""

    id: NotificationId
    notification_type: Kind
    comment_id: CommentId | None
    from_user_id: UserId | None
    read: bool
    created_at: str
    site_id: SiteId
    count: int | UnsetType = UNSET
    action: str | None = None
    reason: str | None = None
    excerpt: str | None = None
    outcome: str | None = None


class NotificationView(Struct, frozen=True, kw_only=True):
    """A notification on the wire. Contract 3.2, and what one needs to show it without asking again."""

    id: NotificationId
    notification_type: Kind
    comment_id: CommentId | None
    from_user_id: UserId | None
    read: bool
    created_at: str
    from_user: UserPublic | None
    from_name: str | None
    count: int
    site_id: SiteId
    page_id: PageId | None
    page_url: str
    excerpt: str
    action: str | None
    reason: str | None
    outcome: str | None
    """Of what one reported: `stays` or `removed`."""


class NotificationPage(Struct):
    notifications: list[NotificationView]
    unread_count: int
    has_more: bool


class Preferences(Struct, frozen=True, kw_only=True):
    """Of what a person wants to be told."""

    reply: bool = True
    mention: bool = True
    upvote: bool = True
    mod_action: bool = True
    report_outcome: bool = True

    @classmethod
    def stored(cls, switched_off: str | None) -> "Preferences":
        off = (switched_off or "").split()
        return cls(**{topic: topic not in off for topic in TOPICS})

    @property
    def switched_off(self) -> str:
        """As the profile keeps it: nothing for those who never chose."""
        return " ".join(topic for topic in TOPICS if not getattr(self, topic))

    def wants(self, topic: Topic) -> bool:
        return bool(getattr(self, topic))


class ModAction(Struct, kw_only=True, omit_defaults=True, tag="mod_action", tag_field="type"):
    """The event with which moderation tells a user what was done: `encoded` goes to the outbox, in the same step as the
    deed. Who did it (`by`) is not told; it only keeps moderators from hearing of themselves."""

    user_id: UserId
    action: Annotated[str, Meta(min_length=1, max_length=100)]
    comment_id: CommentId | None = None
    by: UserId | None = None
    reason: Annotated[str, Meta(max_length=LONGEST_REASON)] | None = None
    excerpt: Annotated[str, Meta(max_length=LONGEST_EXCERPT)] | None = None
    at_ms: int | None = None

    @property
    def encoded(self) -> bytes:
        return msgspec.json.encode(self)


def notification_id(ms: int, *about: str) -> NotificationId:
    """A uuid v7 that the same facts give again. Its time is the notification's, so that it is found by its id."""
    chance = int(digest("\n".join(about))[:32], 16)
    return NotificationId(
        str(
            uuid.UUID(
                int=(ms << 80) | (0x7 << 76) | ((chance >> 64 & 0xFFF) << 64) | (0b10 << 62) | chance & (1 << 62) - 1
            )
        )
    )


def about_comment(kind: Kind, comment: Comment, recipient: UserId, at_ms: int) -> Notification:
    """That a comment answers or names somebody. Once for each of them, however often it is said."""
    return Notification(
        id=notification_id(at_ms, kind, comment.id, recipient),
        notification_type=kind,
        comment_id=comment.id,
        from_user_id=comment.author_id,
        read=False,
        created_at=iso(at_ms),
        site_id=comment.site_id,
    )


def excerpt_of(comment: Comment) -> str:
    """The beginning of what a comment says, as plain text on one line."""
    bare = _TAGS.sub("", _BLOCKS.sub(" ", comment.content_html[: 40 * LONGEST_EXCERPT]))
    words = " ".join(html.unescape(bare).split())
    return words if len(words) <= LONGEST_EXCERPT else words[: LONGEST_EXCERPT - 1].rstrip() + "…"


def is_told(comment: Comment | None) -> bool:
    """Whether anybody is told of a comment at all."""
    return (
        comment is not None
        and comment.status is Status.APPROVED
        and is_visible(comment, None, frozenset())
        and comment.author_id != DELETED_USER
    )


def still_stands(notice: Notification, comment: Comment | None, recipient: UserId, blocked: Container[UserId]) -> bool:
    """Whether a notification is still about something that its recipient may see."""
    if notice.notification_type == "mod_action":
        return True
    if comment is None or comment.status is not Status.APPROVED:
        return False
    if notice.notification_type == "upvote":
        is_from_one = notice.count == 1 and notice.from_user_id is not None
        return comment.author_id == recipient and not (is_from_one and notice.from_user_id in blocked)
    if not is_told(comment) or comment.author_id in blocked:
        return False
    return notice.notification_type == "reply" or recipient in (comment.mentions or [])


def is_hidden_for_now(
    notice: Notification, comment: Comment | None, recipient: UserId, blocked: Container[UserId]
) -> bool:
    """Whether one that does not stand may stand again, because its comment is only hidden or may be restored."""
    if comment is None or comment.is_gone:
        return comment is not None
    is_unnamed = notice.notification_type == "mention" and recipient not in (comment.mentions or [])
    is_from_nobody = comment.author_id == DELETED_USER or comment.author_id in blocked
    return not (is_told(comment) or is_from_nobody or is_unnamed)


def view_of(
    notice: Notification, *, comment: Comment | None, page_url: str | None, sender: User | None
) -> NotificationView:
    url = page_url or (comment.page_url if comment else "")
    is_by_author = notice.notification_type in ("reply", "mention")
    author = comment.author_name if comment and is_by_author else None
    shown = excerpt_of(comment) if comment and notice.notification_type != "mod_action" else ""
    return NotificationView(
        id=notice.id,
        notification_type=notice.notification_type,
        comment_id=notice.comment_id,
        from_user_id=notice.from_user_id,
        read=notice.read,
        created_at=notice.created_at,
        from_user=UserPublic.of(sender) if sender else None,
        from_name=sender.name if sender else author,
        count=notice.count or 1,
        site_id=notice.site_id,
        page_id=comment.page_id if comment else None,
        page_url=url if url.startswith(("https://", "http://")) else "",
        excerpt=notice.excerpt or shown,
        action=notice.action,
        reason=notice.reason,
        outcome=notice.outcome,
    )
