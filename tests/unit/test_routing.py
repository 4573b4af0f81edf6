"""What our routes leave out of the framework must be all they leave out."""

from typing import Any

import httpx
from litestar import Litestar
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency, Provide
from litestar.handlers import BaseRouteHandler
from litestar.routes import HTTPRoute

from threadkit.http.routing import get
from threadkit.routes import route_table


async def test_a_guard_gets_the_route_itself() -> None:
    seen: list[BaseRouteHandler] = []

    async def guard(_connection: ASGIConnection, handler: BaseRouteHandler) -> None:  # type: ignore[type-arg]
        seen.append(handler)

    @get("/", guards=[guard])
    async def handler() -> str:
        return "here"

    app = Litestar([handler])
    assert await _text(app) == "here"
    assert seen == [_get_of(app)[0]]


async def test_dependencies_are_resolved_in_turn_and_after_what_they_need() -> None:
    seen: list[str] = []

    async def first() -> str:
        seen.append("first")
        return "1"

    async def second(first: NamedDependency[str]) -> str:
        seen.append("second")
        return first + "2"

    async def other() -> str:
        seen.append("other")
        return "3"

    @get("/")
    async def handler(second: NamedDependency[str], other: NamedDependency[str]) -> str:
        return second + other

    app = Litestar(
        [handler], dependencies={"first": Provide(first), "second": Provide(second), "other": Provide(other)}
    )
    assert [len(batch) for batch in _get_of(app)[1].dependency_batches] == [1, 1, 1]
    assert await _text(app) == "123"
    assert sorted(seen) == ["first", "other", "second"]
    assert seen.index("first") < seen.index("second")


def test_the_table_is_made_once_a_process() -> None:
    assert route_table() is route_table()


def _get_of(app: Litestar) -> tuple[BaseRouteHandler, Any]:
    (route,) = [route for route in app.routes if isinstance(route, HTTPRoute) and route.path == "/"]
    return route.route_handler_map["GET"]


async def _text(app: Litestar) -> str:
    transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as http:
        return (await http.get("/")).text
