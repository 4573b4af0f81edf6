"""Passkeys, with one made of software: adding, signing in, the second step, and everything that must not work."""

import asyncio
import copy
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.authenticator import Authenticator, raw, text
from tests.integration.staff.desk import HERE, OWN_ORIGIN, Desk, at_desk, employ, refusal
from tests.make import ManualClock
from tests.people import Letterbox, Person
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.users.second_step.model import MOST_PASSKEYS, Passkey, PasskeyRefused, TooManyPasskeys
from threadkit.users.sessions import PROOF_MS


@pytest.fixture
async def mona(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await employ(app, http, new_site, "mona")


@pytest.fixture
async def desk(app: Application, new_site: NewSite, mona: Person, clock: ManualClock) -> AsyncIterator[Desk]:
    async with at_desk(app, new_site, "mona", clock) as desk:
        await desk.sign_in()
        yield desk


async def by_passkey(desk: Desk, key: Authenticator, **how: bool) -> httpx.Response:
    """Sign in with a passkey alone."""
    credential = key.get(await desk.said("POST", "sign-in/passkey/options"), **how)
    return await desk.call("POST", "sign-in/passkey", {"credential": credential})


async def as_second_step(desk: Desk, key: Authenticator, **how: bool) -> httpx.Response:
    credential = key.get(await desk.said("POST", "second-step/passkey/options"), **how)
    return await desk.call("POST", "second-step", {"passkey": credential})


async def test_a_passkey_is_added_and_gives_recovery_codes_the_first_time(app: Application, desk: Desk) -> None:
    letterbox = Letterbox(app)
    options = await desk.said("POST", "passkeys/options")
    assert options["rp"]["id"] == "localhost"
    assert options["attestation"] == "none"
    assert options["authenticatorSelection"]["residentKey"] == "preferred"
    assert options["authenticatorSelection"]["userVerification"] == "preferred"
    phone, laptop = Authenticator(OWN_ORIGIN), Authenticator(OWN_ORIGIN)
    added = await desk.said("POST", "passkeys", {"name": "  My  phone ", "credential": phone.create(options)})
    assert added["passkey"]["name"] == "My phone"
    assert len(added["recovery_codes"]) == 10
    desk.clock.advance(seconds=1)
    options = await desk.said("POST", "passkeys/options")
    assert [one["id"] for one in options["excludeCredentials"]] == [text(phone.credential_id)]
    added = await desk.said("POST", "passkeys", {"name": "Laptop", "credential": laptop.create(options)})
    assert added["recovery_codes"] is None
    state = await desk.said("GET", "second-step")
    assert state["is_on"]
    assert [(one["name"], one["last_used"]) for one in state["passkeys"]] == [("My phone", None), ("Laptop", None)]
    assert "passkey was added" in letterbox.mails[0].text
    await desk.token()  # this browser has passed by adding it


async def test_a_passkey_alone_is_the_whole_sign_in(desk: Desk) -> None:
    phone = await desk.add_passkey()
    await desk.said("DELETE", "session")
    arrived = await by_passkey(desk, phone)
    assert arrived.status_code == 200, arrived.text
    assert not arrived.json()["second_step_needed"]
    assert arrived.json()["second_step"] == ["passkey", "recovery"]
    assert "httponly" in arrived.headers["set-cookie"].lower()
    await desk.token()
    assert (await desk.said("GET", "second-step"))["passkeys"][0]["last_used"] is not None


async def test_a_passkey_that_asks_for_nothing_is_a_second_step_and_no_sign_in(desk: Desk) -> None:
    stick = await desk.add_passkey("Stick", key=Authenticator(OWN_ORIGIN, is_verifying=False))
    await desk.said("DELETE", "session")
    assert refusal(await by_passkey(desk, stick)) == (400, "passkey_refused")
    assert (await desk.sign_in())["second_step_needed"]
    passed = await as_second_step(desk, stick)
    assert not passed.json()["second_step_needed"]
    await desk.token()


async def test_a_passkey_confirms(desk: Desk) -> None:
    phone = await desk.add_passkey()
    desk.clock.advance(seconds=PROOF_MS / 1000 + 1)
    assert refusal(await desk.call("POST", "recovery-codes")) == (403, "confirmation_required")
    credential = phone.get(await desk.said("POST", "second-step/passkey/options"))
    await desk.said("POST", "confirm", {"passkey": credential})
    await desk.said("POST", "recovery-codes")


async def test_an_answer_counts_once_and_not_for_long(desk: Desk, redis: Redis) -> None:
    phone = await desk.add_passkey("Phone", key=Authenticator(OWN_ORIGIN, counts=False))
    options = await desk.said("POST", "sign-in/passkey/options")
    credential = phone.get(options)
    assert (await desk.call("POST", "sign-in/passkey", {"credential": credential})).status_code == 200
    again = await desk.call("POST", "sign-in/passkey", {"credential": credential})
    assert refusal(again) == (400, "passkey_refused")
    late = phone.get(await desk.said("POST", "sign-in/passkey/options"))
    (place,) = [key async for key in redis.scan_iter("passkey:challenge:*")]
    assert 0 < await redis.ttl(place) <= 300
    await redis.delete(place)
    assert refusal(await desk.call("POST", "sign-in/passkey", {"credential": late})) == (400, "passkey_refused")


async def test_a_challenge_is_good_for_what_it_was_given_for(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, desk: Desk, clock: ManualClock
) -> None:
    phone = await desk.add_passkey()
    for_sign_in = phone.get(await desk.said("POST", "sign-in/passkey/options"))
    assert refusal(await desk.call("POST", "second-step", {"passkey": for_sign_in})) == (400, "passkey_refused")
    for_second_step = phone.get(await desk.said("POST", "second-step/passkey/options"))
    answer = await desk.call("POST", "sign-in/passkey", {"credential": for_second_step})
    assert refusal(answer) == (400, "passkey_refused")
    await employ(app, http, new_site, "otto")
    async with at_desk(app, new_site, "otto", clock) as other:
        await other.sign_in()
        theirs = await other.add_passkey()
        # Otto's passkey for Mona's challenge, and Mona's for Otto's.
        for mine, key in ((desk, theirs), (other, phone)):
            assert refusal(await as_second_step(mine, key)) == (400, "passkey_refused")
        options = await other.said("POST", "passkeys/options")
        made = Authenticator(OWN_ORIGIN).create(options)
        answer = await desk.call("POST", "passkeys", {"name": "x", "credential": made})
        assert refusal(answer) == (400, "passkey_refused")


async def test_what_was_signed_by_another_key_or_for_another_page_is_refused(desk: Desk) -> None:
    phone = await desk.add_passkey()
    assert refusal(await by_passkey(desk, phone, forged=True)) == (400, "passkey_refused")
    assert refusal(await as_second_step(desk, phone, forged=True)) == (400, "passkey_refused")
    for origin in ("https://localhost:8080", "http://localhost:8081", "http://evil.example"):
        phone.origin = origin
        assert refusal(await by_passkey(desk, phone)) == (400, "passkey_refused")
    phone.origin = OWN_ORIGIN
    phone.rp_id = "evil.example"
    assert refusal(await by_passkey(desk, phone)) == (400, "passkey_refused")


async def test_a_copied_passkey_gives_itself_away(desk: Desk) -> None:
    phone = await desk.add_passkey()
    copied = copy.copy(phone)
    assert (await by_passkey(desk, phone)).status_code == 200
    assert (await by_passkey(desk, phone)).status_code == 200
    assert refusal(await by_passkey(desk, copied)) == (400, "passkey_refused")


async def test_of_many_with_one_count_one_counts(app: Application, desk: Desk, mona: Person) -> None:
    await desk.add_passkey()
    (view,) = (await app.services.factors.of(UserId(mona.id))).passkeys
    use = app.services.passkeys._use
    outcomes = await asyncio.gather(
        *(use(UserId(mona.id), view.id, 7, now="now") for _ in range(50)), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes].count(PasskeyRefused) == 49


@pytest.mark.parametrize(
    "credential",
    [
        {},
        {"id": "x"},
        {"response": None},
        {"response": {"clientDataJSON": 5}},
        {"response": {"clientDataJSON": "!!"}},
        {"response": {"clientDataJSON": text(b"[]")}},
        {"response": {"clientDataJSON": text(b'{"challenge": 7}')}},
        {"response": {"clientDataJSON": text(b'{"challenge": "AAAA"}')}},
        {"response": {"clientDataJSON": text(b"\xff\xfe")}},
    ],
)
async def test_nonsense_is_refused(desk: Desk, credential: dict[str, Any]) -> None:
    for path, body in (
        ("sign-in/passkey", {"credential": credential}),
        ("second-step", {"passkey": credential}),
        ("passkeys", {"name": "x", "credential": credential}),
    ):
        assert refusal(await desk.call("POST", path, body)) == (400, "passkey_refused"), path


@pytest.mark.parametrize("part", ["authenticatorData", "signature", "userHandle"])
@pytest.mark.parametrize("value", [None, "", "AAAA", 7, {}, [], "!!!!"])
async def test_half_an_answer_is_refused(desk: Desk, part: str, value: Any) -> None:
    phone = await desk.add_passkey()
    credential = phone.get(await desk.said("POST", "sign-in/passkey/options"))
    credential["response"][part] = value
    assert refusal(await desk.call("POST", "sign-in/passkey", {"credential": credential})) == (400, "passkey_refused")


@pytest.mark.parametrize("value", [None, "", "AAAA", 7, text(b"\xa0"), text(b"\xbf\xff" * 50)])
async def test_half_a_passkey_is_refused(desk: Desk, value: Any) -> None:
    credential = Authenticator(OWN_ORIGIN).create(await desk.said("POST", "passkeys/options"))
    credential["response"]["attestationObject"] = value
    answer = await desk.call("POST", "passkeys", {"name": "x", "credential": credential})
    assert refusal(answer) == (400, "passkey_refused")
    assert not (await desk.said("GET", "second-step"))["is_on"]


async def test_the_same_passkey_cannot_be_added_twice(desk: Desk) -> None:
    phone = await desk.add_passkey()
    again = phone.create(await desk.said("POST", "passkeys/options"))
    answer = await desk.call("POST", "passkeys", {"name": "x", "credential": again})
    assert refusal(answer) == (409, "passkey_known")


async def test_nobody_has_more_than_ten_even_at_once(app: Application, desk: Desk, mona: Person) -> None:
    await desk.add_passkey()
    claims = app.services.sessions.staff_claims_of(next(iter(desk.http.cookies.values())))
    assert claims is not None
    blank = Passkey(credential_id="x", public_key="x", name="x", sign_count=0, created_at="x")
    add = app.services.passkeys._add
    outcomes = await asyncio.gather(
        *(
            add(UserId(mona.id), claims.session_id, f"id{number}", blank, now_ms=1, recovery=["x"])
            for number in range(50)
        ),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes].count(TooManyPasskeys) == 50 - (MOST_PASSKEYS - 1)
    assert refusal(await desk.call("POST", "passkeys/options")) == (409, "too_many_passkeys")


async def test_a_passkey_is_renamed_and_removed(app: Application, desk: Desk) -> None:
    phone = await desk.add_passkey()
    (view,) = (await desk.said("GET", "second-step"))["passkeys"]
    await desk.said("PATCH", f"passkeys/{view['id']}", {"name": 'Größe "/"'})
    assert (await desk.said("GET", "second-step"))["passkeys"][0]["name"] == 'Größe "/"'
    for name in ("", "  ", "x" * 61, "a\u202eb"):
        answer = await desk.call("PATCH", f"passkeys/{view['id']}", {"name": name})
        assert refusal(answer) == (400, "invalid_passkey_name")
    assert refusal(await desk.call("PATCH", "passkeys/unknown", {"name": "x"})) == (404, "passkey_not_found")
    assert (await by_passkey(desk, phone)).status_code == 200  # a new name changes nothing else
    async with at_desk(app, desk.site, "mona", desk.clock) as other:
        await by_passkey(other, phone)
        assert refusal(await desk.call("DELETE", "passkeys/unknown")) == (404, "passkey_not_found")
        await desk.said("DELETE", f"passkeys/{view['id']}")
        assert (await other.call("GET", "session")).status_code == 401
    assert refusal(await by_passkey(desk, phone)) == (400, "passkey_refused")
    state = await desk.said("GET", "second-step")
    assert (state["is_on"], state["recovery_codes_left"]) == (False, 0)
    assert not (await desk.sign_in())["second_step_needed"]


async def test_with_codes_left_the_second_step_stays(desk: Desk) -> None:
    await desk.set_up_totp()
    await desk.add_passkey()
    (view,) = (await desk.said("GET", "second-step"))["passkeys"]
    await desk.said("DELETE", f"passkeys/{view['id']}")
    assert (await desk.said("GET", "second-step"))["recovery_codes_left"] == 10
    assert (await desk.sign_in())["second_step"] == ["totp", "recovery"]


async def test_whoever_is_on_no_staff_or_banned_stays_outside(
    app: Application, new_site: NewSite, desk: Desk, mona: Person
) -> None:
    phone = await desk.add_passkey()
    await app.services.roles.revoke(new_site.site.id, UserId(mona.id))
    assert refusal(await by_passkey(desk, phone)) == (403, "not_staff")
    user = await app.services.user_queries.by_id(UserId(mona.id))
    assert user is not None
    await app.services.everywhere.ban(user, is_on=True, by=None, reason=None, which="ban")
    assert (await by_passkey(desk, phone)).status_code == 403


async def test_the_user_handle_is_no_address(desk: Desk, mona: Person) -> None:
    options = await desk.said("POST", "passkeys/options")
    assert raw(options["user"]["id"]).hex() == mona.id.replace("-", "")


class TestByNumber:
    """A server that is known by a number and not by a name."""

    @pytest.fixture
    def settings(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
        monkeypatch.setitem(HERE, "origin", "http://192.0.2.7:8080")
        return replace(settings, public_url="http://192.0.2.7:8080")

    async def test_has_no_passkeys_and_says_so(self, desk: Desk) -> None:
        assert not (await desk.said("GET", "ways"))["passkeys"]
        assert not (await desk.said("GET", "second-step"))["passkeys_possible"]
        assert refusal(await desk.call("POST", "passkeys/options")) == (409, "no_passkeys_here")
        assert refusal(await desk.call("POST", "sign-in/passkey/options")) == (409, "no_passkeys_here")
