"""A client that sends what many callers want in one go."""

import asyncio
from typing import Any

from redis.commands import AsyncCoreCommands

from threadkit.storage.client import Commands


class Gathered(AsyncCoreCommands):
    """Commands of the same turn of the event loop share a pipeline, in the order in which they were given.

    So code that writes one thing at a time (a script's wrapper, the registry of users) can write thousands: called for
    all of them at once, every step of all of them is one round trip.
    """

    _event_dispatcher: Any = None  # the library's commands want one to be there

    def __init__(self, redis: Commands) -> None:
        self._redis = redis
        self._waiting: list[tuple[tuple[Any, ...], dict[str, Any], asyncio.Future[Any]]] = []
        self._under_way: set[asyncio.Task[None]] = set()

    def execute_command(self, *args: Any, **options: Any) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._send)
        self._waiting.append((args, options, answer))
        return answer

    def _send(self) -> None:
        together, self._waiting = self._waiting, []
        task = asyncio.create_task(self._carry(together))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _carry(self, together: list[tuple[tuple[Any, ...], dict[str, Any], asyncio.Future[Any]]]) -> None:
        try:
            async with self._redis.pipeline(transaction=False) as pipe:
                for args, options, _ in together:
                    pipe.execute_command(*args, **options)
                replies = await pipe.execute(raise_on_error=False)
        except Exception as error:  # whatever it is, each of the callers has to know
            replies = [error] * len(together)
        for (_, _, answer), reply in zip(together, replies, strict=True):
            if answer.done():  # its caller went away
                continue
            if isinstance(reply, Exception):
                answer.set_exception(reply)
            else:
                answer.set_result(reply)
