"""When a worker looks, what a look costs, and several workers at once."""

import asyncio

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.integration.outbox.entries import Flaky, add, numbers
from tests.make import ManualClock
from tests.people import Person, create
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.ids import SiteId
from threadkit.keyring import Keyring
from threadkit.outbox import worker
from threadkit.outbox.handlers import Event
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore

HOUR = 3600.0


async def test_whoever_is_woken_does_not_wait_for_the_next_look(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person
) -> None:
    outbox = app.services.outbox
    await outbox.start(look_every_s=HOUR)
    other = await app.services.sites.create("Other", "other.example")
    for change in (1, 2, 3):
        await add(redis, new_site, "karma", user_id=ada.id, change=change)
        outbox.wake(new_site.site.id)

    async def counted() -> bool:
        return await numbers(http, ada) == (6, 0)

    await until(counted, "karma")
    await add(redis, other, "strange")
    outbox.wake(new_site.site.id)
    await until(lambda: not outbox._passes and not outbox._hints, "the worker to rest")
    assert await redis.xlen(f"site:{other.site.id}:outbox") == 1, "only the site that was named is looked at"


async def test_nobody_who_wakes_is_missed_in_a_crowd(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, ada: Person
) -> None:
    await app.services.outbox.start(look_every_s=HOUR)
    place = app.services.keys.site(new_site.site.id).outbox()

    async def happen() -> None:
        await add(app.services.store.redis, new_site, "karma", key=place, user_id=ada.id, change=1)
        app.services.outbox.wake(new_site.site.id)

    await asyncio.gather(*(happen() for _ in range(300)))

    async def counted() -> bool:
        return await numbers(http, ada) == (300, 0)

    await until(counted, "karma", seconds=20)


async def test_waking_does_nothing_where_no_worker_runs(
    app: Application, new_site: NewSite, redis: Redis, ada: Person
) -> None:
    await write(ada, "hi")
    app.services.outbox.wake(new_site.site.id)
    await app.services.health.measure()
    assert await redis.xlen(f"site:{new_site.site.id}:outbox") == 1


async def test_a_look_at_many_sites_reads_none_of_their_records(app: Application, redis: Redis) -> None:
    for number in range(30):
        await app.services.sites.create(f"Site {number}", f"s{number}.example")
    await redis.config_resetstat()
    assert await app.services.outbox_queries.sites_with_work(0) == []
    calls = {name: stats["calls"] for name, stats in (await redis.info("commandstats")).items()}
    assert (calls["cmdstat_zrange"], calls["cmdstat_xlen"], calls["cmdstat_zcount"]) == (2, 30, 30)
    assert "cmdstat_hgetall" not in calls


async def test_servers_and_workers_side_by_side_do_everything_once(
    redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring, clock: ManualClock, app: Application
) -> None:
    sites = [await app.services.sites.create(f"Site {number}", f"s{number}.example") for number in range(3)]
    others = [
        create_app(replace(settings, outbox="in-process"), bundled.address, keyring, clock=clock) for _ in range(2)
    ]
    seen: list[Flaky] = []
    for one in (app, *others):
        seen.append(Flaky())
        one.services.outbox.handlers.on("rang", "bell", seen[-1])
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app),
        base_url="http://t",
    ) as http:
        ada = await create(http, sites[0], "ada")
        added = [await add(redis, site, "rang") for site in sites for _ in range(100)]
        for site in sites:
            for _ in range(100):
                await add(redis, site, "karma", user_id=ada.id, change=1)
        async with others[0].lifespan(), others[1].lifespan():
            await app.services.outbox.start(look_every_s=0.05)
            keys = [f"site:{site.site.id}:outbox" for site in sites]

            async def is_done() -> bool:
                return sum([int(await redis.xlen(key)) for key in keys]) == 0

            await until(is_done, "all outboxes to be empty", seconds=20)
            await app.services.outbox.stop()
        assert await numbers(http, ada) == (300, 0)
    assert sorted(entry for handler in seen for entry in handler.calls) == sorted(added)


async def test_a_busy_server_lets_effects_wait_until_too_many_do(
    app: Application, new_site: NewSite, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox = app.services.outbox
    at_once, most = 0, 0

    async def slow(_site_id: SiteId, _entry_id: str, _event: Event) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1

    outbox.handlers.on("karma", "slow", slow)

    async def seen() -> int:
        nonlocal most
        most = 0
        for number in range(40):
            await add(redis, new_site, "karma", user_id=f"somebody-{number}", change=1)
        assert await outbox.drain() == 40
        return most

    assert await seen() == worker.LANES
    outbox.is_server_busy = lambda: True
    assert await seen() == worker.FEW_LANES
    monkeypatch.setattr(worker, "LONG_QUEUE", 10)
    assert await seen() > worker.FEW_LANES
