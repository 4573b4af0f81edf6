"""The load generator: a process of its own that keeps connections open and sends prepared bytes.

It parses as little as it can, so that on two cores the server is what limits the number: one request under way per
connection, the next as soon as the answer is complete.
"""

import asyncio
import base64
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

ANSWER_S = 30.0
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "
_ETAG = b"etag: "
_NO_BODY = (b"304", b"204")


class LoadFailed(Exception):
    """The server under test answered otherwise than it should."""


@dataclass(frozen=True)
class Sent:
    """What came of one run."""

    per_second: float
    p50_ms: float
    p99_ms: float
    answered: int = 0
    changed: int = 0
    """Answers that had to be sent in full because the ETag was old."""


class Client:
    """The parent's end: tells the process what to send where."""

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.client"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self, port: int, requests: Sequence[bytes], *, seconds: float, status: int = 200, etag: str | None = None
    ) -> Sent:
        """`etag` is one that the requests carry: when it gets old they go on with the new one, as browsers do."""
        order = {
            "port": port,
            "requests": [base64.b64encode(request).decode() for request in requests],
            "connections": self._connections,
            "seconds": seconds,
            "status": status,
            "etag": etag,
        }
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"error": "the load generator died"}')
        if "error" in answer:
            raise LoadFailed(answer["error"])
        return Sent(answer["per_second"], answer["p50_ms"], answer["p99_ms"], answer["answered"], answer["changed"])

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(10)


class _Run:
    """One run: what all connections share."""

    def __init__(
        self, requests: list[bytes], status: bytes, etag: bytes | None, finished: "asyncio.Future[None]"
    ) -> None:
        self._all = requests
        self._etag = etag
        self.changed = 0
        self.requests: Iterator[bytes] = itertools.cycle(requests)
        self.status = status
        self.finished = finished
        self.is_over = False
        self.took: list[float] = []

    def is_changed(self, head: bytes) -> bool:
        """Whether this is the full answer to a question with an old ETag; from now on the new one is sent."""
        if self._etag is None or head[9:12] != b"200" or (start := head.find(_ETAG)) < 0:
            return False
        start += len(_ETAG)
        newer = head[start : head.index(b"\r", start)]
        if newer != self._etag:
            self._all = [request.replace(self._etag, newer) for request in self._all]
            self._etag, self.requests = newer, itertools.cycle(self._all)
        self.changed += 1
        return True

    def fail(self, why: str) -> None:
        self.is_over = True
        if not self.finished.done():
            self.finished.set_exception(LoadFailed(why))

    def end(self) -> None:
        self.is_over = True
        if not self.finished.done():
            self.finished.set_result(None)


class _Connection(asyncio.Protocol):
    def __init__(self, run: _Run) -> None:
        self._run = run
        self._buffer = b""
        self._missing = 0
        self._asked = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._ask()

    def _ask(self) -> None:
        assert self._transport
        self._asked = time.perf_counter()
        self._transport.write(next(self._run.requests))

    def data_received(self, data: bytes) -> None:
        run = self._run
        if self._missing:
            self._missing -= len(data)
        else:
            if self._buffer:
                data = self._buffer + data
                self._buffer = b""
            end = data.find(_HEAD_END)
            if end < 0:
                self._buffer = data
                return
            is_full = run.status not in _NO_BODY
            if data[9:12] != run.status and not (is_full := run.is_changed(data[:end])):
                run.fail(f"{run.status.decode()} was expected, this came: {data[:600].decode(errors='replace')}")
                return
            length = 0
            if is_full:
                start = data.index(_LENGTH) + len(_LENGTH)
                length = int(data[start : data.index(b"\r", start)])
            self._missing = end + len(_HEAD_END) + length - len(data)
        if self._missing == 0 and not run.is_over:
            run.took.append(time.perf_counter() - self._asked)
            self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._run.is_over:
            self._run.fail(f"the server closed a connection: {exc}")

    def close(self) -> None:
        if self._transport:
            self._transport.abort()


async def _carry_out(order: dict[str, Any]) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    requests = [base64.b64decode(request) for request in order["requests"]]
    etag = order["etag"].encode() if order["etag"] else None
    run = _Run(requests, str(order["status"]).encode(), etag, loop.create_future())
    started = time.perf_counter()
    loop.call_later(order["seconds"], run.end)
    connections = [
        (await loop.create_connection(lambda: _Connection(run), "127.0.0.1", order["port"]))[1]
        for _ in range(order["connections"])
    ]
    try:
        async with asyncio.timeout(order["seconds"] + ANSWER_S):
            await run.finished
    finally:
        seconds = time.perf_counter() - started
        for connection in connections:
            connection.close()
    if not run.took:
        raise LoadFailed("nothing was answered")
    took = sorted(run.took)
    return {
        "per_second": len(took) / seconds,
        "answered": len(took),
        "changed": run.changed,
        "p50_ms": took[len(took) // 2] * 1000,
        "p99_ms": took[int(len(took) * 0.99)] * 1000,
    }


def main() -> None:
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        for line in sys.stdin:
            try:
                answer = runner.run(_carry_out(json.loads(line)))
            except (LoadFailed, OSError, TimeoutError) as error:
                answer = {"error": str(error) or repr(error)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
