"""Nobody hears of themselves, of people they blocked, of people nobody hears, or of what they may not see."""

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import URL, write
from tests.integration.comments.test_votes import vote
from tests.integration.notifications.inbox import answer, inbox, kept, settle, told
from tests.people import Person, post
from threadkit.app import Application
from threadkit.sites.model import NewSite


async def everything_by(person: Person, root: dict[str, object]) -> None:
    """Answer, name and vote."""
    await answer(person, root, "hello")
    await write(person, "and @ada")
    await vote(person, root["i"], "up")


async def test_oneself(app: Application, redis: Redis, ada: Person) -> None:
    await everything_by(ada, await write(ada, "root"))
    await settle(app)
    assert await kept(redis, ada) == []


async def test_of_somebody_one_has_blocked(app: Application, redis: Redis, ada: Person, eve: Person) -> None:
    await ada.call("POST", f"/v1/users/{eve.id}/block")
    await everything_by(eve, await write(ada, "root"))
    await settle(app)
    assert await kept(redis, ada) == []


async def test_of_somebody_one_blocks_later(
    app: Application, redis: Redis, ada: Person, eve: Person, bob: Person
) -> None:
    root = await write(ada, "root")
    await vote(bob, root["i"], "up")
    await everything_by(eve, root)
    await settle(app)
    assert len(await kept(redis, ada)) == 3
    await ada.call("POST", f"/v1/users/{eve.id}/block")
    page = await inbox(ada)
    assert [one["notification_type"] for one in page["notifications"]] == ["upvote"]
    assert (page["notifications"][0]["count"], page["notifications"][0]["from_user"]) == (2, None)
    assert page["unread_count"] == 1
    assert len(await kept(redis, ada)) == 1, "what is not shown any more is not counted either"


@pytest.mark.parametrize("where", ["on the site", "everywhere"])
async def test_of_somebody_who_is_shadowed(
    app: Application, new_site: NewSite, redis: Redis, ada: Person, eve: Person, where: str
) -> None:
    root = await write(ada, "root")
    await silence(redis, new_site, eve, where)
    await everything_by(eve, root)
    await settle(app)
    assert await kept(redis, ada) == []


@pytest.mark.parametrize("where", ["on the site", "everywhere"])
async def test_of_somebody_who_is_shadowed_before_anybody_was_told(
    app: Application, new_site: NewSite, redis: Redis, ada: Person, eve: Person, where: str
) -> None:
    await everything_by(eve, await write(ada, "root"))
    await silence(redis, new_site, eve, where)
    await settle(app)
    assert await kept(redis, ada) == []


async def silence(redis: Redis, site: NewSite, person: Person, where: str) -> None:
    if where == "everywhere":
        await redis.hset(f"user:{person.id}", "shadow_banned", "true")
    else:
        await redis.sadd(f"site:{site.site.id}:shadowbanned", person.id)


async def test_of_a_comment_that_waits_for_a_moderator(
    app: Application, new_site: NewSite, redis: Redis, ada: Person, eve: Person
) -> None:
    root = await write(ada, "root")
    await app.services.sites.change(new_site.site.id, settings={"moderation_mode": "pre"})
    await answer(eve, root, "hello @ada")
    await settle(app)
    assert await kept(redis, ada) == []


@pytest.mark.parametrize(("field", "value"), [("status", "rejected"), ("status", "pending"), ("is_shadowed", "true")])
async def test_of_a_comment_that_is_hidden_meanwhile(
    app: Application, redis: Redis, ada: Person, eve: Person, field: str, value: str
) -> None:
    root = await write(ada, "root")
    early, late = await answer(eve, root, "early"), await answer(eve, root, "late")
    await redis.hset(f"comment:{early['i']}", field, value)
    await settle(app)
    assert await told(ada) == [("reply", "late")]
    await redis.hset(f"comment:{late['i']}", field, value)
    assert await inbox(ada) == {"notifications": [], "unread_count": 0, "has_more": False}
    assert await kept(redis, ada) == []


async def test_people_without_an_account_and_people_who_left(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person, eve: Person
) -> None:
    body = {"page_url": URL, "content": "hi", "author_name": "Passer-by"}
    nobodys = (await post(http, new_site, "/v1/comments", body)).json()["comment"]
    roots = [nobodys, await write(ada, "root")]
    for root in roots:
        await everything_by(eve, root)
    await ada.call("DELETE", "/v1/users/me")
    for root in roots:
        await answer(eve, root, "are you there?")
    await settle(app)
    assert [key async for key in redis.scan_iter("user:*:notifications")] == []
    assert [key async for key in redis.scan_iter("user:*:unread*")] == []


@pytest.mark.parametrize("kind", ["reply", "mention", "upvote"])
async def test_what_one_does_not_want_to_hear(
    app: Application, redis: Redis, ada: Person, eve: Person, kind: str
) -> None:
    answered = await ada.call("PUT", "/v1/notifications/settings", {kind: False})
    everything = {"reply": True, "mention": True, "upvote": True, "mod_action": True, "report_outcome": True}
    assert answered.json() == everything | {kind: False}
    await everything_by(eve, await write(ada, "root"))
    await settle(app)
    heard = {one["notification_type"] for one in await kept(redis, ada)}
    assert heard == {"reply", "mention", "upvote"} - {kind}


async def test_settings_stay_until_they_are_changed_and_survive_a_change_of_the_profile(
    ada: Person, redis: Redis
) -> None:
    await ada.call("PUT", "/v1/notifications/settings", {"upvote": False, "mod_action": False})
    await ada.call("PUT", "/v1/users/me", {"name": "ada-lovelace"})
    await ada.call("PUT", "/v1/notifications/settings", {"mod_action": True})
    found = (await ada.call("GET", "/v1/notifications/settings")).json()
    chosen = {"reply": True, "mention": True, "upvote": False, "mod_action": True, "report_outcome": True}
    assert found == chosen
    await ada.call("PUT", "/v1/notifications/settings", {"upvote": True})
    assert not await redis.hexists(f"user:{ada.id}", "notifications_off"), "whoever wants all takes no room"


@pytest.mark.parametrize("body", [{"upvote": "no"}, {"reply": 7}, []])
async def test_settings_that_make_no_sense_are_refused(ada: Person, body: object) -> None:
    answered = await ada.call("PUT", "/v1/notifications/settings", body)
    assert answered.status_code in (400, 422), answered.text
