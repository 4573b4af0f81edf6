"""One connection for all channels: whoever gives up waiting for one takes it from nobody else."""

import asyncio
import contextlib
from typing import Any

import pytest
from redis.asyncio import Redis

from tests.wait import until
from threadkit.app import Application
from threadkit.storage import listener as module


async def test_who_gives_up_takes_the_channel_from_nobody(app: Application, redis: Redis) -> None:
    listener = app.services.listener
    await until(lambda: listener.is_listening, "the listener")
    heard: list[str] = []
    await redis.client_pause(500)  # so that nothing is confirmed for now
    impatient, patient = (asyncio.create_task(listener.subscribe("news", receive)) for receive in (print, heard.append))
    await until(lambda: "news" in listener._awaited, "the question")
    impatient.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await impatient
    late = asyncio.create_task(listener.subscribe("news", heard.append))
    leaving = asyncio.create_task(listener.unsubscribe("news", print))
    await asyncio.gather(patient, late, leaving)
    await redis.publish("news", "one")
    await until(lambda: heard == ["one", "one"], "both to hear")


async def test_who_comes_while_another_takes_back_an_unanswered_question_is_heard(
    app: Application, redis: Redis
) -> None:
    listener = app.services.listener
    await until(lambda: listener.is_listening, "the listener")
    heard: list[str] = []
    await redis.client_pause(500)  # so that nothing is confirmed for now
    first = asyncio.create_task(listener.subscribe("news", print))
    await until(lambda: "news" in listener._awaited, "the question")
    leaving = asyncio.create_task(listener.unsubscribe("news", print))
    await asyncio.sleep(0)  # it has left by now
    second = asyncio.create_task(listener.subscribe("news", heard.append))
    await asyncio.gather(first, leaving, second)
    await redis.publish("news", "one")
    await until(lambda: heard == ["one"], "the message")


async def test_a_question_that_got_lost_is_asked_again_on_another_line(
    app: Application, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it happens when the client library connects anew by itself, and subscribes to what it knew before."""
    listener = app.services.listener
    await until(lambda: listener.is_listening, "the listener")
    heard: list[str] = []
    back: list[str] = []
    listener.on_back(back.extend)

    async def lose(*_: Any) -> None:
        """It never reaches the store."""

    monkeypatch.setattr(module, "_UNANSWERED_S", 0.2)
    with monkeypatch.context() as lost:
        lost.setattr(listener, "_ask_for", lose)
        await listener.subscribe("news", heard.append)

    async def is_heard() -> bool:
        await redis.publish("news", "one")
        return bool(heard)

    await until(is_heard, "the channel to be heard")
    await until(lambda: listener.is_listening, "the listener")
    assert "news" in back
    back.clear()
    await listener.subscribe("more", heard.append)
    assert back == []
