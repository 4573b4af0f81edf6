"""The connections: they wait their turn, and nothing runs twice behind our back."""

import asyncio
import time

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as StoreConnectionError
from redis.exceptions import TimeoutError as StoreTimeoutError

from tests.wait import until
from threadkit.errors import CannotStart
from threadkit.settings import StoreTuning
from threadkit.storage.bundled import BundledStore
from threadkit.storage.client import Store, StoreAddress, close_client, parse_url


async def test_the_200th_concurrent_command_waits_instead_of_failing(redis: Redis, bundled: BundledStore) -> None:
    store = Store(bundled.address, StoreTuning(connections=4))
    try:
        answers = await asyncio.gather(*(store.redis.ping() for _ in range(200)))
    finally:
        await store.close()
    assert answers == [True] * 200


async def test_who_finds_all_connections_taken_is_told_so_after_a_while(redis: Redis, bundled: BundledStore) -> None:
    store = Store(bundled.address, StoreTuning(wait_for_connection_s=0.1))
    client = store.waiting_client()
    holders = [asyncio.create_task(client.blpop([f"never-{number}"], timeout=0)) for number in range(8)]
    try:
        await until(lambda: _blocked(redis, 8), "all connections to be taken")
        started = time.monotonic()
        with pytest.raises(StoreConnectionError, match="No connection available"):
            await client.ping()
        assert time.monotonic() - started < 2
        holders.pop().cancel()
        await until(client.ping, "a connection to be free again")
    finally:
        for holder in holders:
            holder.cancel()
        await asyncio.gather(*holders, return_exceptions=True)
        await close_client(client)
        await store.close()


async def _blocked(redis: Redis, count: int) -> bool:
    return bool((await redis.info("clients"))["blocked_clients"] == count)


async def test_a_command_that_times_out_is_not_sent_again(redis: Redis, bundled: BundledStore) -> None:
    """With the library's own defaults this script would count to two or more."""
    slow = "redis.call('SETEX', KEYS[1], 1, (redis.call('GET', KEYS[1]) or 0) + 1) for i = 1, 4e7 do end"
    store = Store(bundled.address, StoreTuning(command_timeout_s=0.05))
    try:
        started = time.monotonic()
        with pytest.raises(StoreTimeoutError):
            await store.redis.eval(slow, 1, "threadkit:probe")
        assert time.monotonic() - started < 2
        # The store is busy until the script ends; whatever was sent again would stand in line before this.
        assert await redis.get("threadkit:probe") == "1"
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://h", StoreAddress("standalone", (("h", 6379),))),
        (
            "redis://me:p%40ss@h:7000/3",
            StoreAddress("standalone", (("h", 7000),), username="me", password="p@ss", db=3),
        ),
        ("rediss://[::1]:7000", StoreAddress("standalone", (("::1", 7000),), tls=True)),
        ("unix:///run/valkey.sock?db=2", StoreAddress("standalone", path="/run/valkey.sock", db=2)),
        (
            "redis+sentinel://:pw@a:1,b/main/2",
            StoreAddress("sentinel", (("a", 1), ("b", 26379)), password="pw", master="main", db=2),
        ),
        ("redis+cluster://a:1,b:2", StoreAddress("cluster", (("a", 1), ("b", 2)))),
    ],
)
def test_store_urls_are_understood(url: str, expected: StoreAddress) -> None:
    assert parse_url(url) == expected


@pytest.mark.parametrize(
    "url", ["", "localhost", "http://h", "redis://", "redis://h:port", "redis+magic://h", "redis://h/x"]
)
def test_other_urls_are_refused_with_examples(url: str) -> None:
    with pytest.raises(CannotStart, match="it looks like redis://host"):
        parse_url(url)


def test_an_address_never_shows_its_password() -> None:
    assert "hush" not in str(parse_url("redis://:hush@h:1"))
