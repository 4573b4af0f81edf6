"""Refusals wait here for their turn, so that those who were let in do not wait for those who were not.

One turn of the event loop hears everybody who has sent something, and a request that was let in needs a dozen turns.
With hundreds to refuse in each of them it would take ten times as long, although it costs no more.
"""

import asyncio
from collections import deque
from typing import Protocol

A_TURN = 4
SHARE = 40
"""However many wait: nobody waits for more than about this many turns."""


class Refused(Protocol):
    def write_refusal(self) -> None: ...


class Refusals:
    """All of one worker's."""

    def __init__(self) -> None:
        self._waiting: deque[Refused] = deque()

    def add(self, refused: Refused, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting.append(refused)
        if len(self._waiting) == 1:
            loop.call_soon(self._write_some, loop)

    def _write_some(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting = self._waiting
        for _ in range(min(len(waiting), max(A_TURN, len(waiting) // SHARE))):
            waiting.popleft().write_refusal()
        if waiting:
            loop.call_soon(self._write_some, loop)
