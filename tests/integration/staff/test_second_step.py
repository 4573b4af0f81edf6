"""One-time codes and recovery codes, and what a password alone is good for once somebody has them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.live.ears import LiveServer, serving
from tests.integration.moderation.test_claims import listening
from tests.integration.staff.desk import HERE, PASSWORD, Desk, at_desk, employ, refusal
from tests.make import ManualClock
from tests.people import Letterbox, Person, post
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.sites.roles import Role
from threadkit.users.second_step.model import Passkey
from threadkit.users.second_step.tries import MOST_A_DAY
from threadkit.users.sessions import PROOF_MS


@pytest.fixture
async def new_site(app: Application) -> NewSite:
    """A site whose visitors sign in with passwords."""
    settings = SiteSettings(auth=AuthSettings(anonymous=True, password=True))
    return await app.services.sites.create("Blog", "blog.example.org", settings=settings)


@pytest.fixture
async def mona(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await employ(app, http, new_site, "mona")


@pytest.fixture
async def desk(app: Application, new_site: NewSite, mona: Person, clock: ManualClock) -> AsyncIterator[Desk]:
    async with at_desk(app, new_site, "mona", clock) as desk:
        await desk.sign_in()
        yield desk


async def log_in(http: httpx.AsyncClient, site: NewSite, name: str) -> Person:
    """As a visitor of the site does, or somebody who has stolen a password."""
    answer = await post(http, site, "/v1/auth/login", {"email": f"{name}@example.org", "password": PASSWORD})
    assert answer.status_code == 200, answer.text
    return Person.of(http, site.site.api_key_public, answer.json())


# The rule


async def test_a_stolen_password_opens_nothing_of_the_staffs(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    await employ(app, http, new_site, "olga", Role.OWNER)
    before = await log_in(http, new_site, "olga")
    assert (await before.call("GET", "/v1/moderation/queue")).status_code == 200
    async with at_desk(app, new_site, "olga", clock) as desk:
        await desk.sign_in()
        await desk.set_up_totp()
        token = await desk.token()
    assert (await before.call("GET", "/v1/users/me")).status_code == 401  # whoever was in is out
    thief = await log_in(http, new_site, "olga")
    site = f"/v1/admin/sites/{new_site.site.id}"
    for method, path, body in (
        ("GET", "/v1/moderation/queue", None),
        ("GET", "/v1/moderation/log.csv", None),
        ("GET", "/v1/moderation/events", None),
        ("PATCH", site, {"name": "Mine"}),
        ("POST", f"{site}/keys/secret/rotate", None),
        ("POST", f"{site}/owners", {"user_id": thief.id}),
        ("POST", f"{site}/moderators", {"user_id": thief.id}),
        ("GET", f"{site}/usage", None),
    ):
        assert refusal(await thief.call(method, path, body)) == (403, "second_step_required"), path
    assert (await thief.call("GET", "/v1/users/me")).status_code == 200  # what everybody may do goes on
    # Their cookie gives no token either, and tells nothing of the sites.
    adopted = await http.post("/v1/staff/session", headers=HERE | {"authorization": f"Bearer {thief.token}"})
    assert (adopted.json()["sites"], adopted.json()["is_operator"]) == ([], False)
    assert (adopted.json()["second_step_needed"], adopted.json()["second_step"]) == (True, ["totp", "recovery"])
    bodies: tuple[tuple[str, str, Any], ...] = (
        ("POST", "token", {"site_id": new_site.site.id}),
        ("POST", "confirm", {"password": PASSWORD}),
        ("GET", "second-step", None),
        ("POST", "totp", None),
        ("PUT", "totp", {"totp": "000000"}),
        ("DELETE", "totp", None),
        ("POST", "recovery-codes", None),
        ("POST", "passkeys/options", None),
        ("POST", "passkeys", {"name": "x", "credential": {}}),
        ("DELETE", "passkeys/x", None),
        ("PATCH", "passkeys/x", {"name": "x"}),
    )
    for method, path, sent in bodies:
        answer = await http.request(method, f"/v1/staff/{path}", json=sent, headers=HERE)
        assert refusal(answer) == (403, "second_step_required"), path
    olga = Person(http, new_site.site.api_key_public, token, thief.id, "olga")
    assert (await olga.call("GET", "/v1/moderation/queue")).status_code == 200


async def test_a_stolen_password_takes_the_account_away_from_nobody(
    http: httpx.AsyncClient, new_site: NewSite, desk: Desk, mona: Person
) -> None:
    await desk.set_up_totp()
    thief = await log_in(http, new_site, "mona")
    for method, path, body in (
        ("PUT", "/v1/users/me/password", {"old_password": PASSWORD, "new_password": "taken over by me"}),
        ("GET", "/v1/users/me/export", None),
        ("DELETE", "/v1/users/me/sessions", None),
        ("DELETE", "/v1/users/me/sessions/x", None),
        ("DELETE", "/v1/users/me", None),
    ):
        assert refusal(await thief.call(method, path, body)) == (403, "second_step_required"), path
    mona = Person(http, new_site.site.api_key_public, await desk.token(), mona.id, "mona")
    changed = {"old_password": PASSWORD, "new_password": "quite another one"}
    assert (await mona.call("PUT", "/v1/users/me/password", changed)).status_code < 300
    assert (await mona.call("DELETE", "/v1/users/me")).status_code == 200


async def test_a_visitor_without_a_role_gets_the_refusal_they_always_got(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, desk: Desk, mona: Person
) -> None:
    await desk.set_up_totp()
    await app.services.roles.revoke(new_site.site.id, UserId(mona.id))
    mona = await log_in(http, new_site, "mona")
    assert refusal(await mona.call("GET", "/v1/moderation/queue")) == (403, "moderator_required")


@pytest.fixture
async def live(app: Application) -> AsyncIterator[LiveServer]:
    async with serving(app) as server:
        yield server


async def test_a_stream_that_was_open_before_the_second_step_ends(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, desk: Desk, live: LiveServer
) -> None:
    before = await log_in(http, new_site, "mona")
    async with listening(live, before) as ear:
        await desk.set_up_totp()
        async with asyncio.timeout(5):
            while await ear.hear() is not None:
                pass
    own = Person(http, new_site.site.api_key_public, await desk.token(), before.id, "mona")
    async with listening(live, own):
        pass


# One-time codes


async def test_a_sign_in_ends_with_a_code(desk: Desk) -> None:
    await desk.set_up_totp()
    await desk.said("DELETE", "session")
    arrived = await desk.sign_in()
    assert arrived["second_step_needed"]
    assert refusal(await desk.call("POST", "token", {"site_id": desk.site.site.id})) == (403, "second_step_required")
    code = desk.code()
    passed = await desk.said("POST", "second-step", {"totp": f" {code[:3]} {code[3:]} "})
    assert not passed["second_step_needed"]
    assert [site["name"] for site in passed["sites"]] == ["Blog"]
    await desk.token()


@pytest.mark.parametrize("steps", [-3, -2, 2, 3])
async def test_a_code_from_another_time_does_not_count(desk: Desk, steps: int) -> None:
    await desk.set_up_totp()
    await desk.sign_in()
    answer = await desk.call("POST", "second-step", {"totp": desk.code(steps=steps)})
    assert refusal(answer) == (400, "wrong_second_step")


async def test_a_code_counts_once_and_no_earlier_one_after_it(desk: Desk, app: Application) -> None:
    await desk.set_up_totp()
    first = desk.code()
    desk.next_step()
    second = desk.code()
    await desk.sign_in()
    await desk.said("POST", "second-step", {"totp": second})
    await desk.sign_in()
    for used in (second, first):
        assert refusal(await desk.call("POST", "second-step", {"totp": used})) == (400, "second_step_used")
    desk.next_step()
    await desk.said("POST", "second-step", {"totp": desk.code()})


async def test_the_code_that_switched_it_on_is_used_up(desk: Desk) -> None:
    desk.secret = (await desk.said("POST", "totp"))["secret"]
    await desk.said("PUT", "totp", {"totp": desk.code()})
    await desk.sign_in()
    assert refusal(await desk.call("POST", "second-step", {"totp": desk.code()})) == (400, "second_step_used")


async def test_of_many_with_the_same_code_one_passes(app: Application, desk: Desk, mona: Person) -> None:
    await desk.set_up_totp()
    secret = (await app.services.factors.totp(UserId(mona.id))).secret  # type: ignore[union-attr]
    step = app.services.clock.now_ms() // 30_000
    use = app.services.second_step._use_step
    outcomes = await asyncio.gather(*(use(UserId(mona.id), secret, step) for _ in range(50)), return_exceptions=True)
    assert [outcome for outcome in outcomes if not isinstance(outcome, Exception)] == [None]


async def test_a_hundred_guesses_at_once_are_twenty(desk: Desk) -> None:
    await desk.set_up_totp()
    await desk.sign_in()
    right = int(desk.code())
    wrong = [f"{(right + 7 + number) % 1_000_000:06d}" for number in range(100)]
    answers = await asyncio.gather(*(desk.call("POST", "second-step", {"totp": guess}) for guess in wrong))
    statuses = [answer.status_code for answer in answers]
    assert statuses.count(400) == 20
    assert statuses.count(429) == 80
    # The right one has to wait too, and so have recovery codes.
    assert (await desk.call("POST", "second-step", {"totp": desk.code()})).status_code == 429
    assert (await desk.call("POST", "second-step", {"recovery_code": "abcde-fghjk"})).status_code == 429
    desk.clock.advance(seconds=3601)
    await desk.said("POST", "second-step", {"totp": desk.code()})


async def test_nobody_guesses_all_day(desk: Desk) -> None:
    await desk.set_up_totp()
    await desk.sign_in()
    evaluated = 0
    for _ in range(5):
        answers = [await desk.call("POST", "second-step", {"totp": "x"}) for _ in range(21)]
        evaluated += [answer.status_code for answer in answers].count(400)
        desk.clock.advance(seconds=3601)
    assert evaluated == MOST_A_DAY


async def test_right_codes_are_not_counted(desk: Desk) -> None:
    await desk.set_up_totp()
    for _ in range(25):
        desk.next_step()
        await desk.said("POST", "second-step", {"totp": desk.code()})


async def test_a_wrong_first_code_switches_nothing_on(desk: Desk) -> None:
    desk.secret = (await desk.said("POST", "totp"))["secret"]
    assert refusal(await desk.call("PUT", "totp", {"totp": desk.code(steps=5)})) == (400, "wrong_second_step")
    assert not (await desk.said("GET", "second-step"))["is_on"]
    assert not (await desk.sign_in())["second_step_needed"]


async def test_without_a_draft_there_is_nothing_to_switch_on(desk: Desk) -> None:
    assert refusal(await desk.call("PUT", "totp", {"totp": "123456"})) == (409, "totp_draft_gone")


async def test_a_second_secret_replaces_the_first_when_its_code_has_come(desk: Desk) -> None:
    await desk.set_up_totp()
    old = desk.secret
    new = (await desk.said("POST", "totp"))["secret"]
    await desk.said("POST", "second-step", {"totp": desk.code()})  # the old one still works
    desk.secret = new
    desk.next_step()
    assert (await desk.said("PUT", "totp", {"totp": desk.code()}))["recovery_codes"] is None
    desk.next_step()
    desk.secret = old
    assert refusal(await desk.call("POST", "second-step", {"totp": desk.code()})) == (400, "wrong_second_step")
    desk.secret = new
    await desk.said("POST", "second-step", {"totp": desk.code()})


async def test_secrets_are_unreadable_in_the_store(desk: Desk, redis: Redis, mona: Person) -> None:
    codes = await desk.set_up_totp()
    assert codes is not None
    stored = str(await redis.hgetall(f"user:{mona.id}:totp"))
    assert desk.secret not in stored
    digests = await redis.smembers(f"user:{mona.id}:recovery")
    assert len(digests) == 10
    assert not digests & set(codes)


async def test_whatever_happens_at_once_the_second_step_is_on_while_there_is_something_to_pass_it_with(
    app: Application, desk: Desk, mona: Person, redis: Redis
) -> None:
    claims = app.services.sessions.staff_claims_of(next(iter(desk.http.cookies.values())))
    assert claims is not None
    user_id, session_id = UserId(mona.id), claims.session_id
    keep, drop = app.services.second_step._keep_totp, app.services.second_step._drop
    add, renew = app.services.passkeys._add, app.services.second_step._renew
    blank = Passkey(credential_id="x", public_key="x", name="x", sign_count=0, created_at="x")

    async def set_up(number: int) -> None:
        await redis.set(f"user:{mona.id}:totp:draft", f"secret{number}", ex=60)
        await keep(user_id, session_id, f"secret{number}", 1, now="x", now_ms=1, recovery=["x"])

    for most in range(4):
        await asyncio.gather(
            *(set_up(number) for number in range(10)),
            *(drop(user_id, "totp") for _ in range(10)),
            *(add(user_id, session_id, str(number), blank, now_ms=1, recovery=["x"]) for number in range(most)),
            *(drop(user_id, "passkey", str(number)) for number in range(10)),
            *(renew(user_id, ["y"]) for _ in range(10)),
            return_exceptions=True,
        )
        factors = await app.services.factors.of(user_id)
        is_on = await redis.hget(f"user:{mona.id}", "has_second_step") == "true"
        assert is_on == bool(factors.totp_since or factors.passkeys)
        assert is_on == (factors.recovery_codes_left > 0)


async def test_a_secret_is_kept_once(desk: Desk) -> None:
    desk.secret = (await desk.said("POST", "totp"))["secret"]
    answers = await asyncio.gather(*(desk.call("PUT", "totp", {"totp": desk.code()}) for _ in range(10)))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 9


# Recovery codes


async def test_a_recovery_code_opens_once_however_it_is_typed(app: Application, desk: Desk) -> None:
    codes = await desk.set_up_totp()
    assert codes is not None
    assert len(set(codes)) == 10
    letterbox = Letterbox(app)
    await desk.sign_in()
    typed = codes[3].upper().replace("-", " ")
    assert not (await desk.said("POST", "second-step", {"recovery_code": typed}))["second_step_needed"]
    assert "recovery code was used" in letterbox.mails[-1].text
    assert (await desk.said("GET", "second-step"))["recovery_codes_left"] == 9
    await desk.sign_in()
    again = await desk.call("POST", "second-step", {"recovery_code": codes[3]})
    assert refusal(again) == (400, "wrong_second_step")


async def test_of_many_with_the_same_recovery_code_one_passes(desk: Desk) -> None:
    codes = await desk.set_up_totp()
    assert codes is not None
    await desk.sign_in()
    body = {"recovery_code": codes[0]}
    answers = await asyncio.gather(*(desk.call("POST", "second-step", body) for _ in range(10)))
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 9


async def test_new_recovery_codes_end_the_old_ones(desk: Desk) -> None:
    old = await desk.set_up_totp()
    assert old is not None
    new = (await desk.said("POST", "recovery-codes"))["recovery_codes"]
    await desk.sign_in()
    assert (await desk.call("POST", "second-step", {"recovery_code": old[0]})).status_code == 400
    await desk.said("POST", "second-step", {"recovery_code": new[0]})


async def test_recovery_codes_need_something_to_recover(desk: Desk) -> None:
    assert refusal(await desk.call("POST", "recovery-codes")) == (409, "no_second_step")


async def test_nobody_elses_recovery_codes_help(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, desk: Desk, clock: ManualClock
) -> None:
    await desk.set_up_totp()
    await employ(app, http, new_site, "otto")
    async with at_desk(app, new_site, "otto", clock) as other:
        await other.sign_in()
        theirs = await other.set_up_totp()
        assert theirs is not None
        await desk.sign_in()
        assert (await desk.call("POST", "second-step", {"recovery_code": theirs[0]})).status_code == 400
        assert (await desk.call("POST", "second-step", {"totp": other.code()})).status_code == 400


# Proof, removal, leaving


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "totp", None),
        ("PUT", "totp", {"totp": "123456"}),
        ("DELETE", "totp", None),
        ("POST", "recovery-codes", None),
        ("POST", "passkeys/options", None),
        ("POST", "passkeys", {"name": "x", "credential": {}}),
        ("DELETE", "passkeys/x", None),
    ],
)
async def test_whoever_finds_an_open_page_changes_nothing(desk: Desk, method: str, path: str, body: object) -> None:
    desk.clock.advance(seconds=PROOF_MS / 1000 + 1)
    assert refusal(await desk.call(method, path, body)) == (403, "confirmation_required")


async def test_a_code_confirms_too(desk: Desk) -> None:
    codes = await desk.set_up_totp()
    assert codes is not None
    desk.clock.advance(seconds=PROOF_MS / 1000 + 1)
    assert refusal(await desk.call("POST", "confirm", {"totp": "000"})) == (400, "wrong_second_step")
    assert refusal(await desk.call("POST", "confirm", {})) == (422, "wrong_shape")
    assert (await desk.call("DELETE", "totp")).status_code == 403
    await desk.said("POST", "confirm", {"totp": desk.code()})
    await desk.said("POST", "recovery-codes")


async def test_without_its_codes_an_account_is_as_before(app: Application, desk: Desk, redis: Redis) -> None:
    letterbox = Letterbox(app)
    await desk.set_up_totp()
    async with at_desk(app, desk.site, "mona", desk.clock) as other:
        await other.sign_in()
        await other.said("POST", "second-step", {"totp": desk.code()})
        await desk.said("DELETE", "totp")
        assert (await other.call("GET", "session")).status_code == 401
    assert [mail.text.partition("\n")[0] for mail in letterbox.mails] == [
        "One-time codes were set up as the second step of your account.",
        "The one-time codes were taken away from the second step of your account.",
    ]
    assert not (await desk.sign_in())["second_step_needed"]
    assert (await desk.said("GET", "second-step"))["recovery_codes_left"] == 0
    assert refusal(await desk.call("DELETE", "totp")) == (404, "no_totp")
    assert [key async for key in redis.scan_iter("user:*:totp*")] == []


async def test_nobody_fills_a_mailbox_with_changes(app: Application, desk: Desk) -> None:
    await desk.set_up_totp()
    letterbox = Letterbox(app)
    for _ in range(15):
        await desk.said("POST", "recovery-codes")
    assert len(letterbox.mails) == 9


async def test_somebody_banned_everywhere_does_not_get_in_with_a_code(
    app: Application, desk: Desk, mona: Person
) -> None:
    await desk.set_up_totp()
    await desk.sign_in()
    user = await app.services.user_queries.by_id(UserId(mona.id))
    assert user is not None
    await app.services.everywhere.ban(user, is_on=True, by=None, reason=None, which="ban")
    assert (await desk.call("POST", "second-step", {"totp": desk.code()})).status_code == 401


async def test_an_ended_session_does_not_pass(app: Application, desk: Desk, mona: Person) -> None:
    await desk.set_up_totp()
    await desk.sign_in()
    await app.services.sessions.end_all(UserId(mona.id))
    assert (await desk.call("POST", "second-step", {"totp": desk.code()})).status_code == 401


async def test_the_operator_helps_who_has_lost_everything(app: Application, desk: Desk, mona: Person) -> None:
    letterbox = Letterbox(app)
    await desk.set_up_totp()
    user = await app.services.user_queries.by_id(UserId(mona.id))
    assert user is not None
    assert await app.services.second_step.reset(user)
    assert "Whoever runs the server" in letterbox.mails[-1].text
    assert (await desk.call("GET", "session")).status_code == 401
    assert not (await desk.sign_in())["second_step_needed"]
    assert not await app.services.second_step.reset(user)


async def test_an_export_tells_of_the_second_step_and_leaving_takes_it_away(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, desk: Desk, mona: Person, redis: Redis
) -> None:
    await desk.set_up_totp()
    await desk.add_passkey("Phone")
    await desk.said("POST", "totp")  # and a draft
    own = Person(http, new_site.site.api_key_public, await desk.token(), mona.id, "mona")
    export = (await own.call("GET", "/v1/users/me/export")).json()
    assert export["second_step"]["recovery_codes_left"] == 10
    assert [passkey["name"] for passkey in export["second_step"]["passkeys"]] == ["Phone"]
    assert desk.secret not in str(export)
    assert (await own.call("DELETE", "/v1/users/me")).status_code == 200
    assert [key async for key in redis.scan_iter(f"user:{mona.id}*")] == []


# Where a site asks it of its staff


async def test_a_site_can_ask_a_second_step_of_its_staff(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, mona: Person, desk: Desk
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    await app.services.roles.grant(other.site.id, UserId(mona.id), Role.MODERATOR)
    at_other = Person(http, other.site.api_key_public, "", mona.id, "mona")
    at_other.token = str((await desk.said("POST", "token", {"site_id": other.site.id}))["token"])
    here = Person(http, mona.key, await desk.token(), mona.id, "mona")
    assert (await here.call("GET", "/v1/moderation/queue")).status_code == 200
    owner = {"projectid": new_site.secret_key}
    change = {"settings": {"staff_second_step": True}}
    changed = await http.patch(f"/v1/admin/sites/{new_site.site.id}", json=change, headers=owner)
    assert changed.status_code == 200, changed.text
    refused = await here.call("GET", "/v1/moderation/queue")
    assert (refused.status_code, refused.json()["code"]) == (403, "second_step_demanded")
    assert (await at_other.call("GET", "/v1/moderation/queue")).status_code == 200, "elsewhere it is not asked for"
    assert (await here.call("GET", "/v1/users/me")).status_code == 200, "a visitor they stay"
    await desk.set_up_totp()
    assert (await here.call("GET", "/v1/moderation/queue")).status_code == 200
    stolen = await log_in(http, new_site, "mona")
    assert (await stolen.call("GET", "/v1/moderation/queue")).json()["code"] == "second_step_required"


async def test_an_owner_who_asks_it_of_all_is_not_locked_out(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    await employ(app, http, new_site, "olga", Role.OWNER)
    async with at_desk(app, new_site, "olga", clock) as desk:
        await desk.sign_in()
        olga = Person(http, new_site.site.api_key_public, await desk.token(), "", "olga")
        path = f"/v1/admin/sites/{new_site.site.id}"
        assert (await olga.call("PATCH", path, {"settings": {"staff_second_step": True}})).status_code == 200
        assert (await olga.call("PATCH", path, {"name": "x"})).json()["code"] == "second_step_demanded"
        await desk.set_up_totp()
        assert (await olga.call("PATCH", path, {"name": "x"})).status_code == 200
