"""Somebody guesses, from one address that claims to be many, and from many. G11.

What is not here: 10,000 guesses at one code are five (test_codes.py)."""

import asyncio

import httpx
import pytest

from tests.make import ManualClock
from tests.people import Letterbox, post
from threadkit.app import Application
from threadkit.sites.model import NewSite

CLAIMS = 1000
AT_ONCE = 100
EMAIL = "grace@example.org"
SPOOFED = ("x-forwarded-for", "x-real-ip", "forwarded", "x-client-ip", "true-client-ip", "cf-connecting-ip")


@pytest.fixture
async def outsider(app: Application) -> httpx.AsyncClient:
    """A client whose address is not that of a proxy of ours, so that its claims are nothing but claims."""
    transport = httpx.ASGITransport(app, client=("203.0.113.9", 4711))
    return httpx.AsyncClient(transport=transport, base_url="http://comments.test")


def claim(number: int) -> dict[str, str]:
    address = f"198.51.{number // 250}.{number % 250}"
    return {name: f"for={address}" if name == "forwarded" else address for name in SPOOFED}


async def answered(http: httpx.AsyncClient, site: NewSite, path: str, *bodies: dict[str, str]) -> list[int]:
    """The statuses of many at once, each claiming another address."""
    statuses: list[int] = []
    for start in range(0, len(bodies), AT_ONCE):
        some = enumerate(bodies[start : start + AT_ONCE], start)
        asked = [post(http, site, path, body, **claim(number)) for number, body in some]
        statuses += [answer.status_code for answer in await asyncio.gather(*asked)]
    return statuses


def logins(of: str | None = None) -> list[dict[str, str]]:
    return [{"email": of or f"p{number}@example.org", "password": f"guess {number}"} for number in range(CLAIMS)]


async def test_one_address_gets_six_guesses_a_minute_and_thirty_an_hour_whatever_it_claims(
    outsider: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    a_minute: list[int] = []
    for minute in range(10):
        some = logins()[minute * 100 : minute * 100 + 100]
        a_minute.append((await answered(outsider, new_site, "/v1/auth/login", *some)).count(401))
        clock.advance(seconds=61)
    assert max(a_minute) == 6
    assert sum(a_minute) == 30
    print(f"\nG11: {CLAIMS} spoofed headers: {max(a_minute)} guesses a minute, {sum(a_minute)} an hour")


async def test_one_account_gets_twenty_guesses_from_a_thousand_addresses(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    """Through a proxy of ours, so that each is another address."""
    guesses = (await answered(http, new_site, "/v1/auth/login", *logins(EMAIL))).count(401)
    assert guesses == 20
    print(f"\nG11: {guesses} guesses at one account from {CLAIMS} addresses")


async def test_codes_are_sent_three_times_an_hour_to_one_address(
    http: httpx.AsyncClient, new_site: NewSite, letterbox: Letterbox, clock: ManualClock
) -> None:
    wishes = [{"email": EMAIL}] * (CLAIMS // 10)
    for _ in range(10):
        await answered(http, new_site, "/v1/auth/send-otp", *wishes)
        clock.advance(seconds=300)
    assert len(letterbox.mails) == 3
    print(f"\nG11: {len(letterbox.mails)} codes to one address in 50 minutes, asked for from {CLAIMS} addresses")


async def test_passwords_are_forgotten_six_times_an_hour_by_one_address_and_three_times_by_one_account(
    http: httpx.AsyncClient, outsider: httpx.AsyncClient, new_site: NewSite, letterbox: Letterbox, clock: ManualClock
) -> None:
    register = {"name": "grace", "email": EMAIL, "password": "correct horse battery"}
    assert (await post(http, new_site, "/v1/auth/register", register)).status_code == 200
    clock.advance(seconds=3601)
    letterbox.mails.clear()
    others = [{"email": f"p{number}@example.org"} for number in range(CLAIMS)]
    by_one = (await answered(outsider, new_site, "/v1/auth/forgot", *others)).count(200)
    for_one = 0
    for _ in range(10):
        for_one += (await answered(http, new_site, "/v1/auth/forgot", *[{"email": EMAIL}] * 100)).count(200)
        clock.advance(seconds=300)
    assert (by_one, for_one, len(letterbox.mails)) == (6, 3, 3)
    print(f"\nG11: {by_one} resets an hour by one address, {for_one} for one account")
