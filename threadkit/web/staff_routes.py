"""`/mod` and `/admin`, and the files they load."""

from litestar import Response, Router, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from threadkit.http.request import Request
from threadkit.services import Services
from threadkit.web.assets import Assets
from threadkit.web.routes import FOR_EVER, AssetNotFound, answer
from threadkit.web.staff_pages import staff_document, staff_headers


@get("/mod")
async def moderation(services: NamedDependency[Services], staff_assets: NamedDependency[Assets]) -> Response[str]:
    return _page(services, staff_assets, "mod")


@get("/admin")
async def administration(services: NamedDependency[Services], staff_assets: NamedDependency[Assets]) -> Response[str]:
    return _page(services, staff_assets, "admin")


@get("/staff/{path:path}")
async def asset(request: Request, path: FromPath[str], staff_assets: NamedDependency[Assets]) -> Response[bytes | None]:
    found = staff_assets.find(path.removeprefix("/"))
    if found is None:
        raise AssetNotFound
    return answer(request, found[0], FOR_EVER if found[1] else "no-cache")


def _page(services: Services, assets: Assets, page: str) -> Response[str]:
    document = staff_document(assets, page)
    return Response(document, media_type="text/html", headers=staff_headers(services.settings))


router = Router("/", route_handlers=[moderation, administration, asset], include_in_schema=False)
