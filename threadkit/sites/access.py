"""The first question of every API call: which site is this, and may this page speak for it."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard, Scope

from threadkit.errors import MissingApiKey, OriginNotAllowed, SecretKeyRequired, UnknownApiKey
from threadkit.sites.model import OpenedSite, Site, origin_host, origin_is_allowed
from threadkit.sites.queries import SiteQueries

Connection = ASGIConnection[Any, Any, Any, Any]


def site_guard(queries: SiteQueries, *, allow_localhost: bool) -> Guard:
    """A guard that opens the site by its key and checks the origin, before anything else is looked at."""

    async def open_site(connection: Connection, _handler: BaseRouteHandler) -> None:
        api_key = connection.headers.get("projectid") or connection.headers.get("x-api-key")
        if not api_key:
            raise MissingApiKey
        opened = await queries.opened_by(api_key)
        if opened is None:
            raise UnknownApiKey
        state = connection.scope["state"]
        state["opened"] = opened
        host = _host_of_page(connection)
        state["origin_allowed"] = host is None or origin_is_allowed(host, opened.site, allow_localhost=allow_localhost)
        if not opened.is_owner and not state["origin_allowed"]:
            raise OriginNotAllowed(host=host)

    return open_site


def _host_of_page(connection: Connection) -> str | None:
    """The host of the page that asks; None when nothing usable was sent, which is what programs do."""
    origin = connection.headers.get("origin")
    if origin is not None:
        # `null` and nonsense are pages too, only ones that will not say which.
        return origin_host(origin) or origin
    referer = connection.headers.get("referer")
    return origin_host(referer) if referer else None


def requires_secret_key(connection: Connection, _handler: BaseRouteHandler) -> None:
    opened: OpenedSite = connection.scope["state"]["opened"]
    if not opened.is_owner:
        raise SecretKeyRequired


async def provide_site(scope: Scope) -> Site:
    """The opened site, as a dependency of routes."""
    opened: OpenedSite = scope["state"]["opened"]
    return opened.site
