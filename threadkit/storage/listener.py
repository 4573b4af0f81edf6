"""One Pub/Sub connection per worker, however many channels; it comes back by itself. In a cluster there is one to every
primary (`shards.py`)."""

import asyncio
import contextlib
from collections.abc import Callable, Collection
from typing import Any

import structlog
from redis.exceptions import RedisError

from threadkit.storage.client import Store, close_client
from threadkit.storage.cluster import SteadyCluster, is_sharded
from threadkit.storage.shards import Shards, ended

log = structlog.get_logger()

Receiver = Callable[[str], None]
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0
_ASK_EVERY_S = 5.0
_LOOK_EVERY_S = 1.0
_SILENT_S = 12.0  # a store that answers no ping for this long is gone, whatever the connection says
_UNANSWERED_S = 3.0  # a channel that is not confirmed by then was asked for on a line that the library has made anew


class Listener:
    """Hands messages to the receivers of their channel.

    Messages are lost while the connection is down, so `on_gap` is called when it is lost and again when all channels
    are heard anew: whoever keeps something that messages would have changed must forget it then. `is_listening` is
    false in between; `on_back` is called when it is true again, with all channels.

    In a cluster these two speak of what concerns all servers. The channels of sites and people come and go with their
    shards, and `on_back` is called with those that were away.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._receivers: dict[str, list[Receiver]] = {}
        self._on_gap: list[Callable[[], None]] = []
        self._on_back: list[Callable[[Collection[str]], None]] = []
        self._task: asyncio.Task[None] | None = None
        self._pubsub: Any = None
        self._awaited: dict[str, asyncio.Future[None]] = {}
        self._asked_at: dict[str, float] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._heard_at = 0.0
        self._shards: Shards | None = None
        if isinstance(store.redis, SteadyCluster):
            self._shards = Shards(
                store.redis,
                hear=self._hand_out,
                on_settled=self._confirm_each,
                on_back=self._call_back,
                on_everybody=self._hear_everybody,
            )
        self.is_listening = False

    @property
    def hears_all(self) -> bool:
        return self.is_listening and (self._shards is None or self._shards.hears_all)

    def on(self, channel: str, receive: Receiver) -> None:
        """Listen from the start to a channel that concerns all servers."""
        self._receivers.setdefault(channel, []).append(receive)
        if self._shards is not None:
            self._shards.ask_for(channel)

    def on_gap(self, forget: Callable[[], None]) -> None:
        self._on_gap.append(forget)

    def on_back(self, look_again: Callable[[Collection[str]], None]) -> None:
        self._on_back.append(look_again)

    async def subscribe(self, channel: str, receive: Receiver) -> None:
        """Listen to one more channel; returns when the store has confirmed it, or when there is none to confirm."""
        receivers = self._receivers.setdefault(channel, [])
        receivers.append(receive)
        if channel not in self._awaited and (len(receivers) > 1 or not self._asks_for(channel)):
            return
        await self.confirmed(channel)

    async def confirmed(self, channel: str) -> None:
        """Wait until a channel that somebody asked for is heard. Who gives up waiting takes it from nobody else."""
        if (awaited := self._awaited.get(channel)) is not None:
            await asyncio.shield(awaited)

    def _asks_for(self, channel: str) -> bool:
        if self._shards is not None:
            if not self._shards.ask_for(channel):
                return False
        elif self._pubsub is None:
            return False
        else:
            asking = asyncio.create_task(self._ask_for(self._pubsub, channel))
            self._asking.add(asking)
            asking.add_done_callback(self._asking.discard)
        loop = asyncio.get_running_loop()
        self._awaited[channel], self._asked_at[channel] = loop.create_future(), loop.time()
        return True

    async def _ask_for(self, pubsub: Any, channel: str) -> None:
        with contextlib.suppress(RedisError, OSError):  # the reader notices, and comes back with all channels
            await pubsub.subscribe(channel)

    async def unsubscribe(self, channel: str, receive: Receiver) -> None:
        receivers = self._receivers.get(channel, [])
        if receive in receivers:
            receivers.remove(receive)
        if receivers:
            return
        await self.confirmed(channel)  # or whoever comes meanwhile would count on what we take back
        if self._receivers.get(channel):
            return
        self._receivers.pop(channel, None)
        if self._shards is not None:
            self._shards.leave(channel)
        elif self._pubsub is not None:
            with contextlib.suppress(RedisError, OSError):
                await self._pubsub.unsubscribe(channel)

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="listener")

    async def stop(self) -> None:
        await ended(self._task)
        if self._shards is not None:
            await self._shards.stop()
        self._confirm_each(list(self._awaited))
        self.is_listening = False

    async def _run(self) -> None:
        if self._shards is not None:
            await self._shards.start()
            return
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                async with contextlib.AsyncExitStack() as stack:
                    client = self._store.waiting_client()
                    stack.push_async_callback(close_client, client)
                    async with asyncio.timeout(_SILENT_S):  # reads of this client may take for ever, its start may not
                        await client.initialize()  # a cluster's Pub/Sub does not ask for the nodes by itself
                        pubsub = await stack.enter_async_context(client.pubsub())
                        asked = await self._ask_for_all(pubsub)
                    await self._receive(pubsub, asked)
            except (RedisError, OSError, TimeoutError) as error:
                was_listening = self.is_listening
                self._lose(error)
                pause_s = _FIRST_PAUSE_S if was_listening else min(pause_s * 2, _LONGEST_PAUSE_S)
            finally:
                self._pubsub = None
                self._confirm_each(list(self._awaited))
            await asyncio.sleep(pause_s)

    async def _ask_for_all(self, pubsub: Any) -> set[str]:
        """Ask for every channel, those too that somebody wanted or gave up while we were asking."""
        asked: set[str] = set()
        while new := self._receivers.keys() - asked:
            await pubsub.subscribe(*new)
            asked |= new
        self._pubsub = pubsub  # from here on whoever wants a channel asks for it themselves
        if gone := asked - self._receivers.keys():
            await pubsub.unsubscribe(*gone)
        return asked

    async def _receive(self, pubsub: Any, waiting: set[str]) -> None:
        # The library would reconnect silently; a gap must be noticed, so a broken connection is given up instead.
        self._heard_at = asyncio.get_running_loop().time()
        async with asyncio.timeout(None) as patience:
            asking = asyncio.create_task(self._ask(pubsub, patience), name="listener-ping")
            try:
                while True:
                    message = await self._next(pubsub)
                    kind, channel, data = message[:3]
                    if kind == "message":
                        self._hand_out(channel, data)
                    elif kind == "subscribe":
                        waiting.discard(channel)
                        self._confirm(channel)
                        if not waiting and not self.is_listening:
                            self._come_back(self._receivers)
                    elif kind == "unsubscribe":
                        await pubsub.handle_message(message)  # or the library would remember the channel for ever
            finally:
                asking.cancel()

    def _hand_out(self, channel: str, data: str) -> None:
        for receive in list(self._receivers.get(channel, ())):
            self._hand_over(receive, channel, data)

    def _hand_over(self, receive: Receiver, channel: str, data: str) -> None:
        """Anybody who reaches the store can publish anything; one bad message must not deafen the worker."""
        try:
            receive(data)
        except Exception as error:
            log.warning("message_not_understood", channel=channel, why=repr(error))

    async def _next(self, pubsub: Any) -> Any:
        while True:
            message = await pubsub.parse_response(block=True)
            self._heard_at = asyncio.get_running_loop().time()
            if isinstance(message, list) and len(message) >= 3:
                return message

    async def _ask(self, pubsub: Any, patience: asyncio.Timeout) -> None:
        """Ask for a sign of life; the reader waits no longer for a connection that gives none, that does not answer a
        question, or to whom nobody writes any more."""
        loop = asyncio.get_running_loop()
        asked_at = loop.time()
        while self._is_well(loop.time()) and not self._store.has_left(pubsub.connection):
            await asyncio.sleep(min(_LOOK_EVERY_S, _ASK_EVERY_S))
            if loop.time() - asked_at < _ASK_EVERY_S:
                continue
            with contextlib.suppress(RedisError, OSError, TimeoutError):
                async with asyncio.timeout(_ASK_EVERY_S):
                    await pubsub.ping()
            asked_at = loop.time()
        patience.reschedule(loop.time())

    def _is_well(self, now: float) -> bool:
        return now - self._heard_at <= _SILENT_S and all(now - at <= _UNANSWERED_S for at in self._asked_at.values())

    def _confirm(self, channel: str) -> None:
        self._asked_at.pop(channel, None)
        if (awaited := self._awaited.pop(channel, None)) is not None and not awaited.done():
            awaited.set_result(None)

    def _confirm_each(self, channels: Collection[str]) -> None:
        for channel in channels:
            self._confirm(channel)

    def _call_back(self, channels: Collection[str]) -> None:
        for look_again in self._on_back:
            look_again(channels)

    def _come_back(self, channels: Collection[str]) -> None:
        self._gap()
        self.is_listening = True
        self._call_back(channels)

    def _lose(self, error: Exception | None = None) -> None:
        if self.is_listening and error is not None:
            log.warning("listener_lost", why=str(error))
        self.is_listening = False
        self._gap()

    def _hear_everybody(self, hears: bool) -> None:
        if hears:
            self._come_back([channel for channel in self._receivers if not is_sharded(channel)])
        else:
            self._lose()

    def _gap(self) -> None:
        for forget in self._on_gap:
            forget()
