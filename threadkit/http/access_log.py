"""One line per request. In JSON it is encoded straight into a buffer that is written a few times a second."""

import asyncio
import functools
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import structlog

from threadkit.http.client_address import ClientAddresses
from threadkit.settings import Settings
from threadkit.terminal import printable_json

FLUSH_S = 0.2


class AccessLog:
    def __init__(self, settings: Settings, addresses: ClientAddresses, *, as_text: bool) -> None:
        self.is_on = settings.access_log and settings.log_level in ("debug", "info")
        self._addresses = addresses
        self._as_text = as_text
        self._waiting: list[str] = []
        self._flush: asyncio.TimerHandle | None = None
        self._second = 0
        self._second_text = ""

    def record(
        self,
        scope: Any,
        headers: Mapping[bytes, bytes],
        *,
        at_s: float,
        method: str,
        status: int,
        seconds: float,
        sent: int,
        request_id: str,
        site_id: str = "",
    ) -> None:
        client = self._addresses.client_of(scope, headers)
        if self._as_text:
            facts: dict[str, Any] = {"method": method, "path": scope["path"], "status": status}
            facts |= {"ms": round(seconds * 1000, 2), "bytes": sent, "request_id": request_id, "client": client}
            structlog.get_logger().info("request", **facts, **({"site_id": site_id} if site_id else {}))
            return
        if at_s >= self._second + 1 or at_s < self._second:
            self._second = int(at_s)
            self._second_text = datetime.fromtimestamp(self._second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        path = scope["path"]
        site = f',"site_id":"{site_id}"' if site_id else ""
        # All but method and path is ours and harmless; writing the line by hand costs a fifth of an encoder.
        self._waiting.append(
            f'{{"event":"request","level":"info","timestamp":"{self._second_text}.{int(at_s * 1000) % 1000:03d}+00:00",'
            f'"method":{_quoted(method)},"path":{_quoted(path)},"status":{status},"ms":{seconds * 1000:.2f},'
            f'"bytes":{sent},"request_id":"{request_id}","client":"{client}"{site}}}\n'
        )
        if self._flush is None:
            self._flush = asyncio.get_running_loop().call_later(FLUSH_S, self.flush)

    def flush(self) -> None:
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        if self._waiting:
            lines, self._waiting = self._waiting, []
            sys.stderr.write("".join(lines))
            sys.stderr.flush()


@functools.lru_cache(maxsize=1000)
def _quoted(text: str) -> str:
    return printable_json(msgspec.json.encode(text).decode())
