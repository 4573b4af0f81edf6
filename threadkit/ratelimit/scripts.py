"""The limiter's scripts: each knows the order of its KEYS and ARGV."""

from collections.abc import Sequence
from typing import Any

from threadkit.ratelimit.model import Pace, Quota, Reservation
from threadkit.storage.lua import KeyedScript, LuaScript


class CountRequest(LuaScript):
    """Can travel in somebody else's pipeline, so that limiting a write costs no round trip of its own."""

    file = "count_request.lua"

    def put(self, pipe: Any, keys: Sequence[str], limits: Sequence[int]) -> None:
        self._put(pipe, keys=keys, args=limits)

    async def got(self, reply: Any, keys: Sequence[str], limits: Sequence[int]) -> tuple[int, list[int]]:
        """Which limit is used up (from 1; 0 for none), and what was counted."""
        used_up, *counts = await self._got(reply, keys=keys, args=limits)
        return int(used_up), [int(count) for count in counts]

    async def __call__(self, keys: Sequence[str], limits: Sequence[int]) -> tuple[int, list[int]]:
        used_up, *counts = await self._run(keys=keys, args=limits)
        return int(used_up), [int(count) for count in counts]


class AddRequests(LuaScript):
    file = "add_requests.lua"

    async def __call__(self, batches: Sequence[tuple[Sequence[str], Sequence[int]]]) -> list[list[int]]:
        """Each batch is about one site; the answers are what every key has now."""
        return [[int(count) for count in counts] for counts in await self._run_all(batches)]


class Reserve(KeyedScript):
    file = "reserve.lua"
    repeatable = True

    async def __call__(
        self, reservation: Reservation, quota: Quota, pace: Pace | None, *, now_s: str, day_left_s: int
    ) -> tuple[int, str | int]:
        keys = self._keys.client(reservation.subject)
        arguments: list[str | int] = [now_s, reservation.id, quota.per_minute, quota.per_day, day_left_s]
        if pace:
            arguments += [pace.limit, pace.seconds, pace.gap_s]
        code, said = await self._run(keys=[keys.minute(), keys.daily(reservation.day), keys.pace()], args=arguments)
        return int(code), said


class ReleaseReservation(KeyedScript):
    file = "release_reservation.lua"
    repeatable = True

    async def __call__(self, reservation: Reservation) -> bool:
        keys = self._keys.client(reservation.subject)
        return bool(
            await self._run(
                keys=[keys.minute(), keys.daily(reservation.day), keys.pace()],
                args=[reservation.id],
            )
        )
