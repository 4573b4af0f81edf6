"""`/openapi.json`, `/docs`."""

import importlib.resources
from typing import Any

import msgspec
from litestar import Response
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import OpenAPIRenderPlugin

from threadkit import __version__
from threadkit.docs.document import complete
from threadkit.docs.page import render
from threadkit.http.request import Request
from threadkit.http.routing import Router, get

_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_HEADERS = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"}


class _Page(OpenAPIRenderPlugin):
    def render(self, _request: Any, openapi_schema: dict[str, Any]) -> bytes:
        return render(complete(openapi_schema)).encode()


@get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response[bytes]:
    body = msgspec.json.encode(complete(request.app.openapi_schema.to_schema()))
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-cache"})


@get("/", include_in_schema=False)
async def landing() -> Response[str]:
    """For somebody who opens the server's address in a browser and wonders."""
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>ThreadKit</title>'
        '<link rel="icon" href="/favicon.svg">'
        '<link rel="stylesheet" href="/docs/style.css"></head><body><main><h1>ThreadKit</h1>'
        "<p>This server keeps the comments of a website.</p>"
        '<ul><li><a href="/mod">Moderation</a>: the queue, reports, people</li>'
        '<li><a href="/admin">Administration</a>: settings, keys, roles, health</li>'
        '<li><a href="/docs">The API</a>, explained</li></ul></main></body></html>'
    )
    return Response(page, media_type="text/html", headers=_HEADERS)


@get("/style.css")
async def style() -> Response[bytes]:
    css = importlib.resources.files("threadkit.docs").joinpath("style.css").read_bytes()
    return Response(css, media_type="text/css")


def openapi_config() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="ThreadKit",
        version=__version__,
        description="Comments for any site. Every call under /v1 carries the site's key in the header projectid.",
        render_plugins=[_Page(path="/")],
        openapi_router=Router("/docs", route_handlers=[style], response_headers=_HEADERS, include_in_schema=False),
        use_handler_docstrings=True,
    )


router = Router("/", route_handlers=[openapi, landing])
