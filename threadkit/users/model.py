"""A person, what others see of them, and the rules for names, addresses and numbers. No I/O here."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from msgspec import UNSET, Meta, Struct, UnsetType

from threadkit.errors import Conflict, Invalid
from threadkit.ids import SessionId, SiteId, UserId, digest, random_text
from threadkit.text import names

DELETED_USER = UserId("d0000000-0000-0000-0000-000000000000")
ANONYMOUS_USER = UserId("a0000000-0000-0000-0000-000000000000")
GUEST_PREFIX = "__anon"
LONGEST_NAME = 24

SOCIAL_SITES = ("twitter", "github", "facebook", "whatsapp", "telegram", "instagram", "tiktok", "snapchat", "discord")


class InvalidUsername(Invalid):
    """Username {why}"""

    code = "invalid_username"


class ReservedUsername(InvalidUsername):
    """Username is kept for those who run the site"""

    code = "reserved_username"


class InvalidEmail(Invalid):
    """This is not an e-mail address we can write to."""

    code = "invalid_email"


class InvalidPhone(Invalid):
    """This is not a phone number we can write to. Begin with + and the country code."""

    code = "invalid_phone"


class InvalidLink(Invalid):
    """{field}: must be an https address or a plain account name"""

    code = "invalid_link"


class UsernameTaken(Conflict):
    """Username already taken"""

    code = "username_taken"


class UsernameLooksTaken(UsernameTaken):
    """Username looks too much like one that is already taken"""

    code = "username_looks_taken"


class EmailTaken(Conflict):
    """There is already an account with this e-mail address."""

    code = "email_taken"


class PhoneTaken(Conflict):
    """There is already an account with this phone number."""

    code = "phone_taken"


class ProfileChanged(Conflict):
    """The profile was changed from elsewhere meanwhile. Please try again."""

    code = "profile_changed"


Link = Annotated[str, Meta(max_length=300)]


class SocialLinks(Struct, frozen=True, kw_only=True, omit_defaults=True):
    twitter: Link | None = None
    github: Link | None = None
    facebook: Link | None = None
    whatsapp: Link | None = None
    telegram: Link | None = None
    instagram: Link | None = None
    tiktok: Link | None = None
    snapchat: Link | None = None
    discord: Link | None = None


class User(Struct, frozen=True, kw_only=True):
    """A person as stored under `user:{id}`."""

    id: UserId
    name: str
    provider: str
    created_at: str
    email: str | None = None
    phone: str | None = None
    avatar_url: str | None = None
    provider_id: str | None = None
    email_verified: bool = False
    phone_verified: bool = False
    karma: int = 0
    global_banned: bool = False
    shadow_banned: bool = False
    username_set: bool = False
    total_comments: int = 0
    social_links: SocialLinks | None = None
    vouched: bool | None = None
    """The address was vouched for by a site's owner, not proved by the person."""
    auth_epoch: int = 0
    """Raised whenever all sessions end; a sign-in that began before does not finish after."""
    linked: list[str] | None = None
    """Accounts elsewhere beside the first one, as `provider:id`."""
    has_second_step: bool = False
    """Has one-time codes or a passkey; what staff may do needs a session that has passed one of them."""

    @property
    def is_guest(self) -> bool:
        return self.provider == "anonymous"

    @property
    def is_verified(self) -> bool:
        return self.email_verified or self.phone_verified


class UserPublic(Struct, frozen=True, kw_only=True):
    """What everybody may know of a person."""

    id: UserId
    name: str
    avatar_url: str | None
    karma: int
    created_at: str
    total_comments: int
    social_links: SocialLinks | UnsetType = UNSET

    @classmethod
    def of(cls, user: User) -> "UserPublic":
        has_links = user.social_links is not None and user.social_links != SocialLinks()
        return cls(
            id=user.id,
            name=user.name,
            avatar_url=user.avatar_url,
            karma=user.karma,
            created_at=user.created_at,
            total_comments=user.total_comments,
            social_links=user.social_links if has_links and user.social_links else UNSET,
        )


class UserResponse(Struct, frozen=True, kw_only=True):
    """What a person is told about themselves at sign-in."""

    id: UserId
    name: str
    email: str | None
    avatar_url: str | None
    email_verified: bool
    username_set: bool
    social_links: SocialLinks
    phone: str | UnsetType = UNSET

    @classmethod
    def of(cls, user: User, **more: Any) -> Any:
        return cls(
            id=user.id,
            name=user.name,
            email=user.email,
            avatar_url=user.avatar_url,
            email_verified=user.email_verified,
            username_set=user.username_set,
            social_links=user.social_links or SocialLinks(),
            phone=user.phone or UNSET,
            **more,
        )


class Me(UserResponse, frozen=True, kw_only=True):
    karma: int
    unread_notifications: int


class AuthResponse(Struct, frozen=True, kw_only=True):
    token: str
    refresh_token: str
    user: UserResponse


class Session(Struct, frozen=True, kw_only=True):
    """One signed-in device, as stored under `session:{id}`."""

    id: SessionId
    user_id: UserId
    site_id: SiteId
    created_at: str
    last_used: str
    user_agent: str
    ip: str
    provider: str
    refresh_id: str
    previous_id: str = ""
    rotated_ms: int = 0
    proved_ms: int = 0
    """When it was shown again who sits there, beside at the sign-in itself."""
    passed_second_step: bool | None = None
    is_staff: bool | None = None
    """Opened on the pages for staff: it ends when its holder loses a role."""
    ver: int = 1


class SessionView(Struct, frozen=True, kw_only=True):
    id: SessionId
    created_at: str
    last_used: str
    user_agent: str
    client: str
    provider: str
    is_current: bool


VerificationType = Literal["email", "phone", "password_reset", "staff", "password"]
"""What a code is for. Those for an address or number sign in, and show whose it is; `staff` opens the pages for staff;
`password` is asked for beside one."""

_SHAPE = re.compile(r"[A-Za-z0-9_-]+")
_GUEST = re.compile(rf"{GUEST_PREFIX}-[a-z0-9]{{10}}(?:-|$)")


def check_username(name: str) -> str:
    """The name as it may be used; says which rule it breaks."""
    if not name:
        raise InvalidUsername(why="cannot be empty")
    if len(name) > LONGEST_NAME:
        raise InvalidUsername(why=f"must be {LONGEST_NAME} characters or less")
    if name.lower().startswith(GUEST_PREFIX):
        raise InvalidUsername(why=f"cannot start with {GUEST_PREFIX}")
    if not _SHAPE.fullmatch(name):
        raise InvalidUsername(why="can only contain letters, numbers, hyphens and underscores")
    if name[0] in "-_":
        raise InvalidUsername(why="cannot start with a hyphen or underscore")
    if name[-1] in "-_":
        raise InvalidUsername(why="cannot end with a hyphen or underscore")
    if re.search(r"[-_]{2}", name):
        raise InvalidUsername(why="cannot contain consecutive hyphens or underscores")
    return name


def check_not_reserved(name: str, *, also: Iterable[str] = (), for_guest: bool = False) -> str:
    """The name, unless it is a word for those who run a site, or one of `also`, such as the site's own name."""
    if names.is_reserved(name, also=also, for_guest=for_guest):
        raise ReservedUsername
    return name


def username_from(text: str, user_id: UserId) -> str:
    """A username made of a name from elsewhere; the person may choose another later."""
    kept = "".join(
        character.lower() if character.isalnum() else "-" if character in " -_" else ""
        for character in unicodedata.normalize("NFKD", text)[:200]
        if character.isascii()
    )
    name = re.sub(r"-+", "-", kept).strip("-")[:LONGEST_NAME].strip("-")
    # The start of a time-ordered id is the same for everybody who comes today; its end is not.
    is_fit = name and not name.startswith(GUEST_PREFIX) and not names.is_reserved(name)
    return name if is_fit else f"user-{user_id[-8:]}"


def username_with_suffix(name: str, user_id: UserId) -> str:
    return f"{name[: LONGEST_NAME - 9].rstrip('-_')}-{user_id[-8:]}"


def guest_name(wanted: str | None, *, instead_of: str = "") -> str:
    """`__anon-` and ten random characters, then the name somebody gave. Two guests never share all of it, and one who
    changes theirs keeps the random part."""
    front = _GUEST.match(instead_of)
    text = unicodedata.normalize("NFKC", _GUEST.sub("", wanted or "")[:200]).strip().lower()
    kept = "".join(one for one in text if one.isalnum() or one in "-_" or unicodedata.category(one) in ("Mn", "Mc"))
    kept = kept[:LONGEST_NAME]
    return (front[0].rstrip("-") if front else f"{GUEST_PREFIX}-{random_text(10)}") + (f"-{kept}" if kept else "")


def shown_name(name: str) -> str:
    """What people see of a guest's name; every other name is shown as it is."""
    return _GUEST.sub("", name)


def name_key(name: str) -> str:
    """A name as it stands in a key: lower case, or a digest when it has characters that a key may not have."""
    lower = name.lower()
    return lower if _SHAPE.fullmatch(lower) else digest(lower)[:32]


def normal_email(text: str) -> str:
    """One form for one address: trimmed, lower case, host in IDNA."""
    from email_validator import EmailNotValidError, validate_email  # slow to import, and seldom needed

    if len(text) > 320:
        raise InvalidEmail
    try:
        found = validate_email(
            text.strip(), check_deliverability=False, allow_display_name=False, test_environment=True
        )
    except EmailNotValidError:
        raise InvalidEmail from None
    return f"{found.local_part}@{found.ascii_domain}".lower()


def normal_phone(text: str) -> str:
    """E.164, so that two spellings are one number."""
    import phonenumbers  # slow to import, and seldom needed

    try:
        number = phonenumbers.parse(text[:40].strip(), None)
    except phonenumbers.NumberParseException:
        raise InvalidPhone from None
    if not phonenumbers.is_possible_number(number):
        raise InvalidPhone
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def check_links(links: SocialLinks) -> SocialLinks:
    """Addresses must be web addresses; anything else must be a plain account name."""
    for site in SOCIAL_SITES:
        value = getattr(links, site)
        if value is not None and not (_is_web_address(value) or re.fullmatch(r"[@+]?[\w.#-]{1,100}", value)):
            raise InvalidLink(field=f"social_links.{site}")
    return links


def check_avatar_url(url: str) -> str:
    if len(url) > 1000 or not _is_web_address(url):
        raise InvalidLink(field="avatar_url")
    return url


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    clean = text.isprintable() and not re.search(r"""[\s<>"'`\\]""", text)
    return clean and parts.scheme in ("https", "http") and bool(parts.hostname) and parts.username is None
