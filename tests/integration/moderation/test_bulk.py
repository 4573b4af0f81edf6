"""A thousand decisions in one call, and a moderator who is none any more in the middle of it."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import outline, read, write
from tests.integration.live.ears import serving
from tests.integration.moderation.test_decisions import decide, queued, staff
from tests.people import Person, create
from threadkit.app import Application
from threadkit.ids import SessionId, SiteId, UserId
from threadkit.moderation import decisions, queries
from threadkit.moderation.decision_scripts import Case
from threadkit.sites.model import NewSite, SiteSettings
from threadkit.sites.roles import Role
from threadkit.users.viewer import Viewer

REFERENCE_S = 0.06
"""What `speed` takes on the machine for which two seconds were promised."""


@pytest.fixture
async def careful(app: Application) -> NewSite:
    """A site where a moderator looks first."""
    return await app.services.sites.create("Careful", "blog.example.org", settings=SiteSettings(moderation_mode="pre"))


async def bulk(person: Person, action: str, ids: list[str], **more: Any) -> dict[str, dict[str, str]]:
    answer = await person.call("POST", "/v1/moderation/bulk", {"action": action, "ids": ids} | more)
    assert answer.status_code == 200, answer.text
    found: dict[str, dict[str, str]] = answer.json()
    return found


async def told(person: Person) -> AsyncIterator[str]:
    """The kinds of all notifications."""
    offset, has_more = 0, True
    while has_more:
        answer = (await person.call("GET", f"/v1/notifications?limit=100&offset={offset}")).json()
        for notice in answer["notifications"]:
            yield notice["notification_type"]
        offset, has_more = offset + 100, answer["has_more"]


def slowness() -> float:
    """How much slower than promised this machine is just now."""
    started = time.process_time()
    counts: dict[int, str] = {}
    for number in range(360_000):
        counts[number % 97] = f"{number}"
    return max(1.0, (time.process_time() - started) / REFERENCE_S)


async def test_a_thousand_are_approved_in_one_call(
    app: Application, http: httpx.AsyncClient, careful: NewSite, redis: Redis
) -> None:
    """S3-80: the queue is empty, every page and everybody is told; the answer comes within two seconds."""
    mo = await staff(app, http, careful)
    people = [await create(http, careful, f"p{number}") for number in range(5)]
    root = await write(mo, "root")
    ids = [(await write(people[0], f"answer @{people[1].name}", under=[root["i"]]))["i"]]
    for start in range(1, 1000, 50):
        some = range(start, min(start + 50, 1000))
        ids += [one["i"] for one in await asyncio.gather(*(write(people[n % 5], f"comment {n}") for n in some))]
    assert len(await queued(mo, limit=100)) == 100
    await app.services.outbox.drain()
    async with serving(app) as live, live.ear(careful.site.api_key_public) as ear:
        await ear.subscribe((await read(http, careful))["page_id"])
        factor = slowness()
        started = time.perf_counter()
        outcome = await bulk(mo, "approve", ids)
        took_s = (time.perf_counter() - started) / factor
        print(f"a thousand approved: {took_s:.2f} s")
        heard: set[str] = set()
        while len(heard) < 1000:
            method, params = await ear.hear()
            if method == "resync":
                break
            if method == "new_comment":
                heard.add(params["comment"]["i"])
        assert not heard or heard <= set(ids)
    assert (set(outcome["done"]), outcome["failed"]) == (set(ids), {})
    assert await queued(mo) == []
    assert (await mo.call("GET", "/v1/moderation/counts")).json()["queue"] == 0
    thread = await read(http, careful)
    assert thread["total"] == 1001
    assert outline(thread)[0] == ("root", [f"answer @{people[1].name}"])
    assert await disagreements(redis) == []
    await app.services.outbox.drain()
    again = await read(http, careful)
    assert (again["total"], len(again["tree"]["c"])) == (1001, 1000), "after a reload, when all is told"
    totals = [(await one.call("GET", f"/v1/users/{one.id}")).json()["total_comments"] for one in people]
    assert totals == [200, 200, 200, 200, 200]
    for person, kinds in (
        (mo, {"reply": 1}),
        (people[1], {"mention": 1, "mod_action": 200}),
        (people[2], {"mod_action": 200}),
    ):
        assert Counter([kind async for kind in told(person)]) == kinds
    assert took_s < 2


@pytest.mark.parametrize("action", ["approve", "delete"])
async def test_one_that_fails_in_the_store_leaves_the_others_their_answers(
    app: Application, http: httpx.AsyncClient, careful: NewSite, redis: Redis, action: str
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    ids = [(await write(ada, f"comment {number}"))["i"] for number in range(5)]
    broken = f"comment:{ids[2]}:reports"
    await redis.set(broken, "of the wrong kind")
    outcome = await bulk(mo, action, ids)
    await redis.delete(broken)
    assert outcome["failed"] == {ids[2]: "store_unavailable"}
    assert outcome["done"].keys() == {*ids} - {ids[2]}
    answer = (await mo.call("POST", "/v1/moderation/undo", {"ids": list(outcome["done"].values())})).json()
    assert len(answer["done"]) == 4


async def test_a_batch_that_is_lost_leaves_the_others_their_answers(
    app: Application, http: httpx.AsyncClient, careful: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    ids = [(await write(ada, f"comment {number}"))["i"] for number in range(6)]
    monkeypatch.setattr(decisions, "BATCH", 2)
    usual, calls = app.services.decisions._decide.all, 0

    async def lost(cases: list[Case]) -> list[Any]:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError("no connection")
        return await usual(cases)

    monkeypatch.setattr(app.services.decisions._decide, "all", lost)
    outcome = await bulk(mo, "approve", ids)
    assert outcome["failed"] == dict.fromkeys(ids[2:4], "store_unavailable")
    assert outcome["done"].keys() == {*ids[:2], *ids[4:]}


async def test_a_search_that_ends_before_the_queue_does_says_so(
    app: Application, http: httpx.AsyncClient, careful: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    for number in range(6):
        await write(ada, f"comment {number}")
    monkeypatch.setattr(queries, "BATCH", 2)
    for most, is_cut in ((4, True), (8, False)):
        monkeypatch.setattr(queries, "MOST_LOOKED_AT", most)
        found = (await mo.call("GET", "/v1/moderation/queue?reported=true")).json()
        assert (found["items"], found["waiting"], found["is_cut"]) == ([], 6, is_cut)
    assert (await mo.call("GET", "/v1/moderation/queue?limit=1")).json()["is_cut"] is False


async def test_parents_come_before_their_replies_whatever_the_order(
    app: Application, http: httpx.AsyncClient, careful: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    root = await write(mo, "root")
    reply = await write(ada, "reply", under=[root["i"]])
    await decide(mo, "approve", reply["i"])
    leaf = await write(ada, "leaf", under=[root["i"], reply["i"]])
    ids = [leaf["i"], reply["i"], root["i"]]
    for action in ("reject", "approve", "spam", "approve", "delete"):
        outcome = await bulk(mo, action, ids)
        assert (set(outcome["done"]), outcome["failed"]) == (set(ids), {})
        assert await disagreements(redis) == []
        assert (await read(http, careful))["total"] == (3 if action == "approve" else 0)


async def test_deleting_many_can_be_undone_one_by_one(
    app: Application, http: httpx.AsyncClient, careful: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    ids = [(await write(ada, f"comment {number}"))["i"] for number in range(5)]
    unknown = "0197b0a0-0000-7000-8000-000000000000"
    outcome = await bulk(mo, "delete", [*ids, unknown, ids[0]])
    assert (set(outcome["done"]), outcome["failed"]) == (set(ids), {unknown: "comment_not_found"})
    assert await queued(mo) == []
    again = await bulk(mo, "delete", ids)
    assert (again["done"], set(again["failed"].values())) == ({}, {"comment_not_found"})
    assert (await mo.call("POST", f"/v1/moderation/undo/{outcome['done'][ids[2]]}")).status_code == 200
    assert await queued(mo) == [ids[2]]
    assert await disagreements(redis) == []


async def test_whoever_expects_that_it_waits_decides_nothing_twice(
    app: Application, http: httpx.AsyncClient, careful: NewSite
) -> None:
    ada, mo, mia = (
        await create(http, careful, "ada"),
        await staff(app, http, careful),
        await create(http, careful, "mia"),
    )
    await app.services.roles.grant(careful.site.id, UserId(mia.id), Role.MODERATOR)
    first, second, third = [(await write(ada, f"comment {number}"))["i"] for number in range(3)]
    await decide(mo, "approve", first, expects="pending")
    for action in ("approve", "reject", "spam", "delete"):
        late = await mia.call("POST", f"/v1/moderation/{action}/{first}", {"expects": "pending"})
        assert (late.status_code, late.json()["code"]) == (409, "already_decided")
        assert "approved" in late.json()["error"]
    await decide(mia, "approve", first)  # whoever does not ask is not told
    for action in ("approve", "delete"):
        outcome = await bulk(mia, action, [first, second if action == "approve" else third], expects="pending")
        assert outcome["failed"] == {first: "already_decided"}
        assert len(outcome["done"]) == 1
    wrong = await mia.call("POST", f"/v1/moderation/approve/{first}", {"expects": "anything"})
    assert wrong.status_code == 422
    # Of many at once, one decides.
    fourth = (await write(ada, "fourth"))["i"]
    answers = await asyncio.gather(
        *(
            (mo, mia)[number % 2].call("POST", f"/v1/moderation/approve/{fourth}", {"expects": "pending"})
            for number in range(20)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 19


@pytest.mark.parametrize("action", ["approve", "delete"])
async def test_a_moderator_removed_in_the_middle_does_not_do_the_rest(
    app: Application,
    http: httpx.AsyncClient,
    careful: NewSite,
    redis: Redis,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    ids: list[str] = []
    for _ in range(5):
        ids += [one["i"] for one in await asyncio.gather(*(write(ada, f"comment {n}") for n in range(50)))]
    queries, asked = app.services.user_queries, []
    usual = queries.viewer

    async def viewer(user_id: UserId, session_id: SessionId, site_id: SiteId, **_: object) -> Viewer | None:
        """The request itself asks first; then their role is taken away as soon as some of it is done."""
        asked.append(user_id)
        if len(asked) == 2:
            await app.services.roles.revoke(site_id, user_id)
        return await usual(user_id, session_id, site_id)

    monkeypatch.setattr(queries, "viewer", viewer)
    outcome = await bulk(mo, action, ids)
    assert (len(outcome["done"]), len(outcome["failed"])) == (100, 150)
    assert set(outcome["failed"].values()) == {"forbidden"}
    assert outcome["done"].keys() | outcome["failed"].keys() == set(ids)
    assert set(await redis.zrange(f"site:{careful.site.id}:modqueue", 0, -1)) == outcome["failed"].keys()
    assert await redis.xlen(f"site:{careful.site.id}:modlog") == 102, "and the role given and taken"
    assert await disagreements(redis) == []
    assert (await mo.call("GET", "/v1/moderation/queue")).status_code == 403
