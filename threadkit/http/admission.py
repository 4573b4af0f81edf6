"""Who is let in when there is more to do than can be done: refused early, cheaply and honestly.

A crowd that comes all at once is served, however long its queue is for a moment. A queue that stays is another thing:
everybody in it would wait, and nobody would get more. So once requests have been waiting for a tenth of a second on
end, newcomers are asked to come back until it has been calm for a second. Meanwhile no more are inside than keep the
worker busy: each of them would only make all others slower. What lies ready for readers never comes here
(`server/protocol.py`).
"""

import functools
import math
import time
from random import Random
from typing import Any

import msgspec
from litestar.types import ASGIApp, Message, Receive, Send

from threadkit.http.manners import API_POLICY, EXPOSED, SECURITY, request_id_of
from threadkit.http.metrics import Metrics
from threadkit.problems import PROBLEM_JSON, problem_of
from threadkit.ratelimit.model import Busy
from threadkit.server.refusals import Refusals
from threadkit.server.unread import unread
from threadkit.settings import LimitSettings

STANDING_S = 0.1
CALM_S = 1.0
FEW = 4
"""With fewer inside, a worker has nothing to do while the store answers."""
SLOWER = 3
STEP = 1.05
LONGEST_PAUSE_S = 3
LONGEST_ORIGIN = 300
ALWAYS = frozenset(("/health", "/readyz", "/metrics", "/version"))
_ALWAYS = frozenset(path.encode() for path in ALWAYS)

_PLACE = "place"
_NO_STATE: dict[str, Any] = {}
_random = Random()  # noqa: S311  # so that those who were refused do not all come back at once


class Admission:
    def __init__(self, app: ASGIApp, *, settings: LimitSettings, metrics: Metrics) -> None:
        self._app = app
        self._at_once = settings.requests_at_once
        self._burst = max(settings.requests_at_once, settings.requests_in_a_burst)
        self._refused = metrics.refused
        self.refusals = Refusals()
        self._inside = 0
        self._served = 0
        self._room = self._at_once
        self._alone_s = 0.001
        self._is_overloaded = False
        self._full_since_s: float | None = None
        self._last_full_s = self._counted_since_s = 0.0

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in ALWAYS:
            self.give_back(scope)
            await self._app(scope, receive, send)
        elif (is_alone := scope.get("state", _NO_STATE).pop(_PLACE, None)) is not None:
            await _Visit(self, receive, send).stay(self._app, scope, is_alone=is_alone)
        elif self._may_enter():
            await _Visit(self, receive, send).run(self._app, scope)
        else:
            self._refused.inc()
            given = dict(scope["headers"])
            headers, _, body = _refusal(given)
            named = [*headers, (b"x-request-id", request_id_of(given).encode())]
            await send({"type": "http.response.start", "status": 503, "headers": named})
            await send({"type": "http.response.body", "body": body, "more_body": False})

    def refuse_at_once(self, method: bytes, url: bytes, scope: Any) -> bytes | None:
        """All of a refusal but the date, for the server's protocol: refusing many must cost next to nothing.

        Whoever is let in has a place from now on. They come in only with the next turn of the event loop, and all others
        who were heard in this one would find the same place free."""
        if url.partition(b"?")[0] in _ALWAYS:
            return None
        if self._may_enter():
            scope["state"][_PLACE] = self.enter()
            return None
        return self._written(dict(scope["headers"]), with_body=method != b"HEAD")

    def refuse_unread(self, data: bytes) -> bytes | None:
        """The same for a request that need not even be read."""
        if not self._is_overloaded or self._may_enter():
            return None
        found = unread(data)
        if found is None or found.url.partition(b"?")[0] in _ALWAYS:
            return None
        given = {b"origin": found.origin, b"x-request-id": found.request_id}
        return self._written({name: value for name, value in given.items() if value is not None}, with_body=True)

    def _written(self, given: dict[bytes, bytes], *, with_body: bool) -> bytes:
        self._refused.inc()
        _, lines, body = _refusal(given)
        return b"%bx-request-id: %b\r\n\r\n%b" % (
            lines,
            request_id_of(given).encode(),
            body if with_body else b"",
        )

    @property
    def is_overloaded(self) -> bool:
        return self._is_overloaded and time.perf_counter() - self._last_full_s <= CALM_S

    def give_back(self, scope: Any) -> None:
        """The place of one who turned out not to need it."""
        if scope.get("state", _NO_STATE).pop(_PLACE, None) is not None:
            self.leave()

    def _may_enter(self) -> bool:
        if self._inside < self._room:
            return True
        now_s = time.perf_counter()
        if not self._is_overloaded:
            if self._full_since_s is None:
                self._full_since_s = now_s
            if now_s - self._full_since_s < STANDING_S:
                return self._inside < self._burst
            self._is_overloaded = True
            self._begin_to_count(now_s)
        elif now_s - self._last_full_s > CALM_S:
            self._is_overloaded = False
            self._room = self._at_once
            return self._may_enter()
        elif now_s - self._counted_since_s > STANDING_S:
            self._make_room(now_s)
        self._last_full_s = now_s
        return False

    def _make_room(self, now_s: float) -> None:
        """Inside are as many as leave in the time that one takes. So this many make it three times what it takes alone,
        with a store next door as with one far away."""
        per_second = self._served / (now_s - self._counted_since_s)
        self._room = min(self._at_once, max(FEW, math.ceil(per_second * SLOWER * self._alone_s)))
        self._begin_to_count(now_s)

    def _begin_to_count(self, now_s: float) -> None:
        self._counted_since_s = now_s
        self._served = 0

    def enter(self) -> bool:
        """Whether nobody else is inside."""
        self._inside += 1
        return self._inside == 1

    def leave(self) -> None:
        self._inside -= 1
        if self._inside < self._room:
            self._full_since_s = None

    def was_served(self) -> None:
        self._served += 1

    def was_alone(self, took_s: float) -> None:
        """Towards the median, step by step: some requests take very long, and they say nothing about the others."""
        if not self._is_overloaded:  # or it would be the time that refusing others takes
            self._alone_s *= STEP if took_s > self._alone_s else 1 / STEP


class _Visit:
    """One request inside. It counts until its answer begins, because a stream that goes on for hours is no work, and not
    while it waits for a body, or a few slow senders would fill the room."""

    def __init__(self, admission: Admission, receive: Receive, send: Send) -> None:
        self._admission = admission
        self._receive = receive
        self._send = send
        # For those who look for the connection under a request (live/streams.py).
        self.transport = getattr(getattr(receive, "__self__", None), "transport", None)
        self._is_inside = False
        self._is_answered = False
        self._alone_since_s: float | None = None

    async def run(self, app: ASGIApp, scope: Any) -> None:
        await self.stay(app, scope, is_alone=self._admission.enter())

    async def stay(self, app: ASGIApp, scope: Any, *, is_alone: bool) -> None:
        """For one who has a place already."""
        self._take_place(is_alone=is_alone)
        try:
            await app(scope, self.receive, self.send)
        finally:
            self._leave()

    async def receive(self) -> Any:
        self._leave()
        try:
            return await self._receive()
        finally:
            self._enter()

    async def send(self, message: Message) -> None:
        if not self._is_answered:
            self._is_answered = True
            self._admission.was_served()
        self._leave()
        await self._send(message)

    def _enter(self) -> None:
        if not self._is_inside and not self._is_answered:
            self._take_place(is_alone=self._admission.enter())

    def _take_place(self, *, is_alone: bool) -> None:
        self._is_inside = True
        self._alone_since_s = time.perf_counter() if is_alone else None

    def _leave(self) -> None:
        if self._is_inside:
            self._is_inside = False
            self._admission.leave()
            if self._alone_since_s is not None:
                self._admission.was_alone(time.perf_counter() - self._alone_since_s)


@functools.lru_cache(maxsize=1000)
def _prepared(pause_s: int, origin: bytes | None) -> tuple[tuple[tuple[bytes, bytes], ...], bytes, bytes]:
    """All that is the same for everybody on one page: as a list, as lines, and the body."""
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
    return headers, b"".join(b"%b: %b\r\n" % header for header in headers), body


def _refusal(headers: dict[bytes, bytes]) -> tuple[tuple[tuple[bytes, bytes], ...], bytes, bytes]:
    origin = headers.get(b"origin")
    if origin is not None and len(origin) > LONGEST_ORIGIN:  # no page has such a one, and it would be remembered
        origin = None
    return _prepared(1 + int(_random.random() * LONGEST_PAUSE_S), origin)
