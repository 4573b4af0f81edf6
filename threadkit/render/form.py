"""The form with which guests write without JavaScript, and the token that shows that it came from us.

A guest has no session that another page could abuse. The token is bound to site and page and gets old, so that nobody
posts blindly, and it names one form: sending that twice is one comment.
"""

import hmac
import secrets
from typing import Literal
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from threadkit.clock import Clock
from threadkit.comments.model import Comment, CommentDraft, Visit
from threadkit.comments.routes import AuthorNameRequired, may_write
from threadkit.errors import Forbidden, Invalid, InvalidParameter, WrongShape
from threadkit.http.parameters import as_id
from threadkit.http.request import Request
from threadkit.ids import CommentId, PageId, SiteId, digest
from threadkit.pages.model import Page, PageRef
from threadkit.services import Services
from threadkit.settings import Settings
from threadkit.sites.model import Site
from threadkit.text import clean_source

OLDEST_MS = 86_400_000
CLOCKS_DIFFER_MS = 60_000
LONGEST_NAME = 200
MOST_FIELDS = 20
FORM = "application/x-www-form-urlencoded"


class FormExpired(Invalid):
    """This form was open for too long. Your text is still here: please send it once more."""

    code = "form_expired"


class NeedsJavaScript(Forbidden):
    """Writing on this site needs JavaScript or an account."""

    code = "needs_javascript"


class Filled(Struct, frozen=True, kw_only=True):
    """A form as it was sent."""

    name: str = ""
    content: str = ""
    parent: str = ""
    token: str = ""
    website: str = ""
    """The trap: nobody sees this field."""


class FormTokens:
    def __init__(self, key: bytes, clock: Clock) -> None:
        self._key = key
        self._clock = clock

    def make(self, site_id: SiteId, page_id: PageId) -> str:
        made = f"{self._clock.now_ms():x}.{secrets.token_hex(8)}"
        return f"{made}.{self._mark(made, site_id, page_id)}"

    def age_ms(self, token: str, site_id: SiteId, page_id: PageId) -> int:
        """How long the form was open. Raises FormExpired, also for what is not ours: the answer has a fresh token."""
        made, _, mark = token.rpartition(".")
        if not hmac.compare_digest(mark.encode(), self._mark(made, site_id, page_id).encode()):
            raise FormExpired
        age = self._clock.now_ms() - int(made.partition(".")[0], 16)
        if not -CLOCKS_DIFFER_MS <= age <= OLDEST_MS:
            raise FormExpired
        return age

    def _mark(self, made: str, site_id: SiteId, page_id: PageId) -> str:
        return hmac.digest(self._key, f"{made} {site_id} {page_id}".encode(), "sha256").hex()[:40]


def form_limit(settings: Settings) -> int:
    """Twelve bytes for a character that a form sends percent-encoded, and room for the rest."""
    return max(settings.body_limit, 12 * (settings.max_comment_length + LONGEST_NAME) + 4096)


def who_may_write(site: Site, page: Page) -> Literal["guests", "members", "nobody"]:
    settings = site.settings
    if settings.posting_disabled or page.locked:
        return "nobody"
    # What shows that somebody is human needs a script.
    is_challenged = settings.turnstile.enabled and settings.turnstile.enforce_on != "none"
    if not settings.auth.anonymous or settings.require_verification or is_challenged:
        return "members"
    return "guests"


async def read_form(request: Request) -> Filled:
    if request.content_type[0].lower() != FORM:
        raise InvalidParameter(name="Content-Type", why=f"must be {FORM}")
    body = await request.body()
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Invalid("The form cannot be read.") from None
    filled = msgspec.convert(dict(pairs), Filled)
    # Browsers send two characters for a line break that counted as one while typing.
    return replace(filled, content=filled.content.replace("\r\n", "\n"))


async def post(
    services: Services, tokens: FormTokens, site: Site, ref: PageRef, page_id: PageId, filled: Filled, *, visit: Visit
) -> Comment:
    """The story of `POST /v1/comments`, for what a form can say."""
    visit = replace(visit, honeypot=filled.website, form_age_ms=max(0, tokens.age_ms(filled.token, site.id, page_id)))
    name = clean_source(filled.name).replace("\n", " ")
    try:
        may_write(site, None, name)
    except AuthorNameRequired:
        raise AuthorNameRequired("Please write your name.") from None
    if site.settings.turnstile.enabled and site.settings.turnstile.enforce_on != "none":
        raise NeedsJavaScript
    draft = _draft(filled, ref, name)
    request_key = digest(msgspec.json.encode(["form", visit.client, filled.token, draft]).decode())[:32]
    return await services.comments.post(site, draft, author=None, request_key=request_key, visit=visit)


def _draft(filled: Filled, ref: PageRef, name: str) -> CommentDraft:
    given: dict[str, object] = {"page_url": ref.url, "content": filled.content, "author_name": name}
    if ref.name:
        given["page_id"] = ref.name
    if filled.parent:
        given["parent_path"] = [as_id(CommentId, filled.parent)]
    try:
        return msgspec.convert(given, CommentDraft)
    except msgspec.ValidationError as error:
        raise WrongShape(field="form", why=str(error)) from None
