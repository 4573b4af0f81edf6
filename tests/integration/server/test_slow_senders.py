"""Requests that do not end, and connections that do: header and body time-outs, and a server that says goodbye."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import httpx
import pytest
import uvicorn

from tests.folders import quick_folder
from tests.integration.server.program import Server, environment, serving
from tests.wait import until
from threadkit.server import serve
from threadkit.server.protocol import ReadersProtocol
from threadkit.settings import Settings

PUBLIC = "tk_pub_slowslow"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    env = environment(
        PROJECT_ID_PUBLIC=PUBLIC,
        THREADKIT_LIMITS_REQUESTS_AT_ONCE="32",
        THREADKIT_LIMITS_HEADER_TIMEOUT_S="0.5",
        THREADKIT_LIMITS_BODY_TIMEOUT_S="1",
    )
    with (
        quick_folder() as folder,
        serving(Path(folder) / "d", env=env) as found,
    ):
        yield found


async def answer_to(server: Server, *parts: bytes) -> bytes:
    """What comes back, until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        async with asyncio.timeout(10):
            return await reader.read()
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def test_a_head_that_does_not_end_is_given_up(server: Server) -> None:
    assert (await answer_to(server, b"GET /health HTTP/1.1\r\nhost: x\r\n")).startswith(b"HTTP/1.1 408 ")


async def test_somebody_who_says_nothing_is_given_up(server: Server) -> None:
    assert (await answer_to(server)).startswith(b"HTTP/1.1 408 ")


async def test_a_head_without_end_is_refused_by_its_size(server: Server) -> None:
    endless = [b"GET /health HTTP/1.1\r\n"] + [b"x-filler: %b\r\n" % (b"a" * 1000)] * 100
    with contextlib.suppress(ConnectionError):  # it may hang up while we are still talking
        assert (await answer_to(server, *endless)).startswith(b"HTTP/1.1 431 ")


async def test_a_body_that_does_not_come_is_given_up(server: Server) -> None:
    head = (
        b"POST /v1/comments/preview HTTP/1.1\r\nhost: x\r\nprojectid: %b\r\n"
        b"content-type: application/json\r\ncontent-length: 1000\r\n\r\n" % PUBLIC.encode()
    )
    await answer_to(server, head, b'{"content": "')
    # And the server is as well as before.
    async with httpx.AsyncClient() as http:
        assert (await http.get(f"{server.url}/health")).status_code == 200


async def test_those_who_wait_with_their_body_take_nobodys_place(server: Server) -> None:
    """More of them than may be at work at once; `/setup` asks nobody who they are."""
    head = b"POST /setup HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 900\r\n\r\n"
    waiting = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(60)]
    for _, writer in waiting:
        writer.write(head)
        await writer.drain()
    async with httpx.AsyncClient(base_url=server.url) as http:
        for _ in range(20):
            answer = await http.get("/v1/site", headers={"projectid": PUBLIC})
            assert answer.status_code == 200, answer.text
    for _, writer in waiting:
        writer.close()


async def test_an_empty_line_does_not_keep_a_connection_for_ever() -> None:
    """Seen in the protocol itself: the keep-alive time is more than a minute."""
    server_state = uvicorn.server.ServerState()
    config = serve.uvicorn_config(Settings(), lambda *_: None)
    config.load()
    protocol = ReadersProtocol(config, server_state, {}, asyncio.get_running_loop())
    protocol.connection_made(Transport())
    protocol.on_message_begin()
    protocol.on_message_complete = lambda: None  # type: ignore[method-assign]
    protocol._since = None
    protocol.data_received(b"\r\n")
    assert protocol.timeout_keep_alive_task is not None
    protocol.timeout_keep_alive_task.cancel()
    protocol.connection_lost(OSError())


async def test_a_websocket_is_not_taken_for_an_idle_connection() -> None:
    """Or it would be closed when the keep-alive time is over."""
    config = serve.uvicorn_config(Settings(), lambda *_: None)
    config.load()
    taken_over = config.ws_protocol_class = Mock()
    protocol = ReadersProtocol(config, uvicorn.server.ServerState(), {}, asyncio.get_running_loop())
    protocol.connection_made(Transport())
    protocol.data_received(
        b"GET /ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
        b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
    )
    await until(lambda: taken_over.called, "its turn")
    assert protocol.timeout_keep_alive_task is None
    assert protocol._watch is None


class Transport(asyncio.Transport):
    def set_protocol(self, protocol: object) -> None:
        pass

    def get_extra_info(self, name: str, default: object = None) -> object:
        return default

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        pass


async def test_a_connection_with_pauses_between_requests_is_kept(server: Server) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    for _ in range(2):
        writer.write(b"GET /version HTTP/1.1\r\nhost: x\r\n\r\n")
        async with asyncio.timeout(5):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        # Longer than a head may take: there is none on its way. (The one place where a test waits for time to pass.)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.8):
                await reader.read(1 << 16) and await reader.read(1)
    writer.close()


@pytest.mark.prove
@pytest.mark.timeout(180)
async def test_a_rolling_restart_under_load_fails_nobody() -> None:
    """Two workers, one after the other: no request is lost, and the processes are new."""
    rounds = 5 if os.environ.get("THREADKIT_SOAK") else 1
    env = environment(PROJECT_ID_PUBLIC=PUBLIC)
    with (
        quick_folder() as folder,
        serving(Path(folder) / "d", "--workers", "2", env=env) as server,
    ):
        stop = asyncio.Event()
        answers: list[int] = []

        async def visitor(number: int) -> None:
            headers = {"projectid": PUBLIC}
            page = {"page_url": f"http://localhost/{number}"}
            async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
                while not stop.is_set():
                    answers.append((await http.get("/v1/comments", params=page, headers=headers)).status_code)
                    body = {"content": "hello"}
                    answer = await http.post("/v1/comments/preview", json=body, headers=headers)
                    answers.append(answer.status_code)
                    await asyncio.sleep(0.02)

        visitors = [asyncio.create_task(visitor(number)) for number in range(10)]
        for _ in range(rounds):
            before = set(children(server))
            server.process.send_signal(signal.SIGHUP)
            async with asyncio.timeout(60):
                while before & set(children(server)):  # noqa: ASYNC110  # processes tell nobody that they end
                    await asyncio.sleep(0.05)
        stop.set()
        await asyncio.gather(*visitors)
        assert len(answers) > 100
        assert set(answers) == {200}


def children(server: Server) -> list[str]:
    """The workers, by process id: of all children those that answer requests."""
    found = []
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        found += (task / "children").read_text().split()
    return [pid for pid in found if "spawn_main" in _command(pid)]


def _command(pid: str) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""
