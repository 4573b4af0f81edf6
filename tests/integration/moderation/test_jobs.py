"""Deleting all that somebody wrote, in the background: progress, restarts, crashes, and who may stop it."""

import asyncio
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import outline, read, write
from tests.integration.moderation.test_decisions import staff
from tests.integration.moderation.test_people import log_of
from tests.make import ManualClock
from tests.people import Person, create
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.ids import SiteId, UserId, new_uuid
from threadkit.keyring import Keyring
from threadkit.moderation.jobs import BATCH
from threadkit.outbox.worker import _Entry
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role
from threadkit.storage.bundled import BundledStore

ACTIONS = (
    "delete_comments",
    "delete_comments_done",
    "delete_comments_cancelled",
    "delete_comments_stopped",
)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Nothing happens by itself: a test says when the background works."""
    return replace(settings, outbox="worker")


async def write_many(person: Person, number: int, *, url: str = "https://blog.example.org/post") -> list[str]:
    written = [await write(person, f"comment {count}", url=url) for count in range(number)]
    return [comment["i"] for comment in written]


async def begin(mo: Person, person: Person) -> dict[str, Any]:
    answer = await mo.call("POST", f"/v1/moderation/users/{person.id}/delete-comments")
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def look(mo: Person, job: dict[str, Any]) -> dict[str, Any]:
    answer = await mo.call("GET", f"/v1/moderation/jobs/{job['id']}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def step(app: Application, site: NewSite) -> None:
    """Carry out what waits now, but not what that leads to."""
    redis, outbox = app.services.store.redis, app.services.keys.site(site.site.id).outbox()
    for entry_id, fields in await redis.xrange(outbox):
        assert await app.services.outbox._effects(SiteId(site.site.id), _Entry(entry_id, fields)) == ([], [])
        await redis.xdel(outbox, entry_id)


async def test_all_they_wrote_goes_step_by_step_and_nothing_of_others(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, bob, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site),
    )
    root = await write(ada, "root")
    await write(bob, "answer", under=[root["i"]])
    ids = await write_many(ada, BATCH + 5, url="https://blog.example.org/other")
    await ada.call("DELETE", f"/v1/comments/{ids[0]}")
    job = await begin(mo, ada)
    total = BATCH + 6
    assert (job["state"], job["done"], job["total"], job["by"]) == ("running", 0, total, mo.id)
    assert (await begin(mo, ada))["id"] == job["id"]  # not twice at once

    await app.services.outbox.drain()
    done = await look(mo, job)
    assert (done["state"], done["done"], done["deleted"]) == ("done", total, total - 1)
    assert done["ended_at"] is not None
    assert outline(await read(http, new_site)) == [("[deleted by admin]", ["answer"])]
    record = await app.services.comment_queries.by_id(new_site.site.id, ids[-1])  # type: ignore[arg-type]
    assert record is not None
    assert record.content == "[deleted by admin]"
    assert [(entry["action"], entry.get("count"), entry["by"]) for entry in await log_of(mo, *ACTIONS)] == [
        ("delete_comments", None, mo.id),
        ("delete_comments_done", total - 1, mo.id),
    ]
    assert (await mo.call("GET", "/v1/moderation/jobs")).json() == {"jobs": [done]}
    assert await disagreements(redis) == []
    assert (await app.services.rebuild.run(is_check=True)).is_clean


async def test_progress_is_seen_and_a_job_goes_on_where_another_server_left_it(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    redis: Redis,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
    clock: ManualClock,
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await write_many(ada, 2 * BATCH + 1)
    await app.services.outbox.drain()
    job = await begin(mo, ada)
    await step(app, new_site)
    half = await look(mo, job)
    assert (half["state"], half["done"], half["deleted"]) == ("running", BATCH, BATCH)
    restarted = create_app(settings, bundled.address, keyring, clock=clock)
    async with restarted.lifespan():
        await restarted.services.outbox.drain()
    done = await look(mo, job)
    assert (done["state"], done["deleted"]) == ("done", 2 * BATCH + 1)


async def test_a_worker_that_dies_in_the_middle_of_a_batch_loses_and_counts_nothing_twice(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was deleted before the crash counts, though the step that did it never ended."""
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await write_many(ada, BATCH + 3)
    await app.services.outbox.drain()
    job = await begin(mo, ada)
    remover = app.services.jobs._remover
    remove, calls = remover._remove, 0

    async def dying(*args: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls == BATCH // 2:
            raise ConnectionError("the worker is gone")
        return await remove(*args)

    monkeypatch.setattr(remover, "_remove", dying)
    (entry,) = await app.services.store.redis.xrange(app.services.keys.site(new_site.site.id).outbox(), count=1)
    with pytest.raises(ConnectionError):  # as if the process had been killed: the entry is not settled
        await app.services.jobs.go_on(SiteId(new_site.site.id), entry[0], {"job_id": job["id"], "step": 0})
    assert (await look(mo, job))["done"] == 0
    await app.services.outbox.drain()
    done = await look(mo, job)
    assert (done["state"], done["done"], done["deleted"]) == ("done", BATCH + 3, BATCH + 3)
    # The same step once more, long after: nothing.
    await app.services.jobs.go_on(SiteId(new_site.site.id), entry[0], {"job_id": job["id"], "step": 0})
    assert await look(mo, job) == done
    assert len(await log_of(mo, *ACTIONS)) == 2


async def test_a_ban_deletes_a_hundred_at_once_and_a_job_the_rest(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    """Contract 4.5: `comments_deleted` is true when it is said."""
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await asyncio.gather(*(write(ada, f"comment {number}") for number in range(130)))
    answer = (await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"delete_comments": True})).json()
    assert answer["comments_deleted"] == 100
    assert (await read(http, new_site))["total"] == 30
    await app.services.outbox.drain()
    job = await look(mo, {"id": answer["job"]})
    assert (job["state"], job["deleted"]) == ("done", 130)
    assert (await read(http, new_site))["total"] == 0
    assert [entry["action"] for entry in await log_of(mo)] == ["ban", "delete_comments", "delete_comments_done"]


async def test_what_a_ban_deletes_at_once_is_in_the_log_too(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await write_many(ada, 3)
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"delete_comments": True})
    assert [(entry["action"], entry.get("count")) for entry in await log_of(mo)] == [
        ("ban", None),
        ("delete_comments", None),
        ("delete_comments_done", 3),
    ]


async def test_a_ban_that_gets_no_further_than_the_first_deletion_deletes_and_logs_the_rest(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await write_many(ada, 5)
    remover = app.services.jobs._remover
    remove, calls = remover._remove, 0

    async def dying(*args: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise OSError("no connection")
        return await remove(*args)

    with monkeypatch.context() as patch:
        patch.setattr(remover, "_remove", dying)
        answer = await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"delete_comments": True})
    assert answer.status_code >= 500
    await app.services.outbox.drain()
    assert (await read(http, new_site))["total"] == 0
    assert [(entry["action"], entry.get("count")) for entry in await log_of(mo)] == [
        ("ban", None),
        ("delete_comments", None),
        ("delete_comments_done", 5),
    ]


async def test_a_job_can_be_stopped_by_who_began_it_and_by_who_stands_higher(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, mo, admin = (
        await create(http, new_site, "ada"),
        await staff(app, http, new_site),
        await staff(app, http, new_site, Role.ADMIN),
    )
    second = await create(http, new_site, "second")
    await app.services.roles.grant(new_site.site.id, UserId(second.id), Role.MODERATOR)
    await write_many(ada, BATCH + 1)
    await app.services.outbox.drain()
    for number, who in enumerate((mo, admin)):
        job = await begin(mo, ada)
        if number == 0:
            await step(app, new_site)
        refused = await second.call("DELETE", f"/v1/moderation/jobs/{job['id']}")
        assert (refused.status_code, refused.json()["code"]) == (403, "higher_role")
        stopped = (await who.call("DELETE", f"/v1/moderation/jobs/{job['id']}")).json()
        assert stopped["state"] == "cancelled"
        again = await who.call("DELETE", f"/v1/moderation/jobs/{job['id']}")
        assert (again.status_code, again.json()["code"]) == (409, "job_is_over")
        await app.services.outbox.drain()
        assert (await look(mo, job))["deleted"] == (BATCH if number == 0 else 0)
    assert (await read(http, new_site))["total"] == 1
    assert [(entry["action"], entry["by"]) for entry in await log_of(mo, *ACTIONS)] == [
        ("delete_comments", mo.id),
        ("delete_comments_cancelled", mo.id),
        ("delete_comments", mo.id),
        ("delete_comments_cancelled", admin.id),
    ]


@pytest.mark.parametrize("what", ["revoked", "banned", "banned everywhere", "promoted"])
async def test_a_job_stops_when_who_began_it_may_not_go_on(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, what: str
) -> None:
    ada, mo, admin = (
        await create(http, new_site, "ada"),
        await staff(app, http, new_site),
        await staff(app, http, new_site, Role.ADMIN),
    )
    await write_many(ada, BATCH + 2)
    await app.services.outbox.drain()
    job = await begin(mo, ada)
    await step(app, new_site)
    match what:
        case "revoked":
            await app.services.roles.revoke(new_site.site.id, UserId(mo.id))
        case "banned":
            await admin.call("POST", f"/v1/moderation/ban/{mo.id}", {})
        case "banned everywhere":
            user = await app.services.users.existing(UserId(mo.id))
            await app.services.everywhere.ban(user, is_on=True, by=None, reason=None)
        case "promoted":
            await app.services.roles.grant(new_site.site.id, UserId(ada.id), Role.MODERATOR)
    await app.services.outbox.drain()
    stopped = await look(admin, job)
    assert (stopped["state"], stopped["deleted"]) == ("stopped", BATCH)
    assert ("no moderator" in stopped["reason"]) == (what != "promoted")
    (ended,) = await log_of(admin, "delete_comments_stopped")
    assert (ended["count"], ended["reason"]) == (BATCH, stopped["reason"])
    assert (await read(http, new_site))["total"] == 2


async def test_many_beginnings_at_once_are_one_job_and_one_entry(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await write_many(ada, 10)
    jobs = await asyncio.gather(*(begin(mo, ada) for _ in range(20)))
    assert len({job["id"] for job in jobs}) == 1
    await app.services.outbox.drain()
    assert (await look(mo, jobs[0]))["deleted"] == 10
    assert [entry["action"] for entry in await log_of(mo, *ACTIONS)] == ["delete_comments", "delete_comments_done"]


async def test_a_cancel_and_a_step_at_once_leave_one_end(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await write_many(ada, 2 * BATCH)
    await app.services.outbox.drain()
    job = await begin(mo, ada)
    answer, _ = await asyncio.gather(mo.call("DELETE", f"/v1/moderation/jobs/{job['id']}"), app.services.outbox.drain())
    await app.services.outbox.drain()
    ended = await look(mo, job)
    assert answer.status_code == (200 if ended["state"] == "cancelled" else 409)
    assert [entry["action"] for entry in await log_of(mo, *ACTIONS)][1:] == [f"delete_comments_{ended['state']}"]
    assert (await read(http, new_site))["total"] >= 2 * BATCH - ended["deleted"] - BATCH


async def test_the_newest_hundred_jobs_are_kept_and_those_under_way_never_forgotten(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    mo = await staff(app, http, new_site)
    people = [UserId(new_uuid()) for _ in range(101)]
    first = await app.services.jobs.start(new_site.site, people[0], by=None)
    await app.services.outbox.drain()
    for user_id in people[1:]:
        await app.services.jobs.start(new_site.site, user_id, by=None)
    jobs = (await mo.call("GET", "/v1/moderation/jobs")).json()["jobs"]
    assert (len(jobs), first.id in {job["id"] for job in jobs}) == (100, False)
    ada = await create(http, new_site, "ada")
    full = await mo.call("POST", f"/v1/moderation/users/{ada.id}/delete-comments")
    assert (full.status_code, full.json()["code"]) == (409, "too_many_jobs")
    await app.services.outbox.drain()
    assert (await begin(mo, ada))["state"] == "running"


async def test_what_is_no_job_is_404_and_another_sites_too(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    ada, mo, far = (
        await create(http, new_site, "ada"),
        await staff(app, http, new_site),
        await staff(app, http, other, Role.ADMIN),
    )
    job = await begin(mo, ada)
    for method in ("GET", "DELETE"):
        assert (await far.call(method, f"/v1/moderation/jobs/{job['id']}")).status_code == 404
        assert (await mo.call(method, f"/v1/moderation/jobs/{new_uuid()}")).status_code == 404
        assert (await mo.call(method, "/v1/moderation/jobs/nonsense")).status_code == 400
    assert (await mo.call("POST", f"/v1/moderation/users/{new_uuid()}/delete-comments")).status_code == 404


async def test_the_server_does_it_by_itself(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
    clock: ManualClock,
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await write_many(ada, BATCH + 1)
    job = await begin(mo, ada)
    running = replace(settings, outbox="in-process")
    async with create_app(running, bundled.address, keyring, clock=clock).lifespan():

        async def is_done() -> bool:
            return bool((await look(mo, job))["state"] == "done")

        await until(is_done, "the job to end")
