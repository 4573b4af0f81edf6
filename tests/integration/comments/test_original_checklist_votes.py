"""The original's atomic_vote_tests.rs, one test a bullet of contract 14.3, through HTTP. Deltas are seen as karma."""

import asyncio

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import URL, read, write
from tests.integration.comments.test_original_checklist import counts, settles
from tests.integration.comments.test_votes import vote
from tests.people import Person, create, guest
from threadkit.sites.model import NewSite

NOWHERE = "01a1e1d5-9217-7000-be42-7b27b41a2a52"


@pytest.fixture
async def ada(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "ada")


@pytest.fixture
async def eve(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "eve")


async def test_upvote_no_existing_vote(ada: Person, eve: Person) -> None:
    """1/0 (+1, 0)."""
    comment = await write(ada, "vote on me")
    assert await counts(eve, comment["i"], "up") == (1, 0, "up")
    await settles(ada, "karma", 1)


async def test_downvote_no_existing_vote(ada: Person, eve: Person) -> None:
    """0/1 (0, +1)."""
    comment = await write(ada, "vote on me")
    assert await counts(eve, comment["i"], "down") == (0, 1, "down")
    await settles(ada, "karma", -1)


async def test_remove_upvote(ada: Person, eve: Person, redis: Redis) -> None:
    """Back to 0/0, none; and nothing of it is kept."""
    comment = await write(ada, "vote on me")
    assert await counts(eve, comment["i"], "up", "up") == (0, 0, None)
    assert [key async for key in redis.scan_iter("vote*")] == []


async def test_remove_downvote(ada: Person, eve: Person, redis: Redis) -> None:
    """Back to 0/0, none; and nothing of it is kept."""
    comment = await write(ada, "vote on me")
    assert await counts(eve, comment["i"], "down", "down") == (0, 0, None)
    assert [key async for key in redis.scan_iter("vote*")] == []


async def test_switch_upvote_to_downvote(ada: Person, eve: Person) -> None:
    """Deltas −1, +1."""
    comment = await write(ada, "vote on me")
    await counts(eve, comment["i"], "up")
    await settles(ada, "karma", 1)
    assert await counts(eve, comment["i"], "down") == (0, 1, "down")
    await settles(ada, "karma", -1)


async def test_switch_downvote_to_upvote(ada: Person, eve: Person) -> None:
    """Deltas +1, −1."""
    comment = await write(ada, "vote on me")
    await counts(eve, comment["i"], "down")
    await settles(ada, "karma", -1)
    assert await counts(eve, comment["i"], "up") == (1, 0, "up")
    await settles(ada, "karma", 1)


async def test_vote_on_nested_comment(http: httpx.AsyncClient, new_site: NewSite, ada: Person, eve: Person) -> None:
    """A path of two ids."""
    root = await write(ada, "root")
    reply = await write(ada, "reply", under=[root["i"]])
    body = {"page_url": URL, "path": [root["i"], reply["i"]], "direction": "up"}
    answer = await eve.call("POST", f"/v1/comments/{reply['i']}/vote", body)
    assert answer.json() == {"upvotes": 1, "downvotes": 0, "user_vote": "up"}
    top = (await read(http, new_site))["tree"]["c"][0]
    assert (top["u"], top["r"][0]["u"]) == (0, 1)


async def test_concurrent_votes_same_comment(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person
) -> None:
    """Ten parallel users give exactly 10."""
    comment = await write(ada, "vote on me")
    people = [await guest(http, new_site) for _ in range(10)]
    await asyncio.gather(*(vote(person, comment["i"], "up") for person in people))
    assert (await read(http, new_site))["tree"]["c"][0]["u"] == 10
    assert await disagreements(redis, shadowed=()) == []


async def test_concurrent_vote_switches(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person, eve: Person
) -> None:
    """Twenty parallel switches of one user end in 0..1 each, and in what the single vote says."""
    comment = await write(ada, "vote on me")
    await asyncio.gather(*(vote(eve, comment["i"], "up" if n % 2 else "down") for n in range(20)))
    node = (await read(http, new_site))["tree"]["c"][0]
    assert (node["u"], node["d"]) in {(0, 0), (1, 0), (0, 1)}
    assert await disagreements(redis, shadowed=()) == []


async def test_vote_nonexistent_page(ada: Person, eve: Person) -> None:
    """An error naming the page."""
    comment = await write(ada, "vote on me")
    body = {"page_url": "https://blog.example.org/nowhere", "path": [comment["i"]], "direction": "up"}
    answer = await eve.call("POST", f"/v1/comments/{comment['i']}/vote", body)
    assert (answer.status_code, answer.json()["error"]) == (404, "Page not found")


async def test_vote_nonexistent_comment(ada: Person, eve: Person) -> None:
    """An error naming the comment."""
    await write(ada, "vote on me")
    body = {"page_url": URL, "path": [NOWHERE], "direction": "up"}
    answer = await eve.call("POST", f"/v1/comments/{NOWHERE}/vote", body)
    assert (answer.status_code, answer.json()["error"]) == (404, "Comment not found")


async def test_karma_calculation(ada: Person, eve: Person) -> None:
    """+1, −2, +2, −1: up, switched down, switched up, taken back."""
    comment = await write(ada, "vote on me")
    for way, karma in (("up", 1), ("down", -1), ("up", 1), ("up", 0)):
        await vote(eve, comment["i"], way)
        await settles(ada, "karma", karma)
