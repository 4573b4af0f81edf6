"""Who is the primary, by what the sentinels say.

A sentinel that has begun to replace the primary names the old one until the new one has taken over; what is written to
the old one meanwhile is thrown away. So the sentinels are listened to, and asked every second in case a message got lost.
From the moment in which a replica is chosen nobody is let through, and then to the new primary alone.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from redis.asyncio import Redis
from redis.asyncio.sentinel import SentinelConnectionPool
from redis.exceptions import ConnectionError as StoreConnectionError
from redis.exceptions import RedisError

from threadkit.storage.line import LinedRedis, Streams
from threadkit.storage.turns import InTurn

ASK_EVERY_S = 1.0
_ASK_IN_HASTE_S = 0.05
_LONGEST_CHANGE_S = 5.0  # then it has gone wrong, and the sentinels may not give it up for minutes
_AGAIN_S = 1.0
_CHANGE_BEGINS = ("+failover-state-select-slave", "+failover-state-send-slaveof-noone")
_CHANGE_ENDS = ("+failover-state-reconf-slaves", "+switch-master")
# A replica is being made the primary, and the old one does not know.
_CHANGING = ("select_slave", "send_slaveof_noone", "wait_promotion")

Address = tuple[str, int]


class Primary(NamedTuple):
    epoch: int
    """Of two that disagree, the one with the higher number knows more."""
    address: Address
    is_changing: bool


class Sentinels:
    def __init__(self, hosts: Sequence[Address], name: str, **options: Any) -> None:
        self.name = name
        self.sentinels = [Redis(host=host, port=port, decode_responses=True, **options) for host, port in hosts]

    async def primary(self) -> Primary:
        """All are asked at once; one that is cut off from the others says what was true before."""
        found = await asyncio.gather(*map(self._ask, self.sentinels), return_exceptions=True)
        known = [answer for answer in found if isinstance(answer, Primary)]
        if not known:
            raise StoreConnectionError(f"No sentinel names a primary {self.name!r}: {found[0]!r}")
        newest = max(known)
        return newest._replace(is_changing=any(one.is_changing for one in known if one.address == newest.address))

    async def _ask(self, sentinel: Any) -> Primary:
        async with sentinel.pipeline(transaction=False) as pipe:
            pipe.execute_command("SENTINEL MASTER", self.name)
            # This one names the new primary as soon as it is one, the other only when all replicas follow it.
            pipe.execute_command("SENTINEL GET-MASTER-ADDR-BY-NAME", self.name)
            state, address = await pipe.execute()
        return Primary(int(state["config-epoch"]), address, state.get("failover-state") in _CHANGING)

    async def hear(self, sentinel: Any, on_news: Callable[[str], None]) -> None:
        """Goes on for ever; one that is away is called again."""
        while True:
            with contextlib.suppress(RedisError, OSError):
                async with sentinel.pubsub() as pubsub:
                    await pubsub.subscribe(*_CHANGE_BEGINS, *_CHANGE_ENDS)
                    async for message in pubsub.listen():
                        if message["type"] == "subscribe" or self.name in message["data"].split():
                            on_news(message["channel"] if message["type"] == "message" else "")
            await asyncio.sleep(_AGAIN_S)

    async def close(self) -> None:
        for sentinel in self.sentinels:
            await sentinel.aclose()


class SentinelPool(InTurn, SentinelConnectionPool):
    """Connections to the primary. `watch` follows it; without that each new connection leads to who is the primary then."""

    master_address: Address | None

    def __init__(self, sentinels: Sentinels, **options: Any) -> None:
        super().__init__(sentinels.name, sentinels, **options)
        self._sentinels = sentinels
        self._watching: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._changing_since_s: float | None = None

    async def get_master_address(self) -> Address:  # the library's connections ask for it
        return (await self._look()).address

    async def release(self, connection: Any) -> None:
        if self.has_left(connection):
            await connection.disconnect()
        await super().release(connection)

    def has_left(self, connection: Any) -> bool:
        """Whether a connection leads to one that is not the primary any more."""
        return self.master_address not in (None, (connection.host, connection.port))

    def look_soon(self) -> None:
        self._news.set()

    def watch(self, *, on_change: Callable[[], None], on_hold: Callable[[bool], None]) -> None:
        """`on_change` is called when another one is the primary, `on_hold` with whether it is being replaced."""
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(on_change, on_hold), name="sentinels")

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching})
            self._watching = None
        await self._sentinels.close()

    async def _watch(self, on_change: Callable[[], None], on_hold: Callable[[bool], None]) -> None:

        def on_news(news: str) -> None:
            if news in _CHANGE_BEGINS:  # a tenth of a second later the replica goes its own way
                on_hold(True)
            self.look_soon()

        hearing = [
            asyncio.create_task(self._sentinels.hear(sentinel, on_news), name="sentinel")
            for sentinel in self._sentinels.sentinels
        ]
        led_to = self.master_address
        try:
            while True:
                # Without sentinels we stay where we are; whoever needs a new connection says that there are none.
                with contextlib.suppress(RedisError, OSError):
                    is_held = self._is_held(await self._look())
                    if led_to not in (None, self.master_address):
                        on_change()
                    led_to = self.master_address
                    on_hold(is_held)
                pause_s = ASK_EVERY_S if self._changing_since_s is None else _ASK_IN_HASTE_S
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause_s):
                        await self._news.wait()
                self._news.clear()
        finally:
            for task in hearing:
                task.cancel()
            await asyncio.wait(hearing)

    async def _look(self) -> Primary:
        found = await self._sentinels.primary()
        if found.address != self.master_address:
            self.master_address = found.address
            await self.disconnect(inuse_connections=False)
        return found

    def _is_held(self, found: Primary) -> bool:
        now = asyncio.get_running_loop().time()
        if not found.is_changing:
            self._changing_since_s = None
        elif self._changing_since_s is None:
            self._changing_since_s = now
        return self._changing_since_s is not None and now - self._changing_since_s < _LONGEST_CHANGE_S


class WatchedRedis(LinedRedis):
    """One line to the primary, whichever that is."""

    connection_pool: SentinelPool

    def __init__(self, pool: SentinelPool, *, timeout_s: float, silent_after_s: float) -> None:
        super().__init__(pool, timeout_s=timeout_s, silent_after_s=silent_after_s, on_trouble=pool.look_soon)

    async def _introduced(self) -> Streams:
        self.connection_pool.watch(on_change=self.line.start_anew, on_hold=self._hold)
        return await super()._introduced()

    def _hold(self, is_held: bool) -> None:
        self.line.is_held = is_held
