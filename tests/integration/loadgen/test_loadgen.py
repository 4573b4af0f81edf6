"""Made-up threads: in the shapes of real ones, the same for a seed, and with indexes that agree (row S3-96)."""

from collections import Counter
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from threadkit.app import Application
from threadkit.errors import InvalidParameter
from threadkit.loadgen.service import Load, LoadService, skewed_pages
from threadkit.loadgen.shapes import MadePage
from threadkit.pages.model import page_id_of
from threadkit.sites.model import NewSite
from threadkit.storage.keys import Keys

UNTIL_MS = 1_760_000_000_000
PAGE = MadePage("https://blog.example.org/one", "One", 60)


def service_of(app: Application) -> LoadService:
    services = app.services
    return LoadService(redis=services.store.redis, keys=services.keys, clock=services.clock, outbox=services.outbox)


def load_of(*pages: MadePage, seed: str = "7", users: int = 40, votes: int = 150) -> Load:
    return Load(pages, users=users, votes=votes, seed=seed, until_ms=UNTIL_MS)


async def fill(app: Application, new_site: NewSite, load: Load) -> None:
    made = await service_of(app).fill(new_site.site, load)
    assert (made.comments, made.votes, made.users) == (load.comments, load.votes, load.users)
    assert made.effects_wait == 0


async def read(http: httpx.AsyncClient, new_site: NewSite, url: str) -> dict[str, Any]:
    answer = await http.get(
        "/v1/comments", params={"page_url": url}, headers={"projectid": new_site.site.api_key_public}
    )
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def every(tree: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found, waiting = [], list(tree)
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += node.get("r", [])
    return found


async def test_all_indexes_agree_with_the_records(app: Application, redis: Redis, new_site: NewSite) -> None:
    await fill(app, new_site, load_of(*skewed_pages("blog.example.org", 300, 12, "x"), votes=700))
    assert await disagreements(redis, shadowed=()) == []


async def test_karma_and_totals_of_people_follow(app: Application, redis: Redis, new_site: NewSite) -> None:
    await fill(app, new_site, load_of(PAGE))
    comments = [
        await redis.hgetall(key) async for key in redis.scan_iter("comment:*") if await redis.type(key) == "hash"
    ]
    totals = Counter(comment["author_id"] for comment in comments)
    for user_id, total in totals.items():
        profile = await redis.hgetall(f"user:{user_id}")
        assert int(profile["total_comments"]) == total
    given = sum(int(comment["upvotes"]) + int(comment["downvotes"]) for comment in comments)
    assert given == 150
    assert not await redis.exists(Keys().site(new_site.site.id).outbox_dead()), "everything was understood"


async def test_the_tree_is_read_over_http(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    await fill(app, new_site, load_of(PAGE))
    thread = await read(http, new_site, PAGE.url)
    assert thread["total"] == 60
    nodes = every(thread["tree"]["c"])
    assert len(nodes) == 60
    assert all(node["h"].startswith("<") and node["t"] and node["x"] * 1000 <= UNTIL_MS for node in nodes)
    assert any(node.get("r") for node in nodes), "some are replies"
    assert {node["u"] > 0 for node in nodes} == {True, False}, "votes go to some"


async def test_a_seed_gives_the_same_data_again(
    app: Application, http: httpx.AsyncClient, redis: Redis, new_site: NewSite
) -> None:
    await fill(app, new_site, load_of(PAGE))
    first = await read(http, new_site, PAGE.url)
    await _forget_all_but_sites(redis)
    await fill(app, new_site, load_of(PAGE))
    app.services.snapshots.drop(page_id_of(new_site.site.id, PAGE.url))
    assert await read(http, new_site, PAGE.url) == first
    await _forget_all_but_sites(redis)
    await fill(app, new_site, load_of(PAGE, seed="8"))
    app.services.snapshots.drop(page_id_of(new_site.site.id, PAGE.url))
    assert await read(http, new_site, PAGE.url) != first


async def _forget_all_but_sites(redis: Redis) -> None:
    for pattern in ("comment:*", "page:*", "vote*", "user:*", "username:*", "email:*", "provider:*", "site:*:comments"):
        async for key in redis.scan_iter(pattern, count=1000):
            await redis.delete(key)
    async for key in redis.scan_iter("site:*:pages"):
        await redis.delete(key)


async def test_two_loads_on_one_site_add_up(app: Application, redis: Redis, new_site: NewSite) -> None:
    service = service_of(app)
    await fill(app, new_site, load_of(PAGE))
    await fill(app, new_site, load_of(PAGE, seed="7+60"))
    assert await service.comments_of(new_site.site) == 120
    assert await disagreements(redis, shadowed=()) == []


async def test_shapes_are_those_of_real_threads() -> None:
    pages = skewed_pages("blog.example.org", 10_000, 250, "x")
    assert sum(page.comments for page in pages) == 10_000
    assert sum(page.comments for page in pages[:25]) > 5_000, "a tenth of the pages has most of the comments"


async def test_a_page_that_was_merged_away_is_a_clear_error(app: Application, redis: Redis, new_site: NewSite) -> None:
    await fill(app, new_site, load_of(PAGE))
    page_id = page_id_of(new_site.site.id, PAGE.url)
    elsewhere = page_id_of(new_site.site.id, "https://blog.example.org/two")
    await redis.hset(Keys().site(new_site.site.id).page(page_id), "moved_to", elsewhere)
    with pytest.raises(InvalidParameter, match="merged into another page"):
        await service_of(app).fill(new_site.site, load_of(PAGE, seed="9"))
