"""Costly actions counted in memory, while the store is away: for this worker only, and for a bounded number of
clients."""

import math
from collections import deque

from msgspec import Struct, field

from threadkit.clock import Clock
from threadkit.ratelimit.model import Pace, Quota, Reservation

MOST_CLIENTS = 10_000
OTHERS = "others"
MINUTE_KEPT_S = 90


class _Client(Struct):
    minute: deque[tuple[float, str]] = field(default_factory=deque)
    pace: deque[tuple[float, str]] = field(default_factory=deque)
    day: str = ""
    today: int = 0
    seen_s: float = 0


class MemoryQuotas:
    """The same decisions as `reserve.lua`. Nothing here awaits, so read, decide and write are one step."""

    def __init__(self, clock: Clock, *, most_clients: int = MOST_CLIENTS) -> None:
        self._clock = clock
        self._most = most_clients
        self._clients: dict[str, _Client] = {}

    async def reserve(
        self, reservation: Reservation, quota: Quota, pace: Pace | None, *, now_s: str, day_left_s: int
    ) -> tuple[int, str | int]:
        now = float(now_s) if now_s else self._clock.now_ms() / 1000
        client = self._client(reservation.subject, now)
        if client.day != reservation.day:
            client.day, client.today = reservation.day, 0
        if client.today >= quota.per_day:
            return 2, "daily"
        _prune(client.minute, now - 60)
        if len(client.minute) >= quota.per_minute:
            return 1, _wait(client.minute[0][0] + 60, now)
        if pace:
            _prune(client.pace, now - pace.seconds)
            free = client.pace[-1][0] + pace.gap_s if client.pace else now
            if len(client.pace) >= pace.limit:
                free = max(free, client.pace[0][0] + pace.seconds)
            if free > now:
                return 3, _wait(free, now)
            client.pace.append((now, reservation.id))
        client.minute.append((now, reservation.id))
        client.today += 1
        client.seen_s = now
        return 0, reservation.id

    async def release(self, reservation: Reservation) -> bool:
        client = self._clients.get(reservation.subject) or self._clients.get(OTHERS)
        if client is None or not _removed(client.minute, reservation.id):
            return False
        _removed(client.pace, reservation.id)
        if client.day == reservation.day and client.today > 0:
            client.today -= 1
        return True

    async def used_today(self, subject: str, day: str) -> int:
        client = self._clients.get(subject)
        return client.today if client and client.day == day else 0

    def _client(self, subject: str, now: float) -> _Client:
        client = self._clients.get(subject)
        if client is None:
            if len(self._clients) >= self._most:
                for name in [name for name, one in self._clients.items() if now - one.seen_s > MINUTE_KEPT_S]:
                    del self._clients[name]
            # Forgetting somebody who is at work would give them a fresh start, so newcomers share one place.
            name = subject if len(self._clients) < self._most else OTHERS
            client = self._clients.setdefault(name, _Client())
        return client


def _prune(done: deque[tuple[float, str]], until: float) -> None:
    while done and done[0][0] <= until:
        done.popleft()


def _removed(done: deque[tuple[float, str]], wanted: str) -> bool:
    found = next((entry for entry in done if entry[1] == wanted), None)
    if found is None:
        return False
    done.remove(found)
    return True


def _wait(until: float, now: float) -> int:
    return max(1, math.ceil(until - now))
