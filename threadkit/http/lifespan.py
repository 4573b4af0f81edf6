"""The part of ASGI in which a server says when to begin and when to end."""

import traceback
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from litestar.types import LifeSpanReceive, LifeSpanSend


async def serve_lifespan(
    lifespan: Callable[[], AbstractAsyncContextManager[None]], receive: LifeSpanReceive, send: LifeSpanSend
) -> None:
    await receive()
    has_started = False
    try:
        async with lifespan():
            await send({"type": "lifespan.startup.complete"})
            has_started = True
            await receive()
    except BaseException:
        if has_started:
            await send({"type": "lifespan.shutdown.failed", "message": traceback.format_exc()})
        else:
            await send({"type": "lifespan.startup.failed", "message": traceback.format_exc()})
        raise
    await send({"type": "lifespan.shutdown.complete"})
