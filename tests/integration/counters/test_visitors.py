"""S3-72: how many different people came, and nothing about who they are."""

import re

import pytest
from redis.asyncio import Redis

from tests.integration.counters.counting import MONTH, PAGE, SITE, Counting, page
from tests.make import ManualClock
from threadkit.ids import SiteId

KEY = f"site:{SITE}:visitors:{MONTH}"
ELSEWHERE = SiteId("01a1e1d5-9217-7000-be42-7b27b41a2a53")


async def unique(worker: Counting, months: int = 1) -> int:
    await worker.flushed()
    return (await worker.queries.usage(SITE, months=months))[-1].visitors


def crowd(worker: Counting, size: int) -> None:
    for number in range(size):
        peer = f"198.{number // 62_500}.{number // 250 % 250}.{number % 250}"
        worker.view(peer=peer)
        worker.view(page(1), peer=peer)


async def test_a_set_is_exact(exact: Counting, redis: Redis) -> None:
    crowd(exact, 10_000)
    assert await unique(exact) == 10_000
    assert await redis.type(KEY) == "set"
    assert 7_775_000 < await redis.ttl(KEY) <= 7_776_000


async def test_a_hyperloglog_is_within_two_per_cent_at_ten_thousand(worker: Counting, redis: Redis) -> None:
    crowd(worker, 10_000)
    assert abs(await unique(worker) - 10_000) <= 200
    assert await redis.type(KEY) == "string"
    assert (await redis.memory_usage(KEY) or 0) < 16_000
    assert 7_775_000 < await redis.ttl(KEY) <= 7_776_000


async def test_members_are_keyed_hashes_and_never_addresses(exact: Counting, redis: Redis) -> None:
    exact.view(peer="203.0.113.7")
    exact.view(peer="2001:db8::1")
    await exact.flushed()
    members = await redis.smembers(KEY)
    assert len(members) == 2
    assert all(re.fullmatch("[0-9a-f]{16}", str(member)) for member in members)


async def test_nobody_can_be_followed_to_another_site_or_month(
    exact: Counting, redis: Redis, clock: ManualClock
) -> None:
    exact.view()
    exact.view(site_id=ELSEWHERE)
    clock.advance(seconds=31 * 86_400)
    exact.view()
    await exact.flushed()
    await exact.flushed()
    found = await redis.sunion([KEY, f"site:{ELSEWHERE}:visitors:{MONTH}", f"site:{SITE}:visitors:2026-01"])
    assert len(found) == 3


@pytest.mark.parametrize(
    ("second", "people"),
    [
        ({"peer": "203.0.113.7"}, 1),
        ({"peer": "203.0.113.8"}, 2),
        ({"agent": b"Mozilla/5.0 (another browser)"}, 2),
        ({"headers": {b"x-forwarded-for": b"198.51.100.1"}}, 1),
        ({"headers": {b"x-real-ip": b"198.51.100.1"}}, 1),
        ({"peer": "127.0.0.1", "headers": {b"x-forwarded-for": b"203.0.113.7"}}, 1),
        ({"peer": "127.0.0.1", "headers": {b"x-forwarded-for": b"198.51.100.1, 203.0.113.7"}}, 1),
        ({"peer": "127.0.0.1", "headers": {b"x-forwarded-for": b"203.0.113.9"}}, 2),
        ({"peer": "127.0.0.1", "headers": {b"x-real-ip": b"203.0.113.7"}}, 1),
        ({"peer": "not an address", "headers": {b"x-forwarded-for": b"\xff\x00" * 5000}}, 2),
    ],
)
async def test_who_is_the_same_visitor(exact: Counting, second: dict[str, object], people: int) -> None:
    """A forged header from somebody who is no proxy of ours makes nobody new."""
    exact.view(PAGE, peer="203.0.113.7")
    exact.view(page(1), **second)  # type: ignore[arg-type]
    assert await unique(exact) == people


async def test_a_household_with_ipv6_is_one_visitor_per_browser(exact: Counting) -> None:
    exact.view(peer="2001:db8:0:1::1")
    exact.view(peer="2001:db8:0:1:ffff::2")
    exact.view(peer="2001:db8:0:2::1")
    assert await unique(exact) == 2


async def test_a_month_goes_on_as_it_began_when_the_setting_changes(
    worker: Counting, exact: Counting, redis: Redis, clock: ManualClock
) -> None:
    worker.view(peer="203.0.113.1")
    await worker.flushed()
    exact.view(peer="203.0.113.2")
    assert await unique(exact) == 2
    assert await redis.type(KEY) == "string"
    clock.advance(seconds=31 * 86_400)
    exact.view(peer="203.0.113.1")
    await exact.flushed()
    worker.view(peer="203.0.113.2")
    await worker.flushed()
    assert await redis.type(f"site:{SITE}:visitors:2026-01") == "set"
    assert [month.visitors for month in await worker.queries.usage(SITE, months=2)] == [2, 2]
