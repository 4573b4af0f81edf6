"""A comment and the compact shapes that go over the wire. No I/O here."""

import enum
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from threadkit.clock import from_iso
from threadkit.errors import Conflict, Forbidden, Invalid, NotFound
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.pages.model import LONGEST_URL, PageName
from threadkit.users.model import DELETED_USER

Sort = Literal["new", "old", "top", "hot", "controversial"]
AskedSort = Literal[Sort, "default"]
"""`default` is the order that the site has chosen, for those who do not know it yet."""
AppealState = Literal["open", "granted", "declined"]
HIDE_AT = 3.0
"""Reports of this weight together hide a comment until a moderator has looked."""
DELETED_TEXT = "[deleted]"
LONGEST_FORM_MS = 366 * 86_400_000


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
    """This comment has too many special characters, such as & and <."""

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


class NotInThisState(Conflict):
    """This comment is {status}."""

    code = "not_in_this_state"


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
    is_unposted: bool | None = None
    """Never shown so far: its author's total counts it, and others hear of it, when it is."""
    buried: CommentId | None = None
    """Hidden because this comment above it is."""
    is_erased: bool | None = None
    """Deleted while it was hidden together with its replies, so that not even its place is shown."""
    pinned_ms: int | None = None
    """When it was pinned, while it is hidden: the pin comes back with it."""
    page_title: str | None = None
    """What its author's page is called, until it is shown and the page is called so."""
    held_for: list[str] | None = None
    """Why it waits for a moderator, or was turned down."""
    told_why: list[str] | None = None
    """What its author is told of that, where it is less."""
    flags: list[str] | None = None
    """What an outside check noted about it for moderators."""
    decided_by: UserId | None = None
    """The moderator who decided last."""
    decided_in: str | None = None
    """The entry of the log with the newest decision about it: only that one can be undone."""
    report_weight: float | None = None
    appeal: str | None = None
    """Why its author thinks that it should be shown after all; once for each comment."""
    appealed_ms: int | None = None
    appeal_state: AppealState | None = None
    mentions: list[UserId] | None = None
    answers: CommentId | None = None
    """What it answers, where that is not what it hangs on because threads do not get deeper."""

    @property
    def is_gone(self) -> bool:
        return self.status is Status.DELETED or bool(self.is_erased)

    @property
    def answered_id(self) -> CommentId | None:
        return self.answers or self.parent_id

    @property
    def created_ms(self) -> int:
        return from_iso(self.created_at)

    @property
    def score(self) -> int:
        return self.upvotes - self.downvotes

    def text_seen(self, seen: str | None) -> str | None:
        """The `updated_at` of the text that is decided about. A decision that names none is about the text of the appeal,
        while one waits. Raises CommentChanged when its author has written another since."""
        if seen is None and self.appeal_state == "open":
            if from_iso(self.updated_at) > (self.appealed_ms or 0):
                raise CommentChanged
            return self.updated_at
        if seen not in (None, self.updated_at):
            raise CommentChanged
        return seen

    @property
    def is_hidden_by_reports(self) -> bool:
        return self.status is Status.PENDING and (self.report_weight or 0) >= HIDE_AT

    @property
    def may_be_appealed(self) -> bool:
        """Turned down, or hidden because several people reported it, and its author has not asked before."""
        return self.appeal_state is None and (self.is_hidden_by_reports or self.status is Status.REJECTED)


class Closing(Struct, frozen=True, kw_only=True):
    """What the people are told whose reports are closed. It is a verdict on them when a moderator has looked who did not
    write the comment."""

    comment_id: CommentId
    outcome: Literal["stays", "removed"]
    by: UserId | None
    at_ms: int
    is_verdict: bool = True


class CommentPlace(Struct, frozen=True):
    """Where a comment stands: as much as it takes to vote on it."""

    id: CommentId
    site_id: SiteId
    page_id: PageId
    parent_id: CommentId | None
    created_ms: int
    score: int


class TreeComment(Struct, kw_only=True, omit_defaults=True):
    """A comment on the wire: short names, because a page has many.

    `rc` and `rn` are there only where a window leaves replies out: how many there are, and the cursor to the next."""

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
    rc: int | UnsetType = UNSET
    rn: str | UnsetType = UNSET

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
            s=UNSET
            if comment.status is Status.APPROVED
            else (Status.DELETED if comment.is_gone else comment.status).value,
            q=comment.answered_id or UNSET,
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
    locked: bool = False
    version: int = 0
    next: str | UnsetType = UNSET


class Replies(Struct, omit_defaults=True):
    """The answer to `GET /v1/comments/{id}/replies`."""

    replies: list[TreeComment]
    next: str | UnsetType = UNSET


class CommentItem(Struct):
    """A comment in a list over pages. `page_url` is there to be followed, so it is empty unless it is a web address.

    `reasons`, `appeal` and `may_appeal` are for its author, about a comment that others do not see: why, and whether
    another look can be asked for."""

    page_id: PageId
    comment: TreeComment
    page_url: str
    reasons: list[str] | UnsetType = UNSET
    appeal: AppealState | UnsetType = UNSET
    may_appeal: bool | UnsetType = UNSET
    updated_at: str | UnsetType = UNSET
    """For moderators: it names the text that they see."""

    @classmethod
    def of(cls, comment: Comment, page_url: str, *, is_own: bool = False, is_for_staff: bool = False) -> "CommentItem":
        is_web = page_url.startswith(("https://", "http://"))
        item = cls(comment.page_id, TreeComment.of(comment), page_url if is_web else "")
        if is_for_staff:
            item.updated_at = comment.updated_at
        if is_own and comment.status in (Status.PENDING, Status.REJECTED):
            item.reasons = comment.told_why or comment.held_for or []
            item.may_appeal = comment.may_be_appealed
        if is_own and comment.appeal_state:
            item.appeal = comment.appeal_state
        return item


class Visit(Struct, frozen=True, kw_only=True):
    """What a request tells of who sends it; none of it is kept with the comment."""

    client: str = ""
    """The address as a keyed hash."""
    address: str = ""
    user_agent: str = ""
    turnstile_token: str | None = None
    honeypot: str = ""
    form_age_ms: int | None = None


class Objections(Struct, frozen=True):
    """Why a comment must wait: in full for moderators, and what its author is told of it. One with notes only need not
    wait, and counts as false."""

    reasons: list[str]
    told: list[str]
    notes: list[str] = []
    """What moderators should know of it besides."""

    def __bool__(self) -> bool:
        return bool(self.reasons)

    @property
    def fields(self) -> dict[str, list[str] | None]:
        """As the comment keeps them."""
        return {
            "held_for": self.reasons or None,
            "told_why": self.told if self.told != self.reasons else None,
            "flags": self.notes or None,
        }

    def beside(self, comment: Comment) -> "Objections":
        """Together with why the comment waits already, and what was noted."""
        before, noted = comment.held_for or [], comment.flags or []
        told = comment.told_why or before
        return Objections(
            [*before, *(reason for reason in self.reasons if reason not in before)],
            [*told, *(reason for reason in self.told if reason not in told)],
            [*noted, *(note for note in self.notes if note not in noted)],
        )


class CommentDraft(Struct):
    """What somebody sends to be posted."""

    content: str
    page_url: Annotated[str, Meta(min_length=1, max_length=LONGEST_URL)] | None = None
    page_id: PageName | None = None
    parent_path: Annotated[list[str], Meta(max_length=10_000)] | None = None
    author_name: Annotated[str, Meta(max_length=200)] | None = None
    title: Annotated[str, Meta(max_length=500)] | None = None
    website: Annotated[str, Meta(max_length=LONGEST_URL)] = ""
    """The trap: nobody sees this field."""
    form_age_ms: Annotated[int, Meta(ge=0, le=LONGEST_FORM_MS)] | None = None
    """How long the form was open, as the sender says."""


def deleted_fields(text: str = DELETED_TEXT) -> dict[str, str]:
    """What is left of a comment that was deleted."""
    return {
        "author_id": DELETED_USER,
        "author_name": DELETED_TEXT,
        "author_karma": "0",
        "content": text,
        "content_html": f"<p>{text}</p>",
        "status": Status.DELETED.value,
    }
