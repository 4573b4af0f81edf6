"""The second and third layer: what one client may do of a costly action in a minute, in a day, and how quickly.

A place is reserved before the costly step, kept when it succeeds and given back when it fails through our fault.
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Protocol
from uuid import uuid4

from msgspec.structs import replace
from redis.exceptions import RedisError

from threadkit.clock import Clock, SystemClock
from threadkit.errors import ThreadKitError
from threadkit.ids import UserId, digest
from threadkit.ratelimit.memory import MemoryQuotas
from threadkit.ratelimit.model import (
    Action,
    DayUsedUp,
    MinuteUsedUp,
    Pace,
    Quota,
    Reservation,
    TooSoon,
    day_of,
)
from threadkit.ratelimit.outage import Outage
from threadkit.ratelimit.scripts import ReleaseReservation, Reserve
from threadkit.settings import ActionLimits, LimitSettings
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys


class QuotaBackend(Protocol):
    """Where places are counted. `now_s` is empty for the backend's own clock."""

    async def reserve(
        self, reservation: Reservation, quota: Quota, pace: Pace | None, *, now_s: str, day_left_s: int
    ) -> tuple[int, str | int]:
        """(0, id), (1, seconds) for a full minute, (2, "daily") for a full day, (3, seconds) for too quick."""

    async def release(self, reservation: Reservation) -> bool: ...

    async def used_today(self, subject: str, day: str) -> int: ...


class StoreQuotas:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self.reserve = Reserve(redis, keys)
        self.release = ReleaseReservation(redis, keys)

    async def used_today(self, subject: str, day: str) -> int:
        return int(await self._redis.get(self._keys.client(subject).daily(day)) or 0)


class Quotas:
    """Chooses where to count, call by call: in the store, or in memory while it is away."""

    def __init__(
        self, *, redis: Commands, keys: Keys, clock: Clock | None, settings: LimitSettings, outage: Outage
    ) -> None:
        """Without a clock the store's own decides about minutes, on which all workers agree."""
        self._store: QuotaBackend = StoreQuotas(redis=redis, keys=keys)
        self._memory: QuotaBackend = MemoryQuotas(clock or SystemClock())
        self._given_clock = clock
        self._clock = clock or SystemClock()
        self._settings = settings
        self._outage = outage

    def quota(self, action: Action) -> Quota:
        ours = self._settings
        own: ActionLimits = getattr(ours, action)
        return Quota(own.per_minute or ours.costly_per_minute, own.per_day or ours.costly_per_day)

    @contextlib.asynccontextmanager
    async def reserved(self, action: Action, who: str, *, pace: Pace | None = None) -> AsyncIterator[None]:
        """Hold a place while the costly step is taken."""
        reservation = await self.reserve(action, who, pace=pace)
        try:
            yield
        except ThreadKitError as error:
            if error.status >= 500:  # what callers did wrong is not given back, or errors would be free guesses
                await self.release(reservation)
            raise
        except Exception:
            await self.release(reservation)
            raise

    async def reserve(self, action: Action, who: str, *, pace: Pace | None = None) -> Reservation:
        now_ms = self._clock.now_ms()
        day, day_left_s = day_of(now_ms)
        reservation = Reservation(uuid4().hex[:12], f"{action}.{who}", day, is_in_memory=self._outage.is_waiting)
        now_s = f"{now_ms / 1000:.6f}" if self._given_clock else ""
        quota = self.quota(action)
        if not self._settings.enabled:
            return replace(reservation, is_in_memory=True)
        if not reservation.is_in_memory:
            try:
                verdict = await self._store.reserve(reservation, quota, pace, now_s=now_s, day_left_s=day_left_s)
            except (RedisError, OSError) as error:
                self._outage.began(error)
                reservation = replace(reservation, is_in_memory=True)
            else:
                self._outage.ended()
        if reservation.is_in_memory:
            verdict = await self._memory.reserve(reservation, quota, pace, now_s=now_s, day_left_s=day_left_s)
        match verdict:
            case (1, wait_s):
                raise MinuteUsedUp(retry_after_s=int(wait_s), limit_type="minute")
            case (2, _):
                raise DayUsedUp(retry_after_s=day_left_s, limit_type="daily")
            case (3, wait_s):
                raise TooSoon(retry_after_s=int(wait_s), limit_type="minute")
        return reservation

    async def release(self, reservation: Reservation) -> None:
        if reservation.is_in_memory:
            await self._memory.release(reservation)
            return
        try:
            await self._store.release(reservation)
        except (RedisError, OSError) as error:
            # The place is lost until its minute and day are over: nobody gets more than they may.
            self._outage.began(error)

    async def used_today(self, action: Action, who: str) -> int:
        day, _ = day_of(self._clock.now_ms())
        backend = self._memory if self._outage.is_waiting else self._store
        return await backend.used_today(f"{action}.{who}", day)

    def client(self, hashed: str, user_agent: str) -> str:
        """How an address is named here: with its browser, so that people behind one address do not share a quota."""
        if self._settings.client == "ip":
            return hashed
        return f"{hashed}:{digest(user_agent[:64])[:8]}"

    def post_pace(self, *, is_guest: bool) -> Pace:
        ours = self._settings
        if is_guest:
            return Pace(ours.guest_posts_per_ten_minutes, 600, ours.guest_post_every_s)
        return Pace(ours.posts_per_ten_minutes, 600, ours.post_every_s)


def of_user(user_id: UserId) -> str:
    return f"user-{user_id}"
