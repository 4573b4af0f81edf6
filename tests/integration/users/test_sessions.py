"""Sessions and tokens: contract 2.3 and 2.4, rows S2-02…04, S2-40, S2-41, S3-06, design point 12."""

import asyncio
import base64
import json
from collections.abc import Mapping

import httpx
import pytest
from redis.asyncio import Redis

from tests.make import ManualClock
from tests.people import Person, create, guest, post
from threadkit.app import Application
from threadkit.clock import iso
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.users.sessions import Device

MONTH_S = 30 * 86_400


async def me(person: Person) -> int:
    return (await person.call("GET", "/v1/users/me")).status_code


async def test_a_session_is_a_hash_of_thirty_days_s3_06(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    person = await guest(http, new_site)
    (session_id,) = await redis.smembers(f"user:{person.id}:sessions")
    record = await redis.hgetall(f"session:{session_id}")
    assert record.keys() >= {"user_id", "created_at", "last_used", "user_agent", "ip"}
    assert record["user_id"] == person.id
    assert "127.0.0.1" not in str(record), "addresses are kept as keyed hashes only"
    for key in (f"session:{session_id}", f"user:{person.id}:sessions"):
        assert MONTH_S - 10 <= await redis.ttl(key) <= MONTH_S


async def test_use_is_noted_at_most_once_a_minute_s2_40(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    person = await guest(http, new_site)
    (session_id,) = await redis.smembers(f"user:{person.id}:sessions")
    start = clock.now_ms()
    clock.advance(seconds=30)
    await me(person)
    assert await redis.hget(f"session:{session_id}", "last_used") == iso(start)
    clock.advance(seconds=31)
    await me(person)
    assert await redis.hget(f"session:{session_id}", "last_used") == iso(start + 61_000)


async def test_use_lets_the_thirty_days_begin_anew_s2_02(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    person = await guest(http, new_site)
    (session_id,) = await redis.smembers(f"user:{person.id}:sessions")
    await redis.expire(f"session:{session_id}", MONTH_S - 10 * 86_400)
    clock.advance(seconds=61)
    await me(person)
    assert await redis.ttl(f"session:{session_id}") >= MONTH_S - 10


async def test_a_members_session_ends_some_day_however_often_it_is_used(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    member, visitor = await create(http, new_site, "ada"), await guest(http, new_site)
    user = await app.services.users.existing(UserId(member.id))
    opened = await app.services.sessions.open(user, new_site.site.id, Device("test", "here"))
    tokens = {"member": opened.refresh_token, "guest": visitor.refresh_token}
    said: dict[str, list[str]] = {"member": [], "guest": []}
    for _ in range(19):
        clock.advance(seconds=20 * 86_400)
        for who, token in tokens.items():
            answer = await post(http, new_site, "/v1/auth/refresh", {"refresh_token": token})
            said[who].append(answer.json().get("code", "renewed"))
            tokens[who] = answer.json().get("refresh_token", token)
    assert said["member"] == ["renewed"] * 18 + ["session_ended"]
    assert said["guest"] == ["renewed"] * 19


async def test_the_five_newest_sessions_stay_s2_41(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    first = await create(http, new_site, "ada")
    user = await app.services.users.existing(first.id)  # type: ignore[arg-type]
    people = [first]
    for _ in range(6):
        clock.advance(seconds=1)
        opened = await app.services.sessions.open(user, new_site.site.id, Device("test", "here"))
        people.append(Person(http, first.key, opened.token, first.id, "ada"))
    assert await redis.scard(f"user:{first.id}:sessions") == 5
    assert [await me(person) for person in people] == [401, 401, 200, 200, 200, 200, 200]


async def test_a_hundred_parallel_sign_ins_leave_five_sessions_s2_41(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    person = await create(http, new_site, "ada")
    user = await app.services.users.existing(person.id)  # type: ignore[arg-type]
    await asyncio.gather(*(app.services.sessions.open(user, new_site.site.id, Device("x", "y")) for _ in range(100)))
    members = await redis.smembers(f"user:{person.id}:sessions")
    stored = [key async for key in redis.scan_iter("session:*")]
    assert len(members) == len(stored) == 5


async def test_dead_members_leave_the_set_at_the_next_sign_in_s2_03(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    person = await create(http, new_site, "ada")
    await redis.sadd(f"user:{person.id}:sessions", *(f"dead-{number}" for number in range(100)))
    user = await app.services.users.existing(person.id)  # type: ignore[arg-type]
    await app.services.sessions.open(user, new_site.site.id, Device("x", "y"))
    assert await redis.scard(f"user:{person.id}:sessions") == 2


async def test_logging_out_ends_this_session_only_s2_31(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    body = {"name": "ada", "email": "ada@example.org", "password": "correct horse battery"}
    here = Person.of(http, new_site.site.api_key_public, (await post(http, new_site, "/v1/auth/register", body)).json())
    there = Person.of(http, here.key, (await post(http, new_site, "/v1/auth/login", body)).json())
    assert (await here.call("POST", "/v1/auth/logout")).status_code == 200
    assert (await me(here), await me(there)) == (401, 200)
    dead = await post(http, new_site, "/v1/auth/refresh", {"refresh_token": here.refresh_token})
    assert (dead.status_code, dead.json()["error"]) == (401, "Session expired")
    assert await redis.scard(f"user:{here.id}:sessions") == 1


async def test_devices_are_listed_and_one_can_be_signed_out_s3_06(http: httpx.AsyncClient, new_site: NewSite) -> None:
    body = {"name": "ada", "email": "ada@example.org", "password": "correct horse battery"}
    here = Person.of(http, new_site.site.api_key_public, (await post(http, new_site, "/v1/auth/register", body)).json())
    answer = await post(http, new_site, "/v1/auth/login", body, **{"user-agent": "My phone"})
    there = Person.of(http, here.key, answer.json())
    listed = (await here.call("GET", "/v1/users/me/sessions")).json()["sessions"]
    assert {session["user_agent"] for session in listed} >= {"My phone"}
    assert [session["is_current"] for session in listed].count(True) == 1
    other = next(session for session in listed if not session["is_current"])
    assert (await here.call("DELETE", f"/v1/users/me/sessions/{other['id']}")).json() == {"sessions_ended": 1}
    assert (await me(here), await me(there)) == (200, 401)
    again = await here.call("DELETE", f"/v1/users/me/sessions/{other['id']}")
    assert again.status_code == 404


async def test_signing_out_everywhere_leaves_no_key_s2_04(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    body = {"name": "ada", "email": "ada@example.org", "password": "correct horse battery"}
    people = [
        Person.of(http, new_site.site.api_key_public, (await post(http, new_site, "/v1/auth/register", body)).json())
    ]
    for _ in range(2):
        people.append(Person.of(http, people[0].key, (await post(http, new_site, "/v1/auth/login", body)).json()))
    assert (await people[0].call("DELETE", "/v1/users/me/sessions")).json() == {"sessions_ended": 3}
    assert [await me(person) for person in people] == [401, 401, 401]
    left = [key async for key in redis.scan_iter("sess*")] + [key async for key in redis.scan_iter("*:sessions")]
    assert left == []


async def test_somebody_elses_session_cannot_be_ended(http: httpx.AsyncClient, new_site: NewSite, redis: Redis) -> None:
    ada, eve = await guest(http, new_site, "ada"), await guest(http, new_site, "eve")
    (session_id,) = await redis.smembers(f"user:{ada.id}:sessions")
    answer = await eve.call("DELETE", f"/v1/users/me/sessions/{session_id}")
    assert answer.status_code == 404
    assert await me(ada) == 200


async def test_refreshing_rotates_and_the_old_token_has_thirty_seconds(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    person = await guest(http, new_site)
    first = person.refresh_token
    second = (await post(http, new_site, "/v1/auth/refresh", {"refresh_token": first})).json()
    assert second["refresh_token"] != first
    clock.advance(seconds=29)
    tab = await post(http, new_site, "/v1/auth/refresh", {"refresh_token": first})
    assert tab.status_code == 200
    third = await post(http, new_site, "/v1/auth/refresh", {"refresh_token": tab.json()["refresh_token"]})
    assert third.status_code == 200


async def test_an_old_refresh_token_that_comes_back_ends_the_family(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    person = await guest(http, new_site)
    thief = person.refresh_token
    fresh = (await post(http, new_site, "/v1/auth/refresh", {"refresh_token": thief})).json()
    clock.advance(seconds=31)
    stolen = await post(http, new_site, "/v1/auth/refresh", {"refresh_token": thief})
    assert (stolen.status_code, stolen.json()["error"]) == (401, "Invalid refresh token")
    dead = await post(http, new_site, "/v1/auth/refresh", {"refresh_token": fresh["refresh_token"]})
    assert dead.status_code == 401
    assert await me(Person(http, person.key, fresh["token"], person.id, "")) == 401


async def test_fifty_parallel_refreshes_are_one_live_family(http: httpx.AsyncClient, new_site: NewSite) -> None:
    person = await guest(http, new_site)
    tries = [post(http, new_site, "/v1/auth/refresh", {"refresh_token": person.refresh_token}) for _ in range(50)]
    answers = await asyncio.gather(*tries)
    assert {answer.status_code for answer in answers} == {200}
    ids = {claims(answer.json()["refresh_token"])["jti"] for answer in answers}
    assert len(ids) == 1
    again = await post(http, new_site, "/v1/auth/refresh", {"refresh_token": answers[7].json()["refresh_token"]})
    assert again.status_code == 200


def claims(token: str) -> dict[str, object]:
    body = token.split(".")[1]
    decoded: dict[str, object] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return decoded


def forged(token: str, header: Mapping[str, object], **changes: object) -> str:
    def part(value: Mapping[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(dict(value)).encode()).decode().rstrip("=")

    signature = token.split(".")[2] if header.get("alg") != "none" else ""
    return f"{part(header)}.{part(claims(token) | changes)}.{signature}"


async def test_tokens_that_are_not_exactly_ours_are_nobody(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, eve = await guest(http, new_site, "ada"), await guest(http, new_site, "eve")
    hs256 = {"alg": "HS256", "typ": "JWT"}
    wrong = [
        "",
        "nonsense",
        "a.b.c",
        ada.refresh_token,
        forged(ada.token, {"alg": "none"}),
        forged(ada.token, {"alg": "RS256"}),
        forged(ada.token, {"alg": "HS256", "kid": "../../dev/null"}),
        forged(ada.token, hs256, sub=eve.id),
        forged(ada.token, hs256, exp=claims(ada.token)["exp"]),
        ada.token[:-2],
        ada.token + "x" * 5000,
    ]
    for token in wrong:
        answer = await http.get("/v1/users/me", headers={"projectid": ada.key, "authorization": f"Bearer {token}"})
        assert (answer.status_code, answer.json()["error"]) == (401, "Invalid token"), token
    clock.advance(seconds=168 * 3600 + 59)
    await app.services.store.redis.ping()
    assert await me(ada) == 200, "sixty seconds of leeway"
    clock.advance(seconds=2)
    assert await me(ada) == 401


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        (None, "Missing Authorization header"),
        ("Basic abc", "Invalid Authorization header format"),
        ("bearer abc", "Invalid Authorization header format"),
        ("Bearer abc", "Invalid token"),
    ],
)
async def test_each_trouble_with_a_token_has_its_sentence(
    http: httpx.AsyncClient, new_site: NewSite, header: str | None, sentence: str
) -> None:
    headers = {"projectid": new_site.site.api_key_public} | ({"authorization": header} if header else {})
    answer = await http.get("/v1/users/me", headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (401, sentence)


async def test_a_token_is_good_for_its_own_site_only(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    ada = await guest(http, new_site)
    abroad = await http.get(
        "/v1/users/me", headers={"projectid": other.site.api_key_public, "authorization": f"Bearer {ada.token}"}
    )
    assert (abroad.status_code, abroad.json()["error"]) == (401, "Invalid token")
    refreshed = await http.post(
        "/v1/auth/refresh",
        json={"refresh_token": ada.refresh_token},
        headers={"projectid": other.site.api_key_public},
    )
    assert (refreshed.status_code, refreshed.json()["error"]) == (401, "Invalid refresh token")


async def test_a_globally_banned_user_is_out_on_every_site_s3_41(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    body = {"name": "ada", "email": "ada@example.org", "password": "correct horse battery"}
    ada = Person.of(http, new_site.site.api_key_public, (await post(http, new_site, "/v1/auth/register", body)).json())
    await redis.hset(f"user:{ada.id}", "global_banned", "true")
    refused = await post(http, new_site, "/v1/auth/login", body)
    assert (refused.status_code, refused.json()["error"]) == (403, "Account banned")


async def test_a_global_ban_bites_on_two_sites_at_once_and_lifting_it_heals_s3_41(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    ada = await create(http, new_site, "ada")
    user = await app.services.users.existing(ada.id)  # type: ignore[arg-type]
    opened = await app.services.sessions.open(user, other.site.id, Device("x", "y"))
    abroad = Person(http, other.site.api_key_public, opened.token, ada.id, "ada")
    body = {"page_url": "https://blog.example.org/", "content": "hi"}
    for banned, status in (("false", 200), ("true", 403), ("false", 200)):
        await redis.hset(f"user:{ada.id}", "global_banned", banned)
        assert [(await person.call("POST", "/v1/comments", body)).status_code for person in (ada, abroad)] == [
            status
        ] * 2
