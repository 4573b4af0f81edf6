"""A comment, a page, and the compact shapes that go over the wire. No I/O here."""

import enum
import uuid
from typing import Annotated, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from msgspec import UNSET, Meta, Struct, UnsetType

from threadkit.clock import from_iso
from threadkit.errors import Conflict, Forbidden, Invalid, NotFound
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.users.model import DELETED_USER

Sort = Literal["new", "old", "top", "hot", "controversial"]
LONGEST_URL = 2000
DELETED_TEXT = "[deleted]"

# Addresses differ in these without meaning another page; dropped where the site says so.
TRACKING = (
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "fbclid",
    "gclid",
    "mc_cid",
    "mc_eid",
)


class PageNotFound(NotFound):
    """Page not found"""

    code = "page_not_found"


class CommentNotFound(NotFound):
    """Comment not found"""

    code = "comment_not_found"


class ParentNotFound(NotFound):
    """Parent comment not found"""

    code = "parent_not_found"


class InvalidPath(Invalid):
    """Path must end with comment ID"""

    code = "invalid_path"


class EmptyComment(Invalid):
    """A comment needs some text."""

    code = "empty_comment"


class CommentTooLong(Invalid):
    """The comment exceeds maximum length of {limit} characters"""

    code = "comment_too_long"


class CommentTooComplex(Invalid):
    """This text is too intricate to be shown. Use less formatting."""

    code = "comment_too_complex"


class NotYourComment(Forbidden):
    """Not your comment"""

    code = "not_your_comment"


class NotAuthorised(Forbidden):
    """Not authorized"""

    code = "not_authorised"


class PostingDisabled(Forbidden):
    """Posting is currently disabled"""

    code = "posting_disabled"


class PageLocked(Forbidden):
    """Posting is disabled on this page"""

    code = "page_locked"


class VerificationRequired(Forbidden):
    """Confirm your e-mail address or phone number before you write here."""

    code = "verification_required"


class VotingOff(Forbidden):
    """Voting is switched off on this site."""

    code = "voting_off"


class OnlyUpvotes(Forbidden):
    """This site has only upvotes."""

    code = "only_upvotes"


class EditWindowOver(Conflict):
    """This comment can no longer be edited."""

    code = "edit_window_over"


class ApprovedAlready(Conflict):
    """On this site a moderator approves what is shown, so an approved comment cannot be changed. Write another."""

    code = "approved_already"


class CommentChanged(Conflict):
    """The comment was changed meanwhile. Load it again."""

    code = "comment_changed"


class Status(enum.StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    DELETED = "deleted"


class Comment(Struct, frozen=True, kw_only=True):
    """A comment as stored under `comment:{id}`; the author's name, avatar and karma are those of the time of writing."""

    id: CommentId
    site_id: SiteId
    page_id: PageId
    page_url: str
    author_id: UserId
    author_name: str
    content: str
    content_html: str
    status: Status
    created_at: str
    updated_at: str
    render_version: int
    author_avatar: str | None = None
    author_karma: int = 0
    parent_id: CommentId | None = None
    upvotes: int = 0
    downvotes: int = 0
    reply_count: int = 0
    depth: int = 0
    edited: bool = False
    is_shadowed: bool | None = None
    mentions: list[UserId] | None = None

    @property
    def created_ms(self) -> int:
        return from_iso(self.created_at)


class Page(Struct, frozen=True, kw_only=True):
    """A page as stored under `page:{id}`."""

    site_id: SiteId
    url: str
    title: str | None = None
    version: int = 0
    comments: int = 0
    updated_ms: int = 0
    locked: bool = False


class TreeComment(Struct, kw_only=True, omit_defaults=True):
    """A comment on the wire: short names, because a page has many."""

    i: CommentId
    a: UserId
    n: str
    p: str | None
    k: int
    t: str
    h: str
    u: int
    d: int
    x: int
    m: int
    e: bool = False
    r: "list[TreeComment]" = []
    s: str | UnsetType = UNSET
    q: CommentId | UnsetType = UNSET

    @classmethod
    def of(cls, comment: Comment) -> "TreeComment":
        return cls(
            i=comment.id,
            a=comment.author_id,
            n=comment.author_name,
            p=comment.author_avatar,
            k=comment.author_karma,
            t=comment.content,
            h=comment.content_html,
            u=comment.upvotes,
            d=comment.downvotes,
            x=from_iso(comment.created_at) // 1000,
            m=from_iso(comment.updated_at) // 1000,
            e=comment.edited,
            r=[],
            s=UNSET if comment.status is Status.APPROVED else comment.status.value,
            q=comment.parent_id or UNSET,
        )


class PageTree(Struct):
    c: list[TreeComment]
    u: int


class Thread(Struct, omit_defaults=True):
    """The answer to `GET /v1/comments`."""

    page_id: PageId
    tree: PageTree
    total: int
    pageviews: int | UnsetType = UNSET
    pinned: list[tuple[CommentId, int]] | UnsetType = UNSET


class CommentItem(Struct):
    """A comment in a list over pages. `page_url` is there to be followed, so it is empty unless it is a web address."""

    page_id: PageId
    comment: TreeComment
    page_url: str

    @classmethod
    def of(cls, comment: Comment) -> "CommentItem":
        is_web = comment.page_url.startswith(("https://", "http://"))
        return cls(comment.page_id, TreeComment.of(comment), comment.page_url if is_web else "")


class CommentDraft(Struct):
    """What somebody sends to be posted."""

    page_url: Annotated[str, Meta(min_length=1, max_length=LONGEST_URL)]
    content: str
    parent_path: Annotated[list[str], Meta(max_length=10_000)] | None = None
    author_name: Annotated[str, Meta(max_length=200)] | None = None
    title: Annotated[str, Meta(max_length=500)] | None = None


def normal_url(url: str, *, drop_tracking: bool) -> str:
    """One form for one page: scheme and host folded, fragment dropped. What is no web address stays as it is."""
    text = url.strip()
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return text
    if parts.scheme not in ("http", "https") or not host:
        return text
    default = {"http": 80, "https": 443}[parts.scheme]
    netloc = host.rstrip(".") if port in (None, default) else f"{host.rstrip('.')}:{port}"
    query = parts.query
    if drop_tracking and query:
        kept = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name not in TRACKING]
        query = urlencode(kept)
    # http and https of one address are one page: sites move from one to the other and keep their comments.
    return urlunsplit(("https", netloc, parts.path or "/", query, ""))


def page_id_of(site_id: SiteId, url: str) -> PageId:
    """The same for the same site and address, and for no other."""
    return PageId(str(uuid.uuid5(uuid.UUID(site_id), url)))


def deleted_fields() -> dict[str, str]:
    """What is left of a comment that was deleted."""
    return {
        "author_id": DELETED_USER,
        "author_name": DELETED_TEXT,
        "author_karma": "0",
        "content": DELETED_TEXT,
        "content_html": f"<p>{DELETED_TEXT}</p>",
        "status": Status.DELETED.value,
    }
