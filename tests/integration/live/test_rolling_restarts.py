"""Every worker is replaced under load, again and again: no request fails, every socket comes back, nobody misses a
comment. THREADKIT_SOAK=1 does it twenty times. G16."""

import asyncio
import contextlib
import os
import signal
import time

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.integration.comments.test_comments import URL
from tests.integration.live.ears import LiveServer
from tests.integration.live.houses import House, two_workers
from tests.integration.live.test_events import page_of
from tests.integration.live.test_program import workers_of
from tests.people import Person
from tests.wait import until

RESTARTS = 20 if os.environ.get("THREADKIT_SOAK") else 1
A_SECOND = 200 if os.environ.get("THREADKIT_SOAK") else 40
READERS = 20

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120 + 60 * RESTARTS), pytest.mark.xdist_group("live-program")]


class Reader:
    """As the embed does it: comes back when it is told to, and then asks for what it missed."""

    def __init__(self, house: House, page_id: str) -> None:
        self._house = house
        self._page_id = page_id
        self.seen: set[str] = set()
        self.away_s: list[float] = []
        self.is_there = False

    async def follow(self) -> None:
        left_at = None
        while True:
            with contextlib.suppress(ConnectionClosed, InvalidHandshake, OSError, TimeoutError):
                async with LiveServer.at(self._house.port, self._house.key) as ear:
                    await ear.subscribe(self._page_id)
                    await self._look()
                    if left_at is not None:
                        self.away_s.append(time.monotonic() - left_at)
                    self.is_there = True
                    try:
                        await self._listen(ear)
                    finally:
                        self.is_there, left_at = False, time.monotonic()
            await asyncio.sleep(self._pause_s)

    _pause_s = 0.1

    async def _listen(self, ear: object) -> None:
        self._pause_s = 0.1
        while True:
            method, params = await ear.hear(seconds=3600)  # type: ignore[attr-defined]
            if method == "new_comment":
                self.seen.add(params["comment"]["i"])
            elif method == "restart":
                self._pause_s = params["retry_after_ms"] / 1000

    async def _look(self) -> None:
        answer = await self._house.web.get(
            "/v1/comments", params={"page_url": URL}, headers={"projectid": self._house.key}
        )
        self.seen |= {comment["i"] for comment in answer.json()["tree"]["c"]}


class Load:
    """So many requests a second, begun when they are due whether or not those before have ended."""

    def __init__(self, house: House, ada: Person) -> None:
        self._house = house
        self._ada = ada
        self._under_way: set[asyncio.Task[None]] = set()
        self.statuses: list[int | str] = []
        self.written: set[str] = set()

    async def go_on(self, stop: asyncio.Event) -> None:
        started, number = time.monotonic(), 0
        while not stop.is_set():
            while number < (time.monotonic() - started) * A_SECOND:
                task = asyncio.create_task(self._one(number))
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)
                number += 1
            await asyncio.sleep(0.005)
        await asyncio.gather(*self._under_way)

    async def _one(self, number: int) -> None:
        try:
            if number % 20 == 0:
                answer = await self._ada.call("POST", "/v1/comments", {"page_url": URL, "content": f"number {number}"})
                if answer.status_code == 200:
                    self.written.add(answer.json()["comment"]["i"])
            else:
                page = {"page_url": f"https://blog.example.org/{number % 10}"}
                answer = await self._house.web.get("/v1/comments", params=page, headers={"projectid": self._house.key})
            self.statuses.append(answer.status_code)
        except httpx.HTTPError as error:
            self.statuses.append(repr(error))


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
