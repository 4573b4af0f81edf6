"""Right event, right person, right time. S3-20, contract 6 and 7."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis
from websockets.exceptions import ConnectionClosed

from tests.integration.comments.test_comments import URL, write
from tests.integration.comments.test_votes import vote
from tests.integration.live.ears import Ear, LiveServer
from tests.people import Person, create
from threadkit.app import Application
from threadkit.sites.model import NewSite, SiteSettings
from threadkit.sites.roles import Role


async def page_of(http: httpx.AsyncClient, site: NewSite) -> tuple[str, int]:
    answer = await http.get("/v1/comments", params={"page_url": URL}, headers={"projectid": site.site.api_key_public})
    return answer.json()["page_id"], answer.json().get("version", 0)


async def moderator(app: Application, http: httpx.AsyncClient, site: NewSite) -> Person:
    person = await create(http, site, "mo")
    await app.services.roles.grant(site.site.id, person.id, Role.MODERATOR)  # type: ignore[arg-type]
    return person


async def test_everything_that_happens_on_a_page_is_told_once_and_in_order(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, live: LiveServer
) -> None:
    """S3-20"""
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    mo = await moderator(app, http, new_site)
    page_id, _ = await page_of(http, new_site)
    async with live.ear(ada.key) as ear:
        assert (await ear.hear())[0] == "connected"
        assert await ear.subscribe(page_id) == {"page_id": page_id, "users": [], "viewers": 1}
        root = await write(ada, "first")
        reply = await write(bob, "an **answer**", under=[root["i"]])
        await vote(bob, root["i"], "up")
        await ada.call("PUT", f"/v1/comments/{root['i']}", {"content": "changed"})
        await mo.call("POST", f"/v1/comments/{root['i']}/pin", {})
        await bob.call("DELETE", f"/v1/comments/{reply['i']}")
        heard = [await ear.hear() for _ in range(6)]
    assert [method for method, _ in heard] == [
        "new_comment",
        "new_comment",
        "vote_update",
        "edit_comment",
        "pin_update",
        "delete_comment",
    ]
    assert heard[0][1] == {"page_id": page_id, "comment": root, "version": 1, "total": 1}
    assert heard[1][1]["comment"]["q"] == root["i"]
    counts = {"comment_id": root["i"], "upvotes": 1, "downvotes": 0}
    assert heard[2][1] == {"page_id": page_id, **counts, "version": 3, "total": 2}
    assert heard[3][1] == {
        "page_id": page_id,
        "comment_id": root["i"],
        "content": "changed",
        "content_html": "<p>changed</p>",
        "version": 4,
        "total": 2,
    }
    assert (heard[4][1]["pinned"], heard[4][1]["pinned_at"]) == (True, app.services.clock.now_ms())
    assert heard[5][1] == {"page_id": page_id, "comment_id": reply["i"], "version": 6, "total": 1}


async def test_the_channel_carries_the_documented_flat_messages(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    """S3-20"""
    ada = await create(http, new_site, "ada")
    page_id, _ = await page_of(http, new_site)
    async with redis.pubsub() as pubsub:
        await pubsub.subscribe(f"page:{page_id}")
        root = await write(ada, "first")
        await vote(ada, root["i"], "up")
        heard: list[dict[str, Any]] = []
        async for message in pubsub.listen():
            if message["type"] == "message":
                heard.append(json.loads(message["data"]))
            if len(heard) == 2:
                break
    ours = {"site_id": new_site.site.id}
    counts = {"comment_id": root["i"], "upvotes": 1, "downvotes": 0}
    assert heard == [
        {"type": "new_comment", "comment_id": root["i"], "version": 1, "total": 1} | ours,
        {"type": "vote_update", **counts, "version": 2, "total": 1} | ours,
    ]


async def test_an_authors_echo_comes_after_the_http_answer(
    http: httpx.AsyncClient, new_site: NewSite, live: LiveServer
) -> None:
    ada = await create(http, new_site, "ada")
    page_id, _ = await page_of(http, new_site)
    async with live.ear(ada.key, ada.token) as ear, httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}") as web:
        await ear.subscribe(page_id)
        for number in range(20):
            posting = asyncio.create_task(
                web.post(
                    "/v1/comments",
                    json={"page_url": URL, "content": f"comment {number}"},
                    headers={"projectid": ada.key, "authorization": f"Bearer {ada.token}"},
                )
            )
            hearing = asyncio.create_task(ear.hear_of("new_comment"))
            done, _ = await asyncio.wait({posting, hearing}, return_when=asyncio.FIRST_COMPLETED)
            assert posting in done, "the echo was first"
            assert (await hearing)["comment"] == (await posting).json()["comment"]


async def test_what_is_held_or_shadowed_is_told_to_its_author_only(
    app: Application, http: httpx.AsyncClient, live: LiveServer, new_site: NewSite, redis: Redis
) -> None:
    """S3-20: a shadow-banned author's comment is not announced."""
    site = await app.services.sites.create(
        "Careful", "blog.example.org", settings=SiteSettings(moderation_mode="pre", auto_approve_verified=True)
    )
    ada, bob = await create(http, site, "ada", "ada@example.org"), await create(http, site, "bob")
    eve = await create(http, site, "eve", "eve@example.org")
    await redis.sadd(f"site:{site.site.id}:shadowbanned", eve.id)
    page_id, _ = await page_of(http, site)
    async with live.ear(ada.key) as nobody, live.ear(bob.key, bob.token) as bobs, live.ear(eve.key, eve.token) as eves:
        for ear in (nobody, bobs, eves):
            await ear.subscribe(page_id)
        held = await write(bob, "held")
        shadowed = await write(eve, "shadowed")
        assert (await bobs.hear_of("new_comment"))["comment"]["i"] == held["i"]
        assert (await eves.hear_of("new_comment"))["comment"]["i"] == shadowed["i"]
        await nobody.nothing_but("user_joined", "viewers")
        await bobs.nothing_but("user_joined", "viewers")
        shown = await write(ada, "shown")
        for ear in (nobody, bobs, eves):
            assert (await ear.hear_of("new_comment"))["comment"]["i"] == shown["i"]


async def test_whoever_blocked_somebody_hears_nothing_of_them(
    http: httpx.AsyncClient, new_site: NewSite, live: LiveServer
) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    await ada.call("POST", f"/v1/users/{eve.id}/block")
    page_id, _ = await page_of(http, new_site)
    async with live.ear(ada.key, ada.token) as ear, live.ear(eve.key, eve.token) as eves:
        await ear.subscribe(page_id)
        await eves.subscribe(page_id)
        while (await eves.hear_of("viewers"))["viewers"] != 2:
            pass
        await eves.say("typing", page_id=page_id)
        await eves.say("stop_typing", page_id=page_id)
        await write(eve, "boo")
        await eves.say("unsubscribe", page_id=page_id)
        heard = [await ear.hear()]
        while heard[-1][1].get("viewers") != 1 or len(heard) < 2:
            heard.append(await ear.hear())
        assert {method for method, _ in heard} == {"viewers"}


async def test_votes_on_a_hot_comment_come_at_most_four_times_a_second(
    http: httpx.AsyncClient, new_site: NewSite, live: LiveServer
) -> None:
    ada = await create(http, new_site, "ada")
    people = [await create(http, new_site, f"voter{number}") for number in range(40)]
    root = await write(ada, "hot")
    page_id, _ = await page_of(http, new_site)
    async with live.ear(ada.key) as ear:
        await ear.subscribe(page_id)
        started = asyncio.get_running_loop().time()
        await asyncio.gather(*(vote(person, root["i"], "up") for person in people))
        updates = 0
        while (await ear.hear_of("vote_update"))["upvotes"] < 40:
            updates += 1
        seconds = asyncio.get_running_loop().time() - started
        assert updates + 1 <= 2 + seconds * 4


async def test_an_ended_session_loses_its_socket_within_a_second(
    http: httpx.AsyncClient, new_site: NewSite, live: LiveServer
) -> None:
    ada = await create(http, new_site, "ada")
    page_id, _ = await page_of(http, new_site)
    async with live.ear(ada.key, ada.token) as ear:
        await ear.subscribe(page_id)
        assert (await ada.call("POST", "/v1/auth/logout")).status_code == 200
        async with asyncio.timeout(1):
            with pytest.raises(ConnectionClosed):
                await ear.hear_of("what never comes")
        assert ear.connection.close_code == 4401


async def test_a_client_with_an_old_version_is_told_to_look_again(
    http: httpx.AsyncClient, new_site: NewSite, live: LiveServer
) -> None:
    ada = await create(http, new_site, "ada")
    page_id, version = await page_of(http, new_site)
    await write(ada, "meanwhile")
    _, newest = await page_of(http, new_site)
    async with live.ear(ada.key) as late, live.ear(ada.key) as fresh:
        await late.subscribe(page_id, version=version)
        assert await late.hear_of("resync") == {"page_id": page_id}
        await fresh.subscribe(page_id, version=newest)
        await fresh.nothing_but("viewers")


async def test_another_sites_page_is_silent(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, live: LiveServer
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "ours")
    page_id, _ = await page_of(http, new_site)
    other = await app.services.sites.create("Other", "other.example.org")
    stranger = await create(http, other, "stranger")
    async with live.ear(ada.key, ada.token) as ours, live.ear(stranger.key, stranger.token) as theirs:
        await ours.subscribe(page_id)
        assert (await theirs.subscribe(page_id))["users"] == [
            (await stranger.call("GET", f"/v1/users/{stranger.id}")).json()
        ]
        await theirs.say("typing", page_id=page_id)
        await theirs.nothing_but("viewers")
        await write(ada, "again")
        await ours.hear_of("new_comment")
        await ours.nothing_but()
        await theirs.nothing_but("viewers")


async def test_two_sites_that_name_one_empty_page_never_meet(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, live: LiveServer, other: LiveServer, redis: Redis
) -> None:
    """A page's id is known before anything is written there. Who looks and who writes stays within a site, on one
    server and across two, before the first comment and after it."""
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    page_id, _ = await page_of(http, new_site)
    second = await app.services.sites.create("Other", "other.example.org")
    stranger, accomplice = await create(http, second, "stranger"), await create(http, second, "accomplice")
    async with (
        live.ear(stranger.key, stranger.token) as theirs,
        live.ear(ada.key, ada.token) as adas,
        other.ear(bob.key, bob.token) as bobs,
        other.ear(accomplice.key, accomplice.token) as also_theirs,
    ):

        async def all_hear(viewers: int, *ears: Ear) -> None:
            for ear in ears:
                while (await ear.hear_of("viewers"))["viewers"] != viewers:
                    pass

        assert [user["id"] for user in (await theirs.subscribe(page_id))["users"]] == [stranger.id]
        seen = await adas.subscribe(page_id)
        assert ([user["id"] for user in seen["users"]], seen["viewers"]) == ([ada.id], 1)
        assert {user["id"] for user in (await bobs.subscribe(page_id))["users"]} == {ada.id, bob.id}
        assert {user["id"] for user in (await also_theirs.subscribe(page_id))["users"]} == {stranger.id, accomplice.id}
        assert (await adas.hear_of("user_joined"))["user"]["id"] == bob.id
        assert (await theirs.hear_of("user_joined"))["user"]["id"] == accomplice.id
        await all_hear(2, adas, theirs)
        await adas.say("typing", page_id=page_id)
        assert (await bobs.hear_of("typing"))["user"]["id"] == ada.id
        await theirs.say("typing", page_id=page_id)
        assert (await also_theirs.hear_of("typing"))["user"]["id"] == stranger.id

        root = await write(ada, "the first")
        await vote(bob, root["i"], "up")
        for ear in (adas, bobs):
            assert (await ear.hear_of("new_comment"))["comment"]["i"] == root["i"]
            await ear.hear_of("vote_update")
        async with live.ear(ada.key) as late:  # the lists went along to the page, and nobody came or left by that
            seen = await late.subscribe(page_id)
            assert ({user["id"] for user in seen["users"]}, seen["viewers"]) == ({ada.id, bob.id}, 3)
            await all_hear(3, adas, bobs)
        await all_hear(2, adas, bobs)
        assert await redis.smembers(f"page:{page_id}:presence") == {ada.id, bob.id}
        await bobs.say("unsubscribe", page_id=page_id)
        assert (await adas.hear_of("user_left"))["user_id"] == bob.id
        await also_theirs.say("unsubscribe", page_id=page_id)
        assert (await theirs.hear_of("user_left"))["user_id"] == accomplice.id
        await adas.nothing_but("viewers")
        await theirs.nothing_but("viewers")
        async with live.ear(stranger.key) as late:
            seen = await late.subscribe(page_id, version=0)
            assert [user["id"] for user in seen["users"]] == [stranger.id]
            await late.nothing_but("typing", "viewers")  # nothing about a version


async def test_changes_tell_what_happened_since_a_version(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    old = await write(ada, "old")
    still = await write(ada, "still")
    gone = await write(ada, "gone")
    page_id, version = await page_of(http, new_site)

    async def since(number: int) -> dict[str, Any]:
        answer = await http.get(
            "/v1/changes", params={"page_url": URL, "since": number}, headers={"projectid": ada.key}
        )
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    nothing = await since(version)
    assert (nothing["version"], nothing["comments"], nothing["removed"]) == (version, [], [])
    await vote(bob, old["i"], "up")
    await ada.call("DELETE", f"/v1/comments/{gone['i']}")
    new = await write(bob, "new", under=[still["i"]])
    changed = await since(version)
    assert {comment["i"]: comment["u"] for comment in changed["comments"]} == {old["i"]: 1, new["i"]: 0}
    assert (changed["removed"], changed["total"], changed["page_id"]) == ([gone["i"]], 3, page_id)
    assert "resync" not in changed
    assert (await since(changed["version"] + 5))["resync"] is True
    for _ in range(201):
        await write(ada, "many")
    assert (await since(version))["resync"] is True


async def test_the_same_events_come_as_server_sent_events(
    http: httpx.AsyncClient, new_site: NewSite, live: LiveServer
) -> None:
    ada = await create(http, new_site, "ada")
    async with (
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}") as web,
        web.stream("GET", "/v1/events", params={"page_url": URL, "key": ada.key}) as answer,
    ):
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.aiter_lines()
        heard: list[str] = []
        async with asyncio.timeout(20):
            async for line in lines:
                if line.startswith("event: "):
                    heard.append(line.removeprefix("event: "))
                if heard == ["connected", "presence"] and not line:
                    comment = await write(ada, "hello")
                if line.startswith("data: ") and heard[-1] == "new_comment":
                    assert json.loads(line.removeprefix("data: "))["params"]["comment"] == comment
                    break
    assert heard[:2] == ["connected", "presence"]


async def test_somebody_shadow_banned_hears_of_votes_as_if_their_own_counted(
    http: httpx.AsyncClient, app: Application, new_site: NewSite, live: LiveServer
) -> None:
    ada, bob, eve = [await create(http, new_site, name) for name in ("ada", "bob", "eve")]
    mo = await moderator(app, http, new_site)
    root = await write(ada, "root")
    page_id = (await page_of(http, new_site))[0]
    await mo.call("POST", f"/v1/moderation/shadowban/{eve.id}")
    async with live.ear(ada.key, ada.token) as adas, live.ear(eve.key, eve.token) as eves:
        await adas.subscribe(page_id)
        await eves.subscribe(page_id)
        await vote(eve, root["i"], "up")
        assert (await eves.hear_of("vote_update"))["upvotes"] == 1
        await vote(bob, root["i"], "up")
        assert (await eves.hear_of("vote_update"))["upvotes"] == 2
        assert (await adas.hear_of("vote_update"))["upvotes"] == 1
