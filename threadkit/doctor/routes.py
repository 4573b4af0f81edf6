"""What is set up well and what is not, for owners."""

from typing import Annotated, Literal

from litestar import Response
from litestar.di import NamedDependency
from litestar.params import QueryParameter
from msgspec import Struct

from threadkit.doctor.checks.reaching import websocket_url
from threadkit.doctor.model import Asked, Check, Tries
from threadkit.doctor.surroundings import LOCALES
from threadkit.http.client_address import ClientAddresses
from threadkit.http.language import language_headers, words_of
from threadkit.http.request import Request
from threadkit.http.routing import Router, get
from threadkit.services import Services
from threadkit.sites.admin_access import requires_owner
from threadkit.sites.model import Site

PageOrigin = Annotated[
    str | None, QueryParameter(max_length=300, description="What the browser calls `location.origin`.")
]
BrowserTime = Annotated[
    int | None, QueryParameter(ge=0, le=2**53, description="What the browser calls `Date.now()`, ms.")
]
SocketResult = Annotated[
    Literal["open", "failed"] | None, QueryParameter(description="What became of the socket in `tries`.")
]


class DoctorView(Struct, kw_only=True):
    """`checks` in the order in which they are shown. `tries` is what only a browser can find out: open the socket, tell
    with the next question what became of it, and send the header along, which must not be believed."""

    is_healthy: bool
    is_whole_server: bool
    looked_at: str
    checks: list[Check]
    tries: Tries


@get("/doctor", guards=[requires_owner], summary="What is set up well, and what is not")
async def doctor(
    request: Request,
    site: NamedDependency[Site],
    services: NamedDependency[Services],
    addresses: NamedDependency[ClientAddresses],
    page_origin: PageOrigin = None,
    browser_ms: BrowserTime = None,
    websocket: SocketResult = None,
) -> Response[DoctorView]:
    """Red or green with the fix beside it, as far as can be told from this very request. Owners of the server's first
    site see the whole server; owners of other sites see what concerns theirs. Titles, findings and fixes are in the
    language of `Accept-Language`: en, de, fr, es, pt, it, ja, zh, ar or ru, and English for any other."""
    headers = request.headers
    asked = Asked(
        peer=addresses.peer(request.scope),
        address=addresses.of(request.scope),
        is_peer_trusted=addresses.is_trusted(addresses.peer(request.scope)),
        forwarded_for=headers.get("x-forwarded-for"),
        real_ip=headers.get("x-real-ip"),
        forwarded_proto=headers.get("x-forwarded-proto"),
        scheme=request.scope.get("scheme", "http"),
        host=headers.get("host", ""),
        page_origin=page_origin or headers.get("origin") or headers.get("referer"),
        browser_ms=browser_ms,
        websocket=websocket,
    )
    words = words_of(request, LOCALES)
    is_whole = await services.site_queries.first_id() == site.id
    found = await services.doctor.examine([site], whole_server=is_whole, asked=asked, words=words)
    view = DoctorView(
        is_healthy=found.is_healthy,
        is_whole_server=is_whole,
        looked_at=found.looked_at,
        checks=found.checks,
        tries=Tries(websocket_url=websocket_url(services.settings.base_url, site)),
    )
    return Response(view, headers={"Cache-Control": "no-store", **language_headers(words)})


router = Router("/admin", route_handlers=[doctor], tags=["Administration"])
