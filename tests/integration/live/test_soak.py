"""Many sockets for a long time, some of them stalled: THREADKIT_SOAK=1 pytest tests/integration/live/test_soak.py -s

THREADKIT_SOAK_SOCKETS (1000), THREADKIT_SOAK_SECONDS (600) and THREADKIT_SOAK_EVENTS (20, a second) change its size.
The server is a process of its own, so that its memory is only its own. G14.
"""

import asyncio
import contextlib
import json
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.folders import quick_folder
from tests.integration.comments.test_comments import write
from tests.integration.live.ears import Ear, LiveServer
from tests.integration.live.raw import RawSocket, call
from tests.integration.live.test_events import page_of
from tests.integration.server.program import environment, run
from tests.integration.server.program import serving as program_serving
from tests.people import create
from tests.wait import until
from threadkit.ids import SiteId
from threadkit.sites.model import NewSite, Site

IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
SOCKETS = int(os.environ.get("THREADKIT_SOAK_SOCKETS", "1000" if IS_LONG else "100"))
SECONDS = float(os.environ.get("THREADKIT_SOAK_SECONDS", "600" if IS_LONG else "10"))
A_SECOND = float(os.environ.get("THREADKIT_SOAK_EVENTS", "20"))
STALLED = SOCKETS // 20
PAGES = 10
ON_HOT_PAGE = 20 if IS_LONG else 5  # healthy readers beside the stalled ones
STALL_S = 40.0  # then their unanswered pings would end them, so they are replaced
EDITS_A_SECOND = 12.0 if IS_LONG else 50.0  # of 18 kB each: in that time far more than kernels hide
# Ten megabytes over an hour would be a leak; a minute's noise is not.
MOST_GROWTH_MB = 20.0

pytestmark = pytest.mark.prove


class Listener:
    """A healthy reader who keeps book of the versions heard of."""

    def __init__(self, ear: Ear) -> None:
        self.ear = ear
        self.numbers: list[int] = []
        self.delays: list[float] = []
        self.resyncs = 0
        self.is_over = False

    async def listen(self) -> None:
        with contextlib.suppress(Exception):
            while True:
                message = json.loads(await self.ear.connection.recv())
                if message["method"] == "resync":
                    self.resyncs += 1
                elif message["method"] == "lock_update":
                    number, sent = message["params"]["locked"]
                    self.numbers.append(number)
                    self.delays.append(time.time() - sent)
        self.is_over = True


def memory_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no such process")


@contextlib.asynccontextmanager
async def soaked() -> AsyncIterator[tuple[Any, NewSite, Redis]]:
    with quick_folder() as parent:
        folder = Path(parent) / "data"
        env = environment(THREADKIT_LIVE_SOCKETS_PER_ADDRESS="100000")
        with program_serving(folder, env=env) as server:
            made = json.loads(run("site", "create", "Blog", "blog.example.org", "--json", "--data", str(folder)).stdout)
            site = Site(
                id=SiteId(made["id"]),
                name="Blog",
                domain="blog.example.org",
                api_key_public=made["api_key_public"],
                api_key_secret="",
                created_at=made["created_at"],
            )
            async with Redis(unix_socket_path=str(folder / "store.sock"), decode_responses=True) as redis:
                yield server, NewSite(site=site, secret_key=made["api_key_secret"]), redis
            assert "Traceback" not in server.said


@pytest.mark.timeout(SECONDS + 300)
async def test_a_long_time_with_stalled_readers() -> None:
    async with soaked() as (server, site, redis), contextlib.AsyncExitStack() as stack:
        web = await stack.enter_async_context(httpx.AsyncClient(base_url=server.url))
        ada = await create(web, site, "ada")
        comment = await write(ada, "x" * 9000)
        hot_page, _ = await page_of(web, site)
        pages = [hot_page] + [f"00000000-0000-4000-8000-{number:012}" for number in range(1, PAGES)]
        for page_id in pages[1:]:
            await redis.hset(f"page:{page_id}", mapping={"site_id": site.site.id, "version": 0})
        empty_mb = memory_mb(server.process.pid)
        listeners: list[list[Listener]] = [[] for _ in pages]
        for number in range(SOCKETS - STALLED):
            ear = await stack.enter_async_context(LiveServer.at(server.port, ada.key, max_queue=None, compression=None))
            page = 0 if number < ON_HOT_PAGE else 1 + number % (PAGES - 1)
            await ear.subscribe(pages[page])
            listeners[page].append(Listener(ear))
        everybody = [listener for group in listeners for listener in group]
        listening = [asyncio.create_task(listener.listen()) for listener in everybody]
        raws: list[RawSocket] = []
        stalled = 0

        def end_stalled() -> None:
            while raws:
                raws.pop().sock.close()

        stack.callback(end_stalled)

        async def replace_stalled() -> None:
            nonlocal stalled
            end_stalled()
            for _ in range(STALLED):
                raws.append(await RawSocket.open(server.port, ada.key, receive_bytes=4096))
                await raws[-1].send(call("subscribe", page_id=hot_page))
                stalled += 1

        edit = json.dumps({"type": "edit_comment", "comment_id": comment["i"], "site_id": site.site.id})
        full_mb = memory_mb(server.process.pid)
        samples: list[float] = []
        sent = [0] * PAGES
        edits = number = 0
        started = next_sample = next_stall = time.monotonic()
        while (now := time.monotonic()) < started + SECONDS:
            if now >= next_stall:
                await replace_stalled()
                next_stall += STALL_S
            number += 1
            page = number % PAGES
            sent[page] += 1
            # A version and a number on each, so that a gap shows on either side. The first page has a comment already.
            locked, version = [sent[page], time.time()], sent[page] + (page == 0)
            event = {"type": "lock_update", "locked": locked, "version": version, "site_id": site.site.id}
            async with redis.pipeline(transaction=True) as pipe:
                pipe.hset(f"page:{pages[page]}", "version", version)
                pipe.publish(f"page:{pages[page]}", json.dumps(event))
                await pipe.execute()
            while edits < (now - started) * EDITS_A_SECOND:
                edits += 1
                await redis.publish(f"page:{hot_page}", edit)
            if now >= next_sample:
                samples.append(memory_mb(server.process.pid))
                next_sample += max(1.0, SECONDS / 60)
            await asyncio.sleep(max(0.0, started + number / A_SECOND - time.monotonic()))

        def all_heard_the_last() -> bool:
            return all(one.numbers[-1:] == [sent[page]] for page in range(PAGES) for one in listeners[page])

        with contextlib.suppress(AssertionError):  # what is missing is counted below
            await until(all_heard_the_last, "the last events", seconds=20)
        metrics = (await web.get("/metrics")).text
        dropped = float(metrics.partition("\nthreadkit_live_drops_total ")[2].split()[0])
        missed = wrong = 0
        for page in range(PAGES):
            for listener in listeners[page]:
                holes = sent[page] - len(set(listener.numbers))
                missed += holes
                wrong += bool(holes and not listener.resyncs) or listener.numbers != sorted(listener.numbers)
        delays = sorted(delay for listener in everybody for delay in listener.delays)
        half = samples[len(samples) // 2 :]
        growth = sum(half[-3:]) / len(half[-3:]) - sum(half[:3]) / len(half[:3])
        print(
            f"\nG14: {SOCKETS} sockets, {STALLED} of them stalled, {SECONDS:.0f} s, {sum(sent)} events, "
            f"{len(delays)} deliveries ({len(delays) / SECONDS:.0f}/s), missed {missed}, wrong {wrong}, "
            f"resyncs {sum(listener.resyncs for listener in everybody)}\n"
            f"delay p50 {1000 * delays[len(delays) // 2]:.1f} ms, p99 {1000 * delays[int(len(delays) * 0.99)]:.1f} ms, "
            f"worst {1000 * delays[-1]:.1f} ms\n"
            f"memory {empty_mb:.0f} MB empty, {full_mb:.0f} MB with all connected, {min(samples):.0f}–{max(samples):.0f} MB "
            f"under way, {growth:+.1f} MB over the second half; {dropped:.0f} of {stalled} stalled cut off"
        )
        assert not any(listener.is_over for listener in everybody), "a healthy reader lost its connection"
        assert wrong == 0
        assert missed == sum(listener.resyncs for listener in everybody) == 0
        assert dropped >= STALLED
        assert growth < MOST_GROWTH_MB
        assert max(samples) < full_mb + 60
        for task in listening:
            task.cancel()
