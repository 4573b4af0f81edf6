"""The original's gdpr_tests.rs, one test a bullet of contract 14.1, through HTTP."""

from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import DELETED, disagreements
from tests.integration.comments.test_comments import URL, read, write
from tests.integration.comments.test_votes import vote
from tests.people import Person, create
from threadkit.sites.model import NewSite


@pytest.fixture
async def ada(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "ada", "ada@example.org")


@pytest.fixture
async def eve(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "eve")


async def leave(person: Person) -> dict[str, int]:
    answer = await person.call("DELETE", "/v1/users/me")
    assert answer.status_code == 200, answer.text
    numbers: dict[str, int] = answer.json()
    return numbers


def is_nobodys(node: dict[str, Any]) -> bool:
    return (node["a"], node["n"], node["p"], node["k"]) == (DELETED, "[deleted]", None, 0)


async def test_delete_account_anonymizes_comments(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person
) -> None:
    """Numbers say 1; author is the deleted id, `[deleted]`, avatar null; the text is kept."""
    await write(ada, "my words")
    assert (await leave(ada))["comments_deleted"] == 1
    (node,) = (await read(http, new_site))["tree"]["c"]
    assert is_nobodys(node)
    assert (node["t"], "s" in node) == ("my words", False)
    assert await disagreements(redis) == []


async def test_delete_account_preserves_replies(
    http: httpx.AsyncClient, new_site: NewSite, ada: Person, eve: Person
) -> None:
    """The undocumented `parent_id` is ignored, so both are roots; only the leaver is anonymised."""
    root = await write(ada, "root")
    body = {"page_url": URL, "content": "answer", "parent_id": root["i"]}
    assert (await eve.call("POST", "/v1/comments", body)).status_code == 200
    await leave(ada)
    roots = (await read(http, new_site))["tree"]["c"]
    assert [node["t"] for node in roots] == ["root", "answer"]
    assert [is_nobodys(node) for node in roots] == [True, False]
    assert roots[1]["a"] == eve.id


async def test_delete_account_removes_votes(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person, eve: Person
) -> None:
    """votes_deleted 1, the count stays 1."""
    comment = await write(eve, "vote on me")
    await vote(ada, comment["i"], "up")
    assert (await leave(ada))["votes_deleted"] == 1
    assert (await read(http, new_site))["tree"]["c"][0]["u"] == 1
    assert [key async for key in redis.scan_iter("vote*")] == []


async def test_delete_account_removes_user_data(http: httpx.AsyncClient, ada: Person) -> None:
    """The profile is 404."""
    await leave(ada)
    assert (await http.get(f"/v1/users/{ada.id}", headers={"projectid": ada.key})).status_code == 404
    assert (await ada.call("GET", "/v1/users/me")).status_code == 401


async def test_delete_account_removes_email_index(http: httpx.AsyncClient, new_site: NewSite, ada: Person) -> None:
    """The address can be used again."""
    await leave(ada)
    again = await create(http, new_site, "somebody", "ada@example.org")
    assert again.id != ada.id


async def test_delete_account_removes_username_index(http: httpx.AsyncClient, new_site: NewSite, ada: Person) -> None:
    """The name can be used again."""
    await leave(ada)
    again = await create(http, new_site, "ada")
    assert (again.name, again.id == ada.id) == ("ada", False)


async def test_delete_account_with_multiple_comments(http: httpx.AsyncClient, new_site: NewSite, ada: Person) -> None:
    """5 anonymised."""
    for number in range(5):
        await write(ada, f"comment {number}")
    assert (await leave(ada))["comments_deleted"] == 5
    roots = (await read(http, new_site))["tree"]["c"]
    assert [is_nobodys(node) for node in roots] == [True] * 5


async def test_delete_account_removes_blocking_relationships(ada: Person, eve: Person, redis: Redis) -> None:
    """200 after a block, in both directions, and nothing of it is left."""
    await ada.call("POST", f"/v1/users/{eve.id}/block")
    await eve.call("POST", f"/v1/users/{ada.id}/block")
    await leave(ada)
    assert [key async for key in redis.scan_iter("user:*:blocked*")] == []


async def test_delete_account_requires_auth(http: httpx.AsyncClient, new_site: NewSite) -> None:
    """401."""
    answer = await http.delete("/v1/users/me", headers={"projectid": new_site.site.api_key_public})
    assert answer.status_code == 401


async def test_delete_account_with_nested_replies(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person, eve: Person
) -> None:
    """Three comments stay, only the middle user's is anonymised."""
    bob = await create(http, new_site, "bob")
    root = await write(eve, "root")
    middle = await write(ada, "middle", under=[root["i"]])
    await write(bob, "leaf", under=[root["i"], middle["i"]])
    await leave(ada)
    thread = await read(http, new_site)
    top = thread["tree"]["c"][0]
    nodes = [top, top["r"][0], top["r"][0]["r"][0]]
    assert [node["t"] for node in nodes] == ["root", "middle", "leaf"]
    assert [is_nobodys(node) for node in nodes] == [False, True, False]
    assert thread["total"] == 3
    assert await disagreements(redis) == []
