"""Live pages over plain HTTP: an endless answer, and a short one to ask for again and again."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from litestar import Response
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import QueryParameter
from litestar.response import Stream

from threadkit.http.client_address import ClientAddresses
from threadkit.http.request import Request
from threadkit.http.routing import Router, get
from threadkit.live.changes import Changes
from threadkit.live.streams import Line
from threadkit.pages.model import PageRef
from threadkit.pages.parameters import PageNameParameter, PageUrlParameter
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.users.access import knows_user
from threadkit.users.viewer import Viewer

VersionParameter = Annotated[
    int | None, QueryParameter(ge=0, le=2**53, description="The `version` of the thread the client has.")
]


def event_stream(request: Request, body: AsyncIterator[bytes]) -> Response[Any]:
    """An answer that does not end, unless only its headers were asked for."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if request.scope["state"].get("is_head"):
        return Response(b"", media_type="text/event-stream", headers=headers)
    return Stream(body, media_type="text/event-stream", headers=headers)


@get(
    "/events",
    guards=[knows_user],
    summary="What happens on a page, as Server-Sent Events",
    responses={200: ResponseSpec(str, description="An endless `text/event-stream`", media_type="text/event-stream")},
)
async def events(
    site: NamedDependency[Site],
    maybe_viewer: NamedDependency[Viewer | None],
    services: NamedDependency[Services],
    addresses: NamedDependency[ClientAddresses],
    request: Request,
    page_url: PageUrlParameter = None,
    page_id: PageNameParameter = None,
    version: VersionParameter = None,
) -> Response[Any]:
    """The messages of the WebSocket, each as an event named like its method with the same JSON as data."""
    address = addresses.hashed(addresses.of(request.scope))
    services.streams.admit(address)
    asked_for = await services.page_queries.id_of(site, PageRef(page_url, page_id))
    found = await services.page_queries.now(site.id, asked_for)
    return event_stream(
        request,
        services.streams.follow(
            site.id,
            found.id,
            maybe_viewer,
            version=version,
            address=address,
            line=Line(request.receive),
        ),
    )


@get("/changes", guards=[knows_user], summary="What changed on a page since a version")
async def changes(
    since: Annotated[int, QueryParameter(ge=0, le=2**53, description="The `version` the client has.")],
    site: NamedDependency[Site],
    maybe_viewer: NamedDependency[Viewer | None],
    services: NamedDependency[Services],
    page_url: PageUrlParameter = None,
    page_id: PageNameParameter = None,
) -> Changes:
    """For clients that were away or that poll: comments that are new or different, and those that are gone."""
    asked_for = await services.page_queries.id_of(site, PageRef(page_url, page_id))
    return await services.changes.since(site, asked_for, since, maybe_viewer)


router = Router("/", route_handlers=[events, changes], tags=["Live"])
