"""Server-Sent Events: the same messages, for networks that break WebSockets."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from threadkit.errors import TooMany
from threadkit.ids import PageId, SiteId
from threadkit.live.client import Client
from threadkit.live.hub import Hub
from threadkit.live.message import Message, restart, resync
from threadkit.live.meters import LiveMeters
from threadkit.live.protocol import GOODBYE_S
from threadkit.live.sockets import overloaded
from threadkit.settings import LiveSettings
from threadkit.users.viewer import Viewer

MOST_WAITING = 64
QUIET_S = 20.0  # proxies close what says nothing for long
COME_BACK_MS = 3000


class TooManyConnections(TooMany):
    """Too many connections from your address."""

    code = "too_many_connections"


class Line:
    """The connection under a request. ASGI shows nothing of it, so the server's own parts are looked for; where there
    are none, as in tests without a server, it does nothing."""

    def __init__(self, receive: Any) -> None:
        self._transport = getattr(getattr(receive, "__self__", None), "transport", None)

    def cut_off(self) -> None:
        """End it, whether or not the other side has read everything."""
        if self._transport is not None:
            self._transport.abort()

    @contextlib.contextmanager
    def on_stop(self, say_goodbye: Callable[[], None]) -> Iterator[None]:
        """Hear of it when the server is told to stop: it waits for every answer to end, and ours have none."""
        if self._transport is None:
            yield
            return
        protocol = self._transport.get_protocol()
        usual = protocol.shutdown

        def shutdown() -> None:
            usual()
            say_goodbye()

        protocol.shutdown = shutdown
        try:
            yield
        finally:
            protocol.shutdown = usual


class EventStream(Client):
    """One response that does not end. Its queue is short; whoever falls behind is told to load the page again."""

    def __init__(self, site_id: SiteId, meters: LiveMeters, line: Line) -> None:
        super().__init__(site_id)
        self._meters = meters
        self._line = line
        self._cut: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Queue[Message | None] = asyncio.Queue(MOST_WAITING)

    def write(self, message: Message) -> None:
        if self._waiting.full():
            self._meters.dropped()
            self._end(resync(None))
            return
        self._waiting.put_nowait(message)

    def close(self, code: int, reason: str = "") -> None:
        if self._waiting.full():
            self._end()
        else:
            self.is_lost = True
            self._waiting.put_nowait(None)

    def say_goodbye(self) -> None:
        self.tell(restart(random.randrange(500, 10_000)))  # noqa: S311
        self.close(1012)

    def _end(self, *last_words: Message) -> None:
        """Nobody reads. What is on its way now may never be read either, so that too comes to an end."""
        self.is_lost = True
        while not self._waiting.empty():
            self._waiting.get_nowait()
        for message in (*last_words, None):
            self._waiting.put_nowait(message)
        self._cut = asyncio.get_running_loop().call_later(GOODBYE_S, self._line.cut_off)

    def has_ended(self) -> None:
        if self._cut is not None:  # they did read; the connection may be used for something else now
            self._cut.cancel()

    async def messages(self) -> AsyncIterator[Message | None]:
        """Each as it comes; None now and then when nothing does. Ends when the client is lost."""
        while True:
            try:
                async with asyncio.timeout(QUIET_S):
                    message = await self._waiting.get()
            except TimeoutError:
                yield None
                continue
            if message is None:
                return
            yield message


class Streams:
    def __init__(self, *, hub: Hub, meters: LiveMeters, settings: LiveSettings) -> None:
        self._hub = hub
        self._meters = meters
        self._settings = settings

    def admit(self, address: str) -> None:
        if self._hub.connections_from(address) >= self._settings.sockets_per_address:
            raise TooManyConnections

    async def follow(
        self,
        site_id: SiteId,
        page_id: PageId,
        viewer: Viewer | None,
        *,
        version: int | None,
        address: str,
        line: Line,
    ) -> AsyncIterator[bytes]:
        """The body of the response."""
        if (
            self._hub.connections >= self._settings.most_connections
            or self._hub.connections_from(address) >= self._settings.sockets_per_address  # others came meanwhile
        ):
            self._meters.turned_away()
            yield written(overloaded(self._settings), retry_ms=self._settings.poll_every_s * 1000)
            return
        client = EventStream(site_id, self._meters, line)
        self._hub.add(client, address)
        try:
            with line.on_stop(client.say_goodbye):
                if viewer is not None and not viewer.is_blocked:
                    client.session_id = viewer.session.id
                    client.is_shadowed = viewer.is_shadowed
                    await self._hub.sign_in(client, viewer.id)
                if not client.is_lost:
                    yield written(Message("connected", {"user_id": client.user_id}), retry_ms=COME_BACK_MS)
                    await self._hub.enter(client, page_id, version=version)
                async for message in client.messages():
                    yield b": still here\n\n" if message is None else written(message)
        finally:
            client.has_ended()
            self._hub.let_go(client)  # we may be here because all waiting was cancelled


def written(message: Message, *, retry_ms: int | None = None) -> bytes:
    retry = f"retry: {retry_ms}\n".encode() if retry_ms else b""
    return retry + b"event: " + message.method.encode() + b"\ndata: " + message.json + b"\n\n"
