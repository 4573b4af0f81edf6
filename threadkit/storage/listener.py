"""One Pub/Sub connection per worker, however many channels; it comes back by itself."""

import asyncio
import contextlib
from collections.abc import Callable

import structlog
from redis.exceptions import RedisError

from threadkit.storage.client import Store, close_client

log = structlog.get_logger()

Receiver = Callable[[str], None]
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0


class Listener:
    """Hands messages to the receivers of their channel.

    Messages are lost while the connection is down, so `on_gap` is called each time it was: whoever keeps something
    that messages would have changed must forget it then. `is_listening` is false in between.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._receivers: dict[str, Receiver] = {}
        self._on_gap: list[Callable[[], None]] = []
        self._task: asyncio.Task[None] | None = None
        self.is_listening = False

    def on(self, channel: str, receive: Receiver) -> None:
        self._receivers[channel] = receive

    def on_gap(self, forget: Callable[[], None]) -> None:
        self._on_gap.append(forget)

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="listener")

    async def stop(self) -> None:
        if self._task:
            while not self._task.done():  # the client library has been seen to swallow a cancellation
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=1)
        self.is_listening = False

    async def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                async with contextlib.AsyncExitStack() as stack:
                    client = self._store.waiting_client()
                    stack.push_async_callback(close_client, client)
                    await client.initialize()  # a cluster's Pub/Sub does not ask for the nodes by itself
                    pubsub = await stack.enter_async_context(client.pubsub())
                    await pubsub.subscribe(*self._receivers)
                    await self._receive(pubsub)
            except (RedisError, OSError) as error:
                was_listening = self.is_listening
                self._lose(error)
                pause_s = _FIRST_PAUSE_S if was_listening else min(pause_s * 2, _LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)

    async def _receive(self, pubsub: object) -> None:
        # The library would reconnect silently; a gap must be noticed, so a broken connection is given up instead.
        waiting = set(self._receivers)
        while True:
            message = await pubsub.parse_response(block=True)  # type: ignore[attr-defined]
            kind, channel, data = message[0], message[1], message[2]
            if kind == "subscribe":
                waiting.discard(channel)
                if not waiting:
                    self._gap()
                    self.is_listening = True
            elif kind == "message":
                self._receivers[channel](data)

    def _lose(self, error: Exception) -> None:
        if self.is_listening:
            log.warning("listener_lost", why=str(error))
        self.is_listening = False
        self._gap()

    def _gap(self) -> None:
        for forget in self._on_gap:
            forget()
