"""`/demo`: a small blog that shows the embed as its readers see it. Only where the settings want it."""

from typing import Annotated, Any

from litestar import Response
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath, QueryParameter

from threadkit.errors import NotFound
from threadkit.http.routing import Router, get
from threadkit.services import Services, services_of
from threadkit.sites.model import Site
from threadkit.web import demo_pages
from threadkit.web.demo_pages import DemoPageNotFound
from threadkit.web.frame import embed_policy


@get("/demo")
async def front(services: NamedDependency[Services]) -> Response[str]:
    return _page(services, demo_pages.front_page(services.settings, await _site(services)))


@get("/demo/{name:str}")
async def article(
    name: FromPath[str],
    services: NamedDependency[Services],
    look: Annotated[str | None, QueryParameter(max_length=20)] = None,
) -> Response[str]:
    site = await _site(services)
    return _page(services, demo_pages.article_page(services.settings, site, name, demo_pages.look(look)))


@get("/demo/style.css")
async def style() -> Response[bytes]:
    return Response(demo_pages.style(), media_type="text/css", headers={"Cache-Control": "no-cache"})


async def _site(services: Services) -> Site:
    sites = await services.site_queries.all()
    if not sites:
        raise DemoPageNotFound
    return sites[0]


def _page(services: Services, html: str) -> Response[str]:
    headers = {
        "Content-Security-Policy": f"{embed_policy(services.settings)}; frame-ancestors 'none'",
        "Cache-Control": "no-cache",
        "Referrer-Policy": "same-origin",
    }
    return Response(html, media_type="text/html", headers=headers)


async def only_where_wanted(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    if not services_of(connection.scope).settings.demo:
        raise NotFound


router = Router("/", route_handlers=[front, article, style], guards=[only_where_wanted], include_in_schema=False)
