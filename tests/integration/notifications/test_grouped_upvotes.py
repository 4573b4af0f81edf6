"""Votes up are told together: "5 people", and at most one notification a comment and hour."""

from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.integration.comments.test_votes import vote
from tests.integration.notifications.inbox import inbox, kept, settle
from tests.make import ManualClock
from tests.people import Person, guest
from threadkit.app import Application
from threadkit.sites.model import NewSite


@pytest.fixture
async def fans(http: httpx.AsyncClient, new_site: NewSite) -> list[Person]:
    return [await guest(http, new_site, f"fan{number}") for number in range(5)]


async def groups(redis: Redis, person: Person) -> list[tuple[int, str, bool]]:
    """How many people, the newest of them, and whether it was read."""
    return [(one["count"], one["from_user_id"], one["read"]) for one in await kept(redis, person)]


async def like(app: Application, person: Person, comment: dict[str, Any], direction: str = "up") -> None:
    await vote(person, comment["i"], direction)
    await settle(app)


async def test_five_people_are_one_notification_with_the_newest_of_them(
    app: Application, redis: Redis, clock: ManualClock, ada: Person, fans: list[Person]
) -> None:
    comment, other = await write(ada, "like me"), await write(ada, "and me")
    for fan in fans:
        await like(app, fan, comment)
        clock.advance(seconds=600)
    await like(app, fans[0], other)
    assert await groups(redis, ada) == [(1, fans[0].id, False), (5, fans[4].id, False)]
    page = await inbox(ada)
    assert [one["count"] for one in page["notifications"]] == [1, 5]
    assert page["unread_count"] == 2


async def test_after_an_hour_it_is_news_again(
    app: Application, redis: Redis, clock: ManualClock, ada: Person, fans: list[Person]
) -> None:
    comment = await write(ada, "like me")
    await like(app, fans[0], comment)
    clock.advance(seconds=3599)
    await like(app, fans[1], comment)
    clock.advance(seconds=1)
    await like(app, fans[2], comment)
    assert await groups(redis, ada) == [(1, fans[2].id, False), (2, fans[1].id, False)]


async def test_what_was_read_stays_read_within_the_hour_and_still_counts(
    app: Application, redis: Redis, clock: ManualClock, ada: Person, fans: list[Person]
) -> None:
    comment = await write(ada, "like me")
    await like(app, fans[0], comment)
    await ada.call("POST", "/v1/notifications/read")
    await like(app, fans[1], comment)
    assert await groups(redis, ada) == [(2, fans[1].id, True)]
    assert (await inbox(ada))["unread_count"] == 0


async def test_what_was_thrown_away_stays_away_within_the_hour(
    app: Application, redis: Redis, clock: ManualClock, ada: Person, fans: list[Person]
) -> None:
    comment = await write(ada, "like me")
    await like(app, fans[0], comment)
    (notice,) = (await inbox(ada))["notifications"]
    await ada.call("DELETE", f"/v1/notifications/{notice['id']}")
    await like(app, fans[1], comment)
    assert await groups(redis, ada) == []
    clock.advance(seconds=3600)
    await like(app, fans[2], comment)
    assert await groups(redis, ada) == [(1, fans[2].id, False)]


async def test_a_vote_that_is_taken_back_counts_no_longer(
    app: Application, redis: Redis, ada: Person, fans: list[Person]
) -> None:
    comment = await write(ada, "like me")
    for fan in fans[:3]:
        await like(app, fan, comment)
    await like(app, fans[0], comment)  # the same again takes it back
    assert await groups(redis, ada) == [(2, fans[2].id, False)]
    await like(app, fans[2], comment, "down")
    assert await groups(redis, ada) == [(1, fans[1].id, False)]
    await like(app, fans[1], comment)
    assert await groups(redis, ada) == []
    await like(app, fans[2], comment)
    assert await groups(redis, ada) == [(1, fans[2].id, False)]


async def test_changing_ones_mind_again_and_again_is_one_person_and_told_live_once(
    app: Application, redis: Redis, ada: Person, fans: list[Person]
) -> None:
    comment = await write(ada, "like me")
    async with redis.pubsub() as heard:
        await heard.subscribe(f"user:{ada.id}:events")
        assert (await heard.get_message(timeout=5) or {})["type"] == "subscribe"
        for _ in range(5):
            await like(app, fans[0], comment)
        await redis.publish(f"user:{ada.id}:events", "end")
        messages = [await heard.get_message(timeout=5) for _ in range(2)]
    assert [message["data"] == "end" for message in messages if message] == [False, True]
    assert await groups(redis, ada) == [(1, fans[0].id, False)]


async def test_votes_that_waited_for_a_worker_are_told_together(
    app: Application, redis: Redis, ada: Person, fans: list[Person]
) -> None:
    comment = await write(ada, "like me")
    for fan in fans:
        await vote(fan, comment["i"], "up")
    await vote(fans[4], comment["i"], "up")
    await settle(app)
    assert await groups(redis, ada) == [(4, fans[3].id, False)]
