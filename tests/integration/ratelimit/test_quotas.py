"""The second layer, in both places where it is counted: rows S4-03 to S4-25 of the contract."""

import asyncio
import re
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from redis.asyncio import Redis

from tests.make import ManualClock
from threadkit.app import Application
from threadkit.errors import Invalid, Unavailable
from threadkit.ratelimit.memory import MOST_CLIENTS, MemoryQuotas
from threadkit.ratelimit.model import DayUsedUp, MinuteUsedUp, Pace, Quota, Reservation, TooSoon, day_of
from threadkit.ratelimit.outage import Outage
from threadkit.ratelimit.quotas import QuotaBackend, Quotas, StoreQuotas
from threadkit.settings import ActionLimits, LimitSettings
from threadkit.storage.keys import Keys

NOON_MS = int(datetime(2026, 3, 4, 12, tzinfo=UTC).timestamp() * 1000)
MIDNIGHT_MS = NOON_MS + 12 * 3600 * 1000


@dataclass
class Desk:
    """One backend behind the service, with a clock of the test's. A fresh one for every test (S4-33)."""

    quotas: Quotas
    backend: QuotaBackend
    clock: ManualClock

    async def used(self) -> int:
        return await self.quotas.used_today("comments", "ada")

    async def reserve(self, who: str = "ada") -> Reservation:
        return await self.quotas.reserve("comments", who)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON_MS)


@pytest.fixture
def limits() -> LimitSettings:
    return LimitSettings()


@pytest.fixture(params=["store", "memory"])
async def desk(request: pytest.FixtureRequest, redis: Redis, clock: ManualClock, limits: LimitSettings) -> Desk:
    outage = Outage(clock)
    quotas = Quotas(redis=redis, keys=Keys(), clock=clock, settings=limits, outage=outage)
    backend: QuotaBackend = StoreQuotas(redis=redis, keys=Keys())
    if request.param == "memory":
        backend = MemoryQuotas(clock)
    quotas._store = quotas._memory = backend
    return Desk(quotas, backend, clock)


async def test_without_configuration_the_twenty_first_in_a_minute_waits_s4_25(desk: Desk) -> None:
    for _ in range(20):
        await desk.reserve()
    with pytest.raises(MinuteUsedUp) as refused:
        await desk.reserve()
    assert refused.value.facts == {"retry_after_s": 60, "limit_type": "minute"}
    await desk.reserve("bob")


class TestThreeADay:
    @pytest.fixture
    def limits(self) -> LimitSettings:
        return LimitSettings(comments=ActionLimits(per_day=3))

    async def test_the_fourth_is_refused_as_daily_until_midnight_s4_25_s4_26(self, desk: Desk) -> None:
        for _ in range(3):
            await desk.reserve()
        with pytest.raises(DayUsedUp) as refused:
            await desk.reserve()
        assert refused.value.facts == {"retry_after_s": 12 * 3600, "limit_type": "daily"}
        desk.clock.advance(seconds=refused.value.facts["retry_after_s"])
        await desk.reserve()

    async def test_the_day_is_checked_before_the_minute_s4_10(self, desk: Desk) -> None:
        quota = Quota(per_minute=1, per_day=1)
        one = Reservation("a", "x.ada", "2026-03-04")
        now_s = f"{desk.clock.now_ms() / 1000:.6f}"
        assert await desk.backend.reserve(one, quota, None, now_s=now_s, day_left_s=9) == (0, "a")
        other = Reservation("b", "x.ada", "2026-03-04")
        assert await desk.backend.reserve(other, quota, None, now_s=now_s, day_left_s=9) == (2, "daily")


async def test_five_hundred_at_once_let_twenty_through_s4_10(desk: Desk) -> None:
    answers = await asyncio.gather(*(desk.reserve() for _ in range(500)), return_exceptions=True)
    assert len([answer for answer in answers if isinstance(answer, Reservation)]) == 20
    assert len([answer for answer in answers if isinstance(answer, MinuteUsedUp)]) == 480
    assert await desk.used() == 20


async def test_two_workers_let_twenty_of_five_hundred_through_s4_10(app: Application, second: Application) -> None:
    desks = [one.services.quotas for one in (app, second)]
    asked = [desks[number % 2].reserve("comments", "ada") for number in range(500)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert len([answer for answer in answers if isinstance(answer, Reservation)]) == 20
    assert await desks[0].used_today("comments", "ada") == 20


async def test_an_entry_that_is_exactly_a_minute_old_does_not_count_s4_06(desk: Desk) -> None:
    for _ in range(20):
        await desk.reserve()
        desk.clock.advance(seconds=1)
    with pytest.raises(MinuteUsedUp) as refused:
        await desk.reserve()
    # The same wait in both, rounded up (S4-16): the oldest is 20 seconds old.
    assert refused.value.facts["retry_after_s"] == 40
    desk.clock.advance(seconds=39.999)
    with pytest.raises(MinuteUsedUp) as refused:
        await desk.reserve()
    assert refused.value.facts["retry_after_s"] == 1
    desk.clock.advance(seconds=0.001)
    await desk.reserve()


async def test_what_is_given_back_counts_no_more_s4_07_s4_11(desk: Desk) -> None:
    kept = await desk.reserve()
    back = [await desk.reserve() for _ in range(2)]
    assert await desk.used() == 3
    for reservation in back:
        await desk.quotas.release(reservation)
    assert await desk.used() == 1
    # Twice, or something that never was, changes nothing.
    await desk.quotas.release(back[0])
    await desk.quotas.release(Reservation("unknown", "comments.ada", kept.day))
    assert await desk.used() == 1
    await desk.quotas.release(kept)
    await desk.quotas.release(kept)
    assert await desk.used() == 0
    for _ in range(20):
        await desk.reserve()


async def test_giving_back_after_midnight_lowers_the_day_it_was_taken_from_s4_12(desk: Desk) -> None:
    desk.clock.advance(seconds=(MIDNIGHT_MS - NOON_MS) / 1000 - 1)
    yesterdays = [await desk.reserve() for _ in range(2)]
    desk.clock.advance(seconds=2)
    await desk.reserve()
    await desk.quotas.release(yesterdays[0])
    assert await desk.used() == 1
    if isinstance(desk.backend, StoreQuotas):
        assert await desk.backend.used_today("comments.ada", yesterdays[0].day) == 1


async def test_a_request_id_is_twelve_hex_digits_s4_21(desk: Desk) -> None:
    assert re.fullmatch(r"[0-9a-f]{12}", (await desk.reserve()).id)


async def test_success_keeps_the_place_and_our_failure_gives_it_back_s4_20(desk: Desk) -> None:
    async with desk.quotas.reserved("comments", "ada"):
        pass
    assert await desk.used() == 1
    for error in (Unavailable(), RuntimeError("the provider refused")):
        with pytest.raises(type(error)):
            async with desk.quotas.reserved("comments", "ada"):
                raise error
        assert await desk.used() == 1
    # What the caller did wrong is not given back, or errors would be free guesses.
    with pytest.raises(Invalid):
        async with desk.quotas.reserved("comments", "ada"):
            raise Invalid
    assert await desk.used() == 2


async def test_a_pace_wants_a_pause_and_has_an_end(desk: Desk) -> None:
    pace = Pace(limit=3, seconds=600, gap_s=5)
    await desk.quotas.reserve("comments", "ada", pace=pace)
    with pytest.raises(TooSoon) as refused:
        await desk.quotas.reserve("comments", "ada", pace=pace)
    assert refused.value.facts["retry_after_s"] == 5
    for _ in range(2):
        desk.clock.advance(seconds=5)
        await desk.quotas.reserve("comments", "ada", pace=pace)
    desk.clock.advance(seconds=5)
    with pytest.raises(TooSoon) as refused:
        await desk.quotas.reserve("comments", "ada", pace=pace)
    assert refused.value.facts["retry_after_s"] == 585
    # A refusal used nothing up.
    assert await desk.used() == 3


async def test_waiting_as_long_as_said_is_enough_s4_26(desk: Desk) -> None:
    """Also when the pause and the whole time are both in the way."""
    pace = Pace(limit=2, seconds=600, gap_s=5)
    for _ in range(2):
        await desk.quotas.reserve("comments", "ada", pace=pace)
        desk.clock.advance(seconds=5)
    desk.clock.advance(seconds=-4)
    with pytest.raises(TooSoon) as refused:
        await desk.quotas.reserve("comments", "ada", pace=pace)
    desk.clock.advance(seconds=refused.value.facts["retry_after_s"])
    await desk.quotas.reserve("comments", "ada", pace=pace)


async def test_a_place_given_back_does_not_slow_the_next_try(desk: Desk) -> None:
    pace = Pace(limit=3, seconds=600, gap_s=5)
    await desk.quotas.release(await desk.quotas.reserve("comments", "ada", pace=pace))
    await desk.quotas.reserve("comments", "ada", pace=pace)


async def test_keys_and_their_lives_s4_03_s4_04(redis: Redis, clock: ManualClock) -> None:
    quotas = Quotas(redis=redis, keys=Keys(), clock=clock, settings=LimitSettings(), outage=Outage(clock))
    reservation = await quotas.reserve("comments", "ada")
    minute = await redis.zrange("rate:minute:comments.ada", 0, -1, withscores=True)
    assert minute == [(reservation.id, NOON_MS / 1000)]
    assert 0 < await redis.ttl("rate:minute:comments.ada") <= 90
    assert await redis.get("rate:daily:comments.ada:2026-03-04") == "1"
    assert 1 <= await redis.ttl("rate:daily:comments.ada:2026-03-04") <= 12 * 3600


async def test_without_a_clock_of_our_own_the_stores_decides_s4_10(redis: Redis) -> None:
    quotas = Quotas(redis=redis, keys=Keys(), clock=None, settings=LimitSettings(), outage=Outage(ManualClock(NOON_MS)))
    await quotas.reserve("comments", "ada")
    now_s = (await redis.time())[0]
    assert await redis.zcount("rate:minute:comments.ada", now_s - 10, now_s + 1) == 1


@pytest.mark.parametrize(("left_ms", "seconds"), [(86_400_000, 86_400), (1500, 2), (1000, 1), (999, 1), (1, 1)])
def test_there_is_always_a_second_left_of_the_day(left_ms: int, seconds: int) -> None:
    """G-04."""
    assert day_of(MIDNIGHT_MS - left_ms) == ("2026-03-04", seconds)


async def test_memory_holds_a_bounded_number_of_clients_s4_15(clock: ManualClock) -> None:
    memory = MemoryQuotas(clock)
    quota, now_s = Quota(per_minute=2, per_day=5), f"{NOON_MS / 1000:.6f}"
    for number in range(MOST_CLIENTS + 500):
        await memory.reserve(Reservation(str(number), f"c{number}", "d"), quota, None, now_s=now_s, day_left_s=9)
    assert len(memory._clients) <= MOST_CLIENTS + 1
    # Whoever was at work is not forgotten for newcomers' sake, who share one place.
    first = Reservation("x", "c0", "d")
    assert (await memory.reserve(first, quota, None, now_s=now_s, day_left_s=9))[0] == 0
    assert (await memory.reserve(first, quota, None, now_s=now_s, day_left_s=9))[0] == 1
    # A new day begins at nothing.
    assert (await memory.reserve(Reservation("y", "c1", "e"), quota, None, now_s=now_s, day_left_s=9))[0] == 0
    assert await memory.used_today("c1", "e") == 1


def test_a_client_is_an_address_and_a_browser_s4_05(redis: Redis, clock: ManualClock) -> None:
    agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"
    for kind, client in (("ip_ua", "0123456789abcdef:391b9318"), ("ip", "0123456789abcdef")):
        settings = LimitSettings(client=kind)  # type: ignore[arg-type]
        quotas = Quotas(redis=redis, keys=Keys(), clock=clock, settings=settings, outage=Outage(clock))
        assert quotas.client("0123456789abcdef", agent) == client
