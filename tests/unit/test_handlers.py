"""What we take away from the framework must be what we think it is."""

import inspect

import httpx
from litestar import Litestar, get
from litestar.di import NamedDependency, Provide
from litestar.handlers import base
from litestar.routes import HTTPRoute

from threadkit.http.handlers import resolve_in_turn


def test_the_library_copies_handlers_for_guards_and_for_nothing_else() -> None:
    used = [line.strip() for line in inspect.getsource(base).splitlines() if "copy(" in line]
    assert used == ["await guard(connection, copy(self))  # type: ignore[misc]"]


async def test_what_a_handler_depends_on_is_resolved_in_turn_and_after_what_it_needs() -> None:
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

    resolve_in_turn()
    app = Litestar(
        [handler], dependencies={"first": Provide(first), "second": Provide(second), "other": Provide(other)}
    )
    (route,) = [route for route in app.routes if isinstance(route, HTTPRoute) and route.path == "/"]
    _, model = route.route_handler_map["GET"]
    assert [len(batch) for batch in model.dependency_batches] == [1, 1, 1]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as http:  # type: ignore[arg-type]
        assert (await http.get("/")).text == "123"
    assert sorted(seen) == ["first", "other", "second"]
    assert seen.index("first") < seen.index("second")
