"""Who is asking, and may they: guards for routes. They run before path, query and body are looked at."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import Scope

from threadkit.clock import iso
from threadkit.errors import Forbidden, Unauthenticated
from threadkit.services import services_of
from threadkit.sites.model import OpenedSite
from threadkit.sites.roles import Role
from threadkit.users.second_step.model import SecondStepDemanded, SecondStepRequired
from threadkit.users.sessions import Device, SessionEnded
from threadkit.users.viewer import Viewer

Connection = ASGIConnection[Any, Any, Any, Any]


class MissingToken(Unauthenticated):
    """Missing Authorization header"""

    code = "missing_token"


class InvalidAuthorization(Unauthenticated):
    """Invalid Authorization header format"""

    code = "invalid_authorization"


class UserIsBlocked(Forbidden):
    """User is blocked"""

    code = "user_blocked"

    @classmethod
    def of(cls, viewer: Viewer) -> "UserIsBlocked":
        """With the time until when, if the ban ends by itself."""
        return cls(until=iso(viewer.banned_until_ms) if viewer.banned_until_ms else None)


class ModeratorRequired(Forbidden):
    """Moderator access required"""

    code = "moderator_required"


class AdminRequired(Forbidden):
    """Admin access required"""

    code = "admin_required"


class UsernameRequired(Forbidden):
    """Username must be set before performing this action"""

    code = "username_required"


async def knows_user(connection: Connection, _handler: BaseRouteHandler) -> None:
    """Anybody may ask; whoever has a good token is known. Any trouble with it counts as nobody."""
    try:
        await _load_viewer(connection)
    except Unauthenticated as error:
        connection.scope["state"]["viewer"] = None
        connection.scope["state"]["session_ended"] = isinstance(error, SessionEnded)


async def requires_user(connection: Connection, _handler: BaseRouteHandler) -> None:
    await _load_viewer(connection)


async def requires_whole_sign_in(connection: Connection, _handler: BaseRouteHandler) -> None:
    """For what would hurt most in a thief's hands: whoever has a second step must have passed it."""
    viewer = await _load_viewer(connection)
    if viewer.lacks_second_step:
        raise SecondStepRequired


async def requires_unblocked(connection: Connection, _handler: BaseRouteHandler) -> None:
    viewer = await _load_viewer(connection)
    if viewer.is_blocked:
        raise UserIsBlocked.of(viewer)


async def requires_name(connection: Connection, handler: BaseRouteHandler) -> None:
    await requires_unblocked(connection, handler)
    if not connection.scope["state"]["viewer"].user.username_set:
        raise UsernameRequired


async def requires_moderator(connection: Connection, handler: BaseRouteHandler) -> None:
    await requires_unblocked(connection, handler)
    require_role(connection.scope["state"]["viewer"], Role.MODERATOR, ModeratorRequired)


async def requires_admin(connection: Connection, handler: BaseRouteHandler) -> None:
    await requires_unblocked(connection, handler)
    require_role(connection.scope["state"]["viewer"], Role.ADMIN, AdminRequired)


def require_role(viewer: Viewer, least: Role, refusal: type[Forbidden]) -> None:
    if viewer.role >= least:
        return
    if viewer.withheld_role is None or viewer.withheld_role < least:
        raise refusal
    raise SecondStepRequired if viewer.lacks_second_step else SecondStepDemanded


def bearer(connection: Connection) -> str:
    header = connection.headers.get("authorization")
    if header is None:
        raise MissingToken
    if not header.startswith("Bearer "):
        raise InvalidAuthorization
    return header.removeprefix("Bearer ")


async def provide_viewer(scope: Scope) -> Viewer:
    viewer: Viewer = scope["state"]["viewer"]
    return viewer


async def provide_maybe_viewer(scope: Scope) -> Viewer | None:
    viewer: Viewer | None = scope["state"].get("viewer")
    return viewer


async def provide_device(scope: Scope) -> Device:
    addresses = services_of(scope).addresses
    agent = next((value for name, value in scope["headers"] if name == b"user-agent"), b"")
    return Device(agent.decode("latin-1"), addresses.hashed(addresses.of(scope)))


async def _load_viewer(connection: Connection) -> Viewer:
    token, state = bearer(connection), connection.scope["state"]
    arrived: Viewer | Unauthenticated | None = state.get("arrived")  # known since the request was counted
    if arrived is None:
        opened: OpenedSite = state["opened"]
        services = services_of(connection.scope)
        arrived = await services.sessions.viewer(token, opened.site.id)
    if isinstance(arrived, Unauthenticated):
        raise arrived
    state["viewer"] = arrived
    return arrived
