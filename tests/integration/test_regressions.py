"""Faults that were found by attacking the server; each would come back without its fix."""

import asyncio
import time

import httpx
import msgspec
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import URL, outline, read, write
from tests.people import Letterbox, create, post
from threadkit.app import Application, create_app
from threadkit.errors import InvalidJson
from threadkit.http.request import strict_json
from threadkit.ids import UserId, new_uuid
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role
from threadkit.storage.bundled import BundledStore


def test_a_string_that_never_ends_is_refused_at_once() -> None:
    started = time.perf_counter()
    with pytest.raises(InvalidJson):
        strict_json(b'"' + b'\\"' * 32_000)
    assert time.perf_counter() - started < 1


async def test_two_strangers_with_one_idempotency_key_stay_strangers(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    def ask(name: str, content: str, client: str) -> dict[str, object]:
        return {
            "json": {"page_url": URL, "content": content, "author_name": name},
            "headers": {
                "projectid": new_site.site.api_key_public,
                "idempotency-key": "1",
                "x-forwarded-for": client,
            },
        }

    ann = await http.post("/v1/comments", **ask("Ann", "ann's words", "203.0.113.1"))  # type: ignore[arg-type]
    eve = await http.post("/v1/comments", **ask("Eve", "eve's words", "203.0.113.2"))  # type: ignore[arg-type]
    same = await http.post("/v1/comments", **ask("Ann", "ann's words", "203.0.113.2"))  # type: ignore[arg-type]
    again = await http.post("/v1/comments", **ask("Ann", "ann's words", "203.0.113.1"))  # type: ignore[arg-type]
    assert eve.json()["comment"]["t"] == "eve's words"
    assert again.json()["comment"]["i"] == ann.json()["comment"]["i"]
    assert same.json()["comment"]["i"] != ann.json()["comment"]["i"]


async def test_an_idempotency_key_may_be_a_uuid_and_not_a_sentence(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    headers = {"projectid": ada.key, "authorization": f"Bearer {ada.token}"}
    body = {"page_url": URL, "content": "once"}
    key = {"idempotency-key": "0197b7a2-6f1c-7c3e-8a41-2d9f6c1e5b70"}
    ids = {(await http.post("/v1/comments", json=body, headers=headers | key)).json()["comment"]["i"] for _ in range(2)}
    assert len(ids) == 1
    wrong = await http.post("/v1/comments", json=body, headers=headers | {"idempotency-key": "two words"})
    assert wrong.status_code == 400


async def test_a_page_over_its_limit_keeps_the_threads_of_what_it_shows(
    redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring
) -> None:
    app = create_app(msgspec.structs.replace(settings, tree_limit=3), bundled.address, keyring)
    async with app.lifespan():
        site = await app.services.sites.create("Blog", "blog.example.org")
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://t") as http:
            ada = await create(http, site, "ada")
            root = await write(ada, "root")
            for name in "abc":
                await write(ada, name, under=[str(root["i"])])
            assert outline(await read(http, site)) == [("root", ["a", "b", "c"])]


@pytest.mark.parametrize("name", ["abc\n", "\nabc", "abc\r", "abc\x0b"])
async def test_a_name_never_ends_in_a_line(http: httpx.AsyncClient, new_site: NewSite, name: str) -> None:
    ada = await create(http, new_site, "ada")
    assert (await ada.call("PUT", "/v1/users/me", {"name": name})).status_code == 400
    blank = {"page_url": URL, "content": "hi", "author_name": "\u202e\u200b"}
    assert (await post(http, new_site, "/v1/comments", blank)).status_code == 400


async def test_somebody_shadowed_cannot_tell(http: httpx.AsyncClient, new_site: NewSite, redis: Redis) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    public = await write(ada, "public")
    await redis.sadd(f"site:{new_site.site.id}:shadowbanned", eve.id)
    mine = await write(eve, "mine")
    assert (await eve.call("POST", f"/v1/comments/{mine['i']}/vote", {"direction": "up"})).status_code == 200
    await write(eve, "answer to myself", under=[str(mine["i"])])
    down = (await eve.call("POST", f"/v1/comments/{public['i']}/vote", {"direction": "down"})).json()
    assert (down["upvotes"], down["downvotes"], down["user_vote"]) == (0, 1, "down")
    assert (await read(http, new_site))["tree"]["c"][0]["d"] == 0, "and nobody else sees it"
    export = (await eve.call("GET", "/v1/users/me/export")).text
    assert "shadow" not in export
    others = await http.get(f"/v1/users/{eve.id}/comments?limit=0", headers={"projectid": ada.key})
    assert others.json() == {"comments": [], "has_more": False}


async def test_an_edit_gets_round_neither_lock_nor_approval(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    comment = await write(ada, "harmless @ada")
    page = (await read(http, new_site))["page_id"]
    await redis.hset(f"page:{page}", "locked", "true")
    locked = await ada.call("PUT", f"/v1/comments/{comment['i']}", {"content": "spam"})
    assert (locked.status_code, locked.json()["error"]) == (403, "Posting is disabled on this page")
    await redis.hset(f"page:{page}", "locked", "false")
    assert (await ada.call("PUT", f"/v1/comments/{comment['i']}", {"content": "fine"})).status_code == 200
    assert await redis.hget(f"comment:{comment['i']}", "mentions") is None
    await app.services.sites.change(new_site.site.id, settings={"moderation_mode": "pre"})
    approved = await ada.call("PUT", f"/v1/comments/{comment['i']}", {"content": "spam"})
    assert (approved.status_code, approved.json()["code"]) == (409, "approved_already")


async def test_a_sign_in_under_way_does_not_survive_the_end_of_all_sessions(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    from threadkit.users.sessions import Device, UserGone

    ada = await create(http, new_site, "ada")
    user = await app.services.users.existing(ada.id)  # type: ignore[arg-type]
    await app.services.sessions.end_all(user.id)
    with pytest.raises(UserGone):
        await app.services.sessions.open(user, new_site.site.id, Device("late", "late"))


async def test_parallel_renames_leave_one_name(http: httpx.AsyncClient, new_site: NewSite, redis: Redis) -> None:
    ada = await create(http, new_site, "ada")
    renames = [ada.call("PUT", "/v1/users/me", {"name": f"ada{number}"}) for number in range(20)]
    statuses = {answer.status_code for answer in await asyncio.gather(*renames)}
    assert statuses <= {200, 409}
    name = str(await redis.hget(f"user:{ada.id}", "name"))
    held = [key async for key in redis.scan_iter("username:*")]
    assert held == [f"username:{name}"]


async def test_nobody_learns_from_reset_who_has_an_account(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    letterbox = Letterbox(app)
    await app.services.sites.change(new_site.site.id, settings={"auth.password": True})
    await create(http, new_site, "ada", "ada@example.org")
    answers = []
    for email in ("ada@example.org", "nobody@example.org"):
        await post(http, new_site, "/v1/auth/forgot", {"email": email})
        body = {"email": email, "code": "000000", "new_password": "correct horse battery"}
        reset = await post(http, new_site, "/v1/auth/reset", body)
        answers.append((reset.status_code, reset.json()["code"]))
    assert answers[0] == answers[1]
    assert len(letterbox.mails) == 1


async def test_an_outbox_entry_nobody_understands_stops_nothing(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    outbox = f"site:{new_site.site.id}:outbox"
    for event in ('{"type":"newer_kind"}', "not json", '{"user_id":"x"}'):
        await redis.xadd(outbox, {"event": event})
    ada = await create(http, new_site, "ada")
    await write(ada, "hi")
    for _ in range(500):
        await app.services.outbox.drain()
        if await redis.hget(f"user:{ada.id}", "total_comments") == "1":
            break
        await asyncio.sleep(0.01)
    assert await redis.hget(f"user:{ada.id}", "total_comments") == "1"
    assert await redis.xlen(f"{outbox}:dead") == 3


async def test_what_nobody_sees_leaves_nothing_on_the_page(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    await write(ada, "first")
    await redis.sadd(f"site:{new_site.site.id}:shadowbanned", eve.id)
    page = (await read(http, new_site))["page_id"]
    before = await redis.hgetall(f"page:{page}")
    body = {"page_url": URL + "#x", "content": "hi", "title": "PWNED"}
    assert (await eve.call("POST", "/v1/comments", body)).status_code == 200
    assert await redis.hgetall(f"page:{page}") == before
    profile = await http.get(f"/v1/users/{eve.id}", headers={"projectid": ada.key})
    assert profile.json()["total_comments"] == 0


async def test_an_address_that_is_no_web_address_is_never_handed_out_as_a_link(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "hi", url="javascript:alert(1)")
    await write(ada, "hi", url=URL)
    listed = (await ada.call("GET", "/v1/users/me/comments")).json()["comments"]
    assert [item["page_url"] for item in listed] == [URL, ""]


@pytest.mark.parametrize(("method", "rest"), [("PUT", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/appeal")])
async def test_a_refusal_does_not_tell_that_a_hidden_comment_is_there(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, method: str, rest: str
) -> None:
    ada, eve, mo = [await create(http, new_site, name) for name in ("ada", "eve", "mo")]
    await app.services.roles.grant(new_site.site.id, UserId(mo.id), Role.MODERATOR)
    shown, hidden = [str((await write(ada, text))["i"]) for text in ("shown", "hidden")]
    await mo.call("POST", f"/v1/moderation/reject/{hidden}", {})
    body = {"content": "mine", "text": "mine"} if method != "DELETE" else None
    answers = {
        name: await eve.call(method, f"/v1/comments/{comment_id}{rest}", body)
        for name, comment_id in {"shown": shown, "hidden": hidden, "missing": new_uuid()}.items()
    }
    assert {name: answer.status_code for name, answer in answers.items()} == {
        "shown": 403,
        "hidden": 404,
        "missing": 404,
    }
    assert answers["hidden"].json()["code"] == answers["missing"].json()["code"]
    if method != "DELETE":
        assert (await mo.call(method, f"/v1/comments/{hidden}{rest}", body)).status_code == 403


async def test_of_a_deleted_comment_without_replies_there_are_none_to_ask_for(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await create(http, new_site, "ada")
    root = str((await write(ada, "root"))["i"])
    reply = str((await write(ada, "reply", under=[root]))["i"])
    for comment_id, statuses in {root: [200, 200], reply: [404, 404]}.items():
        await ada.call("DELETE", f"/v1/comments/{comment_id}")
        found = [(await ada.call("GET", f"/v1/comments/{one}/replies")).status_code for one in (root, reply)]
        assert found == statuses


async def test_authors_find_what_waits_by_its_id_also_as_the_first_on_its_page(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    await write(eve, "shown")
    await app.services.sites.change(new_site.site.id, settings={"moderation_mode": "pre"})
    for url, others in {URL: ["shown"], "https://blog.example.org/new": []}.items():
        waiting = (await write(ada, "waiting", url=url))["i"]
        answer = await ada.call("GET", f"/v1/comments?around={waiting}")
        assert answer.status_code == 200, answer.text
        assert [one["t"] for one in answer.json()["tree"]["c"]] == ["waiting", *others]
        assert (await eve.call("GET", f"/v1/comments?around={waiting}")).status_code == 404
