"""Whoever is there hears of it at once: on the user's channel, in the same step."""

import json
from typing import Any

import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.integration.comments.test_votes import vote
from tests.integration.notifications.inbox import answer, inbox, settle
from tests.people import Person
from threadkit.app import Application
from threadkit.sites.model import NewSite


async def heard_while(redis: Redis, person: Person, app: Application) -> list[dict[str, Any]]:
    """What a subscriber hears while everything that waits is carried out."""
    channel = f"user:{person.id}:events"
    async with redis.pubsub() as listener:
        await listener.subscribe(channel)
        assert (await listener.get_message(timeout=5) or {})["type"] == "subscribe"
        await settle(app)
        await redis.publish(channel, json.dumps({"type": "end"}))
        found: list[dict[str, Any]] = []
        while not found or found[-1]["type"] != "end":
            message = await listener.get_message(timeout=5)
            assert message is not None, "the end was not heard"
            found.append(json.loads(message["data"]))
        return found[:-1]


@pytest.mark.parametrize("kind", ["reply", "mention", "upvote"])
async def test_a_subscriber_hears_what_the_list_then_shows(
    app: Application, new_site: NewSite, redis: Redis, ada: Person, eve: Person, kind: str
) -> None:
    root = await write(ada, "root")
    match kind:
        case "reply":
            await answer(eve, root, '“quoted” \\ "words" <b> 🎉')
        case "mention":
            await write(eve, "hello @ada")
        case "upvote":
            await vote(eve, root["i"], "up")
    (event,) = await heard_while(redis, ada, app)
    (notice,) = (await inbox(ada))["notifications"]
    assert event.pop("notification") == notice | {"type": kind}
    assert event == {"type": "notification", "site_id": new_site.site.id, "unread": 1}


async def test_each_event_has_the_number_of_unread_ones(
    app: Application, redis: Redis, ada: Person, eve: Person
) -> None:
    root = await write(ada, "root")
    for number in range(3):
        await answer(eve, root, f"answer {number}")
    assert [event["unread"] for event in await heard_while(redis, ada, app)] == [1, 2, 3]
    await ada.call("POST", "/v1/notifications/read")
    await answer(eve, root, "one more")
    assert [event["unread"] for event in await heard_while(redis, ada, app)] == [1]


async def test_nothing_is_heard_of_what_is_not_told(app: Application, redis: Redis, ada: Person, eve: Person) -> None:
    await ada.call("POST", f"/v1/users/{eve.id}/block")
    await answer(eve, await write(ada, "root"), "hello")
    assert await heard_while(redis, ada, app) == []
