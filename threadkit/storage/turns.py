"""Waiting in line for one of so many connections."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from redis.asyncio import ConnectionPool
from redis.exceptions import ConnectionError as StoreConnectionError


class Turns:
    """So many at a time; the next one waits, and gives up after a while."""

    def __init__(self, count: int, timeout_s: float) -> None:
        self._free = asyncio.Semaphore(count)
        self._timeout_s = timeout_s

    async def take(self) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._free.acquire()
        except TimeoutError:
            raise StoreConnectionError("No connection available.") from None

    def give_back(self) -> None:
        self._free.release()

    @contextlib.asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        await self.take()
        try:
            yield
        finally:
            self.give_back()


class InTurn(ConnectionPool):
    """The library's pools raise when they are full, or let newcomers overtake those who wait until these give up. Here
    commands wait in line."""

    def __init__(self, *args: Any, timeout: float, max_connections: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs, max_connections=max_connections)  # type: ignore[misc]
        self._turns = Turns(max_connections, timeout)

    async def get_connection(self, *args: Any, **kwargs: Any) -> Any:
        await self._turns.take()
        try:
            return await super().get_connection(*args, **kwargs)  # type: ignore[no-untyped-call]
        except BaseException:
            self._turns.give_back()
            raise

    async def release(self, connection: Any) -> None:
        try:
            await super().release(connection)
        finally:
            self._turns.give_back()
