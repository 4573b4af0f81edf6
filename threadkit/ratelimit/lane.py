"""Counting readers on the fast lane: one look into a dictionary, and headers from a template."""

from collections.abc import Mapping
from typing import Any

from threadkit.clock import Clock
from threadkit.http.client_address import ClientAddresses, forwarded
from threadkit.ids import SiteId
from threadkit.ratelimit.model import MINUTE_S, Standing
from threadkit.ratelimit.requests import Caller, Counted, RequestLimits, refusal
from threadkit.sites.model import Site

MOST_REMEMBERED = 10_000

_Peer = tuple[str | None, bytes, SiteId, int]


class _Reader:
    """Somebody who reads a site, and how their headers look."""

    __slots__ = ("counted", "limit", "template")

    def __init__(self, counted: Counted, limit: int) -> None:
        self.counted = counted
        self.limit = limit
        numbers = Standing("read", limit, 0, 0).headers()
        policy = dict(numbers)[b"ratelimit-policy"]
        self.template = (
            b"x-ratelimit-limit: %d\r\nx-ratelimit-remaining: %%d\r\nx-ratelimit-reset: %%d\r\n"
            b'ratelimit-policy: %b\r\nratelimit: "read";r=%%d;t=%%d\r\n' % (limit, policy)
        )


class ReaderLimits:
    def __init__(self, limits: RequestLimits, *, addresses: ClientAddresses, clock: Clock) -> None:
        self._limits = limits
        self._addresses = addresses
        self._clock = clock
        self._readers: dict[_Peer, _Reader] = {}

    def spend(self, site: Site, scope: Any, headers: Mapping[bytes, bytes]) -> bytes:
        """Count one reader: lines for the head of the answer. Raises `RateLimited`."""
        now_s = self._clock.now_ms() // 1000
        reader = self._reader(site, scope, headers, now_s)
        counted = reader.counted
        if counted.minute != now_s // MINUTE_S:
            counted.begin(now_s // MINUTE_S)
        left = reader.limit - counted.known - counted.ours - 1
        if left < 0:
            self._limits.ask_about(counted)
            (check, *_) = self._limits.checks(Caller(site, ""), "read")
            raise refusal(check._replace(limit=reader.limit), "read", now_s)
        self._limits.add(counted)
        wait_s = MINUTE_S - now_s % MINUTE_S
        return reader.template % (left, now_s + wait_s, left, wait_s)

    def _reader(self, site: Site, scope: Any, headers: Mapping[bytes, bytes], now_s: int) -> _Reader:
        peer = scope["client"]
        asked = (peer[0] if peer else None, forwarded(scope, headers), site.id, site.version)
        reader = self._readers.get(asked)
        if reader is None:
            if len(self._readers) >= MOST_REMEMBERED:
                self._readers.clear()
            client = self._addresses.client_of(scope, headers)
            (check, *_) = self._limits.checks(Caller(site, client), "read")
            reader = _Reader(self._limits.counted(site, check, now_s), check.limit)
            if reader.counted.name == check.name:  # not shared with others for want of room
                self._readers[asked] = reader
        return reader
