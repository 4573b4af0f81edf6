"""Looking into what people were told, over HTTP and in the store."""

import json
from typing import Any

from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.people import Person
from threadkit.app import Application


async def settle(app: Application) -> None:
    """Let everything that happened have its effects; none of them may fail."""
    await app.services.outbox.drain()
    found = await app.services.outbox_queries.sum()
    assert (found.waiting, found.retrying, found.dead) == (0, 0, 0)


async def inbox(person: Person, query: str = "") -> dict[str, Any]:
    answer = await person.call("GET", f"/v1/notifications{query}")
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page


async def told(person: Person) -> list[tuple[str, str]]:
    """Kinds and words, newest first."""
    return [(one["notification_type"], one["excerpt"]) for one in (await inbox(person))["notifications"]]


async def answer(person: Person, parent: dict[str, Any], text: str) -> dict[str, Any]:
    return await write(person, text, under=[str(parent["i"])])


async def kept(redis: Redis, person: Person) -> list[dict[str, Any]]:
    """What the store keeps, newest first and without what is set aside, after a look at whether all counters agree with
    it (S3-51, V10)."""
    key = f"user:{person.id}:notifications"
    members = [json.loads(str(text)) for text in await redis.zrange(key, "+inf", 0, desc=True, byscore=True)]
    unread = [one for one in members if not one["read"]]
    assert int(await redis.get(f"user:{person.id}:unread") or 0) == len(unread)
    by_site = {site: int(number) for site, number in (await redis.hgetall(f"user:{person.id}:unread:sites")).items()}
    assert by_site == {
        site: sum(one["site_id"] == site for one in unread) for site in {one["site_id"] for one in unread}
    }
    return members
