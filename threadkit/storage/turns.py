"""Waiting in line for one of so many connections."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

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
