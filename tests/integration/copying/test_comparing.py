"""That a copy is compared with its source, value by value."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from redis import Redis as SyncRedis
from redis.asyncio import Redis

from tests.make import ManualClock
from threadkit.copying import pouring
from threadkit.copying.model import CopyFailed, CopyReport
from threadkit.copying.service import CopyService
from threadkit.copying.side import open_side
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.storage.bundled import BundledStore
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys
from threadkit.storage.stamp import stamp_store

MANY = 3_000
Tamper = Callable[[SyncRedis], object]


@pytest.fixture
async def site_id(redis: Redis, keyring: Keyring, clock: ManualClock) -> str:
    """A source with keys so large that the store's own form of them depends on how they were filled."""
    await stamp_store(redis, Keys(), keyring, clock)
    site_id = "0197b7a2-6f1c-7c3e-8a41-2d9f6c1e5b70"
    await redis.hset(f"site:{site_id}:filter:tokens", mapping={f"word{number}": "1 2 3" for number in range(MANY)})
    await redis.sadd(f"site:{site_id}:viewed", *(f"page{number}" for number in range(MANY)))
    await redis.zadd(f"site:{site_id}:comments", {f"comment{number}": number for number in range(MANY)})
    async with redis.pipeline(transaction=False) as pipe:
        for number in range(MANY):
            pipe.xadd(f"site:{site_id}:modlog", {"entry": str(number)})
        await pipe.execute()
    await redis.set(f"site:{site_id}:human:somebody", "1", ex=3600)
    return site_id


@pytest.fixture(scope="module")
def other(short_folder: Path) -> Iterator[BundledStore]:
    store = BundledStore(Settings(data=str(short_folder / "other")))
    store.start()
    yield store
    store.stop()


@asynccontextmanager
async def copying(
    bundled: BundledStore, other: BundledStore, settings: Settings, clock: ManualClock
) -> AsyncIterator[CopyService]:
    source = Store(bundled.address, settings.store)
    target = Store(other.address, settings.store)
    await target.redis.flushdb()
    try:
        async with open_side(source, "") as from_side, open_side(target, "") as to_side:
            yield CopyService(source=from_side, target=to_side, clock=clock)
    finally:
        await target.redis.flushdb()
        await source.close()
        await target.close()


async def filled(service: CopyService, other: BundledStore, tamper: Tamper) -> CopyReport:
    """Copied, and tampered with before both are compared."""

    def on_progress(stage: str, done: int, total: int) -> None:
        if stage == "Copying" and done == total:
            with SyncRedis(unix_socket_path=other.address.path, decode_responses=True) as store:
                tamper(store)

    return await service.fill(on_progress)


async def test_what_is_the_same_is_taken_for_the_same(
    bundled: BundledStore, other: BundledStore, settings: Settings, clock: ManualClock, site_id: str
) -> None:
    async with copying(bundled, other, settings, clock) as service:
        report = await filled(service, other, lambda store: None)
        assert report.counts["site:{site_id}:filter:tokens"] == (1, 1)
        await service.finish()


async def test_what_is_large_travels_in_pieces(
    bundled: BundledStore,
    other: BundledStore,
    redis: Redis,
    settings: Settings,
    clock: ManualClock,
    site_id: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pouring, "LARGE", 1_000)
    await redis.hset(f"site:{site_id}:filter:texts", mapping={f"text{number}": "1" for number in range(MANY)})
    await redis.expire(f"site:{site_id}:filter:texts", 3600)
    log = f"site:{site_id}:modlog"
    newest = (await redis.xinfo_stream(log))["last-generated-id"]
    await redis.xdel(log, newest)
    async with copying(bundled, other, settings, clock) as service:
        await service.fill(lambda *_: None)
        with SyncRedis(unix_socket_path=other.address.path, decode_responses=True) as store:
            assert store.xinfo_stream(log)["last-generated-id"] == newest
        await service.finish()


async def test_a_full_store_is_told_and_the_copy_goes_on_when_there_is_room(
    bundled: BundledStore, other: BundledStore, settings: Settings, clock: ManualClock, site_id: str
) -> None:
    async with copying(bundled, other, settings, clock) as service:
        with SyncRedis(unix_socket_path=other.address.path) as store:

            def is_full(stage: str, _done: int, _total: int) -> None:
                if stage == "Looking at what is there":
                    store.config_set("maxmemory", "1mb")

            await service.fill(lambda *_: None)
            store.delete(f"site:{site_id}:viewed")
            try:
                with pytest.raises(CopyFailed, match=r"refuses what .* It needs room for all of it"):
                    await service.fill(is_full)
            finally:
                store.config_set("maxmemory", "0")
        await service.fill(lambda *_: None)
        await service.finish()


async def test_the_order_in_which_things_were_filled_does_not_matter(
    bundled: BundledStore, other: BundledStore, settings: Settings, clock: ManualClock, site_id: str
) -> None:
    def again(store: SyncRedis) -> None:
        for kind in ("filter:tokens", "viewed", "comments"):
            store.delete(f"site:{site_id}:{kind}")
        with store.pipeline(transaction=False) as pipe:
            for number in reversed(range(MANY)):
                pipe.hset(f"site:{site_id}:filter:tokens", f"word{number}", "1 2 3")
                pipe.sadd(f"site:{site_id}:viewed", f"page{number}")
                pipe.zadd(f"site:{site_id}:comments", {f"comment{number}": number})
            pipe.execute()

    async with copying(bundled, other, settings, clock) as service:
        await filled(service, other, again)


@pytest.mark.parametrize(
    ("kind", "tamper", "told"),
    [
        ("filter:tokens", lambda store, key: store.hset(key, "word7", "1 2 4"), "1 different of 1"),
        ("filter:tokens", lambda store, key: store.hset(key, "word", "1 2 3"), "1 different of 1"),
        ("viewed", lambda store, key: (store.srem(key, "page7"), store.sadd(key, "page")), "1 different of 1"),
        ("comments", lambda store, key: store.zincrby(key, 0.5, "comment2999"), "1 different of 1"),
        ("modlog", lambda store, key: store.xdel(key, store.xrange(key, count=1)[0][0]), "1 different of 1"),
        ("human:somebody", lambda store, key: store.expire(key, 7200), "1 different of 1"),
        ("human:somebody", lambda store, key: store.set(key, "2", keepttl=True), "1 different of 1"),
        ("viewed", lambda store, key: store.delete(key), "1 missing of 1"),
        ("viewed", lambda store, key: (store.delete(key), store.set(key, "?")), "1 different of 1"),
        ("appeals", lambda store, key: store.zadd(key, {"comment1": 1}), "1 too many of 0"),
    ],
)
async def test_every_difference_is_found(
    bundled: BundledStore,
    other: BundledStore,
    settings: Settings,
    clock: ManualClock,
    site_id: str,
    kind: str,
    tamper: Callable[[SyncRedis, str], object],
    told: str,
) -> None:
    async with copying(bundled, other, settings, clock) as service:
        with pytest.raises(CopyFailed, match="The copy is not the same as the source") as failure:
            await filled(service, other, lambda store: tamper(store, f"site:{site_id}:{kind}"))
        assert told in str(failure.value)
        # The next run puts it right.
        report = await service.fill(lambda *_: None)
        assert report.is_resumed
        await service.finish()


async def test_who_writes_to_the_source_meanwhile_is_noticed(
    bundled: BundledStore, other: BundledStore, redis: Redis, settings: Settings, clock: ManualClock, site_id: str
) -> None:
    async with copying(bundled, other, settings, clock) as service:
        await service.fill(lambda *_: None)
        await redis.set(f"site:{site_id}:human:another", "1", ex=3600)
        await redis.zadd(f"site:{site_id}:comments", {"one more": 1})
        with pytest.raises(CopyFailed, match=f"Something wrote to the store .*site:{site_id}:comments"):
            await service.finish()
        await service.fill(lambda *_: None)
        await service.finish()
