"""`/v1/notifications`: what I was told. Contract 4.4."""

from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Struct
from msgspec.structs import asdict, replace

from threadkit.http.parameters import as_id
from threadkit.http.routing import Router, delete, get, post, put
from threadkit.notifications.model import NotificationId, NotificationPage, Preferences
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.users.access import requires_user
from threadkit.users.viewer import Viewer


class Choice(Struct, kw_only=True):
    """What is absent stays as it is."""

    reply: bool | None = None
    mention: bool | None = None
    upvote: bool | None = None
    mod_action: bool | None = None
    report_outcome: bool | None = None


@get("/", guards=[requires_user], summary="What happened that concerns me")
async def list_notifications(
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
    offset: Annotated[int, QueryParameter(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, QueryParameter(ge=0)] = 50,
) -> NotificationPage:
    """Newest first, of this site."""
    return await services.notifications.page(site.id, viewer.id, offset=offset, limit=min(limit, 100))


@post("/read", status_code=200, guards=[requires_user], summary="I have seen all of it")
async def read_all(
    site: NamedDependency[Site], viewer: NamedDependency[Viewer], services: NamedDependency[Services]
) -> None:
    await services.notifications.read_all(site.id, viewer.id)


@post("/{notification_id:str}/read", status_code=200, guards=[requires_user], summary="I have seen this")
async def read_one(
    notification_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> None:
    await services.notifications.read(site.id, viewer.id, as_id(NotificationId, notification_id))


@delete("/{notification_id:str}", status_code=204, guards=[requires_user], summary="Take this away")
async def remove(
    notification_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> None:
    await services.notifications.remove(site.id, viewer.id, as_id(NotificationId, notification_id))


@get("/settings", guards=[requires_user], summary="Of what I want to be told")
async def settings(viewer: NamedDependency[Viewer], services: NamedDependency[Services]) -> Preferences:
    return await services.notifications.preferences(viewer.id)


@put("/settings", guards=[requires_user], summary="Choose of what I want to be told")
async def choose(
    data: JSONBody[Choice], viewer: NamedDependency[Viewer], services: NamedDependency[Services]
) -> Preferences:
    """On every site of this server. What is absent stays as it is."""
    before = await services.notifications.preferences(viewer.id)
    chosen = {kind: is_on for kind, is_on in asdict(data).items() if is_on is not None}
    return await services.notifications.choose(viewer.id, replace(before, **chosen))


router = Router(
    "/notifications",
    route_handlers=[list_notifications, read_all, read_one, remove, settings, choose],
    tags=["Notifications"],
)
