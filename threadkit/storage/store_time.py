"""The store's time is everybody's: with clocks of their own, servers would put what people write in a wrong order."""

import asyncio
import contextlib

import structlog
from redis.exceptions import RedisError

from threadkit.clock import SystemClock
from threadkit.storage.client import Commands

log = structlog.get_logger()

LOOK_EVERY_S = 1.0
TOO_LONG_MS = 1000
"""An answer that took so long says too little about now."""
ROUNDED_MS = 10
WORTH_TELLING_MS = 2000


async def agree_on_time(redis: Commands) -> None:
    """Corrects our clock by as little as makes it agree with the store's: the time it told lies between asking and hearing.
    A store that does not answer is no news here."""
    clock = SystemClock()
    asked_ms = clock.now_ms()
    try:
        answer = await redis.time()
    except (RedisError, OSError):
        return
    heard_ms = clock.now_ms()
    times = answer.values() if isinstance(answer, dict) else [answer]
    store_ms = min(seconds * 1000 + microseconds // 1000 for seconds, microseconds in times)  # ahead of no node
    by_ms = min(store_ms - asked_ms, 0) or max(store_ms - heard_ms, 0)
    if abs(by_ms) <= ROUNDED_MS or heard_ms - asked_ms > TOO_LONG_MS:
        return
    clock.correct(by_ms)
    if abs(by_ms) >= WORTH_TELLING_MS:
        log.warning("clock_corrected", seconds=by_ms / 1000, why="the store's clock says so")


class StoreTime:
    """Keeps our time the store's while a worker runs."""

    def __init__(self, redis: Commands) -> None:
        self._redis = redis
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._follow(), name="store time")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await agree_on_time(self._redis)
