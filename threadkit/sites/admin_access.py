"""Who may manage a site: its owners and admins, and whoever has its secret key; and who may look after the server."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath
from litestar.types import Scope

from threadkit.errors import Forbidden, SecretKeyRequired
from threadkit.ids import UserId
from threadkit.services import services_of
from threadkit.sites.model import OpenedSite, Site
from threadkit.sites.roles import Role
from threadkit.sites.routes import SiteMismatch
from threadkit.users.access import require_role, requires_admin, requires_unblocked
from threadkit.users.viewer import Viewer

Connection = ASGIConnection[Any, Any, Any, Any]


class OwnerRequired(Forbidden):
    """Owner access required"""

    code = "owner_required"


class OperatorRequired(Forbidden):
    """This is for who runs the server: an owner of its first site who is signed in there, or that site's secret key"""

    code = "operator_required"


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


async def requires_operator(connection: Connection, handler: BaseRouteHandler) -> None:
    """Whoever owns the oldest site of the server, by being signed in there or by its secret key."""
    if not _has_secret_key(connection):
        if "authorization" not in connection.headers:
            raise OperatorRequired
        await requires_unblocked(connection, handler)
        if connection.scope["state"]["viewer"].role < Role.OWNER:
            raise OperatorRequired
    services = services_of(connection.scope)
    opened: OpenedSite = connection.scope["state"]["opened"]
    if opened.site.id != await services.site_queries.first_id():
        raise OperatorRequired


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
