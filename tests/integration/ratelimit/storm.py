"""A load generator that does not wait for answers before it sends more: what a crowd does, and a closed loop does not."""

import asyncio
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.wait import until

TICK_S = 0.005
ANSWER_S = 30.0


@dataclass
class Outcome:
    """What came back: how long each answer took, by its status."""

    sent: int = 0
    unsent: int = 0
    """For want of a free connection: the server was slower to answer than the generator to send."""
    broken: int = 0
    took_s: dict[int, list[float]] = field(default_factory=dict)

    def p99_ms(self, status: int = 200) -> float:
        took = sorted(self.took_s.get(status, [0.0]))
        return took[min(len(took) - 1, int(len(took) * 0.99))] * 1000

    def count(self, status: int) -> int:
        return len(self.took_s.get(status, ()))


class _Connection(asyncio.Protocol):
    """One request under way at a time."""

    def __init__(self, storm: "_Storm") -> None:
        self._storm = storm
        self._data = b""
        self._since = 0.0
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._storm.free.append(self)

    def send(self, request: bytes) -> None:
        assert self.transport
        self._since = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._data += data
        end = self._data.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._data[:end].lower()
        at = head.find(b"content-length: ")
        length = int(head[at + 16 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(self._data) < end + 4 + length:
            return
        status = int(self._data[9:12])
        self._data = b""
        self._storm.answered(status, time.perf_counter() - self._since)
        if b"\r\nconnection: close" not in head:
            self._storm.free.append(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self in self._storm.free:
            self._storm.free.remove(self)
        elif self._since:
            self._storm.outcome.broken += 1


class _Storm:
    def __init__(self) -> None:
        self.free: list[_Connection] = []
        self.outcome = Outcome()
        self.under_way = 0

    def answered(self, status: int, took_s: float) -> None:
        self.under_way -= 1
        self.outcome.took_s.setdefault(status, []).append(took_s)


async def storm(
    port: int, requests: Sequence[bytes], *, per_second: float, seconds: float, connections: int = 400
) -> Outcome:
    """So many requests a second, whatever becomes of them."""
    loop = asyncio.get_running_loop()
    state = _Storm()
    for _ in range(connections):
        await loop.create_connection(lambda: _Connection(state), "127.0.0.1", port)
    source: Iterator[bytes] = itertools.cycle(requests)
    started = time.perf_counter()
    due = 0
    while (passed := time.perf_counter() - started) < seconds:
        wanted = int(passed * per_second)
        while due < wanted:
            due += 1
            if not state.free:
                state.outcome.unsent += 1
                continue
            state.free.pop().send(next(source))
            state.under_way += 1
            state.outcome.sent += 1
        await asyncio.sleep(TICK_S)
    await until(lambda: state.under_way <= 0, "the last answers", seconds=ANSWER_S)
    for connection in state.free:
        if connection.transport:
            connection.transport.close()
    return state.outcome
