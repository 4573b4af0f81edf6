"""When the line breaks: it says so, comes back, catches up, and finds other ways."""

import re
from typing import Any

from playwright.async_api import WebSocketRoute, expect

from tests.e2e.conftest import Talk, Visitor
from tests.e2e.holding import NO_SOCKETS
from tests.wait import until

SOCKETS = re.compile("/ws")


class Line:
    """The wire between a visitor and the server's sockets, which can be cut."""

    def __init__(self) -> None:
        self.is_cut = False
        self.open: list[WebSocketRoute] = []

    async def under(self, visitor: Visitor) -> "Line":
        await visitor.page.route_web_socket(SOCKETS, self._between)
        return self

    async def cut(self) -> None:
        self.is_cut = True
        for route in self.open:
            await route.close()

    async def _between(self, route: WebSocketRoute) -> None:
        if self.is_cut:
            await route.close()
        else:
            self.open.append(route)
            route.connect_to_server()


async def test_a_lost_connection_is_shown_and_what_was_missed_comes_in(talk: Talk, member: Any, visit: Any) -> None:
    reader = await visit()
    line = await Line().under(reader)
    await reader.open(talk.url)
    await reader.is_connected()
    await reader.page.context.set_offline(True)
    await line.cut()
    status = reader.page.get_by_test_id("connection-status")
    await expect(status).to_have_text("disconnected")
    await expect(status).to_have_class(re.compile("lost"))
    await reader.shot("disconnected", full=False)
    talk.post("While you were away", member("ada"))
    line.is_cut = False
    await reader.page.context.set_offline(False)
    await expect(reader.comment("While you were away")).to_be_visible()
    await reader.is_connected()


async def test_where_websockets_do_not_get_through_events_come_in_a_stream(talk: Talk, member: Any, visit: Any) -> None:
    reader = await visit()
    await reader.page.add_init_script(NO_SOCKETS)
    async with reader.page.expect_request("**/v1/events?**"):
        await reader.open(talk.url)
    await reader.is_connected()
    talk.post("Through the side door", member("ada"))
    await expect(reader.comment("Through the side door")).to_be_visible()
    assert reader.complaints == []


async def test_where_nothing_stays_open_the_page_asks_now_and_then(talk: Talk, member: Any, visit: Any) -> None:
    reader = await visit()
    await reader.page.add_init_script(NO_SOCKETS)
    await reader.page.route("**/v1/events?**", lambda route: route.abort())
    await reader.page.clock.install()
    await reader.open(talk.url)
    talk.post("Found by asking", member("ada"))
    for _ in range(40):
        await reader.page.clock.run_for(3000)
        if await reader.comment("Found by asking").count():
            break
    await expect(reader.comment("Found by asking")).to_be_visible()


async def test_a_tab_that_nobody_looks_at_hangs_up_after_a_while(talk: Talk, visit: Any) -> None:
    reader = await visit()
    await reader.page.clock.install()
    async with reader.page.expect_websocket() as opened:
        await reader.page.goto(talk.url)
        await reader.page.locator("thread-kit .list:not([aria-busy])").wait_for()
        await reader.page.clock.run_for(3000)
    socket = await opened.value
    look = "is => { Object.defineProperty(document, 'hidden', {value: is, configurable: true});"
    look += "document.dispatchEvent(new Event('visibilitychange')) }"
    await reader.page.evaluate(look, True)
    await reader.page.clock.run_for(20_000)
    assert not socket.is_closed()
    async with socket.expect_event("close"):
        await reader.page.clock.run_for(20_000)
    async with reader.page.expect_websocket():
        await reader.page.evaluate(look, False)


async def test_an_element_that_is_gone_leaves_no_connection(talk: Talk, visit: Any) -> None:
    reader = await visit()
    async with reader.page.expect_websocket() as opened:
        await reader.open(talk.url)
    socket = await opened.value
    await reader.is_connected()
    await reader.page.evaluate("document.querySelector('thread-kit').remove()")
    await until(socket.is_closed, "the socket to close")
    assert reader.complaints == []
