"""The first question of every API call: which site is this, and may this page speak for it."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import Scope

from threadkit.errors import MissingApiKey, OriginNotAllowed, SecretKeyRequired, UnknownApiKey
from threadkit.services import Services, services_of
from threadkit.sites.model import KeyType, OpenedSite, Site, origin_host

Connection = ASGIConnection[Any, Any, Any, Any]
# An option of routes that take `?key=` too: without a header of ours, pages of other origins save a round trip.
KEY_IN_ADDRESS = {"key_in_address": True}


async def open_site(connection: Connection, _handler: BaseRouteHandler) -> None:
    """A guard that opens the site by its key and checks the origin, before anything else is looked at."""
    services = services_of(connection.scope)
    opened = with_key = await _open_by_key(connection, services)
    opened = opened or await _open_by_token(connection, services)
    if opened is None:
        raise MissingApiKey
    state = connection.scope["state"]
    state["opened"] = opened
    page = _page_of(connection)
    state["origin_allowed"] = page is None or services.page_rule.allows(page, opened.site)
    if page is not None and not opened.is_owner and not state["origin_allowed"]:
        raise OriginNotAllowed(host=origin_host(page) or page)
    services.tally.request(opened.site.id, with_key.key_type.value if with_key else None)


async def _open_by_key(connection: Connection, services: Services) -> OpenedSite | None:
    api_key = connection.headers.get("projectid") or connection.headers.get("x-api-key")
    if not api_key:
        return None
    opened = await services.site_queries.opened_by(api_key)
    if opened is None:
        raise UnknownApiKey
    return opened


async def _open_by_token(connection: Connection, services: Services) -> OpenedSite | None:
    """Some buttons of the stock clients send only their user's token, which names its site."""
    token = connection.headers.get("authorization", "").removeprefix("Bearer ")
    claims = services.sessions.claims_of(token) if token else None
    site = await services.site_queries.by_id(claims.site_id) if claims else None
    return OpenedSite(site, KeyType.PUBLIC) if site else None


def _page_of(connection: Connection) -> str | None:
    """What the page that asks says of itself; None when nothing usable was sent, which is what programs do."""
    origin: str | None = connection.headers.get("origin")
    if origin is not None:
        # `null` and nonsense are pages too, only ones that will not say which.
        return origin
    referer: str | None = connection.headers.get("referer")
    return referer if referer and origin_host(referer) else None


def requires_secret_key(connection: Connection, _handler: BaseRouteHandler) -> None:
    opened: OpenedSite = connection.scope["state"]["opened"]
    if not opened.is_owner:
        raise SecretKeyRequired


async def provide_site(scope: Scope) -> Site:
    """The opened site, as a dependency of routes."""
    opened: OpenedSite = scope["state"]["opened"]
    return opened.site
