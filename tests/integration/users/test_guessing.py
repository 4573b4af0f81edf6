"""Somebody guesses at an account: it gets them nowhere, and its owner comes in all the same."""

import asyncio
import base64
import random
import re
import time

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.staff.desk import HERE, at_desk, employ
from tests.integration.users.test_enumeration import MOST, auc
from tests.make import ManualClock
from tests.people import Letterbox, Person, create, post
from tests.tiers import PROVING
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.users.second_step import totp

EMAIL, PASSWORD = "grace@example.org", "correct horse battery"
HOME, ELSEWHERE = {"x-forwarded-for": "203.0.113.1"}, {"x-forwarded-for": "203.0.113.2"}
ADDRESSES, AT_ONCE = 1000 if PROVING else 100, 10


@pytest.fixture
async def grace(app: Application, http: httpx.AsyncClient, new_site: NewSite, letterbox: Letterbox) -> Person:
    """She has proved her address, and has signed in at home."""
    person = await create(http, new_site, "grace", EMAIL)
    hashed = await app.services.passwords.hash(PASSWORD)
    await app.services.store.redis.set(app.services.keys.user(UserId(person.id)).password(), hashed)
    assert (await login(http, new_site, **HOME)).status_code == 200
    letterbox.mails.clear()
    return person


async def login(
    http: httpx.AsyncClient, site: NewSite, password: str = PASSWORD, code: str | None = None, **headers: str
) -> httpx.Response:
    body = {"email": EMAIL, "password": password} | ({"code": code} if code else {})
    return await post(http, site, "/v1/auth/login", body, **headers)


async def guessed(http: httpx.AsyncClient, site: NewSite, email: str = EMAIL, number: int = ADDRESSES) -> list[str]:
    """What is said to a thousand wrong guesses, each from another address."""
    said: list[str] = []
    for start in range(0, number, AT_ONCE):
        tries = [
            post(
                http,
                site,
                "/v1/auth/login",
                {"email": email, "password": f"guess {each}"},
                **{"x-forwarded-for": f"198.51.{each // 250}.{each % 250}"},
            )
            for each in range(start, min(start + AT_ONCE, number))
        ]
        said += [answer.json()["code"] for answer in await asyncio.gather(*tries)]
    return said


@pytest.mark.prove(also=True)
async def test_under_a_thousand_addresses_an_account_answers_few_guesses_and_its_owner_comes_in_at_once(
    http: httpx.AsyncClient, new_site: NewSite, grace: Person, letterbox: Letterbox
) -> None:
    said = await guessed(http, new_site)
    assert said.count("invalid_credentials") <= 30
    assert set(said) == {"invalid_credentials", "code_required"}
    assert (await login(http, new_site, **HOME)).status_code == 200
    assert [mail.subject for mail in letterbox.mails] == [
        "Somebody is guessing the password of your account on My site"
    ]
    print(f"\nG11: {said.count('invalid_credentials')} of {ADDRESSES} guesses told anything, the owner came in at once")


async def test_from_a_new_network_the_right_password_and_a_code_by_mail_open_the_account(
    http: httpx.AsyncClient, new_site: NewSite, grace: Person, letterbox: Letterbox
) -> None:
    await guessed(http, new_site, number=40)
    letterbox.mails.clear()
    wrong, right = await login(http, new_site, "not it", **ELSEWHERE), await login(http, new_site, **ELSEWHERE)
    assert (wrong.status_code, wrong.json()["code"]) == (429, "code_required")
    assert without_id(wrong) == without_id(right), "the answer does not tell"
    assert len(letterbox.mails) == 1, "but the mailbox does"
    code = letterbox.newest_code()
    assert (await login(http, new_site, "not it", code, **ELSEWHERE)).status_code == 401
    stranger = await login(http, new_site, PASSWORD, code, **{"x-forwarded-for": "192.0.2.77"})
    assert stranger.status_code == 400, "a code belongs to the network that asked for it"


async def test_a_code_beside_the_password_makes_the_network_known(
    http: httpx.AsyncClient, new_site: NewSite, grace: Person, letterbox: Letterbox
) -> None:
    await guessed(http, new_site, number=40)
    await login(http, new_site, **ELSEWHERE)
    assert (await login(http, new_site, PASSWORD, letterbox.newest_code(), **ELSEWHERE)).status_code == 200
    assert (await login(http, new_site, **ELSEWHERE)).status_code == 200


async def test_nobodys_account_is_guarded_like_anybodys(
    http: httpx.AsyncClient, new_site: NewSite, grace: Person, letterbox: Letterbox
) -> None:
    assert await guessed(http, new_site, number=60) == await guessed(http, new_site, "nobody@example.org", 60)


async def test_one_network_has_a_handful_of_tries_at_a_guarded_account(
    http: httpx.AsyncClient, new_site: NewSite, grace: Person, clock: ManualClock
) -> None:
    await guessed(http, new_site, number=40)
    said = [(await login(http, new_site, f"guess {number}", **ELSEWHERE)).json()["code"] for number in range(6)]
    assert said == ["code_required"] * 5 + ["rate_limited"]
    clock.advance(seconds=3601)
    assert (await login(http, new_site, "not it", **ELSEWHERE)).json()["code"] == "invalid_credentials"


async def test_wrong_tries_at_home_do_not_take_the_guesses_of_others(
    http: httpx.AsyncClient, new_site: NewSite, grace: Person, clock: ManualClock
) -> None:
    for _ in range(4):
        for _ in range(6):
            assert (await login(http, new_site, "forgotten", **HOME)).status_code in (401, 429)
        clock.advance(seconds=61)
    assert (await login(http, new_site, **ELSEWHERE)).status_code == 200


async def test_whoever_opened_an_account_with_anothers_address_fills_no_mailbox(
    http: httpx.AsyncClient, new_site: NewSite, letterbox: Letterbox, clock: ManualClock
) -> None:
    """They are at home in it, but its owner may never have heard of it."""
    body = {"name": "squatter", "email": EMAIL, "password": PASSWORD}
    assert (await post(http, new_site, "/v1/auth/register", body, **HOME)).status_code == 200
    assert (await login(http, new_site, **ELSEWHERE)).status_code == 200
    await guessed(http, new_site, number=40)
    assert (await login(http, new_site, **HOME)).status_code == 200
    for network in (HOME, ELSEWHERE) * 3:
        clock.advance(seconds=61)
        await post(http, new_site, "/v1/auth/forgot", {"email": EMAIL}, **network)
        await login(http, new_site, **{"x-forwarded-for": f"192.0.2.{len(letterbox.mails)}"})
    assert len(letterbox.mails) == 3


async def test_strangers_do_not_use_up_the_codes_that_the_owner_may_be_sent(
    http: httpx.AsyncClient, new_site: NewSite, grace: Person, letterbox: Letterbox, clock: ManualClock
) -> None:
    for _ in range(4):
        clock.advance(seconds=61)
        await post(http, new_site, "/v1/auth/send-otp", {"email": EMAIL}, **ELSEWHERE)
    assert len(letterbox.mails) == 3
    assert (await post(http, new_site, "/v1/auth/send-otp", {"email": EMAIL}, **HOME)).status_code == 200
    body = {"email": EMAIL, "code": letterbox.newest_code()}
    assert len(letterbox.mails) == 4
    assert (await post(http, new_site, "/v1/auth/verify-otp", body, **HOME)).status_code == 200


async def test_staff_with_a_second_step_come_in_with_password_and_one_time_code(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, letterbox: Letterbox
) -> None:
    await employ(app, http, new_site, "mona")
    async with at_desk(app, new_site, "mona", clock) as desk:
        await desk.sign_in()
        await desk.set_up_totp()
    await guessed(http, new_site, "mona@example.org", 40)
    body = {"email": "mona@example.org", "password": PASSWORD}
    asked = await http.post("/v1/staff/sign-in", json=body, headers=HERE | ELSEWHERE)
    assert asked.json()["code"] == "code_required"
    code = totp.code_at(base64.b32decode(desk.secret), clock.now_ms() // totp.STEP_MS)
    opened = await http.post("/v1/staff/sign-in", json=body | {"code": code}, headers=HERE | ELSEWHERE)
    assert opened.status_code == 200, opened.text
    assert opened.json()["second_step_needed"] is False


async def test_a_thief_with_the_password_cannot_use_up_the_owners_tries_at_the_second_step(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, letterbox: Letterbox
) -> None:
    await employ(app, http, new_site, "mona")
    async with at_desk(app, new_site, "mona", clock) as desk:
        await desk.sign_in()
        await desk.set_up_totp()
        body = {"email": "mona@example.org", "password": PASSWORD}
        thief = {"x-forwarded-for": "203.0.113.7"} | HERE
        async with at_desk(app, new_site, "mona", clock) as theirs:
            assert (await theirs.http.post("/v1/staff/sign-in", json=body, headers=thief)).status_code == 200
            said = [(await theirs.call("POST", "second-step", {"totp": "000000"})).status_code for _ in range(25)]
        assert said == [400] * 20 + [429] * 5
        async with at_desk(app, new_site, "mona", clock) as again:
            again.secret = desk.secret
            await again.sign_in()
            passed = await again.said("POST", "second-step", {"totp": again.code()})
            assert passed["second_step_needed"] is False


async def test_a_sign_in_from_a_new_network_is_told_by_mail(
    http: httpx.AsyncClient, new_site: NewSite, grace: Person, letterbox: Letterbox
) -> None:
    assert (await login(http, new_site, **HOME)).status_code == 200
    assert letterbox.mails == []
    for _ in range(2):
        assert (await login(http, new_site, **ELSEWHERE)).status_code == 200
    assert [(mail.to, mail.subject) for mail in letterbox.mails] == [
        (EMAIL, "A new sign-in to your account on My site")
    ]


async def test_signing_out_everywhere_forgets_all_networks_but_this_one(
    http: httpx.AsyncClient, new_site: NewSite, grace: Person, redis: Redis
) -> None:
    home = Person.of(http, grace.key, (await login(http, new_site, **HOME)).json())
    await login(http, new_site, **ELSEWHERE)
    body = {"old_password": PASSWORD, "new_password": "a much better one"}
    assert (await home.call("PUT", "/v1/users/me/password", body)).status_code == 200
    assert await redis.zcard(f"user:{grace.id}:networks") == 1
    exported = (await home.call("GET", "/v1/users/me/export")).json()
    assert [network.keys() for network in exported["networks"]] == [{"network", "last_sign_in"}]
    assert (await home.call("DELETE", "/v1/users/me/sessions")).status_code == 200
    assert not await redis.exists(f"user:{grace.id}:networks")


def without_id(answer: httpx.Response) -> str:
    return re.sub(r'"request_id":"\w+"', "", answer.text)


@pytest.mark.prove
@pytest.mark.timeout(600)
async def test_while_an_account_is_guarded_no_answer_nor_its_time_tells_that_a_password_was_right(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    grace: Person,
    clock: ManualClock,
    letterbox: Letterbox,
) -> None:
    took: dict[bool, list[float]] = {True: [], False: []}
    said: dict[bool, set[str]] = {True: set(), False: set()}
    for number in range(150):
        clock.advance(seconds=3601)
        await guessed(http, new_site, number=20)
        for is_right in random.sample([True, False], 2):
            network = {"x-forwarded-for": f"192.0.{number}.{1 + is_right}"}
            started = time.perf_counter()
            answer = await login(http, new_site, PASSWORD if is_right else "a horse correct", **network)
            took[is_right].append(time.perf_counter() - started)
            said[is_right].add(without_id(answer))
    assert said[True] == said[False]
    assert len(said[True]) == 1
    found = auc(took[True], took[False])
    print(f"\nG12: a right password at a guarded account: AUC {found:.3f} over 150 pairs, bodies equal")
    assert found <= MOST
