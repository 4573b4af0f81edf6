"""What a reader of a site waits for: bytes before the first comment, round trips to it, and how smooth a long thread is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser

from tests.bench.figures import Figure, Rounds, at_most, figure, not_measured
from tests.bench.stage import PUBLIC_KEY, Stage
from tests.browser import CHROMIUM, chromium
from tests.hosting import hosting
from tests.phone import ROUND_TRIP_MS, SLOWER, VIEWPORT, Phone
from tests.unit.test_embed_size import BUDGET, sizes
from threadkit.loadgen.shapes import MadePage

COMMENTS = 1000
SHORT = 50
LONGEST_TASK_MS = 100.0
# The longer way shows how often it is gone: only what depends on the network gets longer with it.
LONGER_TRIP_MS = 3 * ROUND_TRIP_MS
# Clocks and a busy machine make nothing exactly one.
ONE_TRIP = 1.15
ROUNDS, ROUNDS_WHEN_QUICK = 7, 3


def embed(stage: Stage) -> list[Figure]:
    figures = [_bytes()]
    works = (
        "first comments on a slow phone, after the script",
        f"longest task with {COMMENTS:,} comments, after the first",
    )
    if CHROMIUM is None:
        return figures + [not_measured("embed", work, why="there is no Chromium") for work in works]
    with (
        stage.new_subject(
            THREADKIT_ALLOW_LOCALHOST_ORIGIN="true", THREADKIT_LIVE_SOCKETS_PER_ADDRESS="1000"
        ) as subject,
        hosting(subject.port, PUBLIC_KEY) as host,
    ):
        short, long = host.put("/short", host.line()), host.put("/long", host.line())
        subject.load([MadePage(short, "Short", SHORT), MadePage(long, "Long", COMMENTS)], votes=100)
        count = ROUNDS_WHEN_QUICK if stage.pace.is_quick else ROUNDS
        return [
            *figures,
            asyncio.run(_round_trips(works[0], short, count)),
            asyncio.run(_longest_task(works[1], long, count)),
        ]


def _bytes() -> Figure:
    rounds = Rounds(ours=[float(sum(sizes().values()))], floor=[float(BUDGET)])
    return figure("embed", "bytes before the first comment, gzip", rounds, unit="bytes", judge=at_most, goal=1.0)


async def _round_trips(work: str, url: str, count: int) -> Figure:
    async with chromium() as browser:
        near: list[float] = []
        far: list[float] = []
        for _ in range(count):
            for took, trip_ms in ((near, ROUND_TRIP_MS), (far, LONGER_TRIP_MS)):
                async with _phone(browser) as phone:
                    await phone.go_online(trip_ms)
                    await phone.open(url)
                    took.append(await phone.first_comments_ms())
    # The quickest of each: whatever else the machine does only makes it longer.
    trips = (min(far) - min(near)) / (LONGER_TRIP_MS - ROUND_TRIP_MS)
    rounds = Rounds(ours=[trips], floor=[1.0])
    notes = {f"ms with {ROUND_TRIP_MS} ms": min(near), f"ms with {LONGER_TRIP_MS} ms": min(far)}
    return figure("embed", work, rounds, unit="round trips", judge=at_most, goal=ONE_TRIP, notes=notes)


async def _longest_task(work: str, url: str, count: int) -> Figure:
    longest = []
    async with chromium() as browser:
        for _ in range(count):
            async with _phone(browser) as phone:
                await phone.open(url)
                await phone.is_at_rest()
                await phone.read_to_the_end()
                longest.append(await phone.longest_task_ms())
    rounds = Rounds(ours=longest, floor=[LONGEST_TASK_MS] * count)
    return figure("embed", work, rounds, unit="ms", judge=at_most, goal=1.0, notes={"worst": max(longest)})


@asynccontextmanager
async def _phone(browser: Browser) -> AsyncIterator[Phone]:
    context = await browser.new_context(viewport=VIEWPORT, locale="en-GB")
    try:
        phone = Phone(await context.new_page())
        await phone.watch()
        await phone.slow_down(SLOWER)
        yield phone
    finally:
        await context.close()
