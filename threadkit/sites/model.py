"""A site and its settings. No I/O here."""

import enum
import functools
import hmac
import ipaddress
from collections.abc import Callable, Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from threadkit.ids import SiteId, digest
from threadkit.moderation.rules import ScreeningRules
from threadkit.scoring import HotFormula

DEEPEST_SETTING = 4
_USUAL_PORTS = {"http": 80, "https": 443}
_LONGEST_REMEMBERED = 300
PerMinute = Annotated[int, Meta(ge=1, le=100_000)]


class AuthSettings(Struct, frozen=True, kw_only=True):
    """The ways in that visitors of this site have."""

    email: bool = True
    phone: bool = False
    password: bool = False
    anonymous: bool = False
    google: bool = False
    github: bool = False
    discord: bool = False
    oidc: bool = False
    sso: bool = False
    ethereum: bool = False
    solana: bool = False


class DisplaySettings(Struct, frozen=True, kw_only=True):
    show_pageviews: bool = True
    show_vote_counts: bool = True
    default_sort: Literal["new", "old", "top", "hot", "controversial"] = "top"


class RateLimitSettings(Struct, frozen=True, kw_only=True):
    """Limits of this site; absent means the server's own."""

    ip_writes_per_minute: PerMinute | None = None
    ip_reads_per_minute: PerMinute | None = None
    user_writes_per_minute: PerMinute | None = None
    user_reads_per_minute: PerMinute | None = None
    auth_attempts_per_hour: PerMinute | None = None


class BlockedCategories(Struct, frozen=True, kw_only=True):
    hate_speech: bool = True
    harassment: bool = True
    sexual_content: bool = True
    violence: bool = True
    self_harm: bool = True
    spam: bool = True
    illegal_activity: bool = True


class ContentModerationSettings(Struct, frozen=True, kw_only=True):
    enabled: bool = False
    confidence_threshold: Annotated[float, Meta(ge=0, le=1)] = 0.7
    action: Literal["reject", "queue", "flag"] = "reject"
    blocked_categories: BlockedCategories = BlockedCategories()


class TurnstileSettings(Struct, frozen=True, kw_only=True):
    enabled: bool = False
    enforce_on: Literal["all", "anonymous", "unverified", "none"] = "anonymous"
    cache_duration_seconds: Annotated[int, Meta(ge=0, le=86_400)] = 0


class AkismetSettings(Struct, frozen=True, kw_only=True):
    """Akismet gets the visitor's network, and all of the address only with `send_address`."""

    enabled: bool = False
    key: Annotated[str, Meta(pattern=r"^(?:[A-Za-z0-9]{8,64})?$")] = ""
    send_address: bool = False


class WebhookSettings(Struct, frozen=True, kw_only=True):
    """A program of the owner's that is asked about every comment. Without a secret of its own it has a derived one."""

    enabled: bool = False
    url: Annotated[str, Meta(pattern=r"^(?:https://[^/?#@\\\s]+(?:[/?][^#\\\s]*)?)?$", max_length=1000)] = ""
    secret: Annotated[str, Meta(pattern=r"^(?:[!-~]{16,200})?$")] = ""


# Never shown again once they are set.
SECRET_SETTINGS = ("akismet.key", "webhook.secret")
HIDDEN = "(hidden)"


class SiteSettings(Struct, frozen=True, kw_only=True):
    """What an owner decides for one site; defaults are what most sites want."""

    moderation_mode: Literal["none", "pre", "post"] = "none"
    auth: AuthSettings = AuthSettings()
    display: DisplaySettings = DisplaySettings()
    rate_limits: RateLimitSettings = RateLimitSettings()
    content_moderation: ContentModerationSettings = ContentModerationSettings()
    turnstile: TurnstileSettings = TurnstileSettings()
    akismet: AkismetSettings = AkismetSettings()
    webhook: WebhookSettings = WebhookSettings()
    screening: ScreeningRules = ScreeningRules()
    allowed_origins: Annotated[list[Annotated[str, Meta(min_length=1, max_length=260)]], Meta(max_length=100)] = []
    staff_second_step: bool = False
    posting_disabled: bool = False
    require_verification: bool = False
    auto_approve_verified: bool = False
    voting: Literal["on", "up", "off"] = "on"
    edit_window_minutes: Annotated[int, Meta(ge=0, le=525_600)] = 15
    drop_tracking_parameters: bool = False
    hot: HotFormula = HotFormula()
    errors: Literal["problem", "text"] | None = None


class Site(Struct, frozen=True, kw_only=True):
    """A site as it is stored. The secret key is kept as a digest only."""

    id: SiteId
    name: str
    domain: str
    api_key_public: str
    api_key_secret: str
    created_at: str
    settings: SiteSettings = SiteSettings()
    version: int = 1
    previous_key_public: str | None = None
    previous_key_until_ms: int = 0
    older_keys: dict[str, int] | None = None
    """Public keys from before that one which still work, and until when, ms."""
    sso_secret: str | None = None
    keys_made: dict[str, int] | None = None
    """When each kind of key was made, ms; not known of those from before it was written down."""

    def opens_with_secret(self, api_key: str) -> bool:
        return hmac.compare_digest(self.api_key_secret, digest(api_key))

    def opens_with_public(self, api_key: str, now_ms: int) -> bool:
        return api_key == self.api_key_public or now_ms < self.replaced_keys.get(api_key, 0)

    @property
    def replaced_keys(self) -> dict[str, int]:
        """Public keys of before, and until when they work, ms."""
        newest = {self.previous_key_public: self.previous_key_until_ms} if self.previous_key_public else {}
        return newest | (self.older_keys or {})


class SiteView(Struct, frozen=True, kw_only=True):
    """A site as its owner sees it: never with a secret."""

    id: SiteId
    name: str
    domain: str
    api_key_public: str
    created_at: str
    settings: SiteSettings
    version: int
    reranking_percent: int | UnsetType = UNSET

    @classmethod
    def of(cls, site: Site, *, reranking_percent: int | None = None) -> "SiteView":
        """`reranking_percent` while hot scores are made anew for a changed formula."""
        return cls(
            id=site.id,
            name=site.name,
            domain=site.domain,
            api_key_public=site.api_key_public,
            created_at=site.created_at,
            settings=without_secrets(site.settings),
            version=site.version,
            reranking_percent=UNSET if reranking_percent is None else reranking_percent,
        )


class KeyType(enum.StrEnum):
    PUBLIC = "public"
    SECRET = "secret"  # noqa: S105


class OpenedSite(Struct, frozen=True):
    """A site, and with which kind of key it was opened."""

    site: Site
    key_type: KeyType

    @property
    def is_owner(self) -> bool:
        return self.key_type is KeyType.SECRET


class NewSite(Struct, frozen=True):
    """A site just made: the only time its secret key is there to be read."""

    site: Site
    secret_key: str


def normal_domain(text: str) -> str | None:
    """A host name as it is compared: lower case, no port, no dot at the end; None when it is not one."""
    text = text.strip().lower()
    if "://" in text:
        text = urlsplit(text).netloc
    host = origin_host(f"http://{text}")
    if host is None or "/" in text:
        return None
    try:
        return host if is_address(host) else host.encode("idna").decode()
    except UnicodeError:
        return None


def _remembered(read: Callable[[str], str | None]) -> Callable[[str], str | None]:
    """Every request of a page says the same. What is longer than such addresses are would fill the memory."""
    remembered = functools.lru_cache(maxsize=1000)(read)
    return functools.wraps(read)(lambda text: (remembered if len(text) <= _LONGEST_REMEMBERED else read)(text))


@_remembered
def origin_host(origin: str) -> str | None:
    """The host of an `Origin` or `Referer`, without scheme and port; None when there is none to speak of."""
    try:
        parts = urlsplit(origin.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or parts.username is not None or any(character in host for character in " ,;*<>'\"\\"):
        return None
    return host.lower().rstrip(".") or None


def origin_is_allowed(host: str, site: Site, *, allow_localhost: bool) -> bool:
    """The site's domain and below it, its listed origins, `*.suffix` entries, and localhost where that is allowed."""
    if host == site.domain or host.endswith("." + site.domain):
        # An address has no names below it.
        return host == site.domain or not is_address(site.domain)
    for entry in site.settings.allowed_origins:
        pattern = entry.lower()
        if pattern.startswith("*."):
            if host == pattern[2:] or host.endswith(pattern[1:]):
                return True
        elif host == (origin_host(pattern if "://" in pattern else f"http://{pattern}") or pattern):
            return True
    return allow_localhost and _is_localhost(host)


class PageRule(Struct, frozen=True):
    """Which pages may speak for a site: those its origins allow, and this server's own, where its frames and its demo
    are. Of our own the whole origin must fit: another port of the same machine is somebody else."""

    own_origin: str | None
    allow_localhost: bool

    @classmethod
    def of(cls, base_url: str, *, allow_localhost: bool) -> "PageRule":
        return cls(origin_of(base_url), allow_localhost)

    def allows(self, page: str, site: Site) -> bool:
        """`page` is what an `Origin` or a `Referer` says."""
        if self.own_origin is not None and origin_of(page) == self.own_origin:
            return True
        return origin_is_allowed(origin_host(page) or page, site, allow_localhost=self.allow_localhost)


@_remembered
def origin_of(address: str) -> str | None:
    """`scheme://host[:port]` of a web page, as browsers write it; None when it has none."""
    host = origin_host(address)
    if host is None:
        return None
    parts = urlsplit(address.strip())
    if parts.scheme not in _USUAL_PORTS:
        return None
    shown = f"[{host}]" if ":" in host else host
    is_usual = parts.port in (None, _USUAL_PORTS[parts.scheme])
    return f"{parts.scheme}://{shown}" if is_usual else f"{parts.scheme}://{shown}:{parts.port}"


def _is_localhost(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def without_secrets(settings: SiteSettings) -> SiteSettings:
    """The settings as they may be shown."""
    akismet, webhook = settings.akismet, settings.webhook
    if not akismet.key and not webhook.secret:
        return settings
    return msgspec.structs.replace(
        settings,
        akismet=msgspec.structs.replace(akismet, key=HIDDEN if akismet.key else ""),
        webhook=msgspec.structs.replace(webhook, secret=HIDDEN if webhook.secret else ""),
    )


def is_origin_pattern(entry: str) -> bool:
    """Whether an entry of `allowed_origins` can match anything: a host, an origin, or `*.` and a domain."""
    return normal_domain(entry.removeprefix("*.")) is not None


def dotted(tree: Mapping[str, object], front: str = "", depth: int = 1) -> dict[str, object]:
    """A tree of settings as one level of dotted names, the way `changed_settings` wants them."""
    found: dict[str, object] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping) and depth < DEEPEST_SETTING:
            found |= dotted(value, f"{front}{name}.", depth + 1)
        else:
            found[front + name] = value
    return found


def changed_settings(settings: SiteSettings, changes: Mapping[str, object], *, strict: bool = False) -> SiteSettings:
    """The settings with some of them changed, by dotted name. Raises msgspec.ValidationError or KeyError.

    Not `strict`, texts are understood as what they say: they come from a command line."""
    tree = msgspec.to_builtins(settings)
    for name, value in changes.items():
        if name in SECRET_SETTINGS and value == HIDDEN:  # sent back as it was shown
            continue
        *path, leaf = name.split(".")
        branch = tree
        for step in path:
            branch = branch.get(step)
            if not isinstance(branch, dict):
                raise KeyError(name)
        if leaf not in branch or isinstance(branch[leaf], dict):
            raise KeyError(name)
        branch[leaf] = value
    return msgspec.convert(tree, SiteSettings, strict=strict)
