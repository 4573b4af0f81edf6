"""What the pages for staff are told about whoever sits before them. No I/O here."""

from typing import Literal

from msgspec import Struct

from threadkit.ids import SiteId
from threadkit.sites.model import Site
from threadkit.sites.roles import Role
from threadkit.users.model import UserResponse
from threadkit.users.second_step.model import Factors, PasskeyView, Way

COOKIE = "threadkit_staff"


class StaffSite(Struct, frozen=True, kw_only=True):
    """A site on whose staff one is."""

    id: SiteId
    name: str
    domain: str
    api_key_public: str
    role: Literal["owner", "admin", "moderator"]

    @classmethod
    def of(cls, site: Site, role: Role) -> "StaffSite":
        return cls(
            id=site.id,
            name=site.name,
            domain=site.domain,
            api_key_public=site.api_key_public,
            role=role.label,  # type: ignore[arg-type]
        )


class StaffView(Struct, frozen=True, kw_only=True):
    user: UserResponse
    sites: list[StaffSite]
    is_operator: bool
    """Owns the server's first site, and with it what concerns the whole server."""
    has_password: bool
    proved_until: str
    """Until then nothing asks again who one is."""
    second_step: list[Way]
    """With what the second step can be passed; empty for somebody who has none."""
    second_step_needed: bool
    """It has to be passed first. Until then there are no sites here, and no tokens for them."""


class Provider(Struct, frozen=True):
    id: str
    name: str


class WaysIn(Struct, frozen=True, kw_only=True):
    """What the door can offer beside passwords and codes."""

    passkeys: bool
    providers: list[Provider]
    project: str | None
    """The public key of the site whose providers these are."""


class SecondStepView(Struct, frozen=True, kw_only=True):
    is_on: bool
    totp_since: str | None
    passkeys: list[PasskeyView]
    passkeys_possible: bool
    """Not where the server is known by a number: browsers have passkeys for names only."""
    recovery_codes_left: int

    @classmethod
    def of(cls, factors: Factors, *, passkeys_possible: bool) -> "SecondStepView":
        return cls(
            is_on=bool(factors.totp_since or factors.passkeys),
            totp_since=factors.totp_since,
            passkeys=factors.passkeys,
            passkeys_possible=passkeys_possible,
            recovery_codes_left=factors.recovery_codes_left,
        )


def cookie_name(*, is_https: bool) -> str:
    """Over HTTPS browsers see to it that no other host under the same domain can plant it."""
    return f"__Host-{COOKIE}" if is_https else COOKIE
