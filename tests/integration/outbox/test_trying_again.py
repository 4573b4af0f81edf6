"""What fails is tried again, later and later, and holds up nobody."""

import asyncio

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.outbox.entries import Flaky, add, numbers
from tests.make import ManualClock
from tests.people import Person
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.ids import SiteId
from threadkit.keyring import Keyring
from threadkit.outbox import scripts, worker
from threadkit.outbox.handlers import Event
from threadkit.outbox.model import RETRY_PAUSES_S
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore


async def state_of(app: Application, site: NewSite) -> tuple[int, int, int]:
    (state,) = await app.services.outbox_queries.states([site.site.id])
    return state.waiting, state.retrying, state.dead


async def test_a_failed_entry_is_tried_again_after_growing_pauses_until_it_works(
    app: Application, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    handler = Flaky(failures=len(RETRY_PAUSES_S))
    app.services.outbox.handlers.on("rang", "bell", handler)
    entry = await add(redis, new_site, "rang")
    await app.services.outbox.drain()
    for tries, pause_s in enumerate(RETRY_PAUSES_S, start=1):
        assert handler.calls == [entry] * tries
        (state,) = await app.services.outbox_queries.states([new_site.site.id])
        assert state.next_try_ms is not None
        assert 0.8 * pause_s <= (state.next_try_ms - clock.now_ms()) / 1000 <= 1.2 * pause_s
        clock.advance(seconds=0.79 * pause_s)
        await app.services.outbox.drain()
        assert handler.calls == [entry] * tries, "not before its time"
        clock.advance(seconds=0.42 * pause_s)
        await app.services.outbox.drain()
    assert handler.done == [entry]
    assert await state_of(app, new_site) == (0, 0, 0)


async def test_after_the_last_try_it_is_a_dead_letter_with_reason_and_number_of_tries(
    app: Application, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    handler = Flaky(failures=100, why="no answer\nfrom there")
    app.services.outbox.handlers.on("rang", "bell", handler)
    entry = await add(redis, new_site, "rang", far=True)
    for _ in range(10):
        await app.services.outbox.drain()
        clock.advance(seconds=1000)
    assert handler.calls == [entry] * 6
    assert await state_of(app, new_site) == (0, 0, 1)
    (found,) = await app.services.dead_letters.all([new_site.site.id])
    assert (found.letter.entry_id, found.letter.handler, found.letter.tries) == (entry, "bell", 6)
    assert found.letter.why == "RuntimeError: no answer\nfrom there"
    assert found.letter.event == '{"type": "rang", "far": true}'


async def test_another_worker_goes_on_counting_the_tries(
    app: Application,
    new_site: NewSite,
    redis: Redis,
    clock: ManualClock,
    settings: Settings,
    keyring: Keyring,
    bundled: BundledStore,
) -> None:
    other = create_app(settings, bundled.address, keyring, clock=clock)
    async with other.lifespan():
        workers = [app.services.outbox, other.services.outbox]
        handlers = [Flaky(failures=100), Flaky(failures=100)]
        for one, handler in zip(workers, handlers, strict=True):
            one.handlers.on("rang", "bell", handler)
        await add(redis, new_site, "rang")
        for turn in range(10):
            await workers[turn % 2].drain()
            clock.advance(seconds=1000)
    assert [len(handler.calls) for handler in handlers] == [3, 3]
    assert await state_of(app, new_site) == (0, 0, 1)


async def test_only_the_handler_that_failed_is_called_again(
    app: Application, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    good, bad = Flaky(), Flaky(failures=2)
    app.services.outbox.handlers.on("rang", "good", good)
    app.services.outbox.handlers.on("rang", "bad", bad)
    entry = await add(redis, new_site, "rang")
    for _ in range(4):
        await app.services.outbox.drain()
        clock.advance(seconds=100)
    assert good.calls == [entry]
    assert (bad.calls, bad.done) == ([entry] * 3, [entry])


async def test_a_number_that_could_not_be_changed_counts_later_though_newer_entries_went_before(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock, ada: Person
) -> None:
    await redis.hset(f"user:{ada.id}", "karma", "broken")
    for _ in range(3):
        await add(redis, new_site, "karma", user_id=ada.id, change=5)
        await add(redis, new_site, "comment_posted", user_id=ada.id)
    await app.services.outbox.drain()
    assert await state_of(app, new_site) == (0, 3, 0)
    assert await redis.hget(f"user:{ada.id}", "total_comments") == "3"
    await redis.hset(f"user:{ada.id}", "karma", "1")
    for _ in range(3):
        clock.advance(seconds=1000)
        await app.services.outbox.drain()
    assert await numbers(http, ada) == (16, 3)
    assert list(await redis.hkeys(f"user:{ada.id}:applied")) == [new_site.site.id], "nothing is left put off"


async def test_a_dead_letter_that_is_put_back_counts_once(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock, ada: Person
) -> None:
    await redis.hset(f"user:{ada.id}", "karma", "broken")
    await add(redis, new_site, "karma", user_id=ada.id, change=5)
    for _ in range(8):
        await app.services.outbox.drain()
        clock.advance(seconds=1000)
    await redis.hset(f"user:{ada.id}", "karma", "0")
    await add(redis, new_site, "karma", user_id=ada.id, change=1)
    await app.services.outbox.drain()
    letters = await app.services.dead_letters.all([new_site.site.id])
    assert await app.services.dead_letters.put_back(letters) == 1
    assert await app.services.dead_letters.put_back(letters) == 0, "it is there only once"
    await app.services.outbox.drain()
    assert await numbers(http, ada) == (6, 0)
    assert await state_of(app, new_site) == (0, 0, 0)


async def test_what_nobody_understood_counts_as_new_when_it_is_put_back(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person
) -> None:
    await add(redis, new_site, "karma", user_id=ada.id, change="five")
    await add(redis, new_site, "a_newer_kind", user_id=ada.id)
    await add(redis, new_site, "karma", user_id=ada.id, change=1)
    await app.services.outbox.drain()
    assert await state_of(app, new_site) == (0, 0, 2)
    letters = await app.services.dead_letters.all([new_site.site.id])
    assert [found.letter.why for found in letters] == [
        "karma: Expected `int`, got `str` - at `$.change`",
        "nobody here knows what is to be done about 'a_newer_kind'",
    ]
    assert [found.letter.tries for found in letters] == [0, 0]
    newer = Flaky()
    app.services.outbox.handlers.on("a_newer_kind", "newer", newer)
    await app.services.dead_letters.put_back(letters)
    await app.services.outbox.drain()
    assert len(newer.done) == 1
    assert await state_of(app, new_site) == (0, 0, 1)
    assert await numbers(http, ada) == (1, 0)


async def test_who_hangs_holds_up_neither_other_sites_nor_for_ever(
    app: Application, new_site: NewSite, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    begun, forever, done = asyncio.Event(), asyncio.Event(), Flaky()

    async def hang(site_id: SiteId, entry_id: str, event: Event) -> None:
        begun.set()
        await forever.wait()

    app.services.outbox.handlers.on("rang", "hanging", hang)
    app.services.outbox.handlers.on("knocked", "quick", done)
    monkeypatch.setattr(worker, "HANDLER_S", 0.5)
    await add(redis, new_site, "rang")
    draining = asyncio.create_task(app.services.outbox.drain())
    await begun.wait()
    await add(redis, other, "knocked")
    await asyncio.gather(app.services.outbox._begin_pass(other.site.id))
    assert len(done.done) == 1
    assert not draining.done(), "the first site still hangs"
    await draining
    assert await state_of(app, new_site) == (0, 1, 0)


async def test_the_oldest_dead_letters_go_when_there_are_too_many(
    app: Application, new_site: NewSite, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "MOST_DEAD", 3)
    entries = [await add(redis, new_site, f"kind{number}") for number in range(5)]
    await app.services.outbox.drain()
    letters = await app.services.dead_letters.all([new_site.site.id])
    assert [found.letter.entry_id for found in letters] == entries[2:]


async def test_what_is_put_off_for_a_user_has_a_bound(
    app: Application, new_site: NewSite, redis: Redis, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "MOST_PUT_OFF", 3)
    await redis.hset(f"user:{ada.id}", "karma", "broken")
    for _ in range(6):
        await add(redis, new_site, "karma", user_id=ada.id, change=1)
    await app.services.outbox.drain()
    assert await redis.hlen(f"user:{ada.id}:applied") == 1 + 3


async def test_somebody_who_left_gets_no_record_from_what_is_tried_again(
    app: Application, new_site: NewSite, redis: Redis, clock: ManualClock, ada: Person
) -> None:
    await redis.hset(f"user:{ada.id}", "karma", "broken")
    await add(redis, new_site, "karma", user_id=ada.id, change=1)
    await app.services.outbox.drain()
    await redis.hset(f"user:{ada.id}", "karma", "0")
    assert (await ada.call("DELETE", "/v1/users/me")).status_code == 200
    clock.advance(seconds=1000)
    await app.services.outbox.drain()
    assert await state_of(app, new_site) == (0, 0, 0)
    assert [key async for key in redis.scan_iter(f"user:{ada.id}*")] == []


async def test_the_dead_and_the_waiting_are_in_the_metrics(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    app.services.outbox.handlers.on("rang", "bell", Flaky(failures=9))
    for kind in ("strange", "rang"):
        await add(redis, new_site, kind)
    await app.services.outbox.drain()
    for _ in range(3):
        await add(redis, new_site, "rang")

    async def shown() -> bool:
        await app.services.health.measure()
        read = app.metrics.registry.get_sample_value
        found = [read("threadkit_outbox_entries", {"state": state}) for state in ("waiting", "retrying", "dead")]
        return found == [3, 1, 1]

    await until(shown, "the numbers")
