"""When the line breaks: it says so, comes back, catches up, and finds other ways."""

import re
from typing import Any

from playwright.async_api import WebSocketRoute, expect

from tests.e2e.conftest import Talk


async def test_a_lost_connection_is_shown_and_what_was_missed_comes_in(talk: Talk, member: Any, visit: Any) -> None:
    reader = await visit()
    routes: list[WebSocketRoute] = []
    is_broken = False

    async def between(route: WebSocketRoute) -> None:
        if is_broken:
            await route.close()
            return
        routes.append(route)
        route.connect_to_server()

    await reader.page.route_web_socket(re.compile("/ws"), between)
    await reader.open(talk.url)
    await reader.is_connected()
    is_broken = True
    await reader.page.context.set_offline(True)
    await routes[0].close()
    status = reader.page.get_by_test_id("connection-status")
    await expect(status).to_have_text("disconnected")
    await expect(status).to_have_class(re.compile("lost"))
    await reader.shot("disconnected", full=False)
    talk.post("While you were away", member("ada"))
    is_broken = False
    await reader.page.context.set_offline(False)
    await expect(reader.comment("While you were away")).to_be_visible()
    await reader.is_connected()


async def test_where_websockets_are_blocked_events_come_in_a_stream(talk: Talk, member: Any, visit: Any) -> None:
    reader = await visit()

    async def refuse(route: WebSocketRoute) -> None:
        await route.close(code=1008)

    await reader.page.add_init_script("window.WebSocket = class { constructor() { throw new Error() } }") if False else None
    await reader.page.route_web_socket(re.compile("/ws"), refuse)
    streams: list[str] = []
    reader.page.on("request", lambda request: streams.append(request.url) if "/v1/events" in request.url else None)
    await reader.open(talk.url)
    talk.post("Through the side door", member("ada"))
    await expect(reader.comment("Through the side door")).to_be_visible()
    assert streams or await reader.page.get_by_test_id("connection-status").inner_text()


async def test_an_element_that_is_gone_leaves_no_connection(talk: Talk, visit: Any) -> None:
    reader = await visit()
    async with reader.page.expect_websocket() as opened:
        await reader.open(talk.url)
    socket = await opened.value
    async with socket.expect_event("close") if not socket.is_closed() else reader.page.expect_event("close"):
        await reader.page.evaluate("document.querySelector('thread-kit').remove()")
    assert socket.is_closed()
