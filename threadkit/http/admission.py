"""Who is worked for, who waits, and who is refused when there is more to do than can be done.

A few requests are worked on at a time: more of them would only make each other slower. All others queue for their turn. The
queue is long enough for a crowd, and everybody with a place in it gets their turn. Those who find it full wait a quarter of
a second for a place, and are refused then. Readers have a queue of their own, so they never stand behind writers. Answers
that lie ready for readers never come here. Requests wait in the server's protocol (`server/protocol.py`), where waiting
and refusing cost next to nothing.
"""

import asyncio
import functools
import time
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any, Protocol

import msgspec
from litestar.types import ASGIApp, Message, Receive, Send

from threadkit.http.manners import API_POLICY, EXPOSED, SECURITY, request_id_of
from threadkit.http.metrics import Metrics
from threadkit.problems import PROBLEM_JSON, problem_of
from threadkit.ratelimit.model import Busy
from threadkit.settings import LimitSettings

LONGEST_WAIT_S = 0.25
READERS = 4
"""So many are worked for beside each writer: most of them wait for what another one makes."""
FEW = 4
"""Writers at work while a reader is, or was a moment ago."""
CALM_S = 0.1
LONGEST_PAUSE_S = 3
LONGEST_ORIGIN = 300
ALWAYS = frozenset(("/health", "/healthz", "/readyz", "/metrics", "/version"))

_TURN = "turn"
_NO_STATE: dict[str, Any] = {}
_random = Random()  # noqa: S311  # so that those who were refused do not all come back at once

CallLater = Callable[[float, Callable[[], None]], object]


class Waiting(Protocol):
    """A request that has come, and is not worked on yet."""

    @property
    def has_left(self) -> bool: ...
    def start(self) -> None: ...
    def refuse(self) -> None: ...


class Queue:
    """`at_once` are worked on, `most` have a place, those at work among them, and all others wait for one."""

    def __init__(
        self, *, at_once: int, most: int, held_up: Callable[[], int], yields_to: "Queue | None" = None
    ) -> None:
        self._at_once = at_once
        self._held_up = held_up
        self._most = most
        self._yields_to = yields_to
        self._working = 0
        self._worked_at_s = 0.0
        self._placed: deque[Waiting] = deque()
        self._unplaced: deque[tuple[float, Waiting]] = deque()

    @property
    def is_waited_in(self) -> bool:
        return bool(self._placed)

    @property
    def was_just_at_work(self) -> bool:
        return self._working > 0 or time.perf_counter() - self._worked_at_s < CALM_S

    def join(self, request: Waiting, call_later: CallLater) -> None:
        if self._has_room and not self._placed:
            self._start(request)
        elif self._has_place:
            self._placed.append(request)
        else:
            self._unplaced.append((time.perf_counter() + LONGEST_WAIT_S, request))
            if len(self._unplaced) == 1:
                call_later(LONGEST_WAIT_S, lambda: self._refuse(call_later))

    def enter(self) -> None:
        """Without waiting: for one who had a turn, and waited for something else meanwhile."""
        self._working += 1

    def leave(self) -> None:
        self._working -= 1
        self._worked_at_s = time.perf_counter()
        while True:
            while self._unplaced and self._has_place:
                self._placed.append(self._unplaced.popleft()[1])
            if not self._placed or not self._has_room:
                break
            self._start(self._placed.popleft())

    @property
    def _has_room(self) -> bool:
        yields = self._yields_to is not None and self._yields_to.was_just_at_work
        room = min(FEW, self._at_once) if yields else self._at_once
        return self._working < room or self._working - self._held_up() < room

    @property
    def _has_place(self) -> bool:
        return self._working + len(self._placed) < self._most

    def _start(self, request: Waiting) -> None:
        if not request.has_left:
            self._working += 1
            request.start()

    def _refuse(self, call_later: CallLater) -> None:
        now_s = time.perf_counter()
        while self._unplaced and self._unplaced[0][0] <= now_s:
            self._unplaced.popleft()[1].refuse()
        if self._unplaced:
            call_later(self._unplaced[0][0] - now_s, lambda: self._refuse(call_later))


class Admission:
    def __init__(
        self, app: ASGIApp, *, settings: LimitSettings, metrics: Metrics, held_up: Callable[[], int] = lambda: 0
    ) -> None:
        """`held_up` counts those at work who wait for a store that does not answer, and so keep nothing busy."""
        at_once = settings.requests_at_once
        most = max(at_once, settings.requests_in_a_burst)
        self._app = app
        self._readers = Queue(at_once=READERS * at_once, most=READERS * most, held_up=held_up)
        self._writers = Queue(at_once=at_once, most=most, held_up=held_up, yields_to=self._readers)
        self._refused = metrics.refused

    @property
    def is_busy(self) -> bool:
        return self._readers.is_waited_in or self._writers.is_waited_in

    def let_in(self, request: Waiting, scope: Any, call_later: CallLater) -> None:
        """Start a request when it is its turn, or refuse it when there is no place for it in time."""
        if scope["path"] in ALWAYS:
            request.start()
            return
        queue = self._readers if scope["method"] in ("GET", "HEAD") else self._writers
        scope["state"][_TURN] = queue
        queue.join(request, call_later)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        queue = scope.get("state", _NO_STATE).pop(_TURN, None)
        if queue is None:
            await self._app(scope, receive, send)
        else:
            await _Visit(queue, receive, send).stay(self._app, scope)

    def refusal(self, scope: Any) -> tuple[bytes, bytes]:
        """All of its head but the status and the date, and its body."""
        self._refused.inc()
        given = dict(scope["headers"])
        origin = given.get(b"origin")
        if origin is not None and len(origin) > LONGEST_ORIGIN:  # no page has such a one, and it would be remembered
            origin = None
        lines, body = _prepared(1 + int(_random.random() * LONGEST_PAUSE_S), origin)
        head = b"%bx-request-id: %b\r\n" % (lines, request_id_of(given).encode())
        return head, body if scope["method"] != "HEAD" else b""


class _Visit:
    """One request at work. It counts until its answer begins, because a stream that goes on for hours is no work, and not
    while it waits for a body, or a few slow senders would keep all others waiting."""

    def __init__(self, queue: Queue, receive: Receive, send: Send) -> None:
        self._queue = queue
        self._receive = receive
        self._send = send
        cycle = getattr(receive, "__self__", None)
        # For those who look for the connection under a request (live/streams.py).
        self.transport = getattr(cycle, "transport", None)
        self._has_come: asyncio.Event | None = getattr(cycle, "message_event", None)
        self._is_inside = True
        self._is_answered = False

    async def stay(self, app: ASGIApp, scope: Any) -> None:
        try:
            await app(scope, self.receive, self.send)
        finally:
            self._leave()

    async def receive(self) -> Any:
        if self._has_come is not None and self._has_come.is_set():
            return await self._receive()
        self._leave()
        try:
            return await self._receive()
        finally:
            if not self._is_inside and not self._is_answered:
                self._is_inside = True
                self._queue.enter()

    async def send(self, message: Message) -> None:
        self._is_answered = True
        self._leave()
        await self._send(message)

    def _leave(self) -> None:
        if self._is_inside:
            self._is_inside = False
            self._queue.leave()


@functools.lru_cache(maxsize=1000)
def _prepared(pause_s: int, origin: bytes | None) -> tuple[bytes, bytes]:
    """All that is the same for everybody on one page."""
    body = msgspec.json.encode(problem_of(Busy(retry_after_s=pause_s)))
    headers = (
        *SECURITY,
        *([(b"access-control-allow-origin", origin), (b"vary", b"origin"), EXPOSED] if origin else []),
        (b"content-security-policy", API_POLICY),
        (b"cache-control", b"no-store"),
        (b"retry-after", b"%d" % pause_s),
        (b"content-type", PROBLEM_JSON.encode()),
        (b"content-length", b"%d" % len(body)),
    )
    return b"".join(b"%b: %b\r\n" % header for header in headers), body
