"""Opening a site by an address alone: links, frames and feed readers cannot set headers."""

from collections.abc import Callable

from litestar.handlers import BaseRouteHandler
from litestar.types import Guard

from threadkit.counters.model import KeyKind
from threadkit.errors import Invalid, MissingApiKey, OriginNotAllowed, UnknownApiKey
from threadkit.ids import PUBLIC_KEY_PREFIX, SiteId
from threadkit.sites.access import KEY_IN_ADDRESS, Connection
from threadkit.sites.model import origin_host, origin_is_allowed
from threadkit.sites.queries import SiteQueries


class OnlyPublicKey(Invalid):
    """Only the public key may stand in an address. A secret one that was sent like this is no secret any more."""

    code = "only_public_key"


def either(by_header: Guard, by_address: Guard) -> Guard:
    """By the header, or also by the address where a route says so."""

    async def open_site(connection: Connection, handler: BaseRouteHandler) -> None:
        opens = by_address if _takes_either(handler) else by_header
        await opens(connection, handler)  # type: ignore[misc]

    return open_site


def _takes_either(handler: BaseRouteHandler) -> bool:
    return KEY_IN_ADDRESS.items() <= handler.opt.items()


def address_guard(
    by_header: Guard,
    queries: SiteQueries,
    *,
    base_url: str,
    allow_localhost: bool,
    on_opened: Callable[[SiteId, KeyKind | None], None],
) -> Guard:
    """A guard that takes the public key from `?key=`, and else leaves the door to the ordinary one."""
    own_host = origin_host(base_url)

    async def open_site(connection: Connection, handler: BaseRouteHandler) -> None:
        headers = connection.headers
        api_key = connection.query_params.get("key")
        if not api_key or headers.get("projectid") or headers.get("x-api-key"):
            try:
                await by_header(connection, handler)  # type: ignore[misc]
            except MissingApiKey:
                if _takes_either(handler):  # the sentence that clients of the API search for
                    raise
                raise MissingApiKey("Missing projectid header, or key=tk_pub_… in the address") from None
            return
        if not api_key.startswith(PUBLIC_KEY_PREFIX):
            raise OnlyPublicKey
        opened = await queries.opened_by(api_key)
        if opened is None:
            raise UnknownApiKey
        state = connection.scope["state"]
        state["opened"] = opened
        host = origin_of(connection)
        # A link may stand anywhere, so where a reader came from does not matter; a page that reads or posts for somebody
        # says its origin. Which pages may frame ours is in the policy that goes with them.
        state["origin_allowed"] = (
            host is None
            or is_own(connection, host)
            or origin_is_allowed(host, opened.site, allow_localhost=allow_localhost)
        )
        if not state["origin_allowed"]:
            raise OriginNotAllowed(host=host)
        on_opened(opened.site.id, "public")

    def origin_of(connection: Connection) -> str | None:
        origin: str | None = connection.headers.get("origin")
        return None if origin is None else origin_host(origin) or origin

    def is_own(connection: Connection, host: str) -> bool:
        """Our own form says our own origin. No page elsewhere can make a browser lie about `Host`."""
        return host in (own_host, origin_host(f"http://{connection.headers.get('host', '')}"))

    return open_site
