"""The store goes away while people read and write. THREADKIT_SOAK=1 keeps it away for thirty seconds."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tests.folders import quick_folder
from tests.integration.ratelimit.storm import Outcome, storm
from tests.integration.server.program import Server, environment, processes_of, serving
from tests.wait import until
from threadkit.ids import new_uuid

AWAY_S = 30.0 if os.environ.get("THREADKIT_SOAK") else 3.0
KILLS = 4
PUBLIC, SECRET = "tk_pub_awayaway", "tk_sec_awayaway"
QUIET, BUSY = "http://localhost/read", "http://localhost/written"
READERS_A_SECOND = 100

pytestmark = [pytest.mark.prove, pytest.mark.timeout(120 + 4 * AWAY_S)]


@pytest.fixture
def server() -> Iterator[Server]:
    env = environment(PROJECT_ID_PUBLIC=PUBLIC, THREADKIT_SECRET_KEY=SECRET)
    with quick_folder() as folder, serving(Path(folder) / "d", env=env) as found:
        yield found


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode()


def question(url: str) -> str:
    return f"/v1/comments?page_url={url}&sort=new&limit=100&key={PUBLIC}"


def store_of(server: Server) -> int:
    (found,) = (
        pid
        for pid in processes_of(server.folder)
        if pid != server.process.pid and "valkey" in Path(f"/proc/{pid}/comm").read_text()
    )
    return found


class Writer:
    """Somebody who writes on the busy page all the time, noting what they were told and when."""

    def __init__(self, http: httpx.AsyncClient, token: str) -> None:
        self._http = http
        self._own = {"projectid": PUBLIC, "authorization": f"Bearer {token}"}
        self.confirmed: list[str] = []
        self.refused_s: list[float] = []
        self.statuses: set[int] = set()
        self.missed = 0
        self.is_over = False

    async def run(self) -> None:
        while not self.is_over:
            said = {"page_url": BUSY, "content": f"{new_uuid()} {new_uuid()}"}
            began = time.perf_counter()
            answer = await self._http.post("/v1/comments", json=said, headers=self._own)
            self.statuses.add(answer.status_code)
            if answer.status_code == 200:
                self.confirmed.append(answer.json()["comment"]["i"])
                await self._look(self.confirmed[-1])
            else:
                self.refused_s.append(time.perf_counter() - began)
                assert int(answer.headers["retry-after"]) >= 1
            await asyncio.sleep(0.05)

    async def _look(self, written: str) -> None:
        """Their comment is there, unless the store has gone away since."""
        answer = await self._http.get(question(BUSY))
        assert answer.status_code == 200
        if "warning" not in answer.headers and written not in shown(answer):
            self.missed += 1


def shown(answer: httpx.Response) -> set[str]:
    return {comment["i"] for comment in answer.json()["tree"]["c"]}


@contextlib.asynccontextmanager
async def writing(server: Server) -> AsyncIterator[Writer]:
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        made = await http.post("/v1/admin/create-user", json={"name": "ada"}, headers={"projectid": SECRET})
        for url in (QUIET, BUSY):
            assert (await http.get(question(url))).status_code == 200
        writer = Writer(http, made.json()["token"])
        task = asyncio.create_task(writer.run())
        await until(lambda: len(writer.confirmed) >= 5, "the first comments")
        yield writer
        before = len(writer.confirmed)
        await until(lambda: len(writer.confirmed) > before + 2, "the writer to get through again", seconds=30)
        writer.is_over = True
        await task

        async def all_there() -> bool:
            whole = await http.get(f"/v1/comments?page_url={BUSY}&key={PUBLIC}")
            return "warning" not in whole.headers and shown(whole) == set(writer.confirmed)

        await until(all_there, "everything that was confirmed, and nothing else")
        assert writer.statuses <= {200, 503}
        assert writer.missed == 0, "nobody is shown less than what they were told was written"


async def visits(server: Server, seconds: float) -> tuple[Outcome, Outcome]:
    """Readers of both pages, and somebody who asks whether the program runs."""
    readers = [get(question(url)) for url in (BUSY, QUIET)]
    return await asyncio.gather(
        storm(server.port, readers, per_second=READERS_A_SECOND, seconds=seconds, connections=50),
        storm(server.port, [get("/healthz")], per_second=20, seconds=seconds, connections=10),
    )


def check(readers: Outcome, asking: Outcome, calm: Outcome, *, part: float = 0.99) -> str:
    assert set(readers.took_s) == {200}
    assert set(asking.took_s) == {200}
    assert not readers.broken
    assert not asking.broken
    # The machine does other things too, so the goals are counted from what it takes without an outage.
    assert readers.percentile_ms(part) <= 100 + 3 * calm.p99_ms()
    assert asking.p99_ms() <= 50 + 3 * calm.p99_ms()
    return (
        f"{readers.count(200)} reads answered, p90 {readers.percentile_ms(0.9):.0f} ms, p99 {readers.p99_ms():.0f} ms ({calm.p99_ms():.0f} before), "
        f"/healthz {asking.p99_ms():.0f} ms"
    )


async def test_readers_go_on_and_writers_are_told_at_once_while_the_store_is_stopped(server: Server) -> None:
    async with writing(server) as writer:
        calm, _ = await visits(server, 2)
        visiting = asyncio.create_task(visits(server, AWAY_S + 1))
        os.kill(store_of(server), signal.SIGSTOP)
        await asyncio.sleep(AWAY_S)  # this long it is away
        os.kill(store_of(server), signal.SIGCONT)
        said = check(*await visiting, calm)
        refused = sorted(writer.refused_s)[:-1]  # the first one may be the one that finds out
        assert refused
        assert refused[-1] <= 0.25 + 3 * calm.p99_ms() / 1000
    print(
        f"\nG15: the store was stopped for {AWAY_S:g} s: {said}; {len(refused) + 1} writes refused, median "
        f"{refused[len(refused) // 2] * 1000:.0f} ms; {len(writer.confirmed)} confirmed, none lost"
    )


async def test_readers_go_on_while_the_store_is_killed_again_and_again(server: Server) -> None:
    async with writing(server) as writer:
        calm, _ = await visits(server, 2)
        visiting = asyncio.create_task(visits(server, AWAY_S + 1))
        for _ in range(KILLS):
            confirmed = len(writer.confirmed)
            os.kill(store_of(server), signal.SIGKILL)
            await until(lambda: len(writer.confirmed) > confirmed + 1, "writing to go on", seconds=30)  # noqa: B023
        # In the short form it is starting again for most of the time.
        said = check(*await visiting, calm, part=0.99 if AWAY_S >= 30 else 0.9)
    print(
        f"\nG15: the store was killed {KILLS} times: {said}; {len(writer.confirmed)} confirmed, none lost, "
        f"{len(writer.refused_s)} refused"
    )
