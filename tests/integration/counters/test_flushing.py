"""How counts reach the store: once each, whatever happens on the way."""

import asyncio

import pytest
from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError
from structlog.testing import capture_logs

from tests.integration.counters.counting import DAY, MONTH, PAGE, SITE, Counting, counting, page, written
from tests.integration.counters.line import Line
from tests.make import ManualClock
from tests.wait import until
from threadkit.counters import tally as tally_module
from threadkit.counters.model import views_in
from threadkit.ids import SiteId
from threadkit.keyring import Keyring
from threadkit.storage.bundled import BundledStore

UNWRITTEN = f"site:{SITE}:viewed:unwritten"
OTHER = SiteId("01a1e1d5-9217-7000-be42-7b27b41a2a53")


async def views(redis: Redis, number: int | None = None) -> int:
    page_id = PAGE if number is None else page(number)
    counted, unwritten = await redis.get(f"page:{page_id}:views"), await redis.hget(UNWRITTEN, page_id)
    return views_in(str(counted or 0), str(unwritten or 0))


async def pageviews(redis: Redis, site_id: SiteId = SITE, month: str = MONTH) -> int:
    return int(await redis.hget(f"site:{site_id}:usage:{month}", "pageviews") or 0)


async def test_a_running_worker_flushes_by_itself(worker: Counting, redis: Redis) -> None:
    await worker.tally.start()
    worker.view()

    async def is_there() -> bool:
        return await views(redis) == 1

    await until(is_there, "the view to be counted")
    await worker.tally.stop()
    assert await views(redis) == 1


async def test_a_clean_stop_loses_nothing(worker: Counting, redis: Redis) -> None:
    await worker.tally.start()
    for number in range(1200):
        worker.view(page(number))
        worker.tally.request(OTHER)
    await worker.tally.stop()
    assert await pageviews(redis) == 1200
    assert sum([await views(redis, number) for number in range(1200)]) == 1200
    assert await redis.hget(f"site:{OTHER}:usage:{MONTH}", "api_requests") == "1200"


async def test_a_quiet_worker_writes_nothing(worker: Counting, redis: Redis) -> None:
    await worker.flushed()
    assert await redis.dbsize() == 0


async def test_two_workers_on_one_store_add_up(
    worker: Counting, redis: Redis, bundled: BundledStore, keyring: Keyring, clock: ManualClock
) -> None:
    async with counting(bundled.address, keyring, clock) as second:
        for _ in range(20):
            for each in (worker, second):
                each.view()
                each.view(peer="203.0.113.8")
            await asyncio.gather(worker.flushed(), second.flushed())
    assert await views(redis) == 80
    assert await pageviews(redis) == 80
    assert (await worker.queries.usage(SITE, months=1))[0].visitors == 2, "the same people, seen by both"


async def test_a_store_that_is_away_and_comes_back_misses_nothing(
    far: Counting, line: Line, redis: Redis, clock: ManualClock
) -> None:
    await written(redis)
    far.view()
    await far.flushed()
    line.cut()
    for number in range(50):
        far.view(page(number), peer=f"203.0.113.{number}")
        far.view(site_id=OTHER)
        far.tally.comment(SITE)
        assert await far.tally.flush() is not None
    clock.advance(seconds=86_400)
    far.view()
    assert await far.tally.flush() is not None
    assert await pageviews(redis) == 1
    line.is_cut = False
    await far.flushed()
    await far.flushed()
    assert await pageviews(redis) == 52
    assert await pageviews(redis, OTHER) == 50
    assert await redis.hget(f"site:{SITE}:usage:{MONTH}", "comments") == "50"
    assert [await views(redis, number) for number in range(50)] == [1] * 50
    assert await redis.get(f"page:{PAGE}:views:{DAY}") == "51", "every view on the day on which it was"
    assert await redis.get(f"page:{PAGE}:views:2025-12-07") == "1"
    assert (await far.queries.usage(SITE, months=1))[0].visitors == 50


async def test_counts_whose_answer_was_lost_count_once(far: Counting, line: Line, redis: Redis) -> None:
    await written(redis)
    far.view()
    await far.flushed()
    line.loses_answers = True
    far.view()
    far.view(site_id=OTHER)
    assert await far.tally.flush() is not None
    assert line.lost == 1
    assert await pageviews(redis) == 2, "it was done, only nobody heard"
    far.view()
    line.loses_answers = False
    await far.flushed()
    await far.flushed()
    assert (await pageviews(redis), await pageviews(redis, OTHER)) == (3, 1)
    assert await redis.get(f"page:{PAGE}:views:{DAY}") == "4"


async def test_a_stop_while_the_store_is_away_ends_and_says_what_is_lost(far: Counting, line: Line) -> None:
    await far.tally.start()
    line.cut()
    far.view()
    far.view(page(1))
    with capture_logs() as lines:
        await asyncio.wait_for(far.tally.stop(), 10)
    lost = [each for each in lines if each["event"] == "counts_lost"]
    assert [(each["pages"], each["visitors"]) for each in lost] == [(2, 1)]


async def test_a_store_that_forgot_its_scripts_is_told_again(worker: Counting, redis: Redis) -> None:
    for _ in range(3):
        await redis.script_flush()
        worker.view()
        worker.view(site_id=OTHER)
        await worker.flushed()
    assert (await pageviews(redis), await pageviews(redis, OTHER)) == (3, 3)


async def test_one_sites_trouble_is_not_the_others_and_nothing_counts_twice(worker: Counting, redis: Redis) -> None:
    await written(redis, page(1))
    broken = f"page:{page(1)}:views:{DAY}"
    await redis.hset(broken, "what", "somebody else's")
    worker.view()
    worker.view(page(1))
    worker.view(page(2), site_id=OTHER)
    assert await worker.tally.flush() is not None
    assert await pageviews(redis, OTHER) == 1
    await redis.delete(broken)
    worker.view()
    await worker.flushed()
    await worker.flushed()
    assert await pageviews(redis) == 3
    assert await views(redis, 1) == 1


async def test_a_full_store_keeps_counts_waiting(worker: Counting, redis: Redis) -> None:
    worker.view()
    await worker.flushed()
    await redis.config_set("maxmemory", "1")
    try:
        worker.view()
        assert isinstance(await worker.tally.flush(), OutOfMemoryError)
    finally:
        await redis.config_set("maxmemory", "0")
    await worker.flushed()
    assert await pageviews(redis) == 2


async def test_more_than_fits_is_dropped_and_counted_as_lost(
    far: Counting, line: Line, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally_module, "MOST_PAGES", 10)
    monkeypatch.setattr(tally_module, "MOST_VISITORS", 5)
    line.cut()
    for number in range(30):
        far.view(page(number), peer=f"203.0.113.{number}")
        await far.tally.flush()
    assert (far.tally.lost_views, far.tally.lost_visitors) == (20, 25)
    line.is_cut = False
    await far.flushed()
    await far.flushed()
    assert await pageviews(redis) == 30, "the site's own number needs no room"
    assert [await views(redis, number) for number in range(12)] == [1] * 10 + [0] * 2
    assert (await far.queries.usage(SITE, months=1))[0].visitors == 5
    far.view(page(29))
    await far.flushed()
    assert await views(redis, 29) == 1, "there is room again"


async def test_a_flood_is_flushed_before_its_second_is_over(
    worker: Counting, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally_module, "MOST_PAGES", 100)
    monkeypatch.setattr(tally_module, "FLUSH_EVERY_S", 3600)
    await worker.tally.start()
    for number in range(60):
        worker.view(page(number))

    async def is_there() -> bool:
        return await views(redis, 59) == 1

    await until(is_there, "the early flush")
    await worker.tally.stop()


async def test_the_memory_of_agents_is_bounded(worker: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally_module, "MOST_REMEMBERED", 10)
    for number in range(100):
        worker.view(agent=b"Mozilla/5.0 %d " % number + b"x" * 10_000)
    held = worker.tally._bots
    assert len(held) <= 10
    assert max(map(len, held)) <= tally_module.LONGEST_AGENT
