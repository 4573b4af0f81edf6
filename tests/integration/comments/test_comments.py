"""Posting, editing, deleting, reading: contract 4.3 and 5, rows S3-10…18, comment_tests of 14.1."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.make import ManualClock
from tests.people import Person, create, post
from threadkit.app import Application
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

URL = "https://blog.example.org/post"


async def write(
    person: Person, content: str, *, under: list[str] | None = None, url: str = URL, title: str | None = None
) -> dict[str, Any]:
    draft = {"page_url": url, "content": content, "parent_path": under, "title": title}
    answer = await person.call("POST", "/v1/comments", draft)
    assert answer.status_code == 200, answer.text
    comment: dict[str, Any] = answer.json()["comment"]
    return comment


async def read(
    http: httpx.AsyncClient, site: NewSite, *, sort: str = "old", person: Person | None = None
) -> dict[str, Any]:
    headers = {"projectid": site.site.api_key_public}
    if person:
        headers["authorization"] = f"Bearer {person.token}"
    answer = await http.get("/v1/comments", params={"page_url": URL, "sort": sort}, headers=headers)
    assert answer.status_code == 200, answer.text
    thread: dict[str, Any] = answer.json()
    return thread


def outline(thread: dict[str, Any]) -> list[Any]:
    """A tree as nested texts."""

    def shape(node: dict[str, Any]) -> Any:
        replies = node.get("r", [])
        return (node["t"], [shape(reply) for reply in replies]) if replies else node["t"]

    return [shape(node) for node in thread["tree"]["c"]]


async def test_a_comment_comes_back_as_the_contract_says_s3_10(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada = await create(http, new_site, "Ada Lovelace")
    comment = await write(ada, "**hi** <b>there</b>")
    seconds = clock.now_ms() // 1000
    assert comment == {
        "i": comment["i"],
        "a": ada.id,
        "n": "Ada Lovelace",
        "p": None,
        "k": 0,
        "t": "**hi** <b>there</b>",
        "h": comment["h"],
        "u": 0,
        "d": 0,
        "x": seconds,
        "m": seconds,
    }
    assert "<strong>hi</strong>" in str(comment["h"])
    assert "<b>" not in str(comment["h"])
    thread = await read(http, new_site)
    assert thread["total"] == 1
    assert thread["tree"] == {"c": [comment], "u": seconds}


async def test_replies_hang_on_their_parents_s3_16_s3_17(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    root = await write(ada, "root")
    reply = await write(ada, "reply", under=[str(root["i"])])
    await write(ada, "deeper", under=[str(root["i"]), str(reply["i"])])
    await write(ada, "second")
    thread = await read(http, new_site)
    assert outline(thread) == [("root", [("reply", ["deeper"])]), "second"]
    assert thread["total"] == 4
    assert reply["q"] == root["i"]
    assert await redis.hget(f"comment:{root['i']}", "reply_count") == "1"
    assert await redis.zcard(f"comment:{root['i']}:replies") == 1
    assert await redis.hget(f"comment:{reply['i']}", "depth") == "1"


async def test_the_indexes_hold_what_is_shown_s3_12_s3_15(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    root = await write(ada, "root")
    reply = await write(ada, "reply", under=[str(root["i"])])
    page = (await read(http, new_site))["page_id"]
    for index in ("new", "top", "hot"):
        assert set(await redis.zrange(f"page:{page}:comments:{index}", 0, -1)) == {root["i"], reply["i"]}
    for sort in ("new", "top", "hot", "controversial"):
        assert await redis.zrange(f"page:{page}:roots:{sort}", 0, -1) == [root["i"]]


async def test_a_page_nobody_wrote_on_is_empty(http: httpx.AsyncClient, new_site: NewSite) -> None:
    thread = await read(http, new_site)
    assert (thread["total"], thread["tree"]) == (0, {"c": [], "u": 0})


@pytest.mark.parametrize("url", ["http://BLOG.example.org/post#x", "https://blog.example.org:443/post"])
async def test_one_page_is_one_page_however_it_is_spelt_s3_11(
    http: httpx.AsyncClient, new_site: NewSite, url: str
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "here", url=url)
    assert (await read(http, new_site))["total"] == 1


async def test_two_sites_with_one_address_have_two_pages_s3_11(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    stranger = await create(http, other, "stranger")
    await write(stranger, "elsewhere")
    assert (await read(http, new_site))["total"] == 0


async def test_length_is_checked_and_named(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "x" * 10_000)
    long = await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "x" * 10_001})
    assert long.status_code == 400
    assert "exceeds maximum length" in long.json()["error"]
    assert "10000" in long.json()["error"]
    for empty in ("", "  \n\t ", "\u200b\u200b"):
        assert (await ada.call("POST", "/v1/comments", {"page_url": URL, "content": empty})).status_code == 400


async def test_who_may_write_is_asked_in_the_contracts_order(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    body = {"page_url": URL, "content": "hi"}
    nameless = await post(http, new_site, "/v1/comments", body)
    assert (nameless.status_code, "author_name" in nameless.json()["error"]) == (400, True)
    named = await post(http, new_site, "/v1/comments", body | {"author_name": " Bob  B. "})
    assert named.json()["comment"]["n"] == "Bob B."
    assert named.json()["comment"]["a"] == "a0000000-0000-0000-0000-000000000000"
    ada = await create(http, new_site, "ada")
    await redis.sadd(f"site:{new_site.site.id}:blocked", ada.id)
    blocked = await ada.call("POST", "/v1/comments", body)
    assert (blocked.status_code, blocked.json()["error"]) == (403, "User is blocked")
    await app.services.sites.change(new_site.site.id, settings={"posting_disabled": True})
    off = await post(http, new_site, "/v1/comments", body | {"author_name": "Bob"})
    assert (off.status_code, off.json()["error"]) == (403, "Posting is currently disabled")
    await app.services.sites.change(new_site.site.id, settings={"posting_disabled": False, "auth.anonymous": False})
    closed = await post(http, new_site, "/v1/comments", body | {"author_name": "Bob"})
    assert (closed.status_code, "uthentication" in closed.json()["error"]) == (401, True)


async def test_a_locked_page_is_said_before_anything_is_said_of_the_text(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await create(http, new_site, "ada")
    comment = await write(ada, "hi")
    page_id = (await read(http, new_site))["page_id"]
    await app.services.pages.lock(new_site.site, page_id, locked=True, by=None)
    asked: list[object] = []

    async def screen(*args: object, **_: object) -> None:
        asked.append(args)

    monkeypatch.setattr(app.services.screener, "screen", screen)
    for content in ("fine", "", "x" * 10_001):
        for method, path in (("POST", "/v1/comments"), ("PUT", f"/v1/comments/{comment['i']}")):
            answer = await ada.call(method, path, {"page_url": URL, "content": content})
            assert (answer.status_code, answer.json()["code"]) == (403, "page_locked")
    assert asked == []


async def test_a_parent_must_be_there_and_on_this_page_s3_17(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    elsewhere = await write(ada, "elsewhere", url="https://blog.example.org/other")
    for parent, status in ((str(elsewhere["i"]), 404), ("01a1e1d5-9217-7000-be42-7b27b41a2a52", 404), ("x", 400)):
        answer = await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "hi", "parent_path": [parent]})
        assert answer.status_code == status, answer.text
    assert (await read(http, new_site))["total"] == 0


async def test_editing_is_for_the_author_within_the_window(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    comment = await write(ada, "first")
    body = {"page_url": URL, "content": "second", "path": [comment["i"]]}
    foreign = await eve.call("PUT", f"/v1/comments/{comment['i']}", body)
    assert (foreign.status_code, foreign.json()["error"]) == (403, "Not your comment")
    clock.advance(seconds=10)
    edited = (await ada.call("PUT", f"/v1/comments/{comment['i']}", body)).json()
    assert (edited["t"], edited["e"]) == ("second", True)
    assert edited["m"] == int(str(comment["x"])) + 10
    wrong = await ada.call("PUT", f"/v1/comments/{comment['i']}", body | {"path": [eve.id]})
    assert (wrong.status_code, wrong.json()["error"]) == (400, "Path must end with comment ID")
    too_long = await ada.call("PUT", f"/v1/comments/{comment['i']}", body | {"content": "x" * 10_001})
    assert too_long.status_code == 400
    stock = await ada.call("PATCH", f"/v1/comments/{comment['i']}", {"text": "third"})
    assert stock.json()["t"] == "third"
    clock.advance(seconds=15 * 60)
    late = await ada.call("PUT", f"/v1/comments/{comment['i']}", {"content": "too late"})
    assert (late.status_code, late.json()["code"]) == (409, "edit_window_over")


async def test_deleting_keeps_a_place_for_replies_and_cleans_up_after_the_last_s3_18(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    root = await write(ada, "root")
    reply = await write(ada, "reply", under=[str(root["i"])])
    deep = await write(ada, "deep", under=[str(root["i"]), str(reply["i"])])
    for comment in (root, reply):
        assert (await ada.call("DELETE", f"/v1/comments/{comment['i']}")).status_code == 204
    thread = await read(http, new_site)
    assert outline(thread) == [("[deleted]", [("[deleted]", ["deep"])])]
    place = thread["tree"]["c"][0]
    assert (place["a"], place["n"], place["s"]) == ("d0000000-0000-0000-0000-000000000000", "[deleted]", "deleted")
    assert "root" not in str(await redis.hgetall(f"comment:{root['i']}"))
    assert (await ada.call("DELETE", f"/v1/comments/{deep['i']}")).status_code == 204
    thread = await read(http, new_site)
    assert (thread["total"], outline(thread)) == (0, [])
    assert (await ada.call("DELETE", f"/v1/comments/{deep['i']}")).status_code == 404
    page = thread["page_id"]
    left = [key async for key in redis.scan_iter(f"page:{page}:*")]
    assert [key for key in left if not key.endswith(":changes")] == [], "empty indexes are gone"
    assert await redis.hget(f"page:{page}", "comments") == "0"


async def test_strangers_may_not_delete_and_moderators_may(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    comment = await write(ada, "mine")
    refused = await eve.call("DELETE", f"/v1/comments/{comment['i']}")
    assert (refused.status_code, refused.json()["error"]) == (403, "Not authorized")
    await app.services.roles.grant(new_site.site.id, eve.id, Role.MODERATOR)  # type: ignore[arg-type]
    assert (await eve.call("DELETE", f"/v1/comments/{comment['i']}")).status_code == 204


async def test_another_sites_comment_does_not_exist_here(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    stranger = await create(http, other, "stranger")
    comment = await write(stranger, "elsewhere")
    ada = await create(http, new_site, "ada")
    for method, body in (("PUT", {"content": "x"}), ("DELETE", None), ("POST", {"direction": "up"})):
        path = f"/v1/comments/{comment['i']}" + ("/vote" if method == "POST" else "")
        answer = await ada.call(method, path, body)
        assert (answer.status_code, answer.json()["error"]) == (404, "Comment not found")


async def test_pending_comments_are_seen_by_their_author_only(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    await app.services.sites.change(new_site.site.id, settings={"moderation_mode": "pre"})
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    comment = await write(ada, "waiting")
    assert comment["s"] == "pending"
    for viewer, total in ((ada, 1), (eve, 0), (None, 0)):
        assert (await read(http, new_site, person=viewer))["total"] == total
    assert await redis.zrange(f"site:{new_site.site.id}:modqueue", 0, -1) == [comment["i"]]
    await ada.call("DELETE", f"/v1/comments/{comment['i']}")
    assert await redis.zcard(f"site:{new_site.site.id}:modqueue") == 0


async def test_a_shadowed_authors_comment_looks_normal_to_them_and_is_nowhere_else(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    await redis.sadd(f"site:{new_site.site.id}:shadowbanned", eve.id)
    before = await read(http, new_site)
    comment = await write(eve, "can you see me?")
    assert "s" not in comment
    assert await read(http, new_site) == before
    assert (await read(http, new_site, person=ada))["total"] == 0
    assert (await read(http, new_site, person=eve))["total"] == 1
    others = await http.get(f"/v1/users/{eve.id}/comments", headers={"projectid": ada.key})
    assert others.json() == {"comments": [], "has_more": False}


async def test_blocked_authors_vanish_with_their_threads_for_the_blocker_only(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    root = await write(eve, "eve's")
    await write(ada, "answer", under=[str(root["i"])])
    await write(ada, "ada's")
    await ada.call("POST", f"/v1/users/{eve.id}/block")
    assert outline(await read(http, new_site, person=ada)) == ["ada's"]
    assert outline(await read(http, new_site)) == [("eve's", ["answer"]), "ada's"]


async def test_a_repeated_request_makes_one_comment(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    headers = {"projectid": ada.key, "authorization": f"Bearer {ada.token}", "idempotency-key": "abc123"}
    body = {"page_url": URL, "content": "once"}
    answers = await asyncio.gather(*(http.post("/v1/comments", json=body, headers=headers) for _ in range(20)))
    assert len({answer.json()["comment"]["i"] for answer in answers}) == 1
    assert (await read(http, new_site))["total"] == 1


async def test_a_reply_is_there_though_the_clock_was_set_back_before_it(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada = await create(http, new_site, "ada")
    path: list[str] = []
    for text in ("root", "reply", "deeper"):
        path.append(str((await write(ada, text, under=path or None))["i"]))
        clock.advance(seconds=-1)
    thread = await read(http, new_site)
    assert (outline(thread), thread["total"]) == ([("root", [("reply", ["deeper"])])], 3)


async def test_very_deep_chains_break_nothing(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    parent = await write(ada, "0")
    for number in range(1, 300):
        parent = await write(ada, str(number), under=[str(parent["i"])])
    thread = await read(http, new_site)
    assert thread["total"] == 300
    assert (await ada.call("DELETE", f"/v1/comments/{parent['i']}")).status_code == 204


async def test_lists_counts_and_preview(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    for number in range(3):
        await write(ada, f"comment {number}")
    mine = (await ada.call("GET", "/v1/users/me/comments?limit=2")).json()
    assert [item["comment"]["t"] for item in mine["comments"]] == ["comment 2", "comment 1"]
    assert mine["has_more"] is True
    rest = (await ada.call("GET", "/v1/users/me/comments?limit=2&offset=2")).json()
    assert (len(rest["comments"]), rest["has_more"]) == (1, False)
    counts = await http.get("/v1/counts", params={"url": [URL, "https://x.example/"]}, headers={"projectid": ada.key})
    assert counts.json() == {"counts": {URL: 3, "https://x.example/": 0}}
    shown = await post(http, new_site, "/v1/comments/preview", {"content": "*hi* @ada"})
    assert "<em>hi</em>" in shown.json()["html"]
    assert ada.id in shown.json()["html"]


@pytest.mark.parametrize("query", ["", "page_url=", "page_url=x&sort=best", "page_url=x&sort="])
async def test_wrong_questions_are_400(http: httpx.AsyncClient, new_site: NewSite, query: str) -> None:
    answer = await http.get(f"/v1/comments?{query}", headers={"projectid": new_site.site.api_key_public})
    assert answer.status_code == 400


async def test_verified_people_may_be_asked_for_or_trusted_s3_82(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    verified, plain = await create(http, new_site, "ada", "ada@example.org"), await create(http, new_site, "eve")
    settings = {"moderation_mode": "pre", "auto_approve_verified": True}
    await app.services.sites.change(new_site.site.id, settings=settings)
    assert "s" not in await write(verified, "shown at once")
    assert (await write(plain, "waits"))["s"] == "pending"
    await app.services.sites.change(new_site.site.id, settings={"require_verification": True})
    refused = await plain.call("POST", "/v1/comments", {"page_url": URL, "content": "hi"})
    assert (refused.status_code, refused.json()["code"]) == (403, "verification_required")
    await write(verified, "still fine")


async def test_the_total_of_comments_follows_what_is_deleted(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await create(http, new_site, "ada")

    async def total() -> int:
        await app.services.outbox.drain()
        return int((await ada.call("GET", f"/v1/users/{ada.id}")).json()["total_comments"])

    first, _ = await write(ada, "one"), await write(ada, "two")
    assert await total() == 2
    assert (await ada.call("DELETE", f"/v1/comments/{first['i']}")).status_code == 204
    assert await total() == 1


async def test_ten_thousand_characters_may_be_sent_in_any_spelling(http: httpx.AsyncClient, new_site: NewSite) -> None:
    """A character beyond the first plane takes twelve bytes where a client escapes it."""
    ada = await create(http, new_site, "ada")
    content = "🙂" * 10_000
    body = json.dumps({"page_url": URL, "content": content}).encode()
    assert len(body) > 120_000
    headers = {"projectid": ada.key, "authorization": f"Bearer {ada.token}", "content-type": "application/json"}
    answer = await http.post("/v1/comments", content=body, headers=headers)
    assert (answer.status_code, answer.json()["comment"]["t"]) == (200, content)
    edited = await http.put(f"/v1/comments/{answer.json()['comment']['i']}", content=body, headers=headers)
    assert edited.status_code == 200
    preview = await http.post("/v1/comments/preview", content=body, headers=headers)
    assert preview.status_code == 200
    assert (await http.post("/v1/comments", content=body * 2, headers=headers)).status_code == 413


async def test_people_whose_session_ended_are_told_so_and_not_to_give_a_name(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    """Guests may write here. A name that was sent along makes a guest of somebody whose session has ended."""
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    assert (await ada.call("POST", "/v1/auth/logout")).status_code == 200
    said = {"page_url": URL, "content": "hello"}
    for expected in ([ada], [ada, bob]):
        for person in expected:
            answer = await person.call("POST", "/v1/comments", said)
            assert (answer.status_code, answer.json()["code"]) == (401, "session_ended")
            assert (await person.call("GET", "/v1/users/me")).json()["code"] == "session_ended"
        clock.advance(seconds=100 * 86_400)
    assert (await post(http, new_site, "/v1/comments", said)).json()["code"] == "author_name_required"
    answer = await ada.call("POST", "/v1/comments", said | {"author_name": "Ada"})
    assert answer.status_code == 200
