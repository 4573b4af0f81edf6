"""A changed hot formula reaches the stored scores: in the background, once, through crashes, beside voters."""

import asyncio
import math
import random
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import write
from tests.integration.comments.test_votes import vote
from tests.integration.rebuild.forest import Forest
from tests.make import ManualClock
from tests.people import create
from tests.wait import until
from threadkit import scoring
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.rebuild import reranking
from threadkit.scoring import HotFormula
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore

WEEK = HotFormula(decay_s=7 * 86_400)


def by(formula: HotFormula) -> Callable[[int, int, int], float]:
    return lambda up, down, created_ms: scoring.hot(formula, up, down, created_ms)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reranking, "PAUSE_S", 0.02)
    monkeypatch.setattr(reranking, "BATCH", 7)


async def state(redis: Redis, site: NewSite) -> dict[str, Any]:
    found: dict[str, Any] = await redis.hgetall(f"site:{site.site.id}:ranking")  # type: ignore[assignment]
    return found


async def settled(redis: Redis, site: NewSite, clock: ManualClock, formula: HotFormula) -> None:
    """Both rounds are over."""

    async def is_settled() -> bool:
        clock.advance(seconds=20)
        found = await state(redis, site)
        return (
            "formula" in found
            and f'"decay_s":{formula.decay_s}' in found["formula"]
            and formula.kind in found["formula"]
        )

    await until(is_settled, "the scores to be made anew")


@pytest.fixture
async def wood(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, redis: Redis
) -> Forest:
    return await Forest(app, http, new_site, clock, redis, random.Random(3)).grow(40)


@pytest.mark.parametrize("formula", [WEEK, HotFormula(kind="documented")])
async def test_a_changed_formula_reaches_every_stored_score(
    app: Application, wood: Forest, new_site: NewSite, clock: ManualClock, redis: Redis, formula: HotFormula
) -> None:
    await settled(redis, new_site, clock, HotFormula())
    assert await disagreements(redis) == []
    versions = [
        await redis.hget(key, "version") async for key in redis.scan_iter("page:????????-????-????-????-????????????")
    ]
    await app.services.sites.change(
        new_site.site.id, settings={"hot.kind": formula.kind, "hot.decay_s": formula.decay_s}
    )
    await settled(redis, new_site, clock, formula)
    assert await disagreements(redis, hot=by(formula)) == []
    after = [
        await redis.hget(key, "version") async for key in redis.scan_iter("page:????????-????-????-????-????????????")
    ]
    assert versions != after, "caches must notice the new order"
    assert (await app.services.rebuild.run(is_check=True)).tallies == []


async def test_votes_meanwhile_keep_their_scores_and_one_formula_is_left(
    app: Application, wood: Forest, new_site: NewSite, clock: ManualClock, redis: Redis
) -> None:
    done = False

    async def live() -> None:
        while not done:
            await asyncio.gather(*(wood.step() for _ in range(5)))

    crowd = asyncio.create_task(live())
    try:
        for days in (3, 9, 7):  # the last one counts, also when one before it was under way
            await app.services.sites.change(new_site.site.id, settings={"hot.decay_s": days * 86_400})
            await wood.step()
        await settled(redis, new_site, clock, WEEK)
    finally:
        done = True
        await crowd
    assert await disagreements(redis, hot=by(WEEK)) == []


async def test_a_crashed_server_leaves_a_place_and_another_goes_on_there(
    app: Application,
    wood: Forest,
    http: httpx.AsyncClient,
    new_site: NewSite,
    clock: ManualClock,
    redis: Redis,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
) -> None:
    await settled(redis, new_site, clock, HotFormula())
    await app.services.reranker.stop()
    await app.services.sites.change(new_site.site.id, settings={"hot.decay_s": WEEK.decay_s})
    total = await redis.zcard(f"site:{new_site.site.id}:comments")
    owner = {"projectid": new_site.secret_key}
    shown = (await http.get(f"/v1/admin/sites/{new_site.site.id}", headers=owner)).json()
    assert shown["reranking_percent"] == 0, "a server has yet to begin"

    # As a server leaves it that was killed after two batches: its lease is still there.
    newest: list[Any] = await redis.zrange(f"site:{new_site.site.id}:comments", 0, 13, desc=True, withscores=True)
    cursor = int(newest[-1][1])
    skip = sum(1 for _, score in newest if int(score) == cursor)
    left = {"wanted": '{"kind":"decay","decay_s":604800}', "round": "1", "not_before_ms": "0"}
    place = {"cursor_ms": str(cursor), "skip": str(skip), "done": "14", "total": str(total)}
    await redis.hset(f"site:{new_site.site.id}:ranking", mapping=left | place)  # type: ignore[arg-type]
    await redis.hdel(f"site:{new_site.site.id}:ranking", "formula")
    await redis.set(f"lock:ranking:{new_site.site.id}", "somebody dead", ex=15)
    await app.services.reranker.look()
    shown = (await http.get(f"/v1/admin/sites/{new_site.site.id}", headers=owner)).json()
    assert shown["reranking_percent"] == math.floor(14 * 100 / total), "nobody goes on while the lease lasts"

    await redis.delete(f"lock:ranking:{new_site.site.id}")
    second = create_app(settings, bundled.address, keyring, clock=clock)
    async with second.lifespan():
        await settled(redis, new_site, clock, WEEK)
    assert await disagreements(redis, hot=by(WEEK)) == []
    shown = (await http.get(f"/v1/admin/sites/{new_site.site.id}", headers=owner)).json()
    assert "reranking_percent" not in shown


async def test_many_workers_share_one_re_ranking(
    app: Application,
    wood: Forest,
    new_site: NewSite,
    clock: ManualClock,
    redis: Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await settled(redis, new_site, clock, HotFormula())
    await app.services.reranker.stop()
    services = app.services
    crowd = [
        reranking.Reranker(
            redis=services.store.redis, keys=services.keys, clock=clock, site_queries=services.site_queries
        )
        for _ in range(5)
    ]
    ranked: list[str] = []
    for worker in crowd:
        rank = worker._rank

        async def counted(site: Any, ids: Any, rank: Any = rank) -> None:
            ranked.extend(ids)
            await rank(site, ids)

        monkeypatch.setattr(worker, "_rank", counted)
    await services.sites.change(new_site.site.id, settings={"hot.decay_s": WEEK.decay_s})
    await asyncio.gather(*(worker.look() for worker in crowd))
    every = await redis.zrange(f"site:{new_site.site.id}:comments", 0, -1)
    assert sorted(ranked) == sorted(map(str, every)), "each comment once, by whoever held the lease"
    assert await disagreements(redis, hot=by(WEEK)) == []


async def test_a_worker_that_heard_late_is_put_right_by_the_second_round(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, redis: Redis
) -> None:
    ada, eve, bob = [await create(http, new_site, name) for name in ("ada", "eve", "bob")]
    comment = await write(ada, "vote on me")
    await vote(eve, comment["i"], "up")
    await settled(redis, new_site, clock, HotFormula())
    await app.services.sites.change(new_site.site.id, settings={"hot.decay_s": WEEK.decay_s})

    async def first_round_is_over() -> bool:
        return (await state(redis, new_site)).get("round") == "2"

    await until(first_round_is_over, "the first round")
    # Another worker still has the site as it was, and ranks a vote with the old formula.
    await vote(bob, comment["i"], "up")
    page = (
        await http.get(
            "/v1/comments", params={"page_url": "https://blog.example.org/post"}, headers={"projectid": ada.key}
        )
    ).json()["page_id"]
    created = scoring.hot(HotFormula(), 2, 0, clock.now_ms())
    await redis.zadd(f"page:{page}:comments:hot", {str(comment["i"]): created})
    await settled(redis, new_site, clock, WEEK)
    assert await disagreements(redis, hot=by(WEEK)) == []


async def test_a_site_without_comments_has_nothing_to_rank(
    app: Application, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    await app.services.reranker.look()

    async def is_known() -> bool:
        return "formula" in await state(redis, new_site)

    await until(is_known, "the formula to be noted")
    assert await app.services.rankings.percent(new_site.site) is None


async def test_an_order_with_many_comments_of_one_moment_is_gone_through_wholly(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    await asyncio.gather(*(write(ada, f"comment {number}") for number in range(30)))  # the clock stands still
    await settled(redis, new_site, clock, HotFormula())
    await app.services.sites.change(new_site.site.id, settings={"hot.decay_s": WEEK.decay_s})
    await settled(redis, new_site, clock, WEEK)
    assert await disagreements(redis, hot=by(WEEK)) == []
