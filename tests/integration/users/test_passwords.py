"""Registration and passwords: contract 4.9, row S3-02, S3-03."""

import asyncio
import time

import httpx
import pytest
from redis.asyncio import Redis

from tests.make import ManualClock
from tests.people import Letterbox, Person, post
from threadkit.app import Application
from threadkit.settings import Accounts
from threadkit.sites.model import NewSite
from threadkit.users.passwords import Passwords

EMAIL = "grace@example.org"
PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def _silent(letterbox: Letterbox) -> None:
    """Nothing is sent in these tests."""


async def register(http: httpx.AsyncClient, site: NewSite, **changes: str) -> httpx.Response:
    body = {"name": "grace", "email": EMAIL, "password": PASSWORD} | changes
    return await post(http, site, "/v1/auth/register", body)


async def login(http: httpx.AsyncClient, site: NewSite, password: str = PASSWORD, **headers: str) -> httpx.Response:
    return await post(http, site, "/v1/auth/login", {"email": EMAIL, "password": password}, **headers)


async def test_register_then_log_in(http: httpx.AsyncClient, new_site: NewSite) -> None:
    made = await register(http, new_site)
    assert made.status_code == 200
    assert made.json()["user"]["email_verified"] is False
    back = await login(http, new_site)
    assert back.json()["user"]["id"] == made.json()["user"]["id"]


async def test_a_wrong_password_and_an_unknown_address_look_the_same(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    await register(http, new_site)
    wrong = await login(http, new_site, "not the password")
    unknown = await post(http, new_site, "/v1/auth/login", {"email": "no@example.org", "password": PASSWORD})
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.json()["error"] == unknown.json()["error"] == "Invalid credentials"


async def test_an_unknown_user_costs_as_much_time_as_a_known_one() -> None:
    passwords = Passwords(Accounts(argon2_memory_kib=16_384))
    stored = await passwords.hash(PASSWORD)
    await passwords.verify(None, "warm up")

    async def took(stored_hash: str | None) -> float:
        started = time.perf_counter()
        await passwords.verify(stored_hash, "wrong")
        return time.perf_counter() - started

    known = min([await took(stored) for _ in range(7)])
    unknown = min([await took(None) for _ in range(7)])
    passwords.close()
    assert 0.5 < known / unknown < 2


async def test_the_store_holds_argon2id_outside_the_profile_s3_01(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    user_id = (await register(http, new_site)).json()["user"]["id"]
    assert str(await redis.get(f"user:{user_id}:password")).startswith("$argon2id$")
    assert "password" not in await redis.hgetall(f"user:{user_id}")


async def test_a_hundred_parallel_registrations_for_one_address_make_one_user_s3_02(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    tries = [
        post(
            http,
            new_site,
            "/v1/auth/register",
            {"name": f"grace{number}", "email": EMAIL, "password": PASSWORD},
            **{"x-forwarded-for": f"203.0.113.{number}"},
        )
        for number in range(100)
    ]
    statuses = [answer.status_code for answer in await asyncio.gather(*tries)]
    assert statuses.count(200) == 1
    assert statuses.count(409) == 99
    profiles = [key async for key in redis.scan_iter("user:*") if await redis.type(key) == "hash"]
    names = [key async for key in redis.scan_iter("username:*")]
    assert (len(profiles), len(names)) == (1, 1), "losers leave nothing behind"


async def test_the_same_number_in_two_spellings_is_one_number_s3_03(http: httpx.AsyncClient, new_site: NewSite) -> None:
    first = {"name": "one", "phone": "+49 30 901820", "password": PASSWORD}
    second = {"name": "two", "phone": "+4930901820", "password": PASSWORD}
    assert (await post(http, new_site, "/v1/auth/register", first)).status_code == 200
    refused = await post(http, new_site, "/v1/auth/register", second)
    assert refused.status_code == 409
    assert "already" in refused.json()["error"]


@pytest.mark.parametrize(
    ("password", "why"),
    [
        ("short", "8 to 256"),
        ("x" * 257, "8 to 256"),
        ("password", "first that others would try"),
        ("Passw0rd!", "first that others would try"),
        ("12345678", "first that others would try"),
        ("qwertyuiop", "first that others would try"),
        ("abcabcabc", "first that others would try"),
        ("grace2026", "first that others would try"),
        ("aaaaaaaaaa", "first that others would try"),
    ],
)
async def test_weak_passwords_are_refused(http: httpx.AsyncClient, new_site: NewSite, password: str, why: str) -> None:
    answer = await register(http, new_site, password=password)
    assert answer.status_code == 400
    assert why in answer.json()["error"]


async def test_an_account_gets_twenty_guesses_an_hour_from_however_many_addresses(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    await register(http, new_site)
    statuses = []
    for number in range(200):
        answer = await login(http, new_site, f"guess {number}", **{"x-forwarded-for": f"198.51.{number}.7"})
        statuses.append(answer.status_code)
    assert statuses.count(401) == 20
    assert statuses.count(429) == 180


async def test_a_client_gets_six_guesses_a_minute_and_thirty_an_hour(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    evaluated = 0
    for minute in range(10):
        for number in range(8):
            body = {"email": f"someone{minute}-{number}@example.org", "password": PASSWORD}
            evaluated += (await post(http, new_site, "/v1/auth/login", body)).status_code == 401
        assert evaluated <= 6 * (minute + 1)
        clock.advance(seconds=61)
    assert evaluated == 30


async def test_a_hash_is_renewed_when_the_cost_changes(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    user_id = (await register(http, new_site)).json()["user"]["id"]
    before = await redis.get(f"user:{user_id}:password")
    dearer = Passwords(Accounts(argon2_time_cost=2, argon2_memory_kib=64, argon2_parallelism=1))
    app.services.sign_in._passwords = dearer
    assert (await login(http, new_site)).status_code == 200
    after = await redis.get(f"user:{user_id}:password")
    assert "t=2" in str(after)
    assert before != after
    dearer.close()


async def test_a_reset_changes_the_password_and_ends_every_session(
    http: httpx.AsyncClient, new_site: NewSite, letterbox: Letterbox, clock: ManualClock
) -> None:
    me = Person.of(http, new_site.site.api_key_public, (await register(http, new_site)).json())
    clock.advance(seconds=61)
    assert (await post(http, new_site, "/v1/auth/forgot", {"email": EMAIL})).status_code == 200
    body = {"email": EMAIL, "code": letterbox.newest_code(), "new_password": "a much better one"}
    assert (await post(http, new_site, "/v1/auth/reset", body)).status_code == 200
    assert (await me.call("GET", "/v1/users/me")).status_code == 401
    assert (await login(http, new_site)).status_code == 401
    assert (await login(http, new_site, "a much better one")).status_code == 200


async def test_forgot_says_the_same_to_everybody_and_writes_only_to_members(
    http: httpx.AsyncClient, new_site: NewSite, letterbox: Letterbox
) -> None:
    stranger = await post(http, new_site, "/v1/auth/forgot", {"email": "no@example.org"})
    assert (stranger.status_code, letterbox.mails) == (200, [])


async def test_a_changed_password_signs_out_every_other_device(http: httpx.AsyncClient, new_site: NewSite) -> None:
    here = Person.of(http, new_site.site.api_key_public, (await register(http, new_site)).json())
    there = Person.of(http, new_site.site.api_key_public, (await login(http, new_site)).json())
    wrong = {"old_password": "not it", "new_password": "a much better one"}
    assert (await here.call("PUT", "/v1/users/me/password", wrong)).status_code == 401
    right = {"old_password": PASSWORD, "new_password": "a much better one"}
    assert (await here.call("PUT", "/v1/users/me/password", right)).status_code == 200
    assert (await here.call("GET", "/v1/users/me")).status_code == 200
    assert (await there.call("GET", "/v1/users/me")).status_code == 401


async def test_the_owner_of_an_address_takes_over_an_account_that_never_proved_it(
    http: httpx.AsyncClient, new_site: NewSite, letterbox: Letterbox
) -> None:
    """Otherwise anybody could register your address with a password of theirs and wait for you."""
    squatter = Person.of(http, new_site.site.api_key_public, (await register(http, new_site)).json())
    code = letterbox.newest_code()
    owner = await post(http, new_site, "/v1/auth/verify-otp", {"email": EMAIL, "code": code})
    assert owner.status_code == 200
    assert (await squatter.call("GET", "/v1/users/me")).status_code == 401
    assert (await login(http, new_site)).status_code == 401


async def test_a_confirmed_address_counts_as_proved(
    http: httpx.AsyncClient, new_site: NewSite, letterbox: Letterbox
) -> None:
    me = Person.of(http, new_site.site.api_key_public, (await register(http, new_site)).json())
    body = {"email": EMAIL, "code": letterbox.newest_code()}
    assert (await post(http, new_site, "/v1/auth/verify", body)).status_code == 200
    assert (await me.call("GET", "/v1/users/me")).json()["email_verified"] is True
