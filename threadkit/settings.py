"""Every setting of the server: loaded once from file, environment and flags, checked, and passed on.

`config/threadkit.example.toml` explains each of them to owners. What differs from site to site is not here but in
`sites/model.py`.
"""

import ipaddress
import os
import tomllib
import types
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from email.utils import parseaddr
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Meta, Struct

from threadkit.errors import CannotStart
from threadkit.ids import API_KEY_PATTERN, is_uuid

ENV_PREFIX = "THREADKIT_"
DEFAULT_FILE = Path("threadkit.toml")
LONGEST_PREFIX = 64

Port = Annotated[int, Meta(ge=0, le=65535)]
Secret = Annotated[str, Meta(min_length=32, max_length=512)]
Seconds = Annotated[float, Meta(gt=0, le=3600)]


class StoreTuning(Struct, frozen=True, kw_only=True):
    """How the connections to the store behave, which program is started as the bundled one, and when it takes in nothing new."""

    connections: Annotated[int, Meta(ge=2, le=1024)] = 32
    wait_for_connection_s: Seconds = 2.0
    connect_timeout_s: Seconds = 2.0
    command_timeout_s: Seconds = 2.0
    silent_after_s: Seconds = 0.25
    least_free_mb: Annotated[int, Meta(ge=0, le=10_000_000)] = 100
    binary: Annotated[str, Meta(min_length=1, max_length=4096)] = "bundled"


class FirstSite(Struct, frozen=True, kw_only=True):
    """What the first site is made with when the store is still empty."""

    name: Annotated[str, Meta(min_length=1, max_length=100)] = "My site"
    domain: Annotated[str, Meta(min_length=1, max_length=253)] = "localhost"
    id: str | None = None
    public_key: str | None = None
    secret_key: str | None = None
    moderation_mode: Literal["none", "pre", "post"] = "none"


class Accounts(Struct, frozen=True, kw_only=True):
    """Passwords, codes and sessions."""

    access_token_hours: Annotated[int, Meta(ge=1, le=8760)] = 168
    session_days: Annotated[int, Meta(ge=1, le=365)] = 30
    session_longest_days: Annotated[int, Meta(ge=1, le=3650)] = 365
    sessions_per_user: Annotated[int, Meta(ge=1, le=100)] = 5
    argon2_time_cost: Annotated[int, Meta(ge=1, le=20)] = 3
    argon2_memory_kib: Annotated[int, Meta(ge=8, le=4_194_304)] = 65_536
    argon2_parallelism: Annotated[int, Meta(ge=1, le=64)] = 4
    codes_per_address_per_hour: Annotated[int, Meta(ge=1, le=100)] = 3
    codes_per_client_per_hour: Annotated[int, Meta(ge=1, le=10_000)] = 10
    on_deletion: Literal["anonymise", "erase"] = "anonymise"
    create_user_route: bool = True


class CounterSettings(Struct, frozen=True, kw_only=True):
    """What is counted as a page view, and how visitors are."""

    count_bots: bool = False
    visitors: Literal["hll", "exact"] = "hll"


class NotificationSettings(Struct, frozen=True, kw_only=True):
    """What people are told."""

    most: Annotated[int, Meta(ge=1, le=1000)] = 500


class MailSettings(Struct, frozen=True, kw_only=True):
    """How mail leaves; without a host it is only written to the log."""

    host: Annotated[str, Meta(min_length=1, max_length=253)] | None = None
    port: Port = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    username: Annotated[str, Meta(max_length=320)] | None = None
    password: Annotated[str, Meta(max_length=512)] | None = None
    sender: Annotated[str, Meta(min_length=3, max_length=320)] = "ThreadKit <noreply@localhost>"
    timeout_s: Seconds = 20.0


class SmsSettings(Struct, frozen=True, kw_only=True):
    """How text messages leave, through Twilio or what speaks like it; without an account only to the log."""

    url: Annotated[str, Meta(min_length=8, max_length=500)] = "https://api.twilio.com"
    account: Annotated[str, Meta(max_length=100)] | None = None
    password: Annotated[str, Meta(max_length=512)] | None = None
    sender: Annotated[str, Meta(max_length=20)] | None = None
    timeout_s: Seconds = 10.0


class ProviderSettings(Struct, frozen=True, kw_only=True):
    """One way to sign in with an account elsewhere; on when both are given."""

    client_id: Annotated[str, Meta(max_length=500)] | None = None
    client_secret: Annotated[str, Meta(max_length=2000)] | None = None


class OidcSettings(Struct, frozen=True, kw_only=True):
    """Any OpenID Connect provider, found by its discovery document."""

    name: Annotated[str, Meta(min_length=1, max_length=50)] = "Single sign-on"
    issuer: Annotated[str, Meta(max_length=500)] | None = None
    client_id: Annotated[str, Meta(max_length=500)] | None = None
    client_secret: Annotated[str, Meta(max_length=2000)] | None = None


class ModerationServiceSettings(Struct, frozen=True, kw_only=True):
    """A service that judges texts, with OpenAI's moderation endpoint or one of the same shape."""

    enabled: bool = False
    url: Annotated[str, Meta(min_length=8, max_length=500)] | None = None
    key: Annotated[str, Meta(min_length=1, max_length=512)] | None = None
    model: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class TurnstileServerSettings(Struct, frozen=True, kw_only=True):
    """Cloudflare's question whether somebody is human; there is none without the secret."""

    secret: Annotated[str, Meta(min_length=1, max_length=512)] | None = None
    site_key: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,100}$", max_length=100)] | None = None


class LiveSettings(Struct, frozen=True, kw_only=True):
    """Live pages; all numbers are for one worker."""

    most_connections: Annotated[int, Meta(ge=0, le=1_000_000)] = 10_000
    sockets_per_address: Annotated[int, Meta(ge=1, le=100_000)] = 50
    pages_per_socket: Annotated[int, Meta(ge=1, le=1000)] = 10
    messages_per_second: Annotated[int, Meta(ge=1, le=1000)] = 10
    poll_every_s: Annotated[int, Meta(ge=1, le=3600)] = 20


class BackupSettings(Struct, frozen=True, kw_only=True):
    """When the server makes a backup by itself, where to, how many are kept, and whether they are encrypted."""

    enabled: bool = True
    at: Annotated[str, Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", min_length=5, max_length=5)] = "03:30"
    keep: Annotated[int, Meta(ge=1, le=1000)] = 14
    folder: Annotated[str, Meta(min_length=1, max_length=4096)] | None = None
    passphrase: Annotated[str, Meta(min_length=12, max_length=1024)] | None = None
    passphrase_file: Annotated[str, Meta(min_length=1, max_length=4096)] | None = None


PerMinute = Annotated[int, Meta(ge=1, le=1_000_000)]
PerDay = Annotated[int, Meta(ge=1, le=10_000_000)]


class ActionLimits(Struct, frozen=True, kw_only=True):
    """What one client may do of one costly action; absent means what holds for all of them."""

    per_minute: PerMinute | None = None
    per_day: PerDay | None = None


class LimitSettings(Struct, frozen=True, kw_only=True):
    """How often anybody may do what, and how much at once."""

    enabled: bool = True
    ip_reads_per_minute: PerMinute = 240
    ip_writes_per_minute: PerMinute = 30
    user_reads_per_minute: PerMinute = 240
    user_writes_per_minute: PerMinute = 20
    key_reads_per_minute: PerMinute | None = None
    key_writes_per_minute: PerMinute | None = None
    sign_ins_per_minute: PerMinute = 6
    sign_ins_per_hour: PerMinute = 30
    sign_ins_per_account_per_hour: PerMinute = 20
    post_every_s: Annotated[int, Meta(ge=0, le=3600)] = 5
    posts_per_ten_minutes: PerMinute = 30
    guest_post_every_s: Annotated[int, Meta(ge=0, le=3600)] = 15
    guest_posts_per_ten_minutes: PerMinute = 5
    client: Literal["ip_ua", "ip"] = "ip_ua"
    costly_per_minute: PerMinute = 20
    costly_per_day: PerDay = 1000
    comments: ActionLimits = ActionLimits()
    reports: ActionLimits = ActionLimits(per_day=50)
    codes: ActionLimits = ActionLimits()
    exports: ActionLimits = ActionLimits(per_minute=3, per_day=20)
    imports: ActionLimits = ActionLimits()
    requests_at_once: Annotated[int, Meta(ge=1, le=100_000)] = 16
    requests_in_a_burst: Annotated[int, Meta(ge=1, le=100_000)] = 512
    header_timeout_s: Seconds = 10.0
    body_timeout_s: Seconds = 30.0


class Settings(Struct, frozen=True, kw_only=True):
    host: Annotated[str, Meta(min_length=1, max_length=253)] = "127.0.0.1"
    port: Port = 8080
    workers: Annotated[int, Meta(ge=1, le=64)] = 1
    public_url: Annotated[str, Meta(max_length=500)] | None = None
    data: Annotated[str, Meta(min_length=1, max_length=4096)] = "data"

    redis_url: Annotated[str, Meta(max_length=2000)] | None = None
    redis_server: Annotated[str, Meta(max_length=4096)] | None = None
    key_prefix: Annotated[str, Meta(max_length=LONGEST_PREFIX)] = ""
    durability: Literal["strict", "relaxed"] = "strict"
    outbox: Literal["in-process", "worker"] = "in-process"
    store: StoreTuning = StoreTuning()

    secret: Secret | None = None
    jwt_secret: Secret | None = None
    metrics_token: Annotated[str, Meta(min_length=16, max_length=512)] | None = None

    trusted_proxies: list[str] = msgspec.field(default_factory=lambda: ["127.0.0.1", "::1"])
    allow_localhost_origin: bool = True
    owners_create_sites: bool = False
    max_comment_length: Annotated[int, Meta(ge=1, le=100_000)] = 10_000
    tree_limit: Annotated[int, Meta(ge=1, le=100_000)] = 5_000
    body_limit: Annotated[int, Meta(ge=1024, le=16_777_216)] = 65_536
    errors: Literal["problem", "text"] = "problem"
    demo: bool = False

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "json", "text"] = "auto"
    access_log: bool = True

    limits: LimitSettings = LimitSettings()
    live: LiveSettings = LiveSettings()
    backup: BackupSettings = BackupSettings()
    accounts: Accounts = Accounts()
    counters: CounterSettings = CounterSettings()
    notifications: NotificationSettings = NotificationSettings()
    mail: MailSettings = MailSettings()
    sms: SmsSettings = SmsSettings()
    google: ProviderSettings = ProviderSettings()
    github: ProviderSettings = ProviderSettings()
    discord: ProviderSettings = ProviderSettings()
    oidc: OidcSettings = OidcSettings()
    moderation_service: ModerationServiceSettings = ModerationServiceSettings()
    turnstile: TurnstileServerSettings = TurnstileServerSettings()
    site: FirstSite = FirstSite()

    @property
    def data_folder(self) -> Path:
        return Path(self.data)

    @property
    def store_program(self) -> str:
        return self.redis_server or self.store.binary

    @property
    def backup_folder(self) -> Path:
        return Path(self.backup.folder) if self.backup.folder else self.data_folder / "backups"

    @property
    def base_url(self) -> str:
        """Where people reach this server, without a slash at the end."""
        if self.public_url:
            return self.public_url.rstrip("/")
        host = "localhost" if self.host in ("127.0.0.1", "::1", "0.0.0.0", "::", "") else self.host  # noqa: S104
        return f"http://{host}:{self.port}"

    @property
    def text_limit(self) -> int:
        """Of bodies with a comment in them. A character takes up to twelve bytes: escaped in JSON, or percent-encoded in a
        form. And there is room for the rest."""
        return max(self.body_limit, 12 * self.max_comment_length + 6144)

    @property
    def is_https(self) -> bool:
        return self.base_url.startswith("https://")


# Names that the environment of an older ThreadKit server uses for the same things.
OLDER_NAMES = {
    "REDIS_URL": "redis_url",
    "REDIS_KEY_PREFIX": "key_prefix",
    "HTTP_HOST": "host",
    "HTTP_PORT": "port",
    "JWT_SECRET": "jwt_secret",
    "JWT_EXPIRY_HOURS": "accounts.access_token_hours",
    "RATE_LIMIT_OTP_PER_TARGET": "accounts.codes_per_address_per_hour",
    "RATE_LIMIT_OTP_PER_IP": "accounts.codes_per_client_per_hour",
    "RATE_LIMIT_ENABLED": "limits.enabled",
    "RATE_LIMIT_IP_WRITES": "limits.ip_writes_per_minute",
    "RATE_LIMIT_IP_READS": "limits.ip_reads_per_minute",
    "RATE_LIMIT_APIKEY_WRITES": "limits.key_writes_per_minute",
    "RATE_LIMIT_APIKEY_READS": "limits.key_reads_per_minute",
    "RATE_LIMIT_USER_WRITES": "limits.user_writes_per_minute",
    "RATE_LIMIT_USER_READS": "limits.user_reads_per_minute",
    "RATE_LIMIT_AUTH_ATTEMPTS": "limits.sign_ins_per_hour",
    "RATE_LIMIT_PER_MINUTE": "limits.costly_per_minute",
    "RATE_LIMIT_DAILY": "limits.costly_per_day",
    "RATE_LIMIT_WS_MSG_PER_SEC": "live.messages_per_second",
    "OAUTH_GOOGLE_CLIENT_ID": "google.client_id",
    "OAUTH_GOOGLE_CLIENT_SECRET": "google.client_secret",
    "OAUTH_GITHUB_CLIENT_ID": "github.client_id",
    "OAUTH_GITHUB_CLIENT_SECRET": "github.client_secret",
    "ALLOW_LOCALHOST_ORIGIN": "allow_localhost_origin",
    "TRUSTED_PROXIES": "trusted_proxies",
    "MAX_COMMENT_LENGTH": "max_comment_length",
    "PROJECT_ID_PUBLIC": "site.public_key",
    "API_KEY_PUBLIC": "site.public_key",
    "THREADKIT_SECRET_KEY": "site.secret_key",
    "PROJECT_ID_SECRET": "site.secret_key",
    "API_KEY_SECRET": "site.secret_key",
    "SITE_NAME": "site.name",
    "SITE_DOMAIN": "site.domain",
    "SITE_ID": "site.id",
    "MODERATION_MODE": "site.moderation_mode",
    "MODERATION_ENABLED": "moderation_service.enabled",
    "MODERATION_API_URL": "moderation_service.url",
    "MODERATION_API_KEY": "moderation_service.key",
    "MODERATION_MODEL": "moderation_service.model",
    "TURNSTILE_SECRET_KEY": "turnstile.secret",
    "VISITORS_MODE": "counters.visitors",
    "NOTIFICATIONS_MAX": "notifications.most",
}

# Names of an older server that are read, and answered with a sentence instead of silence.
WITHOUT_EFFECT = {
    "MODE": "every ThreadKit server can hold several sites",
    "WS_HOST": "the WebSocket is served on the same address as the API",
    "WS_PORT": "the WebSocket is served on the same port as the API",
    "ALLOWED_ORIGINS": "origins belong to a site: threadkit site set SITE allowed_origins=…",
    "RUST_LOG": "set log_level instead",
    "SENTRY_DSN_HTTP": "ThreadKit reports errors to nobody but your own log",
    "SENTRY_DSN_WS": "ThreadKit reports errors to nobody but your own log",
    "THREADKIT_ACTION_LOG": "what people did is in the moderation log",
    "S3_ENABLED": "there are no uploads",
    "EMAIL_PROVIDER": "mail goes through SMTP, which every provider offers: set mail.host",
    "RESEND_API_KEY": "mail goes through SMTP, which every provider offers: set mail.host",
    "EMAIL_FROM_DOMAIN": "set mail.sender",
    "MODERATION_TIMEOUT_SECONDS": "an outside check has one second; whoever waits for more gives up",
    "OAUTH_GOOGLE_REDIRECT_URL": "it is public_url followed by /auth/google/callback",
    "OAUTH_GITHUB_REDIRECT_URL": "it is public_url followed by /auth/github/callback",
}

_ADDRESSED_ELSEWHERE = {"THREADKIT_CONFIG", "THREADKIT_GIT_COMMIT", "THREADKIT_BUILD_DATE"}


class Loaded(Struct, frozen=True):
    """The settings, where each one came from, and what is worth telling the owner."""

    settings: Settings
    sources: dict[str, str]
    notices: list[str]


def load(
    *,
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Loaded:
    """Read file, then environment, then flags; later ones win. All problems are reported at once."""
    env = os.environ if environment is None else environment
    problems: list[str] = []
    notices: list[str] = []
    given: dict[str, tuple[Any, str]] = {}

    given.update(_from_file(file, env, problems))
    given.update(_from_environment(env, problems, notices))
    given.update({name: (value, "flag") for name, value in (flags or {}).items() if value is not None})

    values: dict[str, Any] = {}
    for name, (raw, source) in given.items():
        try:
            values[name] = _typed(raw, _FIELDS[name])
        except (msgspec.ValidationError, ValueError):
            problems.append(f"{name} ({source}): must be {allowed(_FIELDS[name])}, not {_shown(name, raw)}")
    settings = _build(values)
    problems.extend(_disagreements(settings))
    if problems:
        raise CannotStart("The settings cannot be used:\n" + "\n".join(f"  - {problem}" for problem in problems))
    return Loaded(settings, {name: source for name, (_, source) in given.items()}, notices)


def flat(settings: Settings) -> dict[str, Any]:
    """Every setting by its dotted name."""
    return {name: _read(settings, name) for name in _FIELDS}


def is_secret(name: str) -> bool:
    return name.rsplit(".", 1)[-1] in {
        "secret",
        "jwt_secret",
        "secret_key",
        "client_secret",
        "metrics_token",
        "redis_url",
        "password",
        "passphrase",
        "key",
    }


def env_name(name: str) -> str:
    return ENV_PREFIX + name.replace(".", "_").upper()


def allowed(kind: Any) -> str:
    """What a setting of this type may be, in words."""
    info = msgspec.inspect.type_info(kind)
    if isinstance(info, msgspec.inspect.UnionType):
        return " or ".join(allowed_info(part) for part in info.types if not isinstance(part, msgspec.inspect.NoneType))
    return allowed_info(info)


def allowed_info(info: msgspec.inspect.Type) -> str:
    match info:
        case msgspec.inspect.Metadata(type=inner):
            return allowed_info(inner)
        case msgspec.inspect.LiteralType(values=values):
            return "one of " + ", ".join(str(value) for value in values)
        case msgspec.inspect.BoolType():
            return "true or false"
        case msgspec.inspect.IntType(ge=low, le=high):
            return "a whole number" if low is None else f"a whole number from {low} to {high}"
        case msgspec.inspect.FloatType(le=high):
            return "a number" if high is None else f"a number above 0, at most {high:g}"
        case msgspec.inspect.StrType(min_length=shortest, max_length=longest):
            return f"a text of {shortest or 0} to {longest} characters" if longest else "a text"
        case msgspec.inspect.ListType(item_type=item):
            return f"a list of {allowed_info(item).removeprefix('a ')}s, separated by commas in the environment"
    return "something else"


def _from_file(file: Path | None, env: Mapping[str, str], problems: list[str]) -> dict[str, tuple[Any, str]]:
    named = file or (Path(env["THREADKIT_CONFIG"]) if env.get("THREADKIT_CONFIG") else None)
    path = named or DEFAULT_FILE
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        if named:
            problems.append(f"{named}: there is no such file")
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        problems.append(f"{path}: {error}")
        return {}
    found = {}
    for name, value in _leaves(tree):
        if name in _FIELDS:
            found[name] = (value, path.name)
        else:
            problems.append(f"{name} ({path.name}): there is no such setting{_suggestion(name)}")
    return found


def _from_environment(env: Mapping[str, str], problems: list[str], notices: list[str]) -> dict[str, tuple[Any, str]]:
    found: dict[str, tuple[Any, str]] = {}

    def take(name: str, variable: str) -> None:
        if not (value := env.get(variable)):
            return
        if name in found and found[name][0] != value:
            problems.append(f"{name}: {found[name][1]} and {variable} disagree; set only one of them")
        found[name] = (value, variable)

    for name in _FIELDS:
        take(name, env_name(name))
    for variable, name in OLDER_NAMES.items():
        take(name, variable)
    for variable, why in WITHOUT_EFFECT.items():
        if env.get(variable):
            notices.append(f"{variable} has no effect: {why}")
    known = {env_name(name) for name in _FIELDS} | OLDER_NAMES.keys() | WITHOUT_EFFECT.keys() | _ADDRESSED_ELSEWHERE
    notices.extend(
        f"{variable} is not a setting of ThreadKit{_suggestion(variable.removeprefix(ENV_PREFIX).lower())}"
        for variable in sorted(env)
        if variable.startswith(ENV_PREFIX) and variable not in known
    )
    return found


def _disagreements(settings: Settings) -> Iterator[str]:
    """Rules over the values that their types cannot say."""
    if settings.public_url is not None:
        url = _web_address(settings.public_url)
        if url is None or url.query or url.fragment:
            yield "public_url: must be the address people use, such as https://comments.example.org"
    for name, address in (("sms.url", settings.sms.url), ("oidc.issuer", settings.oidc.issuer)):
        if address and _web_address(address) is None:
            yield f"{name}: must be an address such as https://accounts.example.org"
    if settings.mail.host is not None and not _is_host(settings.mail.host):
        yield "mail.host: must be the name or address of a mail server, such as smtp.example.org"
    if "@" not in parseaddr(settings.mail.sender)[1]:
        yield "mail.sender: must be an address such as ThreadKit <comments@example.org>"
    for proxy in settings.trusted_proxies:
        try:
            ipaddress.ip_network(proxy, strict=False)
        except ValueError:
            yield f"trusted_proxies: {proxy!r} is neither an address nor a network such as 10.0.0.0/8"
    if any(character in settings.key_prefix for character in "{}*?[]\\ \t\r\n"):
        yield "key_prefix: may not contain braces, brackets, *, ?, \\ or spaces"
    if settings.jwt_secret and "your" in settings.jwt_secret.lower() and "secret" in settings.jwt_secret.lower():
        yield "jwt_secret: still has its placeholder value; leave it out and one is generated"
    if settings.site.id is not None and not is_uuid(settings.site.id):
        yield "site.id: must be a uuid in lower case, such as 0197b7a2-6f1c-7c3e-8a41-2d9f6c1e5b70"
    if settings.backup.passphrase and settings.backup.passphrase_file:
        yield "backup.passphrase and backup.passphrase_file: set only one of them"
    service = settings.moderation_service
    if service.enabled and not (service.url and service.key and service.model):
        yield "moderation_service.enabled: needs moderation_service.url, .key and .model"
    if service.url and not _is_service_url(service.url):
        yield "moderation_service.url: must begin with https:// (http:// only on this very machine), without ? and #"
    for name, prefix in (("public_key", "tk_pub_"), ("secret_key", "tk_sec_")):
        key = getattr(settings.site, name)
        if key is not None and not (API_KEY_PATTERN.match(key) and key.startswith(prefix)):
            yield f"site.{name}: must be {prefix} followed by 8 to 64 letters, digits, - or _"


def _web_address(text: str) -> SplitResult | None:
    try:
        url = urlsplit(text)
        is_whole = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        return None
    return url if is_whole else None


def _is_host(text: str) -> bool:
    """What can be asked for at all; whether it is there is for the doctor."""
    try:
        text.encode("idna")
    except UnicodeError:
        return False
    return not any(character.isspace() or character in "/@[]" for character in text)


def _is_service_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        host, _ = url.hostname, url.port
    except ValueError:
        return False
    is_safe = url.scheme == "https" or (url.scheme == "http" and host in ("localhost", "127.0.0.1", "::1"))
    return is_safe and bool(host) and url.username is None and not url.query and not url.fragment


def _fields(struct: type[Struct], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for field in msgspec.structs.fields(struct):
        if isinstance(field.type, type) and issubclass(field.type, Struct):
            yield from _fields(field.type, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name, field.type


_FIELDS: dict[str, Any] = dict(_fields(Settings))


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _typed(raw: Any, kind: Any) -> Any:
    if isinstance(raw, str) and _is_list(kind):
        raw = [part.strip() for part in raw.split(",") if part.strip()]
    if isinstance(raw, str) and _plain(kind) is bool:
        raw = {"yes": True, "on": True, "no": False, "off": False}.get(raw.lower(), raw)
    return msgspec.convert(raw, kind, strict=not isinstance(raw, str))


def _plain(kind: Any) -> Any:
    return kind if not hasattr(kind, "__metadata__") else kind.__origin__


def _is_list(kind: Any) -> bool:
    options = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    return any(get_origin(option) is list for option in options)


def _build(values: Mapping[str, Any]) -> Settings:
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *path, leaf = name.split(".")
        branch = tree
        for step in path:
            branch = branch.setdefault(step, {})
        branch[leaf] = value
    return msgspec.convert(tree, Settings)


def _read(settings: Struct, name: str) -> Any:
    value: Any = settings
    for step in name.split("."):
        value = getattr(value, step)
    return value


def _suggestion(name: str) -> str:
    close = get_close_matches(name, _FIELDS, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _shown(name: str, raw: Any) -> str:
    return "what was given" if is_secret(name) else repr(raw)
