"""One line per request. In JSON it is encoded straight into a buffer that is written a few times a second."""

import asyncio
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec
import structlog
from msgspec import Struct

from threadkit.http.client_address import ClientAddresses
from threadkit.settings import Settings

FLUSH_S = 0.2
MOST_REMEMBERED = 10_000


class Line(Struct, omit_defaults=True):
    event: str
    level: str
    timestamp: str
    method: str
    path: str
    status: int
    ms: float
    bytes: int
    request_id: str
    client: str
    site_id: str = ""


class AccessLog:
    def __init__(self, settings: Settings, addresses: ClientAddresses, *, as_text: bool) -> None:
        self.is_on = settings.access_log and settings.log_level in ("debug", "info")
        self._addresses = addresses
        self._as_text = as_text
        self._waiting: list[bytes] = []
        self._flush: asyncio.TimerHandle | None = None
        self._encode = msgspec.json.Encoder().encode
        self._clients: dict[tuple[Any, bytes], str] = {}

    def record(
        self,
        scope: Any,
        headers: dict[bytes, bytes],
        *,
        method: str,
        status: int,
        seconds: float,
        sent: int,
        request_id: str,
    ) -> None:
        opened = scope["state"].get("opened")
        line = Line(
            "request",
            "info",
            datetime.now(UTC).isoformat(timespec="milliseconds"),
            method,
            scope["path"],
            status,
            round(seconds * 1000, 2),
            sent,
            request_id,
            self._client(scope, headers),
            opened.site.id if opened else "",
        )
        if self._as_text:
            facts = msgspec.to_builtins(line)
            for known in ("event", "level", "timestamp"):
                del facts[known]
            structlog.get_logger().info("request", **facts)
            return
        self._waiting.append(self._encode(line))
        if self._flush is None:
            self._flush = asyncio.get_running_loop().call_later(FLUSH_S, self.flush)

    def flush(self) -> None:
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        if self._waiting:
            lines, self._waiting = self._waiting, []
            sys.stderr.write(b"\n".join([*lines, b""]).decode())
            sys.stderr.flush()

    def _client(self, scope: Any, headers: dict[bytes, bytes]) -> str:
        known = (scope.get("client"), headers.get(b"x-forwarded-for", headers.get(b"x-real-ip", b"")))
        peer = (known[0][0] if known[0] else None, known[1])
        client = self._clients.get(peer)
        if client is None:
            if len(self._clients) >= MOST_REMEMBERED:
                self._clients.clear()
            client = self._clients[peer] = self._addresses.hashed(self._addresses.of(scope))
        return client
