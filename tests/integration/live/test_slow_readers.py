"""Who reads too slowly is told and cut off; who reads beside them notices nothing. G14, reliability 4."""

import asyncio
import contextlib
import json
import socket
from typing import Any

import httpx
import pytest
import uvicorn
from redis.asyncio import Redis
from websockets.asyncio.client import connect

from tests.integration.comments.test_comments import URL, write
from tests.integration.live.ears import Ear, LiveServer
from tests.integration.live.raw import CLOSE, PING, TEXT, RawSocket, call
from tests.integration.live.test_events import page_of
from tests.people import Person, create
from tests.wait import until
from threadkit.live import protocol
from threadkit.sites.model import NewSite

# Kernel buffers hide some megabytes from us, so it takes more than those.
EVENTS = 400
SMALL_BUFFER = 4096


class Page:
    """A page with one long comment, which can be announced as often as one likes."""

    def __init__(self, redis: Redis, site_id: str, page_id: str, comment_id: str) -> None:
        self.id = page_id
        self._site_id = site_id
        self._redis = redis
        self._comment_id = comment_id

    async def announce(self, times: int) -> None:
        event = json.dumps({"type": "edit_comment", "comment_id": self._comment_id, "site_id": self._site_id})
        for _ in range(times):
            await self._redis.publish(f"page:{self.id}", event)


@pytest.fixture
async def ada(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "ada")


@pytest.fixture
async def page(http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person) -> Page:
    comment = await write(ada, "x" * 9000)
    page_id, _ = await page_of(http, new_site)
    return Page(redis, new_site.site.id, page_id, comment["i"])


async def heard_edits(ear: Ear, number: int) -> float:
    """Hear so many; says how long the longest wait was."""
    loop = asyncio.get_running_loop()
    longest, before = 0.0, loop.time()
    for _ in range(number):
        await ear.hear_of("edit_comment", seconds=10)
        longest, before = max(longest, loop.time() - before), loop.time()
    return longest


async def test_who_never_reads_is_cut_off_and_nobody_else_misses_anything(
    live: LiveServer, page: Page, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "GOODBYE_S", 0.5)
    services = live.app.services
    async with contextlib.AsyncExitStack() as stack:
        healthy = [await stack.enter_async_context(live.ear(ada.key)) for _ in range(5)]
        for ear in healthy:
            await ear.subscribe(page.id)
        stalled = [
            await stack.enter_async_context(await RawSocket.open(live.port, ada.key, receive_bytes=SMALL_BUFFER))
            for _ in range(3)
        ]
        for raw in stalled:
            await raw.send(call("subscribe", page_id=page.id))
        await until(lambda: len(next(iter(services.hub._rooms.values())).clients) == 8, "everybody")
        wires: list[Any] = [client._wire for client in services.hub._clients]  # type: ignore[attr-defined]
        most = 0

        async def watch() -> None:
            nonlocal most
            while True:
                most = max(most, *(wire.unsent_bytes for wire in wires))
                await asyncio.sleep(0)

        watching = asyncio.create_task(watch())
        started = asyncio.get_running_loop().time()
        announcing = asyncio.create_task(page.announce(EVENTS))
        waits = await asyncio.gather(*(heard_edits(ear, EVENTS) for ear in healthy))
        await announcing
        took = asyncio.get_running_loop().time() - started
        await until(lambda: services.hub.connections == 5, "the stalled ones to be forgotten")
        await until(lambda: all(not wire.unsent_bytes for wire in wires), "their buffers to be freed")
        watching.cancel()
        assert 256 * 1024 < most < 512 * 1024
        assert max(waits) < 5, f"{waits} of {took}"
        assert live.meter("threadkit_live_drops_total") == 3
        for raw in stalled:
            assert (await raw.read_all())[-1][0] != CLOSE, "the goodbye cannot have got through"


async def test_who_reads_late_learns_that_something_was_missed(live: LiveServer, page: Page, ada: Person) -> None:
    """They get what was written until then, whole and in order, then `resync`, then a close frame that says why."""
    async with await RawSocket.open(live.port, ada.key, receive_bytes=SMALL_BUFFER) as raw:
        await raw.send(call("subscribe", page_id=page.id))
        await until(lambda: bool(live.app.services.hub._rooms), "the page")
        await page.announce(EVENTS)
        await until(lambda: live.app.services.hub.connections == 0, "the drop")
        frames = [one for one in await raw.read_all() if one[0] != PING]
        methods = [json.loads(payload)["method"] for opcode, payload in frames if opcode == TEXT]
        assert methods[:2] == ["connected", "presence"]
        assert methods[-1] == "resync"
        assert 10 < methods.count("edit_comment") < EVENTS
        opcode, payload = frames[-1]
        assert (opcode, int.from_bytes(payload[:2]), payload[2:]) == (CLOSE, 1013, b"too slow")


async def test_a_stalled_reader_on_a_quiet_page_is_cut_off_too(
    impatient: LiveServer, page: Page, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too little is written to overflow, but a full connection must not be waited for until it is read: nobody
    answers pings there."""
    monkeypatch.setattr(protocol, "GOODBYE_S", 0.3)
    hub = impatient.app.services.hub
    async with await RawSocket.open(impatient.port, ada.key, receive_bytes=SMALL_BUFFER) as raw:
        await raw.send(call("subscribe", page_id=page.id))
        await until(lambda: bool(hub._rooms), "the page")
        (client,) = hub._clients
        wire: Any = client._wire  # type: ignore[attr-defined]
        while hub.connections and not wire.unsent_bytes:
            await page.announce(10)
        await until(lambda: hub.connections == 0, "the end")
        await until(lambda: not wire.unsent_bytes, "the buffer to be freed")


async def test_a_naive_loop_starves_the_healthy_ones() -> None:
    """The control arm: with sends that wait for each socket in turn, the same stalled reader stops everybody."""
    sends: list[Any] = []

    async def naive(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        sends.append(send)
        while (await receive())["type"] != "websocket.disconnect":
            pass

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        config = uvicorn.Config(naive, lifespan="off", loop="none", log_config=None, ws="wsproto")
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        await until(lambda: server.started, "the server")
        async with connect(f"ws://127.0.0.1:{port}/ws", max_queue=None) as healthy:
            await until(lambda: len(sends) == 1, "the healthy one")
            async with await RawSocket.open(port, "x", receive_bytes=SMALL_BUFFER):
                await until(lambda: len(sends) == 2, "the stalled one")

                async def tell_everybody() -> None:
                    for _ in range(EVENTS):
                        for send in sends:
                            await send({"type": "websocket.send", "text": "x" * 18_000})

                telling = asyncio.create_task(tell_everybody())
                got = 0
                with contextlib.suppress(TimeoutError):
                    while got < EVENTS:
                        await asyncio.wait_for(healthy.recv(), 1)
                        got += 1
                assert 0 < got < EVENTS, "the harness does not stall anybody"
                assert not telling.done()
                telling.cancel()
        server.should_exit = True
        await serving


# --- Server-Sent Events -----------------------------------------------------------------------------------------------


async def open_stream(port: int, key: str, *, receive_bytes: int | None = None) -> socket.socket:
    loop = asyncio.get_running_loop()
    sock = socket.socket()
    sock.setblocking(False)
    if receive_bytes:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    await loop.sock_connect(sock, ("127.0.0.1", port))
    await loop.sock_sendall(sock, f"GET /v1/events?key={key}&page_url={URL} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return sock


async def test_a_stream_that_nobody_reads_is_cut_off(
    live: LiveServer, page: Page, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threadkit.live.streams.GOODBYE_S", 0.5)
    hub = live.app.services.hub
    stalled = await open_stream(live.port, ada.key, receive_bytes=SMALL_BUFFER)
    async with live.ear(ada.key) as healthy:
        await healthy.subscribe(page.id)
        await until(lambda: len(next(iter(hub._rooms.values())).clients) == 2, "both")
        await asyncio.gather(page.announce(EVENTS), heard_edits(healthy, EVENTS))
        await until(lambda: hub.connections == 1, "the stream to be forgotten")
        assert live.meter("threadkit_live_drops_total") == 1
    stalled.close()


async def test_a_stream_whose_reader_leaves_is_forgotten_whole(
    live: LiveServer, page: Page, ada: Person, redis: Redis
) -> None:
    hub = live.app.services.hub
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}") as web:
        headers = {"authorization": f"Bearer {ada.token}", "projectid": ada.key}
        for _ in range(3):
            async with web.stream("GET", "/v1/events", params={"page_url": URL}, headers=headers) as answer:
                lines = answer.aiter_lines()  # kept, or the answer would be closed with it
                async for line in lines:
                    if line.startswith("event: presence"):
                        # Before the loop is left: with its iterator the stream may end at any moment.
                        assert await redis.smembers(f"page:{page.id}:presence") == {ada.id}
                        break
            await until(lambda: hub.connections == 0, "the stream to be forgotten")
            await until(lambda: not (hub._rooms or hub._of_user or hub._ears or hub._per_address), "all that was kept")

            async def is_gone() -> bool:
                keys = (f"page:{page.id}:presence", f"page:{page.id}:viewers")
                return not await redis.exists(*keys) and not await redis.pubsub_channels("user:*")

            await until(is_gone, "the store to be told")


async def test_a_stream_ends_with_its_session(live: LiveServer, page: Page, ada: Person) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}") as web:
        headers = {"authorization": f"Bearer {ada.token}", "projectid": ada.key}
        async with web.stream("GET", "/v1/events", params={"page_url": URL}, headers=headers) as answer:
            async with asyncio.timeout(5):
                async for line in answer.aiter_lines():
                    if line.startswith("event: presence"):
                        assert (await ada.call("POST", "/v1/auth/logout")).status_code == 200
    await until(lambda: live.app.services.hub.connections == 0, "the stream to be forgotten")
