"""How much of what clients send is taken at a time: nobody's megabyte stands before somebody else's request.

Connections that have sent more than a piece take turns, and each turn of the event loop gives all of them half a millisecond.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from threadkit.http.client_address import ClientAddresses

TURN_S = 0.0005
LEEWAY_BYTES = 64 * 1024
"""So much may come of a body after it was found to be too long, so that most senders live to read the answer."""
OUT_S = 10.0
MOST_REMEMBERED = 10_000


class Source(Protocol):
    def take_piece(self) -> bool:
        """Takes a piece of what waits; says whether more can be taken at once."""


def _nothing() -> None:
    pass


@dataclass
class Intake:
    """One worker's, with its bounds for requests."""

    head_s: float = 10.0
    """How long a request's head may take to arrive, from its first byte."""
    body_s: float = 30.0
    longest_body: int = 131_072
    """In bytes as they are sent, with the marks of chunks."""
    addresses: ClientAddresses | None = None
    count_flood: Callable[[], None] = _nothing
    _waiting: deque[Source] = field(default_factory=deque)
    _is_busy: bool = False
    _out: dict[str, float] = field(default_factory=dict)

    def add(self, source: Source, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting.append(source)
        if not self._is_busy:
            self._is_busy = True
            loop.call_soon(self._turn, loop)

    def throw_out(self, scope: Mapping[str, Any], now_s: float) -> None:
        """Takes no connection from an address for some seconds, because it flooded us; but always from proxies of ours."""
        self.count_flood()
        if self.addresses is None or self.addresses.is_trusted(address := self.addresses.of(scope)):
            return
        client = self.addresses.hashed(address)
        self._out.pop(client, None)  # so that the first is always the next whose time is over
        self._out[client] = now_s + OUT_S
        while len(self._out) > MOST_REMEMBERED or self._out[next(iter(self._out))] < now_s:
            del self._out[next(iter(self._out))]

    def is_out(self, scope: Mapping[str, Any], now_s: float) -> bool:
        if not self._out or self.addresses is None:
            return False
        return self._out.get(self.addresses.hashed(self.addresses.of(scope)), 0.0) > now_s

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        until_s = time.perf_counter() + TURN_S
        try:
            while self._waiting and time.perf_counter() < until_s:
                source = self._waiting.popleft()
                if source.take_piece():
                    self._waiting.append(source)
        finally:
            self._is_busy = bool(self._waiting)
            if self._is_busy:
                loop.call_soon(self._turn, loop)
