"""Rows S3-12…S3-18 and S3-30 of the seed contract where they ask for volume, depth or chance.

S3-10 and S3-11 are in `test_comments.py` and `test_bad_input.py`, S3-20 comes with the live connection, S3-31 is in
`test_votes.py` and `test_original_checklist.py`.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as StoreConnectionError

from tests.integration.comments.agreement import disagreements, hot_30_days, ms_of
from tests.integration.comments.test_comments import URL, outline, read, write
from tests.integration.comments.test_votes import vote
from tests.make import ManualClock
from tests.people import Person, create, guest
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.comments.model import CommentDraft
from threadkit.keyring import Keyring
from threadkit.settings import Settings, StoreTuning
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore
from threadkit.users.viewer import Viewer


@pytest.fixture
async def quick(redis: Redis) -> AsyncIterator[None]:
    """Without waiting for the disk at each of thousands of writes: these tests are not about durability."""
    await redis.config_set("appendfsync", "no")
    yield
    await redis.config_set("appendfsync", "always")


async def viewer(app: Application, person: Person, site: NewSite) -> Viewer:
    return await app.services.sessions.viewer(person.token, site.site.id)


async def test_held_comments_are_in_no_public_index_and_a_deleted_leaf_leaves_them_s3_12(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    leaf = await write(ada, "leaf")
    page = (await read(http, new_site))["page_id"]
    await app.services.sites.change(new_site.site.id, settings={"moderation_mode": "pre"})
    held = await write(ada, "held")
    indexes = [f"page:{page}:comments:{sort}" for sort in ("new", "top", "hot")]
    for index in indexes:
        assert await redis.zrange(index, 0, -1) == [leaf["i"]]
    await ada.call("DELETE", f"/v1/comments/{leaf['i']}")
    for index in indexes:
        assert not await redis.exists(index)
    assert await redis.zrange(f"site:{new_site.site.id}:modqueue", 0, -1) == [held["i"]]


@pytest.mark.timeout(180)
async def test_ten_thousand_random_votes_of_fifty_people_equal_a_model_s3_13_s3_14_s3_30_s3_31(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock, quick: None
) -> None:
    """Half of them vote at once, two hundred times each; everybody's own votes are in order, all others cross."""
    people = [await guest(http, new_site) for _ in range(50)]
    viewers = [await viewer(app, person, new_site) for person in people]
    comments: list[dict[str, Any]] = []
    dice = random.Random(30)
    for number in range(20):
        clock.advance(seconds=dice.randrange(20_000))
        under = dice.choice(comments)["i"] if comments and number % 2 else None
        comments.append(await write(people[number % 7], f"comment {number}", under=[under] if under else None))
    model: dict[tuple[str, str], str] = {}
    author_of = {comment["i"]: comment["a"] for comment in comments}

    async def votes_of(who: Viewer) -> None:
        own = random.Random(who.id)
        for _ in range(200):
            comment_id, way = own.choice(comments)["i"], own.choice(["up", "down"])
            if model.pop((who.id, comment_id), None) != way:
                model[who.id, comment_id] = way
            answer = await app.services.votes.cast(new_site.site, comment_id, way, voter=who)  # type: ignore[arg-type]
            assert answer.user_vote == model.get((who.id, comment_id))
            assert min(answer.upvotes, answer.downvotes) >= 0

    # No more at once than there are connections: what happens then is another test's question.
    for some in (viewers[:25], viewers[25:]):
        await asyncio.gather(*(votes_of(who) for who in some))
    page = (await read(http, new_site))["page_id"]
    ways = Counter((comment_id, way) for (_, comment_id), way in model.items())
    for comment in comments:
        comment_id, up, down = comment["i"], ways[comment["i"], "up"], ways[comment["i"], "down"]
        record = await redis.hgetall(f"comment:{comment_id}")
        assert (record["upvotes"], record["downvotes"]) == (str(up), str(down))
        assert await redis.zscore(f"page:{page}:comments:top", comment_id) == up - down
        hot = hot_30_days(up, down, ms_of(str(record["created_at"])))
        assert await redis.zscore(f"page:{page}:comments:hot", comment_id) == pytest.approx(hot, abs=1e-9)
    stored = {key: await redis.get(key) async for key in redis.scan_iter("vote:*", count=1000)}
    assert stored == {f"vote:{user}:{comment_id}": way for (user, comment_id), way in model.items()}
    assert await disagreements(redis, shadowed=()) == []

    karma: Counter[str] = Counter()
    for (user, comment_id), way in model.items():
        if author_of[comment_id] != user:
            karma[author_of[comment_id]] += 1 if way == "up" else -1

    async def settled() -> bool:
        return not await redis.xlen(f"site:{new_site.site.id}:outbox")

    await until(settled, "the effects of ten thousand votes", seconds=120)
    found = {person.id: int(await redis.hget(f"user:{person.id}", "karma") or 0) for person in people[:7]}
    assert found == {person.id: karma[person.id] for person in people[:7]}


async def test_replies_are_counted_and_trees_stay_connected_whatever_is_deleted_s3_16_s3_18(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock, quick: None
) -> None:
    ada = await create(http, new_site, "ada")
    dice = random.Random(18)
    alive: list[dict[str, Any]] = []
    parents: dict[str, str | None] = {}
    for number in range(150):
        clock.advance(seconds=1)
        if alive and dice.random() < 0.4:
            gone = alive.pop(dice.randrange(len(alive)))
            assert (await ada.call("DELETE", f"/v1/comments/{gone['i']}")).status_code == 204
        else:
            parent = dice.choice(alive)["i"] if alive and dice.random() < 0.8 else None
            alive.append(await write(ada, f"{number}", under=[parent] if parent else None))
            parents[alive[-1]["i"]] = parent
        if number % 10 == 0:
            assert await disagreements(redis, shadowed=()) == []
    for comment_id in parents:
        replies = int(await redis.hget(f"comment:{comment_id}", "reply_count") or 0)
        assert await redis.zcard(f"comment:{comment_id}:replies") == replies
    thread = await read(http, new_site)
    shown = list(_nodes(thread["tree"]["c"], None))
    assert {node["i"] for node, _ in shown if "s" not in node} == {comment["i"] for comment in alive}
    assert thread["total"] == len(shown)
    for node, above in shown:
        assert above == parents[node["i"]] == node.get("q")
        assert "s" not in node or node["r"], "a place that nothing hangs on"
    for comment in alive:
        assert (await ada.call("DELETE", f"/v1/comments/{comment['i']}")).status_code == 204
    assert (await read(http, new_site))["tree"]["c"] == []
    assert await disagreements(redis, shadowed=()) == []


def _nodes(level: list[dict[str, Any]], parent: str | None) -> Any:
    for node in level:
        yield node, parent
        yield from _nodes(node.get("r", []), node["i"])


@pytest.mark.timeout(180)
async def test_a_chain_of_a_thousand_replies_is_read_voted_on_and_cut_s3_17(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, quick: None
) -> None:
    """Written through the service, since a thousand requests show nothing more; everything else over HTTP."""
    ada = await create(http, new_site, "ada")
    author = await viewer(app, ada, new_site)
    chain: list[str] = []
    for number in range(1000):
        draft = CommentDraft(page_url=URL, content=f"{number}", parent_path=chain[-1:] or None)
        comment = await app.services.comments.post(new_site.site, draft, author=author, request_key=None)
        chain.append(comment.id)
    assert await disagreements(redis, shadowed=()) == []
    for sort in ("new", "old", "top", "hot", "controversial"):
        thread = await read(http, new_site, sort=sort)
        shown = list(_nodes(thread["tree"]["c"], None))
        assert (thread["total"], len(shown)) == (1000, 1000)
    assert {node["i"] for node, _ in shown} == set(chain)
    assert (await vote(ada, chain[-1], "up"))["upvotes"] == 1
    # From the middle outwards: places stay while something hangs on them.
    gone = chain[90:110] + chain[:20] + chain[-20:]
    for comment_id in gone:
        answer = await ada.call("DELETE", f"/v1/comments/{comment_id}")
        assert answer.status_code == 204, answer.text
    thread = await read(http, new_site)
    shown = list(_nodes(thread["tree"]["c"], None))
    assert {node["i"] for node, _ in shown if "s" not in node} == set(chain) - set(gone)
    assert all(node["r"] for node, _ in shown if "s" in node)
    assert thread["total"] == len(shown)
    assert await disagreements(redis, shadowed=()) == []


async def test_what_is_gone_cannot_be_answered_however_deep_it_was_s3_17(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, quick: None
) -> None:
    """Where a thread is as deep as threads get, a reply hangs beside what it answers, which must still be there."""
    ada = await create(http, new_site, "ada")
    author = await viewer(app, ada, new_site)
    chain: list[str] = []
    for number in range(102):
        draft = CommentDraft(page_url=URL, content=f"{number}", parent_path=chain[-1:] or None)
        comment = await app.services.comments.post(new_site.site, draft, author=author, request_key=None)
        chain.append(comment.id)
    assert (await ada.call("DELETE", f"/v1/comments/{chain[-1]}")).status_code == 204
    body = {"page_url": URL, "content": "too late", "parent_path": [chain[-1]]}
    answer = await ada.call("POST", "/v1/comments", body)
    assert (answer.status_code, answer.json().get("error")) == (404, "Parent comment not found")


async def test_counts_shown_to_somebody_shadowed_are_what_they_would_be_s3_30_s3_40(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    """Their vote counts for nobody else; the answers must not show it by losing other people's votes."""
    ada, eve, bob = [await create(http, new_site, name) for name in ("ada", "eve", "bob")]
    comment = await write(ada, "vote on me")
    await vote(bob, comment["i"], "up")
    await redis.sadd(f"site:{new_site.site.id}:shadowbanned", eve.id)
    for way, expected in (
        ("up", (2, 0, "up")),
        ("up", (1, 0, None)),
        ("down", (1, 1, "down")),
        ("up", (2, 0, "up")),
        ("down", (1, 1, "down")),
    ):
        result = await vote(eve, comment["i"], way)
        assert (result["upvotes"], result["downvotes"], result["user_vote"]) == expected
    assert await redis.hmget(f"comment:{comment['i']}", "upvotes", "downvotes") == ["1", "0"]
    assert await disagreements(redis, shadowed=[eve.id]) == []


async def test_a_crowd_larger_than_the_pool_of_connections_is_served_in_turn(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    redis: Redis,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
    clock: ManualClock,
    quick: None,
) -> None:
    """G-05: nobody waits for ever because others, who came later, are quicker to take a connection."""
    people = [await guest(http, new_site) for _ in range(12)]
    viewers = [await viewer(app, person, new_site) for person in people]
    comment = await write(people[0], "vote on me")
    tuning = StoreTuning(connections=4, wait_for_connection_s=0.5)
    few = msgspec.structs.replace(settings, store=tuning, durability="relaxed")
    small = create_app(few, bundled.address, keyring, clock=clock)
    refused: list[str] = []

    async def keeps_voting(who: Viewer) -> None:
        for _ in range(300):
            try:
                await small.services.votes.cast(new_site.site, comment["i"], "up", voter=who)
            except StoreConnectionError as error:
                refused.append(str(error))

    async with small.lifespan():
        await asyncio.gather(*(keeps_voting(who) for who in viewers))
    assert refused == []
    assert await redis.hget(f"comment:{comment['i']}", "upvotes") == "0"


async def test_every_root_is_in_every_root_index_once_s3_15(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock, quick: None
) -> None:
    """200 roots with random replies and votes: walking an index by 20 meets each root once."""
    people = [await guest(http, new_site) for _ in range(5)]
    dice = random.Random(15)
    roots = []
    for number in range(200):
        clock.advance(seconds=dice.choice([0, 0, 1]))
        roots.append((await write(dice.choice(people), f"root {number}"))["i"])
        if dice.random() < 0.3:
            await write(dice.choice(people), "reply", under=[dice.choice(roots)])
        if dice.random() < 0.5:
            await vote(dice.choice(people), dice.choice(roots), dice.choice(["up", "down"]))
    thread = await read(http, new_site)
    for sort in ("new", "top", "hot", "controversial"):
        key = f"page:{thread['page_id']}:roots:{sort}"
        met = [root for start in range(0, 220, 20) for root in await redis.zrange(key, start, start + 19, desc=True)]
        assert Counter(met) == Counter(roots)
    assert [text if isinstance(text, str) else text[0] for text in outline(thread)] == [f"root {n}" for n in range(200)]
