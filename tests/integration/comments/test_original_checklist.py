"""The original's comment_tests.rs, one test a bullet of contract 14.1, through HTTP.

`test_report_comment` is not here: reporting is not served yet. The two storage bullets look at our own keys, since there
is no tree in the store.
"""

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import URL, read, write
from tests.integration.comments.test_votes import vote
from tests.people import Person, create, post
from tests.wait import until
from threadkit.app import Application
from threadkit.sites.model import NewSite


@pytest.fixture
async def ada(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "ada")


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


async def test_vote_comment(ada: Person, eve: Person) -> None:
    """Up by another user: 1/0/"up"."""
    comment = await write(ada, "vote on me")
    assert await counts(eve, comment["i"], "up") == (1, 0, "up")


async def test_vote_toggle(ada: Person, eve: Person) -> None:
    """The same vote twice: 0, user_vote null."""
    comment = await write(ada, "vote on me")
    assert await counts(eve, comment["i"], "up", "up") == (0, 0, None)


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


async def test_vote_switch_up_to_down(ada: Person, eve: Person) -> None:
    """The counts move across."""
    comment = await write(ada, "vote on me")
    assert await counts(eve, comment["i"], "up") == (1, 0, "up")
    assert await counts(eve, comment["i"], "down") == (0, 1, "down")


async def test_vote_switch_down_to_up(ada: Person, eve: Person) -> None:
    """The counts move across."""
    comment = await write(ada, "vote on me")
    assert await counts(eve, comment["i"], "down") == (0, 1, "down")
    assert await counts(eve, comment["i"], "up") == (1, 0, "up")


async def test_multiple_users_voting(
    http: httpx.AsyncClient, new_site: NewSite, ada: Person, eve: Person, bob: Person
) -> None:
    """Two up, one down seen in the tree."""
    comment = await write(ada, "vote on me")
    for person, way in ((ada, "up"), (eve, "up"), (bob, "down")):
        await vote(person, comment["i"], way)
    node = (await read(http, new_site))["tree"]["c"][0]
    assert (node["u"], node["d"]) == (2, 1)


async def test_vote_removes_on_second_same_vote(ada: Person, eve: Person) -> None:
    """Down twice gives 0, null."""
    comment = await write(ada, "vote on me")
    assert await counts(eve, comment["i"], "down", "down") == (0, 0, None)


async def test_vote_complex_sequence(ada: Person, eve: Person) -> None:
    """Up, off, down, up, off ends 0/0/null."""
    comment = await write(ada, "vote on me")
    assert await counts(eve, comment["i"], "up", "up", "down", "up", "up") == (0, 0, None)


async def test_vote_updates_author_karma(ada: Person, eve: Person) -> None:
    """+1, then −1 after switching."""
    comment = await write(ada, "vote on me")
    await vote(eve, comment["i"], "up")
    await settles(ada, "karma", 1)
    await vote(eve, comment["i"], "down")
    await settles(ada, "karma", -1)


async def test_vote_on_own_comment_no_karma_change(app: Application, ada: Person, eve: Person) -> None:
    """A self-vote leaves karma."""
    comment = await write(ada, "vote on me")
    assert await counts(ada, comment["i"], "up") == (1, 0, "up")
    # Effects keep their order, so when the second vote has had its own, the first would have had one too.
    await vote(eve, comment["i"], "down")
    await settles(ada, "karma", -1)


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
