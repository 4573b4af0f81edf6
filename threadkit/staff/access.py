"""What holds for the pages' own routes: changes only from our own pages, and the cookie that says who sits there."""

from typing import Any
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler

from threadkit.errors import Forbidden
from threadkit.http.request import Request
from threadkit.services import Services, services_of
from threadkit.settings import Settings
from threadkit.sites.model import OpenedSite, is_address, origin_host, origin_of
from threadkit.staff.model import cookie_name
from threadkit.users.second_step.model import SecondStepRequired
from threadkit.users.tokens import STAFF_S
from threadkit.users.viewer import Viewer

Connection = ASGIConnection[Any, Any, Any, Any]


class OnlyFromOurPages(Forbidden):
    """This can only be asked by this server's own pages at {address}. If they are elsewhere, set public_url to their address."""

    code = "only_from_our_pages"


class ConfirmationRequired(Forbidden):
    """Show again that it is you: this does harm in wrong hands."""

    code = "confirmation_required"


async def from_our_pages(connection: Connection, _handler: BaseRouteHandler) -> None:
    """Browsers say which page sends a change, and no other page can make them say otherwise."""
    if connection.scope.get("method") in ("GET", "HEAD"):
        return
    services = services_of(connection.scope)
    said = origin_of(connection.headers.get("origin", ""))
    fetched = connection.headers.get("sec-fetch-site", "same-origin")
    if not _is_ours(said, connection, services.settings) or fetched != "same-origin":
        raise OnlyFromOurPages(address=services.settings.base_url)


def _is_ours(said: str | None, connection: Connection, settings: Settings) -> bool:
    """Ours is the public address. Where none was named, an owner may come by the machine's own address: no other page can
    have that one, while a name could be led here by whoever owns it."""
    if said is None or said == origin_of(settings.base_url):
        return said is not None
    host = origin_host(said) or ""
    is_here = urlsplit(said).netloc == connection.headers.get("host", "").lower()
    return settings.public_url is None and is_here and (host == "localhost" or is_address(host))


async def requires_recent_proof(connection: Connection, _handler: BaseRouteHandler) -> None:
    """After the guard that loads the viewer: whoever came with a session must have shown lately who they are. The secret
    key is proof by itself."""
    state = connection.scope["state"]
    opened: OpenedSite = state["opened"]
    viewer: Viewer | None = state.get("viewer")
    services = services_of(connection.scope)
    if viewer is None and opened.is_owner:
        return
    if viewer is None or not services.sessions.is_proved(viewer.session):
        raise ConfirmationRequired


def staff_cookie(settings: Settings, value: str) -> Cookie:
    """An empty value takes it away."""
    is_https = settings.is_https
    return Cookie(
        key=cookie_name(is_https=is_https),
        value=value,
        path="/",
        max_age=STAFF_S if value else 0,
        httponly=True,
        samesite="lax",
        secure=is_https,
    )


async def provide_passed_staff(staff: NamedDependency[Viewer]) -> Viewer:
    """Whoever sits there, with their second step if they have one."""
    if staff.lacks_second_step:
        raise SecondStepRequired
    return staff


async def provide_proved_staff(passed_staff: NamedDependency[Viewer], services: NamedDependency[Services]) -> Viewer:
    """The same, who has also shown lately who they are."""
    if not services.sessions.is_proved(passed_staff.session):
        raise ConfirmationRequired
    return passed_staff


async def provide_staff(request: Request, services: NamedDependency[Services]) -> Viewer:
    return await staff_of(request, services)


async def staff_of(request: Request, services: Services) -> Viewer:
    """Who sits there by their cookie; raises when nobody does."""
    name = cookie_name(is_https=services.settings.is_https)
    return await services.staff.who(request.cookies.get(name, "")[:4096])
