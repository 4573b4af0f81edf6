"""The outermost layer: request ids, security headers, CORS, HEAD, and one log line per request."""

import re
import time
from random import Random
from typing import Any

import structlog
from litestar.types import ASGIApp, Message, Receive, Send

from threadkit.http.access_log import AccessLog
from threadkit.http.metrics import Metrics

# A request id tells requests apart and is no secret, so asking the kernel for each would be a waste.
_numbers = Random()  # noqa: S311
_REQUEST_ID = re.compile(rb"[A-Za-z0-9_.-]{8,64}\Z")

API_POLICY = b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
SECURITY: list[tuple[bytes, bytes]] = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"x-dns-prefetch-control", b"off"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"geolocation=(), microphone=(), camera=()"),
    (b"cross-origin-resource-policy", b"cross-origin"),
]
DEFAULTS: list[tuple[bytes, bytes]] = [
    (b"content-security-policy", API_POLICY),
    (b"cache-control", b"no-store"),
]
HSTS = (b"strict-transport-security", b"max-age=31536000; includeSubDomains")

_PREFLIGHT: list[tuple[bytes, bytes]] = [
    (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, PATCH, DELETE"),
    (
        b"access-control-allow-headers",
        b"authorization, content-type, idempotency-key, if-none-match, projectid, x-api-key, x-request-id, "
        b"x-turnstile-token",
    ),
    (b"access-control-max-age", b"7200"),
    (b"vary", b"origin, access-control-request-method, access-control-request-headers"),
    (b"content-length", b"0"),
]
EXPOSED = (
    b"access-control-expose-headers",
    b"etag, retry-after, x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, "
    b"ratelimit, ratelimit-policy, x-undo, age, warning",
)


class Manners:
    """Wraps the whole application, so that answers nobody planned have manners too."""

    def __init__(self, app: ASGIApp, *, access_log: AccessLog, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._access_log = access_log

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await _Exchange(self, scope, send).run(self._app, receive)

    def done(self, exchange: "_Exchange") -> None:
        seconds = time.perf_counter() - exchange.started
        self._metrics.request(exchange.method, exchange.scope.get("path_template", "other"), exchange.status, seconds)
        if self._access_log.is_on:
            opened = exchange.scope["state"].get("opened")
            self._access_log.record(
                exchange.scope,
                exchange.headers,
                at_s=time.time(),
                method=exchange.method,
                status=exchange.status,
                seconds=seconds,
                sent=exchange.sent_bytes,
                request_id=exchange.request_id,
                site_id=opened.site.id if opened else "",
            )


class _Exchange:
    """One request and its answer."""

    def __init__(self, manners: Manners, scope: Any, send: Send) -> None:
        self.started = time.perf_counter()
        self.method: str = scope["method"]
        self.status = 0
        self.sent_bytes = 0
        self._manners = manners
        self._send = send
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.request_id = request_id_of(self.headers)
        # Our own state, so that nothing of one request is ever seen by another.
        self.scope: Any = {**scope, "state": {**scope.get("state", {}), "request_id": self.request_id}}
        if self.method == "HEAD":
            self.scope["method"] = "GET"
            self.scope["state"]["is_head"] = True  # for answers that would never end

    async def run(self, app: ASGIApp, receive: Receive) -> None:
        structlog.contextvars.bind_contextvars(request_id=self.request_id)
        try:
            if self.method == "OPTIONS":
                await self._preflight()
            else:
                await app(self.scope, receive, self.send)
        finally:
            self._manners.done(self)
            structlog.contextvars.unbind_contextvars("request_id")

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = self._with_manners(list(message["headers"]))
        elif message["type"] == "http.response.body":
            body = message.get("body", b"")
            if self.method == "HEAD":
                message["body"] = b""
            else:
                self.sent_bytes += len(body)
        await self._send(message)

    def _with_manners(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        if self.status >= 400:  # however long the answer to a better request may be kept
            headers = [header for header in headers if header[0].lower() != b"cache-control"]
        present = {name.lower() for name, _ in headers}
        if _says_who_may_frame(headers):
            present.add(b"x-frame-options")
        headers += [header for header in SECURITY if header[0] not in present]
        headers += [header for header in DEFAULTS if header[0] not in present]
        headers.append((b"x-request-id", self.request_id.encode()))
        if standing := self.scope["state"].get("standing"):
            headers += standing.headers()
        if self._is_https():
            headers.append(HSTS)
        if b"access-control-allow-origin" not in present and self.scope["path"].startswith(("/v1", "/api/")):
            headers += self._cors()
        return headers

    def _cors(self) -> list[tuple[bytes, bytes]]:
        """Readable by the page that asked, if its site allows that page; a refusal is readable by whom it is for."""
        origin = self.headers.get(b"origin")
        if origin is None:
            return [(b"vary", b"origin")]
        state = self.scope["state"]
        if state.get("opened") is not None and not state.get("origin_allowed") and self.status != 403:
            return [(b"vary", b"origin")]
        return [(b"access-control-allow-origin", origin), (b"vary", b"origin"), EXPOSED]

    async def _preflight(self) -> None:
        origin = self.headers.get(b"origin", b"*")
        headers = [(b"access-control-allow-origin", origin), *_PREFLIGHT, *SECURITY]
        headers.append((b"x-request-id", self.request_id.encode()))
        self.status = 200
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def _is_https(self) -> bool:
        return is_https(self.scope, self.headers)


def _says_who_may_frame(headers: list[tuple[bytes, bytes]]) -> bool:
    """A policy that names pages which may frame this one; the older header could only forbid it to all of them."""
    policy = next((value for name, value in headers if name.lower() == b"content-security-policy"), b"")
    return b"frame-ancestors" in policy and b"frame-ancestors 'none'" not in policy


def request_id_of(headers: dict[bytes, bytes]) -> str:
    """The one that came along, if it is harmless; else one of ours."""
    given = headers.get(b"x-request-id")
    return given.decode() if given and _REQUEST_ID.match(given) else f"{_numbers.getrandbits(80):020x}"


def is_https(scope: Any, headers: dict[bytes, bytes]) -> bool:
    return scope.get("scheme") == "https" or headers.get(b"x-forwarded-proto") == b"https"
