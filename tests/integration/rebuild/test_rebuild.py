"""Every index and counter can be derived again from the records, beside a running server."""

import asyncio
import random
import time
from collections.abc import Callable

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import outline, read, write
from tests.integration.comments.test_votes import vote
from tests.integration.rebuild.forest import Forest, Vandal, dump
from tests.make import ManualClock
from tests.people import create
from threadkit.app import Application
from threadkit.clock import iso
from threadkit.comments.queries import CommentQueries
from threadkit.ids import CommentId, UserId, new_uuid
from threadkit.rebuild.model import Report
from threadkit.sites.model import NewSite
from threadkit.votes.scripts import CastVote

MakeForest = Callable[[int], Forest]


@pytest.fixture
def forest(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, redis: Redis
) -> MakeForest:
    return lambda seed: Forest(app, http, new_site, clock, redis, random.Random(seed))


def told(report: Report) -> dict[tuple[str, str], int]:
    return {(tally.kind, tally.what): tally.count for tally in report.tallies}


async def test_nothing_disagrees_where_nobody_meddled(app: Application, forest: MakeForest, redis: Redis) -> None:
    await forest(1).grow()
    assert await disagreements(redis) == []
    before = await dump(redis)
    for is_check in (True, False):
        report = await app.services.rebuild.run(is_check=is_check)
        assert report.tallies == []
        assert (report.is_clean, report.rounds) == (True, 1)
        assert report.comments == len([key for key in before if key.count(":") == 1 and key.startswith("comment:")])
    assert await dump(redis) == before


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_is_vandalised_comes_back_as_it_was(
    app: Application, forest: MakeForest, redis: Redis, seed: int
) -> None:
    await forest(seed).grow()
    before = await dump(redis)
    vandal = Vandal(redis, random.Random(seed))
    for times in (1, 5, 60):
        struck = await vandal.strike(times)
        checked = await app.services.rebuild.run(is_check=True)
        assert not checked.is_clean or await dump(redis) == before, struck
        report = await app.services.rebuild.run()
        assert report.is_clean, (struck, report)
        assert await dump(redis) == before, (struck, report)
        assert await disagreements(redis) == []
        assert (await app.services.rebuild.run(is_check=True)).tallies == []


async def test_a_check_changes_nothing_and_a_rebuild_says_what_it_changed(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    one, two = await write(ada, "one"), await write(ada, "two")
    reply = await write(ada, "reply", under=[str(one["i"])])
    page = (await read(http, new_site))["page_id"]
    await redis.zadd(f"page:{page}:comments:top", {str(one["i"]): 7, str(two["i"]): -3})
    await redis.zrem(f"comment:{one['i']}:replies", str(reply["i"]))
    await redis.hset(f"comment:{two['i']}", "reply_count", "4")
    await redis.hset(f"page:{page}", "comments", "99")
    ghost = new_uuid()
    await redis.zadd(f"page:{page}:pinned", {ghost: 1})
    version = int(await redis.hget(f"page:{page}", "version") or 0)
    before = await dump(redis)
    checked = await app.services.rebuild.run(is_check=True)
    assert told(checked) == {
        ("page_top", "score"): 2,
        ("replies", "missing"): 1,
        # The index lacks a reply that the number counts: seen from there, the number is wrong too.
        ("reply_count", "value"): 2,
        ("page comments", "value"): 1,
        ("pinned", "stray"): 1,
    }
    assert not checked.is_clean
    assert await dump(redis) == before
    assert int(await redis.hget(f"page:{page}", "version") or 0) == version

    report = await app.services.rebuild.run()
    assert told(report) == told(checked) | {("reply_count", "value"): 1}
    sentences = [tally.sentence(is_check=False) for tally in report.tallies]
    assert f"pinned: 1 taken out that did not belong there, e.g. {ghost} in page:{page}:pinned" in sentences
    assert f"page comments: 1 put right, e.g. page {page}: 99 instead of 3" in sentences
    assert int(await redis.hget(f"page:{page}", "version") or 0) > version, "caches must notice"


async def test_a_page_whose_indexes_are_lost_is_shown_again_at_once(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    ada = await create(http, new_site, "ada")
    root = await write(ada, "root")
    place = await write(ada, "gone", under=[str(root["i"])])
    await write(ada, "leaf", under=[str(root["i"]), str(place["i"])])
    await ada.call("DELETE", f"/v1/comments/{place['i']}")
    before = await read(http, new_site)
    page = before["page_id"]
    await redis.unlink(f"page:{page}", *[key async for key in redis.scan_iter(f"page:{page}:*")])
    await redis.unlink(*[key async for key in redis.scan_iter("comment:*:replies*")])
    clock.advance(seconds=2)
    assert outline(await read(http, new_site)) == []
    report = await app.services.rebuild.run()
    assert report.is_clean
    clock.advance(seconds=2)
    assert outline(await read(http, new_site)) == [("root", [("[deleted]", ["leaf"])])]
    assert (await read(http, new_site))["total"] == before["total"]
    assert await disagreements(redis) == []


async def test_a_vote_whose_server_died_leaves_nothing_to_put_right(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, eve, bob = [await create(http, new_site, name) for name in ("ada", "eve", "bob")]
    comment = await write(ada, "vote on me")
    await vote(eve, comment["i"], "up")
    queries = CommentQueries(redis=redis, keys=app.services.keys)
    found = await queries.by_id(new_site.site.id, CommentId(str(comment["i"])))
    assert found is not None
    await CastVote(redis, app.services.keys)(
        found,
        voter=UserId(bob.id),
        direction="up",
        up_only=False,
        is_shadowed=False,
        formula=new_site.site.settings.hot,
    )
    assert told(await app.services.rebuild.run(is_check=True)) == {}
    assert await disagreements(redis) == []


async def test_rebuilding_while_people_write_vote_and_delete_loses_and_doubles_nothing(
    app: Application, forest: MakeForest, redis: Redis
) -> None:
    wood = await forest(5).grow(40)
    vandal = Vandal(redis, random.Random(5))
    done = is_struck = False
    turn = asyncio.Lock()

    async def live() -> None:
        while not done:
            # A deletion believes the counts it finds, so nobody deletes before they are put right.
            steps = [wood.post, wood.vote] * 3 if is_struck else [wood.step] * 6
            async with turn:
                await asyncio.gather(*(step() for step in steps))

    crowd = asyncio.create_task(live())
    try:
        for _ in range(3):
            is_struck = True
            async with turn:
                await vandal.strike(20)
            await app.services.rebuild.run()
            is_struck = False
            checked = await app.services.rebuild.run(is_check=True)
    finally:
        done = True
        await crowd
    await wood.settle()
    report = await app.services.rebuild.run()
    assert report.is_clean
    assert (await app.services.rebuild.run(is_check=True)).tallies == []
    assert await disagreements(redis) == []
    assert checked.comments > 0


async def test_a_check_beside_a_crowd_of_voters_raises_no_false_alarm(
    app: Application, forest: MakeForest, redis: Redis
) -> None:
    wood = await forest(6).grow(30)
    done = False

    async def live() -> None:
        while not done:
            await asyncio.gather(*(wood.vote() for _ in range(10)), wood.post(), wood.delete())

    crowd = asyncio.create_task(live())
    try:
        reports = [await app.services.rebuild.run(is_check=True) for _ in range(8)]
    finally:
        done = True
        await crowd
    assert [report.tallies for report in reports] == [[]] * 8


async def test_one_site_can_be_rebuilt_alone(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    other = await app.services.sites.create("Other", "other.example.org")
    ids = {}
    for site in (new_site, other):
        ids[site.site.id] = str((await write(await create(http, site, f"ada-{site.site.name}"), "hi"))["i"])
        await redis.delete(f"site:{site.site.id}:comments")
        await redis.hset(f"comment:{ids[site.site.id]}", "reply_count", "3")
    report = await app.services.rebuild.run(site_id=other.site.id)
    assert told(report) == {("comments", "missing"): 1, ("reply_count", "value"): 1}
    assert report.comments == 1
    assert await redis.exists(f"site:{other.site.id}:comments")
    assert not await redis.exists(f"site:{new_site.site.id}:comments")
    assert (await app.services.rebuild.run()).is_clean


async def test_damage_to_a_record_is_told_and_left_alone(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    broken, orphan = await write(ada, "broken"), await write(ada, "parent")
    child = await write(ada, "child", under=[str(orphan["i"])])
    await vote(eve, orphan["i"], "up")
    await redis.hdel(f"comment:{broken['i']}", "created_at")
    await redis.delete(f"comment:{orphan['i']}")
    loop = await write(ada, "loop")
    await redis.hset(f"comment:{loop['i']}", "parent_id", str(loop["i"]))
    report = await app.services.rebuild.run()
    assert not report.is_clean
    assert told(report)["comment", "damaged"] == 3
    assert told(report)["vote", "damaged"] == 1
    assert await redis.hget(f"comment:{broken['i']}", "content") == "broken"
    assert await redis.exists(f"comment:{child['i']}")
    again = await app.services.rebuild.run(is_check=True)
    assert {tally.what for tally in again.tallies} == {"damaged"}


_RECORD = {
    "page_url": "https://blog.example.org/",
    "author_name": "n",
    "content": "c",
    "content_html": "c",
    "status": "approved",
    "updated_at": iso(1_765_000_000_000),
    "render_version": "1",
    "upvotes": "2",
    "downvotes": "1",
    "reply_count": "0",
    "depth": "0",
}


async def plant(redis: Redis, site: NewSite, parents: list[int | None]) -> list[str]:
    """Records alone, as a backup of nothing but the records would have them; all indexes are missing."""
    page, author = new_uuid(), new_uuid()
    ids = [new_uuid() for _ in parents]
    for start in range(0, len(parents), 1000):
        async with redis.pipeline(transaction=False) as pipe:
            for number in range(start, min(start + 1000, len(parents))):
                above = parents[number]
                record = _RECORD | {"id": ids[number], "site_id": site.site.id, "page_id": page, "author_id": author}
                record["created_at"] = iso(1_765_000_000_000 + number)
                if above is not None:
                    record["parent_id"] = ids[above]
                pipe.hset(f"comment:{ids[number]}", mapping=record)  # type: ignore[arg-type]
            await pipe.execute()
    return ids


async def clear(redis: Redis) -> None:
    """Thousands of keys of a few sorts: the guard over the keys would look at each of them."""
    found = [key async for key in redis.scan_iter("comment:*", count=1000)]
    for start in range(50, len(found), 1000):
        await redis.unlink(*found[start : start + 1000])


async def timed(app: Application) -> float:
    started = time.perf_counter()
    assert (await app.services.rebuild.run()).is_clean
    return time.perf_counter() - started


async def test_a_chain_costs_no_more_than_as_many_roots(app: Application, new_site: NewSite, redis: Redis) -> None:
    size = 2_000
    await plant(redis, new_site, [None] * size)
    wide_s = await timed(app)
    await redis.unlink(*[key async for key in redis.scan_iter("comment:*")])
    ids = await plant(redis, new_site, [None, *range(size - 1)])
    deep_s = await timed(app)
    assert await redis.hget(f"comment:{ids[-1]}", "depth") == str(size - 1)
    assert await redis.hget(f"comment:{ids[0]}", "reply_count") == "1"
    # Four indexes a reply instead of four a page, and a step up for each; a square would be a hundred times as much.
    assert deep_s < 10 * wide_s + 2, (deep_s, wide_s)
    await clear(redis)


async def test_deleted_places_down_a_long_chain_come_back_and_go(
    app: Application, new_site: NewSite, redis: Redis
) -> None:
    size = 600
    ids = await plant(redis, new_site, [None, *range(size - 1)])
    async with redis.pipeline(transaction=False) as pipe:
        for comment_id in ids[:-1]:
            pipe.hset(f"comment:{comment_id}", "status", "deleted")
        await pipe.execute()
    assert (await app.services.rebuild.run()).is_clean
    page = await redis.hget(f"comment:{ids[0]}", "page_id")
    assert await redis.zcard(f"page:{page}:comments:new") == size
    assert await redis.hget(f"page:{page}", "comments") == str(size)
    await redis.hset(f"comment:{ids[-1]}", "status", "deleted")
    assert (await app.services.rebuild.run()).is_clean
    assert not await redis.exists(f"page:{page}:comments:new")
    assert await redis.hget(f"page:{page}", "comments") == "0"
    assert [key async for key in redis.scan_iter("comment:*:replies*")] == []


async def test_five_thousand_comments_on_one_page(app: Application, new_site: NewSite, redis: Redis) -> None:
    dice = random.Random(1)
    parents = [None if number == 0 or dice.random() < 0.8 else dice.randrange(number) for number in range(5_000)]
    await plant(redis, new_site, parents)
    await timed(app)
    started = time.process_time()  # how busy the machine is with other things does not matter
    assert (await app.services.rebuild.run(is_check=True)).is_clean
    assert time.process_time() - started < 10
    assert await disagreements(redis) == []
    await clear(redis)
