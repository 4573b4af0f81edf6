"""What the pages for staff are told about whoever sits before them. No I/O here."""

from typing import Literal

from msgspec import Struct

from threadkit.ids import SiteId
from threadkit.sites.model import Site
from threadkit.sites.roles import Role
from threadkit.users.model import UserResponse

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


def cookie_name(*, is_https: bool) -> str:
    """Over HTTPS browsers see to it that no other host under the same domain can plant it."""
    return f"__Host-{COOKIE}" if is_https else COOKIE
