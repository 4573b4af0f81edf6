"""What a sign-in at a provider is made of. No I/O here."""

import re
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct, field

from threadkit.errors import Invalid, NotFound
from threadkit.ids import SiteId
from threadkit.sites.model import PageRule, Site, origin_host
from threadkit.users.model import AuthResponse, check_avatar_url, normal_email

LONGEST_TOKEN = 16_384
LONGEST_NAME = 100

STATE = re.compile(r"^[A-Za-z0-9_-]{43}$")


class ProviderEndpoints(Struct, frozen=True, kw_only=True):
    """Where the providers are that have a fixed place."""

    google_issuer: str = "https://accounts.google.com"
    github_authorize: str = "https://github.com/login/oauth/authorize"
    github_token: str = "https://github.com/login/oauth/access_token"  # noqa: S105 - an address
    github_api: str = "https://api.github.com"
    discord_authorize: str = "https://discord.com/oauth2/authorize"
    discord_token: str = "https://discord.com/api/oauth2/token"  # noqa: S105 - an address
    discord_api: str = "https://discord.com/api"


class UnknownProject(Invalid):
    """Invalid API key"""

    code = "unknown_project"


class CodeMissing(Invalid):
    """The provider sent no code. Please start the sign-in again."""

    code = "oauth_code_missing"


class ProviderOff(NotFound):
    """This site does not offer this way of signing in."""

    code = "provider_off"


class ProviderTrouble(Exception):
    """The sign-in cannot go on: a sentence for people, and a reason for the log that holds no secret."""

    def __init__(self, reason: str, sentence: str = "The provider did not answer as it should. Please try again."):
        self.reason = reason
        self.sentence = sentence
        super().__init__(reason)


class RefreshRefused(ProviderTrouble):
    """The provider takes this refresh token no longer."""


class PendingSignIn(Struct, frozen=True, kw_only=True):
    """What we remember while somebody is at the provider; stored as JSON for ten minutes, used once."""

    verifier: str
    nonce: str
    site_id: SiteId
    origin: str | None
    claim_digest: str = field(name="claimTokenDigest")


class GrantedTokens(Struct, frozen=True, kw_only=True):
    """The answer of a token endpoint."""

    access_token: Annotated[str, Meta(min_length=1, max_length=LONGEST_TOKEN)]
    token_type: Annotated[str, Meta(max_length=50)] = "Bearer"  # noqa: S105 - a kind, not a token
    refresh_token: Annotated[str, Meta(max_length=LONGEST_TOKEN)] | None = None
    expires_in: Annotated[int, Meta(ge=0, le=10 * 365 * 86_400)] | None = None
    scope: Annotated[str, Meta(max_length=2000)] | None = None
    id_token: str | None = None


class ProviderSession(Struct, frozen=True, kw_only=True):
    """The provider's side of a session, as stored under `sess:{id}`; both tokens are sealed, times are in ms."""

    uid: str
    name: str
    avatar: str | None
    access_token: str
    refresh_token: str | None
    scope: str
    token_type: str
    access_expires_at: int | None
    created_at: int
    last_seen_at: int
    ver: int = 1


class Departure(Struct, frozen=True):
    """Where to send the browser, and the cookie by which it is known again."""

    url: str
    cookie_name: str
    cookie: str


class ProviderReply(Struct, frozen=True, kw_only=True):
    """What the browser brings back from the provider."""

    state: str
    code: str
    error: str
    issuer: str
    cookies: Mapping[str, str]


class Outcome(Struct, frozen=True, kw_only=True):
    """How a sign-in ended, and the origin of the page that may hear of it."""

    auth: AuthResponse | None = None
    error: str = ""
    target: str | None = None


def cookie_name(state: str, *, is_https: bool) -> str:
    """Over HTTPS browsers see to it that no other host under the same domain can plant it."""
    return f"{'__Host-' if is_https else ''}tk_oauth_{state[:8]}"


def page_origin(page: str, site: Site, rule: PageRule) -> str | None:
    """`scheme://host[:port]` of a page that may speak for the site; None for any other."""
    if origin_host(page) is None or not page.isascii() or not rule.allows(page, site):
        return None
    parts = urlsplit(page.strip())
    return f"{parts.scheme}://{parts.netloc.lower()}" if parts.scheme in ("http", "https") else None


def clean_name(name: object) -> str:
    """A name from elsewhere: text, printable, not endless."""
    text = name[: 4 * LONGEST_NAME] if isinstance(name, str) else ""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:LONGEST_NAME]


def clean_avatar(url: object) -> str | None:
    if not isinstance(url, str) or not url.startswith("https://"):
        return None
    try:
        return check_avatar_url(url)
    except Invalid:
        return None


def proved_email(email: object, *, is_verified: object) -> str | None:
    """An address only if the provider has seen proof of it, and we could write to it."""
    if is_verified is not True or not isinstance(email, str):
        return None
    try:
        return normal_email(email)
    except Invalid:
        return None
