"""The original's suites comment_tests.rs, atomic_vote_tests.rs and gdpr_tests.rs, one test a bullet of contract 14.1 and 14.3,
through HTTP. Where a test of ours covers a bullet, `ELSEWHERE` says which. Deltas of votes are seen as karma. The two storage
bullets look at our own keys, since there is no tree in the store."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import DELETED, disagreements
from tests.integration.comments.test_comments import URL, read, write
from tests.integration.comments.test_votes import vote
from tests.people import Person, create, guest, post
from tests.wait import until
from threadkit.app import Application
from threadkit.sites.model import NewSite

NOWHERE = "01a1e1d5-9217-7000-be42-7b27b41a2a52"
_VOTES = "comments/test_votes.py::test_none_sets_same_removes_other_switches_s3_30"
_KARMA = "comments/test_votes.py::test_karma_follows_the_votes_of_others_s3_31"
ELSEWHERE = {
    "test_vote_comment": _VOTES,
    "test_vote_toggle": _VOTES,
    "test_vote_switch_up_to_down": _VOTES,
    "test_vote_switch_down_to_up": _VOTES,
    "test_vote_removes_on_second_same_vote": _VOTES,
    "test_vote_complex_sequence": _VOTES,
    "test_vote_updates_author_karma": _KARMA,
    "test_vote_on_own_comment_no_karma_change": _KARMA,
    "test_upvote_no_existing_vote": _VOTES,
    "test_downvote_no_existing_vote": _VOTES,
    "test_remove_upvote": _VOTES,
    "test_remove_downvote": _VOTES,
    "test_switch_upvote_to_downvote": _VOTES,
    "test_switch_downvote_to_upvote": _VOTES,
    "test_karma_calculation": _KARMA,
    "test_report_comment": "moderation/test_decisions.py::test_user_can_report_comment",
}


def test_what_is_covered_elsewhere_is_there() -> None:
    for bullet, where in ELSEWHERE.items():
        file, _, test = where.partition("::")
        assert f"def {test}(" in (Path(__file__).parents[1] / file).read_text(encoding="utf-8"), bullet


@pytest.fixture
async def ada(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "ada", "ada@example.org")


@pytest.fixture
async def eve(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "eve")


@pytest.fixture
async def bob(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "bob")


async def profile(person: Person) -> dict[str, object]:
    answer = await person.http.get(f"/v1/users/{person.id}", headers={"projectid": person.key})
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


async def settles(person: Person, field: str, wanted: int) -> None:
    """Effects on people come after the answer."""

    async def is_so() -> bool:
        return (await profile(person))[field] == wanted

    await until(is_so, f"{field} of {person.name} to be {wanted}", seconds=60)


async def counts(person: Person, comment_id: object, *ways: str) -> tuple[object, object, object]:
    for way in ways:
        result = await vote(person, comment_id, way)
    return result["upvotes"], result["downvotes"], result["user_vote"]


async def test_create_comment(ada: Person) -> None:
    """200; `comment.t` and `comment.n` are right."""
    comment = await write(ada, "Hello, world!")
    assert (comment["t"], comment["n"]) == ("Hello, world!", "ada")


async def test_create_reply(ada: Person) -> None:
    """A reply through `parent_path` returns its text."""
    root = await write(ada, "parent")
    assert (await write(ada, "reply", under=[root["i"]]))["t"] == "reply"


async def test_get_comments(http: httpx.AsyncClient, new_site: NewSite, ada: Person) -> None:
    """Three posts give total 3 and three in `tree.c`."""
    for number in range(3):
        await write(ada, f"comment {number}")
    thread = await read(http, new_site)
    assert (thread["total"], len(thread["tree"]["c"])) == (3, 3)


async def test_update_comment(ada: Person) -> None:
    """200, a bare TreeComment with the new `t` and a numeric `m`."""
    comment = await write(ada, "original")
    body = {"page_url": URL, "content": "updated", "path": [comment["i"]]}
    answer = await ada.call("PUT", f"/v1/comments/{comment['i']}", body)
    assert (answer.status_code, answer.json()["t"], type(answer.json()["m"])) == (200, "updated", int)


async def test_update_comment_not_owner(ada: Person, eve: Person) -> None:
    """403."""
    comment = await write(ada, "mine")
    body = {"page_url": URL, "content": "yours", "path": [comment["i"]]}
    answer = await eve.call("PUT", f"/v1/comments/{comment['i']}", body)
    assert (answer.status_code, answer.json()["error"]) == (403, "Not your comment")


async def test_delete_comment(http: httpx.AsyncClient, new_site: NewSite, ada: Person) -> None:
    """204, then total 0."""
    comment = await write(ada, "to go")
    body = {"page_url": URL, "path": [comment["i"]]}
    answer = await ada.call("DELETE", f"/v1/comments/{comment['i']}", body)
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await read(http, new_site))["total"] == 0


async def test_comment_length_validation(ada: Person) -> None:
    """10,000 characters pass, 10,001 give 400 with the limit in the text."""
    await write(ada, "a" * 10_000)
    answer = await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "a" * 10_001})
    assert answer.status_code == 400
    assert "exceeds maximum length" in answer.json()["error"]
    assert "10000" in answer.json()["error"]


async def test_create_comment_requires_auth(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    """401 when anonymous is off."""
    await app.services.sites.change(new_site.site.id, settings={"auth.anonymous": False})
    answer = await post(http, new_site, "/v1/comments", {"page_url": URL, "content": "hi", "author_name": "Bob"})
    assert answer.status_code == 401


async def test_comment_count_increments(ada: Person) -> None:
    """The profile's `total_comments` goes 0, 1, 2."""
    for number in range(3):
        await settles(ada, "total_comments", number)
        await write(ada, f"comment {number}")


async def test_multiple_comments_increment_count(ada: Person) -> None:
    """Five posts count 5."""
    for number in range(5):
        await write(ada, f"comment {number}")
    await settles(ada, "total_comments", 5)


async def test_user_endpoint_returns_total_comments(ada: Person) -> None:
    """Field types; `created_at` is text."""
    found = await profile(ada)
    kinds = {name: type(found[name]) for name in ("id", "name", "karma", "total_comments", "created_at")}
    assert kinds == {"id": str, "name": str, "karma": int, "total_comments": int, "created_at": str}


async def test_user_endpoint_with_multiple_comments(ada: Person) -> None:
    """Count 3, name right."""
    for number in range(3):
        await write(ada, f"comment {number}")
    await settles(ada, "total_comments", 3)
    assert (await profile(ada))["name"] == "ada"


async def test_multiple_users_voting(
    http: httpx.AsyncClient, new_site: NewSite, ada: Person, eve: Person, bob: Person
) -> None:
    """Two up, one down seen in the tree."""
    comment = await write(ada, "vote on me")
    for person, way in ((ada, "up"), (eve, "up"), (bob, "down")):
        await vote(person, comment["i"], way)
    node = (await read(http, new_site))["tree"]["c"][0]
    assert (node["u"], node["d"]) == (2, 1)


async def test_multiple_votes_karma_accumulation(
    ada: Person, eve: Person, bob: Person, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    """2 up 1 down gives +1."""
    comment = await write(ada, "vote on me")
    carol = await create(http, new_site, "carol")
    for person, way in ((eve, "up"), (bob, "up"), (carol, "down")):
        await vote(person, comment["i"], way)
    await settles(ada, "karma", 1)


async def test_tree_exists_after_create(redis: Redis, http: httpx.AsyncClient, new_site: NewSite, ada: Person) -> None:
    """(Storage) Here: the page, the comment's record, and all of its indexes are there."""
    comment = await write(ada, "stored")
    page = (await read(http, new_site))["page_id"]
    assert await redis.hget(f"page:{page}", "comments") == "1"
    assert await redis.hget(f"comment:{comment['i']}", "content") == "stored"
    assert await redis.zrange(f"page:{page}:comments:new", 0, -1) == [comment["i"]]
    assert await disagreements(redis, shadowed=()) == []


async def test_tree_raw_after_vote(
    redis: Redis, http: httpx.AsyncClient, new_site: NewSite, ada: Person, eve: Person
) -> None:
    """(Storage) Here: record and indexes still agree after a vote, and the thread can be read."""
    comment = await write(ada, "stored")
    await vote(eve, comment["i"], "up")
    assert await redis.hget(f"comment:{comment['i']}", "upvotes") == "1"
    assert await disagreements(redis, shadowed=()) == []
    assert (await read(http, new_site))["tree"]["c"][0]["u"] == 1


NOWHERE = "01a1e1d5-9217-7000-be42-7b27b41a2a52"


async def test_vote_on_nested_comment(http: httpx.AsyncClient, new_site: NewSite, ada: Person, eve: Person) -> None:
    """A path of two ids."""
    root = await write(ada, "root")
    reply = await write(ada, "reply", under=[root["i"]])
    body = {"page_url": URL, "path": [root["i"], reply["i"]], "direction": "up"}
    answer = await eve.call("POST", f"/v1/comments/{reply['i']}/vote", body)
    assert answer.json() == {"upvotes": 1, "downvotes": 0, "user_vote": "up", "version": 3}
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
