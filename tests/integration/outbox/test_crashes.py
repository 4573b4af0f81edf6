"""A worker that dies between any two of its steps loses nothing and repeats nothing."""

from typing import Any

import httpx
import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tests.integration.outbox.entries import Flaky, add, numbers
from tests.make import ManualClock
from tests.people import Person
from threadkit.app import Application
from threadkit.outbox.queries import OutboxQueries
from threadkit.outbox.worker import OutboxWorker
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore
from threadkit.storage.keys import Keys


class Died(RedisError):
    """The process is no more."""


class Mortal(Redis):
    """A client whose process dies at a certain command: before it is sent, or before its answer is read."""

    dies_at = 1 << 30
    dies_before = True
    sent = 0

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        self.sent += 1
        if self.sent > self.dies_at or (self.sent == self.dies_at and self.dies_before):
            raise Died
        answer = await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        if self.sent == self.dies_at:
            raise Died
        return answer


def worker_on(client: Redis, clock: ManualClock) -> OutboxWorker:
    return OutboxWorker(redis=client, keys=Keys(), clock=clock, queries=OutboxQueries(redis=client, keys=Keys()))


@pytest.mark.parametrize("dies_before", [True, False], ids=["before a command", "before its answer"])
async def test_whichever_command_is_the_last_all_totals_are_exact(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    redis: Redis,
    bundled: BundledStore,
    clock: ManualClock,
    ada: Person,
    dies_before: bool,
) -> None:
    """Good entries, one that fails at first and counts later, one that nobody understands, and one with a deaf handler."""
    site = f"site:{new_site.site.id}"
    expected = (0, 0)
    for dies_at in range(1, 200):
        mortal = Mortal(unix_socket_path=bundled.address.path, decode_responses=True)
        mortal.dies_before, mortal.dies_at = dies_before, dies_at
        bell = Flaky(failures=1)
        workers = [worker_on(mortal, clock), worker_on(redis, clock)]
        for one in workers:
            one.handlers.on("rang", "bell", bell)
        await redis.hset(f"user:{ada.id}", "karma", "broken")
        await add(redis, new_site, "karma", user_id=ada.id, change=10)
        await add(redis, new_site, "comment_posted", user_id=ada.id)
        rang = await add(redis, new_site, "rang")
        strange = await add(redis, new_site, "strange")
        await add(redis, new_site, "comment_posted", user_id=ada.id)
        expected = expected[0] + 10, expected[1] + 2
        try:
            await workers[0].drain()
            await redis.hset(f"user:{ada.id}", "karma", expected[0] - 10)
            clock.advance(seconds=10)
            await workers[0].drain()
        except Died:
            pass
        has_died = mortal.sent >= dies_at
        await mortal.aclose()

        await redis.delete(f"lock:outbox:{new_site.site.id}")  # as if its time were over
        if await redis.hget(f"user:{ada.id}", "karma") == "broken":
            await redis.hset(f"user:{ada.id}", "karma", expected[0] - 10)
        for _ in range(3):
            await workers[1].drain()
            clock.advance(seconds=1000)
        assert await numbers(http, ada) == expected, f"died at command {dies_at}"
        assert set(bell.done) == {rang}
        letters = await app.services.dead_letters.all([new_site.site.id])
        assert [found.letter.entry_id for found in letters] == [strange], f"died at command {dies_at}"
        await app.services.dead_letters.drop(letters)
        left = await redis.xlen(f"{site}:outbox"), await redis.hlen(f"{site}:outbox:retrying")
        assert left == (0, 0)
        assert list(await redis.hkeys(f"user:{ada.id}:applied")) == [new_site.site.id]
        if not has_died:
            assert dies_at > 20, "it was killed at each of its steps"
            return
    raise AssertionError("it never came to its end")


async def test_a_worker_that_lost_its_lease_settles_nothing_twice(
    app: Application, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    """It stood still while another one did its work; then it goes on where it was."""
    slow, quick = worker_on(redis, clock), worker_on(redis, clock)
    late = Flaky(failures=1)

    async def overtaken(site_id: Any, entry_id: str, event: Any) -> None:
        await redis.delete(f"lock:outbox:{site_id}")  # as if its time were over
        await quick.drain()
        await late(site_id, entry_id, event)

    slow.handlers.on("rang", "bell", overtaken)
    bell = Flaky()
    quick.handlers.on("rang", "bell", bell)
    entry = await add(redis, new_site, "rang")
    await slow.drain()
    assert (late.calls, bell.done) == ([entry], [entry])
    (state,) = await app.services.outbox_queries.states([new_site.site.id])
    assert (state.waiting, state.retrying, state.dead) == (0, 0, 0)


async def test_a_store_that_takes_no_writes_makes_the_site_wait_and_kills_no_letter(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    redis: Redis,
    clock: ManualClock,
    ada: Person,
) -> None:
    class ReadOnly(Redis):
        async def execute_command(self, *args: Any, **options: Any) -> Any:
            if f"user:{ada.id}" in args:
                raise RedisError("READONLY You can't write against a read only replica.")
            return await redis.execute_command(*args, **options)  # type: ignore[no-untyped-call]

    refused = worker_on(ReadOnly(), clock)
    refused._queries = app.services.outbox_queries
    entries = [await add(redis, new_site, "karma", user_id=ada.id, change=1) for _ in range(3)]
    for _ in range(20):
        assert await refused.drain() == 0
        clock.advance(seconds=1000)
    waiting: Any = await redis.xrange(f"site:{new_site.site.id}:outbox")
    assert [entry_id for entry_id, _ in waiting] == entries
    assert await worker_on(redis, clock).drain() == 3
    assert await numbers(http, ada) == (3, 0)
