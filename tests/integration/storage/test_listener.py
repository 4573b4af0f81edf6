"""One line to the store on which all channels are heard."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from tests.stores import TestedStore
from tests.wait import until
from threadkit.settings import StoreTuning
from threadkit.storage import listener as module
from threadkit.storage.client import Store
from threadkit.storage.listener import Listener


@pytest.fixture
async def listener(bundled: TestedStore) -> AsyncIterator[Listener]:
    store = Store(bundled.address, StoreTuning())
    found = Listener(store)
    found.on("everybody", lambda _: None)
    await found.start()
    try:
        await until(lambda: found.is_listening, "the listener")
        yield found
    finally:
        await found.stop()
        await store.close()


async def test_a_question_that_got_lost_is_asked_again_on_another_line(
    listener: Listener, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it happens when the client library connects anew by itself, and subscribes to what it knew before."""
    heard: list[str] = []
    back: list[str] = []
    listener.on_back(back.extend)

    async def lose(*_: Any) -> None:
        """It never reaches the store."""

    monkeypatch.setattr(module, "_UNANSWERED_S", 0.2)
    monkeypatch.setattr(module, "_LOOK_EVERY_S", 0.05)
    with monkeypatch.context() as lost:
        lost.setattr(listener, "_ask_for", lose)
        await listener.subscribe("page", heard.append)

    async def is_heard() -> bool:
        await redis.publish("page", "hello")
        return bool(heard)

    await until(is_heard, "the channel to be heard")
    await until(lambda: listener.is_listening, "the listener")
    assert {"page", "everybody"} <= set(back)
    back.clear()
    await listener.subscribe("another", heard.append)
    assert back == []
