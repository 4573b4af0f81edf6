"""Answers that come late, lines that are bad, and clocks that hurry."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.conftest import Visitor
from tests.wait import until

# A socket that never opens: what a proxy that knows no WebSockets does.
NO_SOCKETS = """window.WebSocket = class extends EventTarget {
  constructor() { super(); setTimeout(() => this.dispatchEvent(new CloseEvent('close', {code: 1006}))) }
  close() {}
}"""
# The embed asks twenty times as often, and waits so much less.
HURRY = """for (const name of ['setTimeout', 'setInterval']) {
  const real = window[name];
  window[name] = (then, ms = 0, ...rest) => real(then, ms / 20, ...rest);
}"""


@dataclass
class Held:
    """Answers to one kind of request as they are now, kept back until a test lets them go."""

    visitor: Visitor
    pattern: str
    asked: int = 0
    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    async def hold(self, route: Any) -> None:
        answer = await route.fetch()
        self.asked += 1
        await self.let_go.wait()
        await route.fulfill(response=answer)

    async def one(self) -> None:
        await until(lambda: self.asked > 0, f"a request like {self.pattern}")

    async def release(self) -> None:
        """And the page has got them."""
        async with self.visitor.page.expect_response(self.pattern):
            self.let_go.set()
        await self.visitor.page.evaluate("new Promise((then) => setTimeout(then, 50))")


async def held(visitor: Visitor, pattern: str) -> Held:
    kept = Held(visitor, pattern)
    await visitor.page.route(pattern, kept.hold)
    return kept


async def polls(visitor: Visitor) -> None:
    """Nothing stays open for this visitor, so their page asks now and then; here once a second."""
    await visitor.page.add_init_script(NO_SOCKETS)
    await visitor.page.add_init_script(HURRY)
    await visitor.page.route("**/v1/events?**", lambda route: route.abort())


async def turn_to(visitor: Visitor, url: str) -> None:
    """What a single-page app does when its reader goes to another page."""
    await visitor.page.evaluate("url => document.querySelector('thread-kit').setAttribute('url', url)", url)
