"""When there are too many connections, clients are asked to poll; and what they then get is theirs to see."""

import asyncio
import json
from typing import Any

import httpx
import msgspec
import pytest
from redis.asyncio import Redis
from websockets.exceptions import ConnectionClosed

from tests.integration.comments.test_comments import URL, write
from tests.integration.comments.test_votes import vote
from tests.integration.live.ears import LiveServer
from tests.integration.live.test_events import page_of
from tests.people import Person, create
from tests.wait import until
from threadkit.app import Application
from threadkit.ids import UserId, new_uuid
from threadkit.settings import LiveSettings, Settings
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.sites.roles import Role


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return msgspec.structs.replace(settings, live=LiveSettings(most_connections=2, poll_every_s=7))


async def changes(http: httpx.AsyncClient, key: str, since: int, person: Person | None = None) -> dict[str, Any]:
    headers = {"projectid": key} | ({"authorization": f"Bearer {person.token}"} if person else {})
    answer = await http.get("/v1/changes", params={"page_url": URL, "since": since}, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_when_it_is_full_the_next_ones_are_asked_to_poll(
    live: LiveServer, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    key = new_site.site.api_key_public
    overloaded = {"use": "polling", "changes": "/v1/changes", "every_s": 7}
    services = live.app.services
    async with live.ear(key) as first, live.ear(key) as second:
        await first.subscribe(new_uuid())
        await second.subscribe(new_uuid())
        async with live.ear(key) as third:
            assert await third.hear() == ("overloaded", overloaded)
            with pytest.raises(ConnectionClosed):
                await third.hear()
            assert third.connection.close_code == 1013
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}") as web:
            answer = await web.get("/v1/events", params={"page_url": URL, "key": key})  # it ends by itself
            retry, event, data, *_ = answer.text.split("\n")
            assert (retry, event) == ("retry: 7000", "event: overloaded")
            assert json.loads(data.removeprefix("data: "))["params"] == overloaded
        assert live.meter("threadkit_live_turned_away_total") == 2
        assert services.hub.connections == 2
        await first.nothing_but("viewers")
        await second.nothing_but("viewers")
    await until(lambda: services.hub.connections == 0, "the first two to go")
    async with live.ear(key) as ear:
        assert await ear.hear() == ("connected", {"user_id": None})
        # And who was sent away finds everything there.
        page_id, version = await page_of(http, new_site)
        root = await write(await create(http, new_site, "ada"), "for those who poll")
        found = await changes(http, key, version)
        assert [comment["i"] for comment in found["comments"]] == [root["i"]]
        assert found["page_id"] == page_id


async def test_changes_show_nobody_what_the_page_would_not_show_them(
    app: Application, http: httpx.AsyncClient, redis: Redis
) -> None:
    """T1: held, shadowed, and of people one has blocked."""
    site = await app.services.sites.create(
        "Careful",
        "blog.example.org",
        settings=SiteSettings(moderation_mode="pre", auto_approve_verified=True, auth=AuthSettings(anonymous=True)),
    )
    key = site.site.api_key_public
    ada, eve = await create(http, site, "ada", "ada@example.org"), await create(http, site, "eve", "eve@example.org")
    bob, mallory = await create(http, site, "bob"), await create(http, site, "mallory", "mallory@example.org")
    await redis.sadd(f"site:{site.site.id}:shadowbanned", eve.id)
    first = await write(ada, "first")
    _, version = await page_of(http, site)
    held, shadowed = await write(bob, "held"), await write(eve, "shadowed")
    shown = await write(mallory, "shown")
    await vote(eve, first["i"], "up")
    await vote(eve, shadowed["i"], "up")
    await ada.call("POST", f"/v1/users/{mallory.id}/block")

    for person, expected in (
        (None, {shown["i"]}),
        (ada, set[str]()),
        (mallory, {shown["i"]}),
        (bob, {shown["i"]}),
        (eve, {shown["i"]}),
    ):
        found = await changes(http, key, version, person)
        told = {comment["i"] for comment in found["comments"]} - {first["i"]}
        own = {bob.id: {held["i"]}, eve.id: {shadowed["i"]}}.get(person.id, set()) if person else set()
        assert expected <= told <= expected | own, person
        for hidden in (held["i"], shadowed["i"]):
            if hidden not in own:
                assert hidden not in json.dumps(found), "not even that it is there"


async def test_changes_refuse_what_makes_no_sense(http: httpx.AsyncClient, new_site: NewSite) -> None:
    headers = {"projectid": new_site.site.api_key_public}
    for params in (
        {},
        {"since": 1},
        {"page_url": URL},
        {"page_url": URL, "since": -1},
        {"page_url": URL, "since": "x"},
        {"page_url": URL, "since": 2**60},
        {"page_url": "x" * 5000, "since": 0},
    ):
        answer = await http.get("/v1/changes", params=params, headers=headers)  # type: ignore[arg-type]
        assert answer.status_code in (400, 422), (params, answer.text)
    assert (await http.get("/v1/changes", params={"page_url": URL, "since": 0})).status_code in (400, 401)
    answer = await http.get("/v1/changes", params={"page_url": URL, "since": 0}, headers=headers)
    assert (answer.status_code, answer.json()["version"], answer.json()["comments"]) == (200, 0, [])


async def test_only_the_headers_of_an_endless_answer_come_to_an_end(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    """In process, where an answer that does not end would never be one."""
    mo = await create(http, new_site, "mo")
    await app.services.roles.grant(new_site.site.id, UserId(mo.id), Role.MODERATOR)
    page = "/v1/events?page_url=https://blog.example.org/post"
    for path, person in ((page, None), (page, mo), ("/v1/moderation/events", mo)):
        headers = {"projectid": new_site.site.api_key_public}
        if person:
            headers["authorization"] = f"Bearer {person.token}"
        async with asyncio.timeout(5):
            answer = await http.head(path, headers=headers)
        assert (answer.status_code, answer.content) == (200, b""), path
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
    assert app.services.hub.connections == 0
    refused = await http.head("/v1/moderation/events", headers={"projectid": new_site.site.api_key_public})
    assert refused.status_code == 401
