"""The form with which guests write without JavaScript."""

from typing import Literal
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from threadkit.comments.model import Comment, CommentDraft, Visit
from threadkit.comments.routes import AuthorNameRequired, may_write
from threadkit.errors import Forbidden, Invalid, InvalidParameter, WrongShape
from threadkit.http.parameters import as_id
from threadkit.http.request import Request
from threadkit.ids import CommentId, PageId, digest
from threadkit.pages.model import Page, PageRef
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.text import clean_source
from threadkit.text.names import tidy_name

LONGEST_NAME = 200
MOST_FIELDS = 20
FORM = "application/x-www-form-urlencoded"


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
    services: Services, site: Site, ref: PageRef, page_id: PageId, filled: Filled, *, visit: Visit
) -> Comment:
    """The story of `POST /v1/comments`, for what a form can say."""
    age_ms = services.form_tokens.age_ms(filled.token, site.id, page_id)
    visit = replace(visit, honeypot=filled.website, form_age_ms=max(0, age_ms))
    name = tidy_name(clean_source(filled.name))
    try:
        may_write(site, None, name)
    except AuthorNameRequired:
        raise AuthorNameRequired("Please write your name.") from None
    await services.names.check_guest(name, site)
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
