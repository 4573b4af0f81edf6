"""Profiles, names, blocks, leaving and export: contract 2.6, 4.4, 13; rows S3-01…04; gdpr_tests of 14.1."""

import json

import httpx
import pytest
from redis.asyncio import Redis

from tests.people import Person, create, guest, post
from threadkit.app import Application
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role


async def test_me_and_my_public_profile(http: httpx.AsyncClient, new_site: NewSite, key: dict[str, str]) -> None:
    ada = await create(http, new_site, "Ada Lovelace", "ada@example.org")
    me = (await ada.call("GET", "/v1/users/me")).json()
    assert me == {
        "id": ada.id,
        "name": "Ada Lovelace",
        "email": "ada@example.org",
        "avatar_url": None,
        "email_verified": True,
        "username_set": True,
        "social_links": {},
        "karma": 0,
        "unread_notifications": 0,
    }
    public = (await http.get(f"/v1/users/{ada.id}", headers=key)).json()
    assert public.keys() == {"id", "name", "avatar_url", "karma", "created_at", "total_comments"}
    assert public["created_at"].endswith("Z")
    assert "ada@example.org" not in json.dumps(public)


async def test_the_profile_is_a_hash_with_the_seeds_fields_s3_01(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada", "ada@example.org")
    record = await redis.hgetall(f"user:{ada.id}")
    seeds = {"id", "name", "email", "provider", "email_verified", "phone_verified", "karma"}
    assert record.keys() >= seeds | {"global_banned", "shadow_banned", "created_at"}
    assert record["email_verified"] == "true"
    assert "phone" not in record, "absent is absent"
    assert await redis.get("email:ada@example.org") == ada.id


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "cannot be empty"),
        ("x" * 25, "24 characters or less"),
        ("__anon-x", "cannot start with __anon"),
        ("__ANONYMOUS", "cannot start with __anon"),
        ("with space", "letters, numbers, hyphens and underscores"),
        ("-x", "cannot start"),
        ("x_", "cannot end"),
        ("a--b", "consecutive"),
        ("a-_b", "consecutive"),
        ("аda", "letters, numbers"),
        ("a\u202eda", "letters, numbers"),
        ("a\x00b", ""),
        ("<b>", "letters, numbers"),
    ],
)
async def test_names_follow_the_rules(http: httpx.AsyncClient, new_site: NewSite, name: str, why: str) -> None:
    ada = await create(http, new_site, "ada")
    answer = await ada.call("PUT", "/v1/users/me", {"name": name})
    assert answer.status_code == 400
    assert why in answer.json()["error"]
    question = await post(http, new_site, "/v1/users/check-username", {"username": name})
    if question.status_code == 200:
        assert question.json()["available"] is False
        assert why in question.json()["error"]


async def test_a_name_is_unique_whatever_its_case_and_free_again_when_given_up(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, eve = await create(http, new_site, "Ada"), await create(http, new_site, "eve")
    refused = await eve.call("PUT", "/v1/users/me", {"name": "aDA"})
    assert (refused.status_code, refused.json()["error"]) == (409, "Username already taken")
    assert (await eve.call("POST", "/v1/users/check-username", {"username": "ada"})).json()["available"] is False
    assert (await ada.call("POST", "/v1/users/check-username", {"username": "ada"})).json()["available"] is True
    assert (await ada.call("PUT", "/v1/users/me", {"name": "countess"})).json()["name"] == "countess"
    assert (await eve.call("PUT", "/v1/users/me", {"name": "aDA"})).json()["name"] == "aDA"


async def test_links_and_avatars_must_be_what_they_say(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    good = {
        "social_links": {"github": "https://github.com/ada", "twitter": "@ada"},
        "avatar_url": "https://a.example/a.png",
    }
    answer = (await ada.call("PUT", "/v1/users/me", good)).json()
    assert answer["social_links"] == good["social_links"]
    assert answer["avatar_url"] == good["avatar_url"]
    for bad in (
        {"avatar_url": "javascript:alert(1)"},
        {"avatar_url": "//evil.example/x"},
        {"avatar_url": 'https://a.example/"onerror=x'},
        {"avatar_url": "data:image/svg+xml,<svg>"},
        {"social_links": {"github": "javascript:alert(1)"}},
        {"social_links": {"github": "<script>"}},
    ):
        assert (await ada.call("PUT", "/v1/users/me", bad)).status_code == 400, bad
    assert (await ada.call("PUT", "/v1/users/me", {"avatar_url": ""})).json()["avatar_url"] is None
    replaced = (await ada.call("PUT", "/v1/users/me", {"social_links": {"discord": "ada#1"}})).json()
    assert replaced["social_links"] == {"discord": "ada#1"}


async def test_nobody_sets_what_is_not_theirs_to_set(http: httpx.AsyncClient, new_site: NewSite, redis: Redis) -> None:
    ada = await create(http, new_site, "ada")
    wish = {
        "karma": 999,
        "global_banned": False,
        "email_verified": True,
        "id": "x",
        "provider": "google",
        "role": "owner",
    }
    assert (await ada.call("PUT", "/v1/users/me", wish)).status_code == 200
    record = await redis.hgetall(f"user:{ada.id}")
    assert (record["karma"], record["email_verified"], record["provider"]) == ("0", "false", "email")


async def test_guests_have_names_nobody_else_can_have(http: httpx.AsyncClient, new_site: NewSite) -> None:
    first, second = await guest(http, new_site, "Bob"), await guest(http, new_site, "Bob")
    for person in (first, second):
        prefix, _, rest = person.name.partition("-")
        assert prefix == "__anon"
        assert len(rest.split("-")[0]) == 10
        assert rest.endswith("-bob")
    assert first.name != second.name
    assert (await guest(http, new_site)).name.count("-") == 1
    hostile = await guest(http, new_site, "<script>\u202eevil\x07 NAME" + "x" * 100)
    assert set(hostile.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")


async def test_a_site_that_forbids_guests_refuses_them(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    await app.services.sites.change(new_site.site.id, settings={"auth.anonymous": False})
    assert (await post(http, new_site, "/v1/auth/anonymous", {})).status_code == 403


async def test_avatars_are_drawn_for_everybody(http: httpx.AsyncClient) -> None:
    one, two = await http.get("/avatar/one.svg"), await http.get("/avatar/two.svg")
    assert one.headers["content-type"].startswith("image/svg+xml")
    assert "immutable" in one.headers["cache-control"]
    assert one.text != two.text
    hostile = await http.get("/avatar/%3Cscript%3E.svg")
    assert "<script" not in hostile.text


async def test_blocking_and_unblocking(http: httpx.AsyncClient, new_site: NewSite, redis: Redis) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    assert (await ada.call("POST", f"/v1/users/{eve.id}/block")).status_code == 200
    assert [user["name"] for user in (await ada.call("GET", "/v1/users/me/blocked")).json()["users"]] == ["eve"]
    assert await redis.smembers(f"user:{eve.id}:blocked_by") == {ada.id}
    myself = await ada.call("POST", f"/v1/users/{ada.id}/block")
    assert (myself.status_code, myself.json()["error"]) == (400, "Cannot block yourself")
    nobody = await ada.call("POST", "/v1/users/01a1e1d5-9217-7000-be42-7b27b41a2a52/block")
    assert nobody.status_code == 404
    for _ in range(2):
        assert (await ada.call("DELETE", f"/v1/users/{eve.id}/block")).status_code == 200
    assert (await ada.call("GET", "/v1/users/me/blocked")).json() == {"users": []}


async def test_the_dead_buttons_of_the_stock_clients_work(http: httpx.AsyncClient, new_site: NewSite) -> None:
    """Contract 13: requests that carry only a token, and two odd addresses."""
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    only_token = {"authorization": f"Bearer {ada.token}"}
    assert (await http.post(f"/v1/users/{eve.id}/block", headers=only_token)).status_code == 200
    assert (await http.post(f"/v1/users/{eve.id}/unblock", headers=only_token)).status_code == 200
    odd = await http.post("/v1/v1/users/check-username", json={"username": "ada"})
    assert odd.json() == {"available": False, "error": "Username already taken"}
    foreign = await http.get("/v1/users/me", headers=only_token | {"origin": "https://evil.example"})
    assert foreign.status_code == 403, "the origin is checked without a key, too"
    assert (await http.delete("/v1/users/me", headers=only_token)).status_code == 200
    neither = await http.get("/v1/users/me")
    assert (neither.status_code, neither.json()["error"]) == (401, "Missing projectid header")


async def test_leaving_leaves_no_trace(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    body = {"name": "ada", "email": "ada@example.org", "password": "correct horse battery"}
    ada = Person.of(http, new_site.site.api_key_public, (await post(http, new_site, "/v1/auth/register", body)).json())
    eve = await create(http, new_site, "eve")
    await ada.call("POST", f"/v1/users/{eve.id}/block")
    await eve.call("POST", f"/v1/users/{ada.id}/block")
    await app.services.roles.grant(new_site.site.id, ada.id, Role.MODERATOR)  # type: ignore[arg-type]
    answer = await ada.call("DELETE", "/v1/users/me")
    assert (answer.status_code, answer.json()) == (200, {"comments_deleted": 0, "votes_deleted": 0})
    assert (await ada.call("GET", "/v1/users/me")).status_code == 401
    assert (await http.get(f"/v1/users/{ada.id}", headers={"projectid": ada.key})).status_code == 404
    traces = await everything(redis)
    for trace in (ada.id, "ada@example.org"):
        assert trace not in traces
    assert (await post(http, new_site, "/v1/auth/register", body)).status_code == 200, "name and address are free again"


async def everything(redis: Redis) -> str:
    """Every key and value in the store, as text."""
    parts = []
    async for key in redis.scan_iter():
        match await redis.type(key):
            case "string":
                value: object = await redis.get(key)
            case "hash":
                value = await redis.hgetall(key)
            case "set":
                value = await redis.smembers(key)
            case "zset":
                value = await redis.zrange(key, 0, -1)
            case _:
                value = ""
        parts.append(f"{key!r} {value!r}")
    return "\n".join(parts)


async def test_an_export_has_everything_and_no_secret(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    body = {"name": "ada", "email": "ada@example.org", "password": "correct horse battery"}
    ada = Person.of(http, new_site.site.api_key_public, (await post(http, new_site, "/v1/auth/register", body)).json())
    eve = await create(http, new_site, "eve")
    await ada.call("POST", f"/v1/users/{eve.id}/block")
    await app.services.roles.grant(new_site.site.id, ada.id, Role.ADMIN)  # type: ignore[arg-type]
    answer = await ada.call("GET", "/v1/users/me/export")
    assert "attachment" in answer.headers["content-disposition"]
    export = answer.json()
    assert export["profile"]["email"] == "ada@example.org"
    assert export["roles"] == [{"site_id": new_site.site.id, "role": "admin"}]
    assert export["blocked"] == [eve.id]
    assert export["has_password"] is True
    assert len(export["sessions"]) == 1
    (session_id,) = await redis.smembers(f"user:{ada.id}:sessions")
    assert str(await redis.hget(f"session:{session_id}", "refresh_id")) not in answer.text
    assert "argon2" not in answer.text


async def test_create_user_is_for_the_secret_key_and_knows_its_rules(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    public = await post(http, new_site, "/v1/admin/create-user", {"name": "x"})
    assert (public.status_code, public.json()["error"]) == (403, "Secret API key required")
    await create(http, new_site, "Ada Lovelace", "ada@example.org")
    for body in (
        {"name": "  "},
        {"name": "ada lovelace"},
        {"name": "other", "email": "ADA@example.org"},
        {"name": "other", "email": "nonsense"},
    ):
        answer = await http.post("/v1/admin/create-user", json=body, headers={"projectid": new_site.secret_key})
        assert answer.status_code == 400, body


async def test_a_guest_who_changes_their_name_stays_recognisable_as_a_guest(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    visitor = await guest(http, new_site, "bob")
    prefix = visitor.name[: len("__anon-") + 10]
    for wanted, name in (("ada", f"{prefix}-ada"), ("", prefix), (f"{prefix}-Eve", f"{prefix}-eve")):
        answer = await visitor.call("PUT", "/v1/users/me", {"name": wanted})
        assert (answer.status_code, answer.json()["name"]) == (200, name)
    assert (await http.get(f"/v1/users/{visitor.id}", headers={"projectid": visitor.key})).json()["name"] == name
    await create(http, new_site, "ada")


async def test_a_guest_who_takes_up_another_guests_name_does_not_become_them(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    bob, other = await guest(http, new_site, "bob"), await guest(http, new_site, "eve")
    renamed = await other.call("PUT", "/v1/users/me", {"name": bob.name})
    assert renamed.json()["name"].startswith(other.name[: len("__anon-") + 10])
