"""`/embed.js`, `/count.js` and what they load, for pages of any origin; the page for frames; and the icon of our own."""

from typing import Annotated

from litestar import Response
from litestar.di import NamedDependency
from litestar.params import FromPath, QueryParameter

from threadkit.comments.fast_lane import accepts_gzip, is_known
from threadkit.errors import NotFound, UnknownApiKey
from threadkit.http.request import Request
from threadkit.http.routing import Router, get
from threadkit.ids import PUBLIC_KEY_PREFIX
from threadkit.pages.model import LONGEST_URL
from threadkit.render.access import OnlyPublicKey
from threadkit.services import Services
from threadkit.sites.model import KeyType, OpenedSite
from threadkit.web.assets import Asset, packaged
from threadkit.web.frame import frame_document, frame_headers

FOR_EVER = "public, max-age=31536000, immutable"
FOR_A_WHILE = "public, max-age=300, stale-while-revalidate=86400"
FOR_A_DAY = "public, max-age=86400"

Short = Annotated[str | None, QueryParameter(max_length=200)]
Long = Annotated[str | None, QueryParameter(max_length=LONGEST_URL)]


class AssetNotFound(NotFound):
    """There is no such file"""

    code = "asset_not_found"


@get("/embed.js")
async def loader(request: Request) -> Response[bytes | None]:
    return answer(request, packaged()["embed.js"], FOR_A_WHILE)


@get("/count.js")
async def counter(request: Request) -> Response[bytes | None]:
    return answer(request, packaged()["count.js"], FOR_A_WHILE)


@get(["/favicon.svg", "/favicon.ico"])
async def icon(request: Request) -> Response[bytes | None]:
    """The icon of our own pages; browsers ask for the second name where a page says nothing."""
    return answer(request, packaged()["icon.svg"], FOR_A_DAY)


@get("/embed/{path:path}")
async def asset(request: Request, path: FromPath[str]) -> Response[bytes | None]:
    found = packaged().find(path.removeprefix("/"))
    if found is None:
        raise AssetNotFound
    return answer(request, found[0], FOR_EVER if found[1] else "no-cache")


@get("/embed/frame")
async def frame(
    request: Request,
    services: NamedDependency[Services],
    project: Annotated[str, QueryParameter(max_length=100)] = "",
    page_id: Annotated[str | None, QueryParameter(name="page-id", max_length=200)] = None,
    url: Long = None,
    title: Long = None,
    sort: Short = None,
    theme: Short = None,
    lang: Short = None,
    author: Short = None,
) -> Response[str]:
    if project and not project.startswith(PUBLIC_KEY_PREFIX):
        raise OnlyPublicKey
    opened = await services.site_queries.opened_by(project)
    if opened is None:
        raise UnknownApiKey
    request.scope["state"]["opened"] = OpenedSite(opened.site, KeyType.PUBLIC)
    attributes = {
        "project": project,
        "page-id": page_id,
        "url": url,
        "title": title,
        "sort": sort,
        "theme": theme,
        "lang": lang,
        "author": author,
    }
    return Response(
        frame_document(packaged(), attributes),
        media_type="text/html",
        headers=frame_headers(opened.site, services.settings),
    )


def answer(request: Request, asset: Asset, keep: str) -> Response[bytes | None]:
    """A file as this browser wants it, or only the news that it has it already."""
    compressed = asset.compressed if accepts_gzip(request.headers.get("accept-encoding", "").encode()) else None
    etag = asset.etag(is_compressed=compressed is not None)
    headers = {
        "ETag": etag,
        "Cache-Control": keep,
        "Vary": "Accept-Encoding",
        "Access-Control-Allow-Origin": "*",
        "Cross-Origin-Resource-Policy": "cross-origin",
    }
    if is_known(request.headers.get("if-none-match", "").encode() or None, etag.encode()):
        return Response(None, status_code=304, headers=headers)
    if compressed is not None:
        headers["Content-Encoding"] = "gzip"
    return Response(compressed or asset.body, media_type=asset.media_type, headers=headers)


router = Router("/", route_handlers=[loader, counter, icon, asset], include_in_schema=False)
frame_router = Router("/", route_handlers=[frame], include_in_schema=False)
