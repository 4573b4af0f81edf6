"""Load generators. A storm does not wait for answers before it sends more. A crowd does: each of it asks again as soon as
it was answered.

It runs in a process of its own and does little besides sending and receiving, so that the times it tells are the server's
and not its own.
"""

import asyncio
import gc
import itertools
import resource
import selectors
import socket
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

ANSWER_S = 30.0
MOST_IN_A_ROW = 8
"""Sent before it looks for answers again: they would seem to have taken longer."""
_ROOT = Path(__file__).parents[3]


@dataclass
class Order:
    port: int
    requests: list[bytes]
    per_second: float | None
    """None for a crowd."""
    seconds: float
    connections: int


@dataclass
class Outcome:
    """What came back: how long each answer took, by its status."""

    sent: int = 0
    unsent: int = 0
    """For want of a free connection: the server was slower to answer than the generator to send."""
    broken: int = 0
    took_s: dict[int, list[float]] = field(default_factory=dict)

    def p99_ms(self, status: int = 200) -> float:
        return self.percentile_ms(0.99, status)

    def percentile_ms(self, part: float, status: int = 200) -> float:
        took = sorted(self.took_s.get(status, [0.0]))
        return took[min(len(took) - 1, int(len(took) * part))] * 1000

    def count(self, status: int) -> int:
        return len(self.took_s.get(status, ()))


async def storm(
    port: int, requests: Sequence[bytes], *, per_second: float, seconds: float, connections: int = 400
) -> Outcome:
    """So many requests a second, whatever becomes of them."""
    return await _generated(Order(port, list(requests), per_second, seconds, connections))


async def crowd(port: int, requests: Sequence[bytes], *, people: int, seconds: float) -> Outcome:
    """So many people, each with a question at a time."""
    return await _generated(Order(port, list(requests), None, seconds, people))


async def _generated(order: Order) -> Outcome:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=_ROOT
    )
    told, _ = await process.communicate(msgspec.json.encode(order))
    assert process.returncode == 0, "the generator says why"
    return msgspec.json.decode(told, type=Outcome)


class _Connection:
    """One request under way at a time."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self._data = b""
        self._since: float | None = None

    def send(self, request: bytes) -> None:
        self._since = time.perf_counter()
        sent = self.socket.send(request)
        assert sent == len(request), "a request fits into the socket's buffer"

    def receive(self) -> tuple[int, float] | None:
        """The answer's status and how long it took, when all of it is here. Raises when there is no more to come."""
        data = self.socket.recv(65_536)
        now = time.perf_counter()
        if not data:
            raise ConnectionResetError
        self._data += data
        end = self._data.find(b"\r\n\r\n")
        if end < 0 or len(self._data) < end + 4 + _length(self._data[:end]):
            return None
        assert self._since is not None
        status, took_s = int(self._data[9:12]), now - self._since
        self._data, self._since = b"", None
        return status, took_s

    @property
    def is_waiting(self) -> bool:
        return self._since is not None


def _length(head: bytes) -> int:
    at = head.find(b"content-length: ")
    return int(head[at + 16 :].split(b"\r\n", 1)[0]) if at >= 0 else 0


class _Storm:
    def __init__(self, order: Order) -> None:
        self._order = order
        self._source: Iterator[bytes] = itertools.cycle(order.requests)
        self._free = deque(_Connection(order.port) for _ in range(order.connections))
        self._under_way = 0
        self._due = 0
        self._ready = selectors.DefaultSelector()
        for connection in self._free:
            self._ready.register(connection.socket, selectors.EVENT_READ, connection)
        self._outcome = Outcome()

    def run(self) -> Outcome:
        started = time.perf_counter()
        per_second = self._order.per_second
        while (passed := time.perf_counter() - started) < self._order.seconds:
            if per_second is None:
                self._send(min(len(self._free), MOST_IN_A_ROW))
                self._receive(0.0 if self._free else 1.0)
                continue
            wanted = int(passed * per_second)
            self._send(min(wanted - self._due, MOST_IN_A_ROW))
            next_s = (self._due + 1) / per_second
            self._receive(max(0.0, next_s - passed))
        ended = time.perf_counter()
        while self._under_way:
            assert time.perf_counter() - ended < ANSWER_S, f"{self._under_way} answers did not come"
            self._receive(1.0)
        return self._outcome

    def _send(self, count: int) -> None:
        for _ in range(count):
            self._due += 1
            if not self._free:
                self._outcome.unsent += 1
                continue
            self._free.popleft().send(next(self._source))
            self._under_way += 1
            self._outcome.sent += 1

    def _receive(self, wait_s: float) -> None:
        for key, _ in self._ready.select(wait_s):
            connection: _Connection = key.data
            try:
                answer = connection.receive()
            except ConnectionError:
                self._lose(connection)
                continue
            if answer is not None:
                status, took_s = answer
                self._outcome.took_s.setdefault(status, []).append(took_s)
                self._under_way -= 1
                self._free.append(connection)

    def _lose(self, connection: _Connection) -> None:
        self._ready.unregister(connection.socket)
        if connection.is_waiting:
            self._under_way -= 1
            self._outcome.broken += 1
        else:
            self._free.remove(connection)


if __name__ == "__main__":
    gc.disable()
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    sys.stdout.buffer.write(msgspec.json.encode(_Storm(order).run()))
