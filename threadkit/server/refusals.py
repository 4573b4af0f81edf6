"""Refusals wait here for their turn, so that those who were let in do not wait for those who were not.

One turn of the event loop hears everybody who has sent something, and a request that was let in needs a dozen turns.
With hundreds to refuse in each of them it would take ten times as long, although it costs no more. And whoever is refused
at once asks again at once: a moment's pause halves the work of saying no.
"""

import asyncio
from collections import deque
from typing import Protocol

HOLD_S = 0.035
A_TURN = 2
SHARE = 80
"""However many wait: nobody waits for more than about this many turns."""


class Refused(Protocol):
    def write_refusal(self) -> None: ...


class Refusals:
    """All of one worker's."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, Refused]] = deque()

    def add(self, refused: Refused, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting.append((loop.time() + HOLD_S, refused))
        if len(self._waiting) == 1:
            loop.call_later(HOLD_S, self._write_some, loop)

    def _write_some(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting, now = self._waiting, loop.time()
        for _ in range(max(A_TURN, len(waiting) // SHARE)):
            if not waiting or waiting[0][0] > now:
                break
            waiting.popleft()[1].write_refusal()
        if waiting:
            due_s = waiting[0][0] - now
            if due_s > 0:
                loop.call_later(due_s, self._write_some, loop)
            else:
                loop.call_soon(self._write_some, loop)
