"""Crowds on two real workers: nothing is lost, nothing is counted twice, and both workers show the same thread."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.folders import quick_folder
from tests.integration.comments.agreement import disagreements
from tests.integration.server.program import Server, serving
from tests.people import Person
from tests.wait import until

CROWD = 200
PATIENCE_S = 120

pytestmark = [pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with (
        quick_folder() as parent,
        serving(Path(parent) / "data", "--workers", "2") as running,
    ):
        yield running


@pytest.fixture
async def store(server: Server) -> AsyncIterator[Redis]:
    client = Redis(unix_socket_path=str(server.folder / "store.sock"), decode_responses=True)
    async with aclosing(client):
        yield client


@pytest.fixture
async def http(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    limits = httpx.Limits(max_connections=50, max_keepalive_connections=50)
    async with httpx.AsyncClient(base_url=server.url, limits=limits, timeout=PATIENCE_S) as client:
        yield client


@pytest.fixture
async def crowd(server: Server, http: httpx.AsyncClient) -> list[Person]:
    public, secret = (re.findall(rf"tk_{kind}_\w+", server.said)[0] for kind in ("pub", "sec"))

    async def one(number: int) -> Person:
        name = f"p{time.monotonic_ns() % 10**9:09d}x{number}"
        answer = await http.post("/v1/admin/create-user", json={"name": name}, headers={"projectid": secret})
        assert answer.status_code == 200, answer.text
        return Person.of(http, public, answer.json())

    return await asyncio.gather(*(one(number) for number in range(CROWD)))


async def write(person: Person, url: str, text: str, under: str | None = None, **headers: str) -> dict[str, Any]:
    body = {"page_url": url, "content": text, "parent_path": [under] if under else None}
    known = {"projectid": person.key, "authorization": f"Bearer {person.token}"}
    answer = await person.http.post("/v1/comments", json=body, headers=known | headers)
    assert answer.status_code == 200, answer.text
    comment: dict[str, Any] = answer.json()["comment"]
    return comment


async def read(http: httpx.AsyncClient, key: str, url: str, sort: str = "old") -> dict[str, Any]:
    answer = await http.get("/v1/comments", params={"page_url": url, "sort": sort}, headers={"projectid": key})
    assert answer.status_code == 200, answer.text
    thread: dict[str, Any] = answer.json()
    return thread


async def drained(store: Redis) -> None:
    async def is_empty() -> bool:
        return not [key async for key in store.scan_iter("site:*:outbox") if await store.xlen(key)]

    await until(is_empty, "the outbox to be empty", seconds=PATIENCE_S)


async def profile(person: Person) -> dict[str, Any]:
    found: dict[str, Any] = (await person.http.get(f"/v1/users/{person.id}", headers={"projectid": person.key})).json()
    return found


async def all_workers_agree(server: Server, key: str, url: str) -> list[dict[str, Any]]:
    """What many fresh connections, which reach both workers, get from one second after the last write on."""
    written = time.monotonic()
    await until(lambda: time.monotonic() > written + 1, "the second that a worker may be behind")
    threads = []
    for _ in range(40):
        async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE_S) as fresh:
            threads.append(await read(fresh, key, url))
    return threads


@pytest.mark.prove
async def test_two_hundred_posters_on_two_workers(
    server: Server, http: httpx.AsyncClient, store: Redis, crowd: list[Person]
) -> None:
    url = "https://localhost/posters"
    root = await write(crowd[0], url, "root")
    posted = await asyncio.gather(
        *(write(person, url, f"by {n}", root["i"] if n % 2 else None) for n, person in enumerate(crowd))
    )
    assert len({comment["i"] for comment in posted}) == CROWD
    threads = await all_workers_agree(server, crowd[0].key, url)
    assert {thread["total"] for thread in threads} == {CROWD + 1}
    assert all(thread == threads[0] for thread in threads), "both workers show the same"
    roots = threads[0]["tree"]["c"]
    assert (len(roots), len(roots[0]["r"])) == (CROWD // 2 + 1, CROWD // 2)
    counts = await http.get("/v1/counts", params={"url": url}, headers={"projectid": crowd[0].key})
    assert counts.json() == {"counts": {url: CROWD + 1}}
    page = threads[0]["page_id"]
    for sort in ("new", "top", "hot"):
        assert await store.zcard(f"page:{page}:comments:{sort}") == CROWD + 1
    for sort in ("new", "top", "hot", "controversial"):
        assert await store.zcard(f"page:{page}:roots:{sort}") == CROWD // 2 + 1
    assert await store.zcard(f"comment:{root['i']}:replies") == CROWD // 2
    assert await store.hget(f"comment:{root['i']}", "reply_count") == str(CROWD // 2)
    assert await store.hget(f"page:{page}", "comments") == str(CROWD + 1)
    await drained(store)
    totals = Counter([(await profile(person))["total_comments"] for person in crowd])
    assert totals == {1: CROWD - 1, 2: 1}
    assert await disagreements(store, shadowed=()) == []


@pytest.mark.prove
async def test_two_hundred_voters_on_two_workers(
    server: Server, http: httpx.AsyncClient, store: Redis, crowd: list[Person]
) -> None:
    """Three comments, everybody votes on each: all at once, one of them twice and so for nothing."""
    url = "https://localhost/voters"
    comments = [await write(crowd[n], url, f"comment {n}") for n in range(3)]

    async def vote(person: Person, comment_id: str, way: str) -> None:
        body = {"page_url": url, "path": [comment_id], "direction": way}
        answer = await person.call("POST", f"/v1/comments/{comment_id}/vote", body)
        assert answer.status_code == 200, answer.text

    everybody = list(enumerate(crowd))
    await asyncio.gather(
        *(vote(person, comments[0]["i"], "up" if n % 4 else "down") for n, person in everybody),
        *(vote(person, comments[1]["i"], "up") for _, person in everybody),
        *(vote(person, comments[2]["i"], "down") for _, person in everybody),
        *(vote(person, comments[2]["i"], "down") for _, person in everybody),
    )
    threads = await all_workers_agree(server, crowd[0].key, url)
    assert all(thread == threads[0] for thread in threads), "both workers show the same"
    shown = [(node["u"], node["d"]) for node in threads[0]["tree"]["c"]]
    assert shown == [(CROWD * 3 // 4, CROWD // 4), (CROWD, 0), (0, 0)]
    page = threads[0]["page_id"]
    top = {comment["i"]: await store.zscore(f"page:{page}:comments:top", comment["i"]) for comment in comments}
    assert list(top.values()) == [CROWD // 2, CROWD, 0]
    assert (await read(http, crowd[0].key, url, "hot"))["tree"]["c"][0]["i"] == comments[1]["i"]
    assert await disagreements(store, shadowed=()) == []
    await drained(store)
    # The first author's own vote (down, being number 0) gives no karma, the second's (up) neither.
    karma = [(await profile(person))["karma"] for person in crowd[:4]]
    assert karma == [CROWD // 2 + 1, CROWD - 1, 0, 0]
    mine = await crowd[5].call("GET", f"/v1/pages/my_votes?page_url={url}")
    assert mine.json() == {"votes": {comments[0]["i"]: "up", comments[1]["i"]: "up"}}


async def test_one_request_sent_twenty_times_makes_one_comment_on_two_workers(
    server: Server, http: httpx.AsyncClient, store: Redis, crowd: list[Person]
) -> None:
    url = "https://localhost/repeated"
    tries = [write(crowd[0], url, "once", **{"idempotency-key": "the-same"}) for _ in range(20)]
    assert len({comment["i"] for comment in await asyncio.gather(*tries)}) == 1
    others = [write(person, url, "once", **{"idempotency-key": "the-same"}) for person in crowd[1:4]]
    assert len({comment["i"] for comment in await asyncio.gather(*others)}) == 3, "another sender, another request"
    threads = await all_workers_agree(server, crowd[0].key, url)
    assert {thread["total"] for thread in threads} == {4}
    await drained(store)
    assert (await profile(crowd[0]))["total_comments"] == 1
    assert await disagreements(store, shadowed=()) == []
