"""What a store must promise before we use it."""

from collections.abc import AsyncIterator

import msgspec
import pytest
from redis.asyncio import Redis

from tests.wait import until
from threadkit.app import Application
from threadkit.clock import SystemClock
from threadkit.errors import CannotStart
from threadkit.keyring import Keyring
from threadkit.settings import Settings, StoreTuning
from threadkit.storage.bundled import BundledStore
from threadkit.storage.checks import check_store
from threadkit.storage.client import Store, StoreAddress
from threadkit.storage.keys import Keys
from threadkit.storage.stamp import stamp_store


@pytest.fixture
async def store(bundled: BundledStore) -> AsyncIterator[Store]:
    opened = Store(bundled.address, StoreTuning())
    yield opened
    await opened.close()


async def test_the_bundled_store_promises_everything(redis: Redis, store: Store, settings: Settings) -> None:
    health = await check_store(store, Keys(), settings)
    assert health.risks == []
    assert health.version.startswith("9.")


async def test_an_evicting_store_is_refused(redis: Redis, store: Store, settings: Settings) -> None:
    await redis.config_set("maxmemory-policy", "allkeys-lru")
    try:
        with pytest.raises(CannotStart, match=r"would delete comments. Set maxmemory-policy noeviction"):
            await check_store(store, Keys(), settings)
    finally:
        await redis.config_set("maxmemory-policy", "noeviction")


async def test_a_forgetful_store_needs_the_owners_word(redis: Redis, store: Store, settings: Settings) -> None:
    await redis.config_set("appendfsync", "everysec")
    try:
        with pytest.raises(CannotStart, match='accept the loss with durability = "relaxed"'):
            await check_store(store, Keys(), settings)
        relaxed = msgspec.structs.replace(settings, durability="relaxed")
        health = await check_store(store, Keys(), relaxed)
        assert health.risks == ["appendfsync is everysec, so a crash can lose the last seconds"]
    finally:
        await redis.config_set("appendfsync", "always")


async def test_read_only_credentials_are_found_out_at_start_s2_42(
    redis: Redis, bundled: BundledStore, settings: Settings
) -> None:
    await redis.execute_command(  # type: ignore[no-untyped-call]
        "ACL", "SETUSER", "reader", "on", ">pass", "~*", "+@read", "+ping", "+info", "+eval", "+config", "+@connection"
    )
    address = StoreAddress("standalone", path=bundled.address.path, username="reader", password="pass")
    reader = Store(address, StoreTuning())
    try:
        with pytest.raises(CannotStart, match="takes no writes"):
            await check_store(reader, Keys(), settings)
    finally:
        await reader.close()
        await redis.execute_command("ACL", "DELUSER", "reader")  # type: ignore[no-untyped-call]


async def test_a_store_that_is_not_there_is_one_sentence(settings: Settings) -> None:
    away = Store(StoreAddress("standalone", hosts=(("127.0.0.1", 1),)), StoreTuning())
    try:
        with pytest.raises(CannotStart, match=r"The store at 127.0.0.1:1 cannot be reached"):
            await check_store(away, Keys(), settings)
    finally:
        await away.close()


async def test_data_of_a_newer_schema_or_another_secret_is_refused(redis: Redis, keyring: Keyring) -> None:
    await stamp_store(redis, Keys(), keyring, SystemClock())
    await stamp_store(redis, Keys(), keyring, SystemClock())
    with pytest.raises(CannotStart, match="another server secret"):
        await stamp_store(redis, Keys(), Keyring(b"a different secret"), SystemClock())
    await redis.hset("threadkit:stamp", "schema_version", "999")
    with pytest.raises(CannotStart, match="Start the newer ThreadKit"):
        await stamp_store(redis, Keys(), keyring, SystemClock())


async def test_the_listener_comes_back_and_says_that_it_missed_something(app: Application, redis: Redis) -> None:
    listener = app.services.listener
    heard: list[str] = []
    gaps: list[bool] = []
    listener.on("sites:changes", heard.append)
    listener.on_gap(lambda: gaps.append(True))
    await until(lambda: listener.is_listening, "the listener")
    await redis.publish("sites:changes", "one")
    await until(lambda: heard == ["one"], "the first message")
    before = len(gaps)
    for client in await redis.client_list(_type="pubsub"):
        await redis.client_kill_filter(_id=client["id"])
    await until(lambda: len(gaps) > before and listener.is_listening, "the listener to come back")
    await redis.publish("sites:changes", "two")
    await until(lambda: heard == ["one", "two"], "the second message")
