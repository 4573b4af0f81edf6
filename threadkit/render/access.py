"""Opening a site by an address alone: links, frames and feed readers cannot set headers."""

from litestar.handlers import BaseRouteHandler

from threadkit.errors import Invalid, MissingApiKey, OriginNotAllowed, UnknownApiKey
from threadkit.ids import PUBLIC_KEY_PREFIX
from threadkit.services import services_of
from threadkit.settings import Settings
from threadkit.sites.access import KEY_IN_ADDRESS, Connection, open_site
from threadkit.sites.model import origin_host, origin_is_allowed


class OnlyPublicKey(Invalid):
    """Only the public key may stand in an address. A secret one that was sent like this is no secret any more."""

    code = "only_public_key"


async def open_site_by_either(connection: Connection, handler: BaseRouteHandler) -> None:
    """A guard that opens the site by the header, or also by the address where a route says so."""
    opens = open_site_by_address if _takes_either(handler) else open_site
    await opens(connection, handler)


async def open_site_by_address(connection: Connection, handler: BaseRouteHandler) -> None:
    """A guard that takes the public key from `?key=`, and else leaves the door to the ordinary one."""
    headers = connection.headers
    api_key = connection.query_params.get("key")
    if not api_key or headers.get("projectid") or headers.get("x-api-key"):
        try:
            await open_site(connection, handler)
        except MissingApiKey:
            if _takes_either(handler):  # the sentence that clients of the API search for
                raise
            raise MissingApiKey("Missing projectid header, or key=tk_pub_… in the address") from None
        return
    if not api_key.startswith(PUBLIC_KEY_PREFIX):
        raise OnlyPublicKey
    services = services_of(connection.scope)
    opened = await services.site_queries.opened_by(api_key)
    if opened is None:
        raise UnknownApiKey
    state = connection.scope["state"]
    state["opened"] = opened
    host = _origin_of(connection)
    # A link may stand anywhere, so where a reader came from does not matter; a page that reads or posts for somebody
    # says its origin. Which pages may frame ours is in the policy that goes with them.
    state["origin_allowed"] = (
        host is None
        or _is_own(connection, host, services.settings)
        or origin_is_allowed(host, opened.site, allow_localhost=services.settings.allow_localhost_origin)
    )
    if not state["origin_allowed"]:
        raise OriginNotAllowed(host=host)
    services.tally.request(opened.site.id, "public")


def _takes_either(handler: BaseRouteHandler) -> bool:
    return KEY_IN_ADDRESS.items() <= handler.opt.items()


def _origin_of(connection: Connection) -> str | None:
    origin: str | None = connection.headers.get("origin")
    return None if origin is None else origin_host(origin) or origin


def _is_own(connection: Connection, host: str, settings: Settings) -> bool:
    """Our own form says our own origin. No page elsewhere can make a browser lie about `Host`."""
    return host in (origin_host(settings.base_url), origin_host(f"http://{connection.headers.get('host', '')}"))
