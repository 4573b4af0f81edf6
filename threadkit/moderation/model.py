"""What is screened, what is known about it, and what comes of it. No I/O here."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from threadkit.errors import Forbidden
from threadkit.ids import CommentId, PageId
from threadkit.moderation.likeness import Sketch
from threadkit.sites.model import Site
from threadkit.sites.roles import Role
from threadkit.users.viewer import Viewer

Kind = Literal["pass", "hold", "refuse"]


class ContentRejected(Forbidden):
    """Content rejected: {why}"""

    code = "content_rejected"


LOOKED_AT_FIRST = "somebody looks at the first comments of new authors"
"""What authors are told when a check could not be asked: that is nothing of theirs."""


class Reason(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a comment was held or refused: a code that stays, and a sentence for moderators."""

    code: str
    sentence: str
    told: str = ""
    """What the author is told instead, where the sentence would help to get around it."""


class Verdict(Struct, frozen=True, kw_only=True):
    """What comes of screening. A refusal is an error to whoever wrote; the others are values."""

    kind: Kind = "pass"
    reasons: Sequence[Reason] = ()
    notes: Sequence[str] = ()
    """What moderators should know of it, though it is no reason for anything."""

    def error(self) -> ContentRejected:
        """The error of a refusal: 403 `content_rejected`."""
        first = self.reasons[0]
        return ContentRejected(why=first.told or first.sentence, reason=first.code)


PASS = Verdict()


class Attempt(Struct, frozen=True, kw_only=True):
    """A comment, or another text for one, that somebody wants to publish."""

    site: Site
    author: Viewer | None
    author_name: str
    text: str
    """Cleaned source, not HTML."""
    links: int = 0
    link_hosts: Sequence[str] = ()
    page_id: PageId | None = None
    page_url: str | None = None
    parent_id: CommentId | None = None
    is_edit: bool = False
    comment_id: CommentId | None = None
    client: str = ""
    """The address as a keyed hash; empty when there is none."""
    honeypot: str = ""
    form_age_ms: int | None = None
    turnstile_token: str | None = None

    @property
    def is_staff(self) -> bool:
        return self.author is not None and self.author.role >= Role.MODERATOR

    @property
    def is_guest(self) -> bool:
        return self.author is None or self.author.user.is_guest


class Remembered(Struct, frozen=True, kw_only=True):
    """A text that somebody wrote a short while ago."""

    comment_id: CommentId
    page_id: str
    at_ms: int
    sketch: Sketch


class History(Struct, frozen=True, kw_only=True):
    """What moderators decided about an author's comments on this site: ever, and in the last seven days."""

    approved: int = 0
    rejected: int = 0
    decided_lately: int = 0
    rejected_lately: int = 0


class Judgement(Struct, frozen=True, kw_only=True):
    """What the learning filter makes of a text: how sure it is, from 0 to 1, and why in a few words."""

    sureness: float
    why: Sequence[str] = ()
    approved: int = 0
    rejected: int = 0
    """How many decisions of both kinds it has learnt from."""


class Facts(Struct, frozen=True, kw_only=True):
    """Everything that the screens need, gathered before they are asked."""

    attempt: Attempt
    now_ms: int
    is_known: bool = False
    """Whether something of the author's stands on this site for a day, or was approved."""
    history: History = History()
    recent: Sequence[Remembered] = ()
    judgement: Judgement | None = None
