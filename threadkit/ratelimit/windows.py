"""Sliding windows: exact, however many workers count."""

import math

from msgspec import Struct

from threadkit.clock import Clock
from threadkit.errors import TooMany
from threadkit.ids import new_uuid
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.lua import LuaScript


class Window(Struct, frozen=True):
    """So many of an action in so many seconds, with at least a gap between two."""

    action: str
    limit: int
    seconds: int
    gap_s: int = 0


class Spent(Struct, frozen=True):
    """One action that was counted."""

    key: str
    id: str


class SpendWindow(LuaScript):
    file = "spend_window.lua"
    repeatable = True

    async def __call__(self, key: str, window: Window, spent: str, *, now_ms: int) -> int:
        arguments: list[str | int] = [now_ms, spent, window.limit, window.seconds * 1000, window.gap_s * 1000]
        return int(await self._run(keys=[key], args=arguments))


class Windows:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._spend = SpendWindow(redis)

    async def spend(self, window: Window, subject: str) -> Spent:
        """Count one action of `subject`, or raise with the seconds to wait."""
        spent = Spent(self._keys.shared.window(window.action, subject), new_uuid())
        wait_ms = await self._spend(spent.key, window, spent.id, now_ms=self._clock.now_ms())
        if wait_ms:
            seconds = math.ceil(wait_ms / 1000)
            raise TooMany(f"Too many tries. Please wait {seconds} seconds.", retry_after_s=seconds)
        return spent

    async def give_back(self, spent: Spent) -> None:
        """What came to nothing through no fault of theirs."""
        await self._redis.zrem(spent.key, spent.id)
