"""The disk of the bundled store runs full. In time nothing new is taken in; and where it comes all at once, the store ends
and is started again. Writes are 503 and never 500, nothing acknowledged is lost, and all is well by itself when there is
room. THREADKIT_SOAK=1 makes it twenty times (or THREADKIT_KILLS). K6, G15."""

import asyncio
import os
import random
import re
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from tests.faults.between import COMPILER
from tests.faults.crew import Crew
from tests.faults.disk import Disk
from tests.faults.writers import Thread, Writer
from tests.folders import disk_folder
from tests.integration.server.program import Server, environment, program
from tests.wait import until

IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
TIMES = int(os.environ.get("THREADKIT_KILLS", 20 if IS_LONG else 1))
PAGE = "https://localhost/full"
pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler, see .ci/run"),
    pytest.mark.timeout(3600 if IS_LONG else 400),
]


@pytest.fixture
def crew() -> Iterator[Crew]:
    seed = int(os.environ.get("THREADKIT_SEED", random.randrange(1_000_000)))
    print(f"seed {seed}")
    with disk_folder() as parent:
        yield Crew(Path(parent) / "data", random.Random(seed))


@pytest.fixture
def disk(crew: Crew) -> Disk:
    made = Disk(crew.folder.parent / "disk", crew.folder)
    crew.env = environment(THREADKIT_METRICS_TOKEN=TOKEN, **made.environment)
    return made


ENDED = "The store ended with code"
TOKEN = "a token of the test suite"


class Onlooker:
    """Somebody beside the crew who looks closely at every answer."""

    def __init__(self, http: httpx.AsyncClient, self_as: Writer) -> None:
        self._http = http
        self._writer = self_as
        self.statuses: set[int] = set()

    async def call(self, method: str, path: str, body: object = None, *, as_moderator: bool = False) -> httpx.Response:
        place = self._writer.place
        token = place.moderator if as_moderator else self._writer.token
        headers = {"projectid": place.key, "authorization": f"Bearer {token}"}
        answer = await self._http.request(method, path, json=body, headers=headers)
        self.statuses.add(answer.status_code)
        if answer.status_code == 503 and path != "/readyz":
            assert answer.headers["content-type"] == "application/problem+json"
            assert int(answer.headers["retry-after"]) > 0
        return answer

    async def write(self) -> httpx.Response:
        return await self.call("POST", "/v1/comments", {"page_url": PAGE, "content": "hello"})

    async def can_only_read(self) -> bool:
        read, written = await self.call("GET", f"/v1/comments?page_url={PAGE}-new"), await self.write()
        return (read.status_code, written.status_code, written.json().get("code")) == (200, 503, "store_full")

    async def knows_why(self) -> bool:
        """Whoever watches the server is told what to do."""
        said = await self._http.get("/readyz", headers={"authorization": f"Bearer {TOKEN}"})
        checks = said.json()["checks"]
        return (said.status_code, checks["redis_writable"], checks["disk_has_room"]) == (503, False, False)

    async def is_well(self) -> bool:
        ready, written = await self.call("GET", "/readyz"), await self.write()
        return (ready.status_code, written.status_code) == (200, 200)


async def arrive(crew: Crew, http: httpx.AsyncClient, server: Server) -> Onlooker:
    await crew.gather(http, server)
    return Onlooker(http, crew.writers.pop())


async def work_until_refused(crew: Crew, http: httpx.AsyncClient, disk: Disk, *, free_mb: int) -> None:
    """Everybody writes; then there is so little room, and everybody is told 503, or this fails."""
    before, thread = crew.acknowledged, Thread(f"{PAGE}-{crew.acknowledged}")
    tasks = [asyncio.create_task(writer.work(http, thread)) for writer in crew.writers]
    enough = before + crew.dice.randrange(20, 80)
    await until(lambda: crew.acknowledged >= enough or any(task.done() for task in tasks), "some writes", seconds=120)
    disk.has_only(free_mb)
    await asyncio.wait_for(asyncio.gather(*tasks), 60)


async def ends(server: Server, *, times: int) -> None:
    await until(lambda: server.said.count(ENDED) >= times, "the store to end", seconds=30)


async def test_a_disk_that_is_full_all_at_once_costs_nothing_that_was_acknowledged(crew: Crew, disk: Disk) -> None:
    longest_s = 0.0
    async with crew.serving() as (server, http):
        onlooker = await arrive(crew, http, server)
        for _ in range(TIMES):
            ended = server.said.count(ENDED)
            mine = (await onlooker.write()).json()["comment"]["i"]
            await work_until_refused(crew, http, disk, free_mb=0)
            await ends(server, times=ended + 1)
            assert await onlooker.knows_why()

            async def cannot_even_delete(comment_id: str = mine, times: int = ended + 2) -> bool:
                """What takes away is let through by a store without room, and does not fit either."""
                assert (await onlooker.write()).status_code == 503
                assert (await onlooker.call("DELETE", f"/v1/comments/{comment_id}")).status_code == 503
                return server.said.count(ENDED) >= times

            await until(cannot_even_delete, "the store to have come back and ended again", seconds=60)
            disk.has_room()
            began = time.monotonic()
            await until(onlooker.is_well, "all to be well", seconds=60)
            longest_s = max(longest_s, time.monotonic() - began)
            await crew.look(http, older=None)
        assert onlooker.statuses == {200, 503}
        assert "No space left on device" in server.said
        assert f"Too little room on the disk of {crew.folder.resolve()}: 0 MB are free" in server.said
        pauses = [float(pause) for pause in re.findall(r"starting it again in ([\d.]+) s", server.said)]
        assert all(later in (0.1, min(2 * pause, 10)) for pause, later in pairwise(pauses)), "longer and longer"
        await asyncio.to_thread(crew.ask_the_doctor)
    await crew.last_look()
    print(
        f"G15: a disk full all at once, {TIMES} times: {crew.acknowledged:,} acknowledged writes, 0 lost, never a 500, "
        f"the store ended {len(pauses)} times, well {longest_s:.1f} s after there was room"
    )


async def test_with_little_room_nothing_new_is_taken_in_and_people_can_read_delete_and_moderate(
    crew: Crew, disk: Disk
) -> None:
    longest_s = 0.0
    async with crew.serving() as (server, http), crew.store() as store:
        onlooker = await arrive(crew, http, server)
        pid = (await store.info("server"))["process_id"]
        for _ in range(TIMES):
            mine, other = [(await onlooker.write()).json()["comment"]["i"] for _ in range(2)]
            await work_until_refused(crew, http, disk, free_mb=50)
            assert await onlooker.can_only_read()
            assert await onlooker.knows_why()
            assert (await onlooker.call("DELETE", f"/v1/comments/{mine}")).status_code == 204
            rejected = await onlooker.call("POST", f"/v1/moderation/reject/{other}", {}, as_moderator=True)
            assert rejected.status_code == 200, rejected.text
            await asyncio.to_thread(doctor_tells, crew)
            disk.has_room()
            began = time.monotonic()
            await until(onlooker.is_well, "all to be well", seconds=60)
            longest_s = max(longest_s, time.monotonic() - began)
            await crew.look(http, older=None)
        assert onlooker.statuses == {200, 204, 503}
        assert (await store.info("server"))["process_id"] == pid, "it never ended"
        assert server.said.count("Too little room on the disk") == TIMES
        assert server.said.count("There is room on the disk again") == TIMES
        await asyncio.to_thread(crew.ask_the_doctor)
    print(
        f"G15: little room on the disk, {TIMES} times: {crew.acknowledged:,} acknowledged writes, 0 lost, never a 500, "
        f"the store never ended, well {longest_s:.1f} s after there was room"
    )


def doctor_tells(crew: Crew) -> None:
    said = program("doctor", "--data", str(crew.folder), env=crew.env).stdout
    assert "bad     Disk space: Only 50 MB are free, and 100 MB are needed" in said, said
    assert "bad     Memory" not in said, said
