"""Where texts are worked on: long ones off the event loop, short ones where they are, since a thread takes longer."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
SHORT = 500
"""Characters. The worst text of this length takes a few milliseconds."""


async def aside(source: str, work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work) if len(source) > SHORT else work()
