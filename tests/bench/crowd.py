"""A crowd on one live page: a process of its own that holds many WebSockets, sets off events, and notes who got them when.

It knows beforehand which bytes an event is, so a receipt costs it one read and one comparison, and a frame that is
missing, doubled, changed or out of order ends the run. Events are set off from here too, so one clock sees both ends.
"""

import array
import base64
import contextlib
import itertools
import json
import os
import selectors
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.client import LoadFailed

EVENT_S = 60.0
"""How long an event may take to reach everybody."""
QUIET_S = 1.5
"""On our page a crowd causes messages of its own, about how many are there; after this long without any it is over."""
WAVE = 100
"""So many come in at the same time."""
HELLO = b'"method":"presence"'
"""In what a server says once it has let somebody see the page."""
CONTROL = "/control"
_PING, _PONG, _TEXT, _CLOSE = 0x9, 0xA, 0x1, 0x8
_MOST_READ = 1 << 14  # with more, making room for it costs several times the reading


@dataclass(frozen=True)
class Heard:
    """What came of one run."""

    per_second: float
    """Receipts, from the first event to the last receipt."""
    receipts: int
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Page:
    """A page of the real program: what is published on its channel, as the scripts of the program would."""

    store: Path
    channel: str
    record: str
    events: list[dict[str, Any]]
    version: int


class Crowd:
    """The parent's end. With a `page`, events are published in the store; else the bare server is told their number."""

    def __init__(self, port: int, count: int, *, say: str, path: str = "/ws", page: Page | None = None) -> None:
        self.count = count
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.crowd"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._order = {"port": port, "path": path, "say": say}
        if page is not None:
            self._order["page"] = {
                "store": str(page.store),
                "channel": page.channel,
                "record": page.record,
                "events": page.events,
                "version": page.version,
            }

    def come_in(self) -> None:
        """Open all sockets and wait until nothing more is said about it."""
        self._do({**self._order, "do": "come_in", "count": self.count})

    def learn(self) -> list[bytes]:
        """Set off each event once, and see which frame it is."""
        return [base64.b64decode(frame) for frame in self._do({"do": "learn"})["frames"]]

    def know(self, frames: Sequence[bytes]) -> None:
        self._do({"do": "know", "frames": [base64.b64encode(frame).decode() for frame in frames]})

    def hear(self, *, seconds: float, at_once: int = 1, per_second: float = 0) -> Heard:
        """Set off events for some seconds: so many at once as soon as everybody has those before, or so many a second."""
        answer = self._do({"do": "hear", "seconds": seconds, "at_once": at_once, "per_second": per_second})
        return Heard(**answer)

    def close(self) -> None:
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        assert self._process.stdout
        self._process.stdout.close()
        self._process.wait(10)

    def _do(self, order: dict[str, Any]) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        with contextlib.suppress(BrokenPipeError):  # it has said why
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"error": "the crowd died"}')
        if "error" in answer:
            raise LoadFailed(answer["error"])
        return answer


# --- The process itself ---------------------------------------------------------------------------------------------------


def client_frame(payload: bytes, kind: int = _TEXT) -> bytes:
    """A frame of a client. Its mask must be there but may be zeros, which leaves the payload as it is."""
    length = len(payload)
    assert length < 65_536
    head = bytes((0x80 | kind, 0x80 | length)) if length < 126 else struct.pack("!BBH", 0x80 | kind, 0x80 | 126, length)
    return head + bytes(4) + payload


def upgrade(port: int, path: str) -> bytes:
    return (
        f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
    ).encode()


def _head(frame: bytes) -> bytes:
    """What is the same however often an event is told: its text up to the version of the page."""
    return frame[2 if frame[1] < 126 else 4 :].partition(b',"version":')[0]


def frame_end(data: bytes, start: int) -> int | None:
    """Where the frame that starts here ends, or None while some of it is missing."""
    if len(data) - start < 2:
        return None
    length, head = data[start + 1], 2
    if length >= 126:
        head = 4 if length == 126 else 10
        if len(data) - start < head:
            return None
        length = int.from_bytes(data[start + 2 : start + head])
    end = start + head + length
    return end if end <= len(data) else None


class _Trigger:
    """Sets off events: in the store, or by telling a bare server their numbers."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._page: Any = order.get("page")
        if self._page:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(self._page["store"])
            self._versions = itertools.count(self._page["version"] + 1)
            self.count = len(self._page["events"])
        else:
            self.socket = socket.create_connection(("127.0.0.1", order["port"]))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.sendall(upgrade(order["port"], CONTROL))
            self.socket.recv(_MOST_READ)

    def pull(self, numbers: Sequence[int]) -> None:
        self.socket.sendall(b"".join(map(self._published if self._page else _told, numbers)))

    def _published(self, number: int) -> bytes:
        """The page's version rises with each event, in the store too: a store that knows less is noticed."""
        version = next(self._versions)
        event = self._page["events"][number] | {"version": version}
        rises = (b"HSET", self._page["record"].encode(), b"version", b"%d" % version)
        return _command(*rises) + _command(b"PUBLISH", self._page["channel"].encode(), json.dumps(event).encode())


def _command(*parts: bytes) -> bytes:
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def _told(number: int) -> bytes:
    return client_frame(b"%04d" % number)


class _Member:
    """One socket of the crowd."""

    __slots__ = ("fd", "got", "rest", "socket")

    def __init__(self, port: int, path: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.fd = self.socket.fileno()
        self.rest = b""
        self.got = 0
        self.socket.sendall(upgrade(port, path))


class _Process:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
        self._orders = b""
        self._members: list[_Member] = []
        self._frames: list[bytes] = []
        self._heads: list[bytes] = []
        self._sent = array.array("d")
        self._took = array.array("d")
        self._missing = 0
        self._said_at = 0.0
        self._learned: list[bytes] = []
        self._is_learning = False

    def run(self) -> None:
        """Until the parent has nothing more to order, or something went wrong; pings are answered in between."""
        try:
            while True:
                self._turn(None)
                while b"\n" in self._orders:
                    line, _, self._orders = self._orders.partition(b"\n")
                    _answer(self._carry_out(json.loads(line)))
        except (LoadFailed, OSError) as error:
            _answer({"error": str(error) or repr(error)})

    def _carry_out(self, order: dict[str, Any]) -> dict[str, Any]:
        match order["do"]:
            case "come_in":
                self._come_in(order)
            case "learn":
                return {"frames": self._learn()}
            case "know":
                self._frames = [base64.b64decode(frame) for frame in order["frames"]]
                self._heads = [_head(frame) for frame in self._frames]
            case "hear":
                return self._hear(order["seconds"], order["at_once"], order["per_second"])
        return {}

    # --- Coming in --------------------------------------------------------------------------------------------------------

    def _come_in(self, order: dict[str, Any]) -> None:
        say = client_frame(order["say"].encode())
        for _ in range(0, order["count"], WAVE):
            wave = [
                _Member(order["port"], order["path"]) for _ in range(min(WAVE, order["count"] - len(self._members)))
            ]
            for member in wave:
                _enter(member, say)
            self._members += wave
        for member in self._members:
            member.socket.setblocking(False)
            self._selector.register(member.fd, selectors.EVENT_READ, member)
        self._trigger = _Trigger(order)
        self._selector.register(self._trigger.socket, selectors.EVENT_READ)
        if "page" not in order:
            return
        self._said_at = time.perf_counter()
        while (left := self._said_at + QUIET_S - time.perf_counter()) > 0:
            self._turn(left)

    def _learn(self) -> list[str]:
        self._is_learning = True
        for number in range(self._trigger.count):
            self._learned = []
            self._trigger.pull([number])
            self._wait(lambda: len(self._learned) == len(self._members), "not everybody got an event")
            if len(set(self._learned)) != 1:
                raise LoadFailed("not everybody got the same")
            self._frames.append(self._learned[0])
            self._heads.append(_head(self._learned[0]))
        self._is_learning = False
        return [base64.b64encode(frame).decode() for frame in self._frames]

    # --- Hearing ----------------------------------------------------------------------------------------------------------

    def _hear(self, seconds: float, at_once: int, per_second: float) -> dict[str, Any]:
        del self._sent[:], self._took[:]
        for member in self._members:
            member.got = 0
        started = time.perf_counter()
        if per_second:
            for number in range(max(1, int(seconds * per_second))):
                while (left := started + number / per_second - time.perf_counter()) > 0:
                    self._turn(left)
                self._set_off(1)
            self._wait(lambda: not self._missing, "events were lost")
        else:
            while not self._sent or time.perf_counter() - started < seconds:
                self._set_off(at_once)
                self._wait(lambda: not self._missing, "events were lost")
        took_s = time.perf_counter() - started
        took = sorted(self._took)
        return {
            "per_second": len(took) / took_s,
            "receipts": len(took),
            "p50_ms": took[len(took) // 2] * 1000,
            "p99_ms": took[int(len(took) * 0.99)] * 1000,
        }

    def _set_off(self, count: int) -> None:
        first = len(self._sent)
        self._missing += count * len(self._members)
        self._sent.extend([time.perf_counter()] * count)
        self._trigger.pull([number % len(self._frames) for number in range(first, first + count)])

    def _wait(self, is_done: Any, otherwise: str) -> None:
        deadline = time.perf_counter() + EVENT_S
        while not is_done():
            if time.perf_counter() > deadline:
                raise LoadFailed(f"{otherwise}: {self._missing} receipts are missing after {EVENT_S:.0f} s")
            self._turn(1.0)

    def _turn(self, timeout: float | None) -> None:
        """Read once from whoever has something to say."""
        heads, sent, took = self._heads, self._sent, self._took
        for key, _ in self._selector.select(timeout):
            data = os.read(key.fd, _MOST_READ)
            member: _Member | None = key.data
            if member is None:
                self._hear_others(key.fd, data)
                continue
            if not data:
                raise LoadFailed("the server closed a connection")
            now = time.perf_counter()
            if member.rest:
                data, member.rest = member.rest + data, b""
            place, size = 0, len(data)
            while place < size:
                number = member.got
                end = frame_end(data, place)
                if end is None:
                    member.rest = data[place:]
                    break
                text_at = place + (2 if data[place + 1] < 126 else 4)
                if number < len(sent) and data.startswith(heads[number % len(heads)], text_at):
                    took.append(now - sent[number])
                    member.got += 1
                    self._missing -= 1
                else:
                    self._hear_something_else(member, data[place:end])
                place = end

    def _hear_others(self, fd: int, data: bytes) -> None:
        if fd == sys.stdin.fileno():
            if not data:
                sys.exit(0)
            self._orders += data
        elif not data:
            raise LoadFailed("where events are set off, the connection was closed")
        elif data[0] == 0x80 | _PING:
            self._trigger.socket.sendall(client_frame(data[2:], _PONG))
        elif data[:1] == b"-":
            raise LoadFailed(f"the store says {data[:200]!r}")

    def _hear_something_else(self, member: _Member, frame: bytes) -> None:
        """Pings, and what is said about the crowd itself. Anything about an event would be a wrong one."""
        self._said_at = time.perf_counter()
        kind = frame[0] & 0x0F
        if kind == _PING:
            member.socket.send(client_frame(frame[2:], _PONG))
        elif kind == _CLOSE:
            raise LoadFailed(f"a socket was closed: {frame!r}")
        elif self._is_learning and b'"method":"new_comment"' in frame:
            self._learned.append(frame)
        elif b'"method":"viewers"' not in frame and b'"method":"presence"' not in frame:
            raise LoadFailed(f"this should not have come: {frame[:600]!r}")


def _answer(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _enter(member: _Member, say: bytes) -> None:
    """Through the handshake and onto the page."""
    data = b""
    while (end := data.find(b"\r\n\r\n")) < 0:
        data += _read(member)
    if not data.startswith(b"HTTP/1.1 101"):
        raise LoadFailed(f"not let in: {data[:600]!r}")
    member.socket.sendall(say)
    data = data[end + 4 :]
    while HELLO not in data:
        data += _read(member)
    place = 0
    while place < len(data) and (after := frame_end(data, place)) is not None:
        place = after
    member.rest = data[place:]


def _read(member: _Member) -> bytes:
    if not (data := member.socket.recv(_MOST_READ)):
        raise LoadFailed("the server closed a connection")
    return data


if __name__ == "__main__":
    _Process().run()
