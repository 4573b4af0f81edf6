"""Who may manage a site: its owners and admins, and whoever has its secret key."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath
from litestar.types import Scope

from threadkit.errors import Forbidden, SecretKeyRequired
from threadkit.ids import UserId
from threadkit.sites.model import OpenedSite, Site
from threadkit.sites.roles import Role
from threadkit.sites.routes import SiteMismatch
from threadkit.users.access import require_role, requires_admin, requires_unblocked
from threadkit.users.viewer import Viewer

Connection = ASGIConnection[Any, Any, Any, Any]


class OwnerRequired(Forbidden):
    """Owner access required"""

    code = "owner_required"


async def requires_owner(connection: Connection, handler: BaseRouteHandler) -> None:
    """The secret key, or an owner who is signed in."""
    if _has_secret_key(connection):
        return
    if "authorization" not in connection.headers:
        raise SecretKeyRequired
    await requires_unblocked(connection, handler)
    require_role(connection.scope["state"]["viewer"], Role.OWNER, OwnerRequired)


async def requires_admin_or_key(connection: Connection, handler: BaseRouteHandler) -> None:
    """The secret key, or an admin or owner who is signed in."""
    if not _has_secret_key(connection):
        await requires_admin(connection, handler)


def _has_secret_key(connection: Connection) -> bool:
    opened: OpenedSite = connection.scope["state"]["opened"]
    return opened.is_owner


async def provide_own_site(site_id: FromPath[str], site: NamedDependency[Site]) -> Site:
    """The site in the address, which must be that of the key."""
    if site_id != site.id:
        raise SiteMismatch
    return site


async def provide_actor(scope: Scope) -> UserId | None:
    """Who manages: a user, or None for the secret key, which is above all roles."""
    viewer: Viewer | None = scope["state"].get("viewer")
    return viewer.id if viewer else None
