"""The line on which all tasks' commands travel: everybody gets their own answer, whatever happens to the others."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as StoreConnectionError
from redis.exceptions import DataError, ResponseError
from redis.exceptions import TimeoutError as StoreTimeoutError

from tests.wait import until
from threadkit.settings import StoreTuning
from threadkit.storage.bundled import BundledStore
from threadkit.storage.client import Commands, Store, close_client
from threadkit.storage.line import LinedRedis, StoreSilent

BUSY = "redis.call('SETEX', KEYS[1], 60, (redis.call('GET', KEYS[1]) or 0) + 1) for i = 1, 4e7 do end"


@pytest.fixture
async def lined(bundled: BundledStore, redis: Redis) -> AsyncIterator[Commands]:
    store = Store(bundled.address, StoreTuning(command_timeout_s=1.0))
    assert isinstance(store.redis, LinedRedis)
    yield store.redis
    await store.close()


async def test_everybody_gets_their_own_answer(lined: Commands) -> None:
    async def one(number: int) -> None:
        await lined.set(f"tests:{number}", f"value {number}")
        assert await lined.get(f"tests:{number}") == f"value {number}"
        async with lined.pipeline(transaction=False) as pipe:
            pipe.hset(f"tests:h{number}", mapping={"a": str(number), "b": "ü"})
            pipe.hgetall(f"tests:h{number}")
            pipe.delete(f"tests:{number}", f"tests:h{number}")
            assert await pipe.execute() == [2, {"a": str(number), "b": "ü"}, 2]

    await asyncio.gather(*map(one, range(500)))


async def test_one_connection_carries_them_all(lined: Commands, redis: Redis) -> None:
    await asyncio.gather(*(lined.ping() for _ in range(200)))
    names = [client["name"] for client in await redis.client_list()]
    assert names.count("threadkit") == 1


async def test_an_error_is_only_for_whoever_caused_it(lined: Commands) -> None:
    await lined.set("tests:text", "x")
    found = await asyncio.gather(
        lined.get("tests:text"), lined.hget("tests:text", "a"), lined.get("tests:text"), return_exceptions=True
    )
    assert found[0] == found[2] == "x"
    assert isinstance(found[1], ResponseError)
    async with lined.pipeline(transaction=False) as pipe:
        pipe.get("tests:text")
        pipe.hget("tests:text", "a")
        pipe.delete("tests:text")
        answers = await pipe.execute(raise_on_error=False)
    assert (answers[0], answers[2]) == ("x", 1)
    assert isinstance(answers[1], ResponseError)


async def test_whoever_stops_waiting_disturbs_nobody(lined: Commands) -> None:
    await lined.set("tests:n", "1")
    tasks = [asyncio.create_task(lined.incr("tests:n")) for _ in range(100)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    kept = await asyncio.gather(*tasks[1::2])
    assert kept == sorted(kept)
    assert await lined.get("tests:n") == str(max(kept))  # those who left before anything was sent cost nothing
    await lined.delete("tests:n")


async def test_a_lost_connection_is_told_to_those_who_wait_and_replaced(lined: Commands, redis: Redis) -> None:
    await lined.ping()
    await redis.client_pause(10_000, all=False)
    waiting = asyncio.create_task(lined.set("tests:a", "1"))
    (mine,) = [client for client in await redis.client_list() if client["name"] == "threadkit"]
    await redis.client_kill_filter(_id=mine["id"])
    with pytest.raises(StoreConnectionError):
        await waiting
    await redis.client_unpause()
    assert await lined.ping()
    assert await lined.get("tests:a") is None


async def test_whatever_stands_behind_what_takes_too_long_is_given_up_too(redis: Redis, bundled: BundledStore) -> None:
    store = Store(bundled.address, StoreTuning(command_timeout_s=0.05))
    try:
        await until(store.ping, "a connection")
        found = await asyncio.gather(
            store.redis.eval(BUSY, 1, "tests:busy"), store.redis.get("tests:busy"), return_exceptions=True
        )
        assert [type(error) for error in found] == [StoreTimeoutError, StoreTimeoutError]
        assert await redis.get("tests:busy") == "1"
        await until(store.ping, "an answer")
    finally:
        await store.close()
        await redis.delete("tests:busy")


async def test_an_answer_that_came_while_we_were_held_up_ourselves_is_not_late(
    bundled: BundledStore, redis: Redis
) -> None:
    store = Store(bundled.address, StoreTuning(command_timeout_s=0.1, silent_after_s=0.1), refuses_silence=True)
    try:
        await until(store.ping, "a connection")
        asking = [asyncio.create_task(store.redis.ping()) for _ in range(3)]
        await asyncio.sleep(0)
        time.sleep(0.5)  # noqa: ASYNC251  # our loop does something else
        asking.append(asyncio.create_task(store.redis.ping()))
        assert await asyncio.gather(*asking) == [True] * 4
    finally:
        await store.close()


async def test_nobody_waits_for_a_store_that_is_silent_and_it_is_found_again(
    bundled: BundledStore, redis: Redis
) -> None:
    store = Store(bundled.address, StoreTuning(silent_after_s=0.2), refuses_silence=True)
    loop = asyncio.get_running_loop()
    try:
        await store.redis.ping()
        await redis.client_pause(1500)
        began = loop.time()
        assert store.held_up == 0
        found = await asyncio.gather(*(store.redis.ping() for _ in range(3)), return_exceptions=True)
        assert [type(error) for error in found] == [StoreSilent] * 3
        assert loop.time() - began < 1
        asked = loop.time()
        with pytest.raises(StoreSilent):
            await store.redis.ping()
        assert loop.time() - asked < 0.05
        await until(store.ping, "the store to be asked again", seconds=5)
        assert loop.time() - began > 1
    finally:
        await store.close()


async def test_a_command_line_waits_for_a_store_that_is_silent(bundled: BundledStore, redis: Redis) -> None:
    store = Store(bundled.address, StoreTuning(silent_after_s=0.1))
    try:
        await store.redis.ping()
        await redis.client_pause(500)
        assert await store.redis.ping()
    finally:
        await store.close()


async def test_a_store_that_is_away_is_said_at_once(bundled: BundledStore) -> None:
    address = bundled.address
    nowhere = type(address)(address.topology, path="/nonexistent/store.sock")
    store = Store(nowhere, StoreTuning(connect_timeout_s=0.5))
    found = await asyncio.gather(*(store.redis.ping() for _ in range(10)), return_exceptions=True)
    assert all(isinstance(error, StoreConnectionError) for error in found)
    await store.close()


async def test_a_connection_that_was_silent_for_long_is_replaced(
    lined: Commands, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def number() -> str:
        await lined.ping()
        (mine,) = [client for client in await redis.client_list() if client["name"] == "threadkit"]
        return str(mine["id"])

    first = await number()
    assert await number() == first
    monkeypatch.setattr(lined.line, "_heard_s", 0.0)
    assert await number() != first


async def test_what_cannot_be_sent_is_refused_and_nothing_else_is_lost(lined: Commands) -> None:
    found = await asyncio.gather(
        lined.set("tests:a", "1"), lined.set("tests:a", True), lined.get("tests:a"), return_exceptions=True
    )
    assert (found[0], found[2]) == (True, "1")
    assert isinstance(found[1], DataError)
    await lined.delete("tests:a")


async def test_closing_tells_those_who_wait(bundled: BundledStore, redis: Redis) -> None:
    store = Store(bundled.address, StoreTuning())
    await store.redis.ping()
    await redis.client_pause(10_000, all=False)
    waiting = asyncio.create_task(store.redis.set("tests:a", "1"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await close_client(store.redis)
    with pytest.raises(StoreConnectionError):
        await waiting
    await redis.client_unpause()
    await redis.delete("tests:a")  # whether it still ran is the store's business
