"""One connection for all channels: whoever gives up waiting for one takes it from nobody else."""

import asyncio
import contextlib

from redis.asyncio import Redis

from tests.wait import until
from threadkit.app import Application


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
