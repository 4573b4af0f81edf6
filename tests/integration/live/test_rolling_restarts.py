"""Every worker is replaced under load, again and again: no request fails, every socket comes back, nobody misses a
comment. THREADKIT_SOAK=1 does it twenty times. G16."""

import asyncio
import contextlib
import json
import os
import signal
import time

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.integration.comments.test_comments import URL
from tests.integration.live.ears import Ear, LiveServer
from tests.integration.live.houses import House, two_workers
from tests.integration.live.test_events import page_of
from tests.integration.server.program import workers_of
from tests.people import Person
from tests.wait import until

RESTARTS = 20 if os.environ.get("THREADKIT_SOAK") else 1
A_SECOND = 200
READERS = 20
CALLERS = 20

pytestmark = [pytest.mark.prove, pytest.mark.timeout(120 + 60 * RESTARTS)]


class Reader:
    """As the embed does it: comes back when it is told to, and then asks for what it missed."""

    def __init__(self, house: House, page_id: str) -> None:
        self._house = house
        self._page_id = page_id
        self.seen: set[str] = set()
        self.away_s: list[float] = []
        self.is_there = False
        self._pause_s = 0.1

    async def follow(self) -> None:
        left_at = None
        while True:
            with contextlib.suppress(ConnectionClosed, InvalidHandshake, OSError, TimeoutError):
                async with LiveServer.at(self._house.port, self._house.key) as ear:
                    await ear.subscribe(self._page_id)
                    if left_at is not None:
                        self.away_s.append(time.monotonic() - left_at)
                    await self._look()
                    self.is_there = True
                    try:
                        await self._listen(ear)
                    finally:
                        self.is_there, left_at = False, time.monotonic()
            await asyncio.sleep(self._pause_s)

    async def _listen(self, ear: Ear) -> None:
        self._pause_s = 0.1
        while True:
            method, params = await ear.hear(seconds=3600)
            if method == "new_comment":
                self.seen.add(params["comment"]["i"])
            elif method == "restart":
                self._pause_s = params["retry_after_ms"] / 1000

    async def _look(self) -> None:
        answer = await self._house.web.get(
            "/v1/comments", params={"page_url": URL}, headers={"projectid": self._house.key}
        )
        self.seen |= {comment["i"] for comment in answer.json()["tree"]["c"]}


class Caller:
    """One connection, kept as browsers keep it: left when the server says that it was the last answer."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        body = await reader.readexactly(length)
        if b"connection: close" in head:
            self.close()
        return int(head.split(b" ")[1]), body

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Load:
    """So many requests a second, over many connections; every twentieth writes a comment."""

    def __init__(self, house: House, ada: Person) -> None:
        self._port = house.port
        known = f"host: x\r\nprojectid: {house.key}\r\n"
        self._read = f"GET /v1/comments?page_url=https://blog.example.org/%d HTTP/1.1\r\n{known}\r\n".encode()
        self._write = f"POST /v1/comments HTTP/1.1\r\n{known}authorization: Bearer {ada.token}\r\n".encode()
        self.statuses: list[int | str] = []
        self.written: set[str] = set()

    async def go_on(self, stop: asyncio.Event) -> None:
        await asyncio.gather(*(self._caller(number, stop) for number in range(CALLERS)))

    async def _caller(self, number: int, stop: asyncio.Event) -> None:
        caller, due = Caller(self._port), time.monotonic()
        try:
            while not stop.is_set():
                due += CALLERS / A_SECOND
                number += CALLERS + 1  # so that each of them writes now and then
                try:
                    self.statuses.append(await asyncio.wait_for(self._one(caller, number), 30))
                except (OSError, EOFError, TimeoutError) as error:
                    self.statuses.append(repr(error))
                    caller.close()
                await asyncio.sleep(due - time.monotonic())
        finally:
            caller.close()

    async def _one(self, caller: Caller, number: int) -> int:
        if number % 20:
            return (await caller.ask(self._read % (number % 10)))[0]
        body = json.dumps({"page_url": URL, "content": f"number {number}"}).encode()
        head = b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        status, answer = await caller.ask(self._write + head + body)
        if status == 200:
            self.written.add(json.loads(answer)["comment"]["i"])
        return status


async def restart(pid: int) -> None:
    before = set(workers_of(pid))
    os.kill(pid, signal.SIGHUP)
    await until(lambda: not before & set(workers_of(pid)), "new workers", seconds=60)


async def test_rolling_restarts_fail_nobody_and_lose_no_comment() -> None:
    with two_workers() as program:
        async with httpx.AsyncClient(base_url=program.server.url, timeout=30) as web:
            house = House(program.site, web, program.server.port)
            ada = await house.create("ada")
            page_id, _ = await page_of(web, program.site)
            readers = [Reader(house, page_id) for _ in range(READERS)]
            following = [asyncio.create_task(reader.follow()) for reader in readers]
            await until(lambda: all(reader.is_there for reader in readers), "all readers")
            load, stop = Load(house, ada), asyncio.Event()
            working = asyncio.create_task(load.go_on(stop))
            for _ in range(RESTARTS):
                done = len(load.statuses)
                await restart(program.server.process.pid)
                await until(lambda: all(reader.is_there for reader in readers), "all readers back", seconds=20)
                await until(lambda: len(load.statuses) > done + 200, "a second of requests", seconds=30)  # noqa: B023
            stop.set()
            await working
            await until(lambda: all(load.written <= reader.seen for reader in readers), "every comment", seconds=10)
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)
    away_s = max(away for reader in readers for away in reader.away_s)
    failed = [status for status in load.statuses if status != 200]
    print(
        f"\nG16: {RESTARTS} rolling restarts, {len(load.statuses)} requests, {len(failed)} failed, sockets back within "
        f"{away_s:.1f} s, {len(load.written)} comments, 0 missed by {READERS} readers"
    )
    assert failed == []
    assert away_s <= 15
