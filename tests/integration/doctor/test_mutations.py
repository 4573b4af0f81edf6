"""A healthy store, one thing made wrong: it is found, mended to what it was, and nothing is found then. THREADKIT_SOAK=1
does it a thousand times; THREADKIT_SEED repeats a run."""

import asyncio
import os
import random
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.doctor.mutations import Mutator, dump
from tests.integration.rebuild.forest import URLS, Forest
from tests.make import ManualClock
from tests.people import create
from threadkit.app import Application
from threadkit.doctor.deep import service as deep
from threadkit.doctor.deep.service import DeepReport
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
TIMES = 1000 if IS_LONG else 40
SEED = int(os.environ.get("THREADKIT_SEED", random.SystemRandom().randrange(10**6)))


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep, "PAUSE_S", 0.01)


@pytest.fixture
async def forest(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, redis: Redis
) -> Forest:
    print(f"THREADKIT_SEED={SEED}")
    grown = await Forest(app, http, new_site, clock, redis, random.Random(SEED)).grow(40)
    await settle_people(grown)
    await app.services.reranker.stop()  # it mends hot scores by itself
    return grown


async def settle_people(forest: Forest) -> None:
    """Somebody with an address, somebody from elsewhere, blocks, reports, an appeal."""
    app, site = forest.app, forest.site
    await create(forest.http, site, "zoe", "zoe@example.org")
    ada, eve, mod = forest.people[0], forest.people[1], forest.people[-1]
    await app.services.roles.grant(site.site.id, UserId(mod.id), Role.MODERATOR)
    user = await app.services.user_queries.by_id(UserId(ada.id))
    assert user is not None
    await app.services.user_registry.change(user, type(user)(**{**_fields(user), "linked": ["github:4711"]}))
    assert (await ada.call("POST", f"/v1/users/{eve.id}/block")).status_code < 300
    comment = await _write(forest, ada, "something that not everybody likes")
    page = {"page_url": URLS[1]}
    assert (await mod.call("POST", f"/v1/comments/{comment}/pin", page)).status_code < 300
    assert (await eve.call("POST", f"/v1/comments/{comment}/report", {"reason": "spam"})).status_code < 300
    turned_down = await _write(forest, ada, "something that the moderator does not like")
    assert (await mod.call("POST", f"/v1/moderation/reject/{turned_down}", {})).status_code < 300
    assert (await ada.call("POST", f"/v1/comments/{turned_down}/appeal", {"text": "why?"})).status_code < 300
    await app.services.sites.change(site.site.id, settings={"moderation_mode": "pre"})
    await _write(forest, ada, "something that waits")
    await app.services.sites.change(site.site.id, settings={"moderation_mode": "none"})
    await forest.settle()


def _fields(user: Any) -> dict[str, Any]:
    return {name: getattr(user, name) for name in user.__struct_fields__}


async def _write(forest: Forest, person: Any, text: str, url: str = URLS[1]) -> str:
    body = {"page_url": url, "content": text}
    answer = await person.call("POST", "/v1/comments", body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["comment"]["i"])


def told(report: DeepReport) -> list[str]:
    return [tally.sentence(is_check=True) for tally in report.found]


async def test_a_healthy_store_is_clean(app: Application, forest: Forest, redis: Redis) -> None:
    before = await dump(redis)
    for is_repair in (False, True):
        report = await app.services.deep_doctor.run(is_repair=is_repair)
        assert (told(report), report.exit_code) == ([], 0)
    assert await dump(redis) == before


@pytest.mark.timeout(3600 if IS_LONG else 300)
async def test_whatever_is_mutated_is_found_and_comes_back_as_it_was(
    app: Application, forest: Forest, redis: Redis
) -> None:
    """Kinds of mutations in random order, so that none comes a second time before all had their turn."""
    dice = random.Random(SEED)
    mutator = Mutator(redis, dice)
    done: list[str] = []
    while len(done) < TIMES:
        for url in URLS:  # a broken list of changes begins anew
            await _write(forest, forest.people[0], f"a change after {len(done)} others", url)
        await forest.settle()
        before = await dump(redis)
        kinds = dice.sample(mutator.kinds, len(mutator.kinds))[: TIMES - len(done)]
        struck = [kind for kind in kinds if await _mutate(app, redis, mutator, kind, before)]
        assert struck == kinds, f"nothing to strike of {set(kinds) - set(struck)}, seed {SEED}"
        done += struck
    print(f"\nG5: {len(done)} mutations of {len(set(done))} kinds, all found and restored as they were")


async def _mutate(app: Application, redis: Redis, mutator: Mutator, kind: str, before: Any) -> bool:
    struck = await mutator.strike(kind)
    if not struck:
        return False
    found = await app.services.deep_doctor.run()
    assert found.exit_code == 1, f"{struck}: {told(found)}, seed {SEED}"
    mended = await app.services.deep_doctor.run(is_repair=True)
    assert mended.exit_code == 0, f"{struck}: {mended.left}, seed {SEED}"
    after = await dump(redis)
    differs = {key: (before.get(key), after.get(key)) for key in before | after if before.get(key) != after.get(key)}
    assert not differs, f"{struck}, seed {SEED}: {told(found)}"
    return True


async def test_live_traffic_makes_no_alarm(app: Application, forest: Forest) -> None:
    async def live() -> None:
        for _ in range(1000 if IS_LONG else 40):
            await forest.step()

    people = [asyncio.create_task(live()) for _ in range(4)]
    alarms, looks = [], 0
    while not all(person.done() for person in people):
        alarms += told(await app.services.deep_doctor.run())
        looks += 1
    await asyncio.gather(*people)
    assert (alarms, looks > 0) == ([], True), f"seed {SEED}"
    print(f"\nG5: {looks} looks beside live traffic, no false alarm")
