"""`/mod` and `/admin`, and the files they load."""

from litestar import Response
from litestar.di import NamedDependency
from litestar.params import FromPath

from threadkit.http.request import Request
from threadkit.http.routing import Router, get
from threadkit.services import Services
from threadkit.web.assets import packaged_staff
from threadkit.web.routes import FOR_EVER, AssetNotFound, answer
from threadkit.web.staff_pages import staff_document, staff_headers


@get("/mod")
async def moderation(services: NamedDependency[Services]) -> Response[str]:
    return _page(services, "mod")


@get("/admin")
async def administration(services: NamedDependency[Services]) -> Response[str]:
    return _page(services, "admin")


@get("/staff/{path:path}")
async def asset(request: Request, path: FromPath[str]) -> Response[bytes | None]:
    found = packaged_staff().find(path.removeprefix("/"))
    if found is None:
        raise AssetNotFound
    return answer(request, found[0], FOR_EVER if found[1] else "no-cache")


def _page(services: Services, page: str) -> Response[str]:
    document = staff_document(packaged_staff(), page)
    return Response(document, media_type="text/html", headers=staff_headers(services.settings))


router = Router("/", route_handlers=[moderation, administration, asset], include_in_schema=False)
