"""The first question of every API call: which site is this, and may this page speak for it."""

from collections.abc import Callable
from typing import Any, Protocol

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard, Scope

from threadkit.counters.model import KeyKind
from threadkit.errors import MissingApiKey, OriginNotAllowed, SecretKeyRequired, UnknownApiKey
from threadkit.ids import SiteId
from threadkit.sites.model import KeyType, OpenedSite, PageRule, Site, origin_host
from threadkit.sites.queries import SiteQueries

Connection = ASGIConnection[Any, Any, Any, Any]
# An option of routes that take `?key=` too: without a header of ours, pages of other origins save a round trip.
KEY_IN_ADDRESS = {"key_in_address": True}


class HasSite(Protocol):
    """A token that was read: it names the site it is good for."""

    @property
    def site_id(self) -> SiteId: ...


def site_guard(
    queries: SiteQueries,
    claims_of: Callable[[str], HasSite | None],
    *,
    pages: PageRule,
    on_opened: Callable[[SiteId, KeyKind | None], None],
) -> Guard:
    """A guard that opens the site by its key and checks the origin, before anything else is looked at."""

    async def open_site(connection: Connection, _handler: BaseRouteHandler) -> None:
        opened = with_key = await open_by_key(connection)
        opened = opened or await open_by_token(connection)
        if opened is None:
            raise MissingApiKey
        state = connection.scope["state"]
        state["opened"] = opened
        page = _page_of(connection)
        state["origin_allowed"] = page is None or pages.allows(page, opened.site)
        if page is not None and not opened.is_owner and not state["origin_allowed"]:
            raise OriginNotAllowed(host=origin_host(page) or page)
        on_opened(opened.site.id, with_key.key_type.value if with_key else None)

    async def open_by_key(connection: Connection) -> OpenedSite | None:
        api_key = connection.headers.get("projectid") or connection.headers.get("x-api-key")
        if not api_key:
            return None
        opened = await queries.opened_by(api_key)
        if opened is None:
            raise UnknownApiKey
        return opened

    async def open_by_token(connection: Connection) -> OpenedSite | None:
        """Some buttons of the stock clients send only their user's token, which names its site."""
        token = connection.headers.get("authorization", "").removeprefix("Bearer ")
        claims = claims_of(token) if token else None
        site = await queries.by_id(claims.site_id) if claims else None
        return OpenedSite(site, KeyType.PUBLIC) if site else None

    return open_site


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
