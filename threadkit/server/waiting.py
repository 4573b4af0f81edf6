"""A worker that finds no store waits for it as long as it takes."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import structlog
from redis.exceptions import RedisError

from threadkit.storage.checks import StoreAway

T = TypeVar("T")
log = structlog.get_logger()

LOOK_AGAIN_S = 0.5


async def once_the_store_is_there(work: Callable[[], Awaitable[T]]) -> T:
    """What `work` says as soon as it finds the store. Other refusals end the start."""
    try:
        return await work()
    except (StoreAway, RedisError, OSError) as error:
        log.warning("store_awaited", why=str(error))
    with _stopped_at_once():
        while True:
            await asyncio.sleep(LOOK_AGAIN_S)
            with contextlib.suppress(StoreAway, RedisError, OSError):
                return await work()


@contextlib.contextmanager
def _stopped_at_once() -> Iterator[None]:
    """Who only waits has nothing to finish. The server's own handler would be heard after the wait, if ever."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
