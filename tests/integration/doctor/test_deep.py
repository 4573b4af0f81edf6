"""What can only be told, what is left alone, and the command."""

import json
import random
from pathlib import Path

import httpx
import pytest
from redis.asyncio import Redis

from tests.folders import quick_folder
from tests.integration.comments.test_comments import write
from tests.integration.doctor.test_command import store_of
from tests.integration.rebuild.forest import Forest
from tests.integration.server.program import run, serving
from tests.make import ManualClock
from tests.people import create
from threadkit.app import Application
from threadkit.doctor.deep import service as deep
from threadkit.ids import UserId, new_uuid
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role


@pytest.fixture
async def forest(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    clock: ManualClock,
    redis: Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> Forest:
    monkeypatch.setattr(deep, "PAUSE_S", 0.01)
    return await Forest(app, http, new_site, clock, redis, random.Random(5)).grow(20)


async def told(app: Application, *, is_repair: bool = False) -> tuple[int, list[tuple[str, str]]]:
    report = await app.services.deep_doctor.run(is_repair=is_repair)
    return report.exit_code, [(tally.kind, tally.what) for tally in report.left]


async def test_unknown_keys_are_told_and_left_alone(app: Application, forest: Forest, redis: Redis) -> None:
    strange = ["something:else", f"user:{new_uuid()}:hat", f"comment:{new_uuid()}:colour", "site::x"]
    for key in strange:
        await redis.set(key, "1")
    try:
        report = await app.services.deep_doctor.run(is_repair=True)
        assert report.exit_code == 2
        assert [(tally.kind, tally.what, tally.count) for tally in report.left] == [("key", "unknown", 4)]
        assert await redis.exists(*strange) == 4
    finally:
        await redis.delete(*strange)


async def test_what_its_author_deleted_while_it_was_hidden_is_no_fault(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    """It stays rejected, because something hangs on it, and does not say any more whose it was."""
    ada, mo = await create(http, new_site, "ada"), await create(http, new_site, "mo")
    await app.services.roles.grant(new_site.site.id, UserId(mo.id), Role.MODERATOR)
    root = await write(ada, "root")
    await write(mo, "reply", under=[str(root["i"])])
    assert (await mo.call("POST", f"/v1/moderation/reject/{root['i']}", {})).status_code == 200
    assert (await ada.call("DELETE", f"/v1/comments/{root['i']}", {})).status_code == 204
    assert await told(app) == (0, [])


async def test_comments_that_hang_on_another_page_are_damage(app: Application, forest: Forest, redis: Redis) -> None:
    comment = next(path[-1] for _, path in forest.paths if len(path) > 1)
    await redis.hset(f"comment:{comment}", "page_id", "another")
    exit_code, found = await told(app)
    assert exit_code == 2
    assert ("comment", "damaged") in found


async def test_a_record_of_the_wrong_type_is_damage_and_stays(app: Application, forest: Forest, redis: Redis) -> None:
    key = f"user:{forest.people[0].id}"
    await redis.rename(key, "user:kept-aside")
    await redis.set(key, "no person any more")
    exit_code, found = await told(app, is_repair=True)
    assert exit_code == 2
    assert ("user.profile", "damaged") in found
    assert await redis.get(key) == "no person any more"
    await redis.rename("user:kept-aside", key)


async def test_what_belongs_to_nobody_is_told(app: Application, forest: Forest, redis: Redis) -> None:
    nobody = new_uuid()
    await redis.set(f"user:{nobody}:password", "hash")
    await redis.sadd(f"site:{forest.site.site.id}:moderators", nobody)
    assert await told(app, is_repair=True) == (2, [("moderators", "damaged"), ("user.password", "damaged")])
    assert await redis.exists(f"user:{nobody}:password") == 1


async def test_two_people_with_one_address_are_damage(app: Application, forest: Forest, redis: Redis) -> None:
    for person in forest.people[:2]:
        await redis.hset(f"user:{person.id}", "email", "both@example.org")
    await redis.set("email:both@example.org", forest.people[0].id)
    assert await told(app, is_repair=True) == (2, [("email", "damaged")])


async def test_a_site_that_is_being_deleted_makes_no_alarm(app: Application, forest: Forest, redis: Redis) -> None:
    site_id = forest.site.site.id
    await redis.hset("sites:deleting", site_id, "{}")
    await redis.zrem("sites:index", site_id)
    try:
        assert await told(app) == (0, [])
    finally:
        await redis.delete("sites:deleting")


async def test_what_only_seems_wrong_at_the_first_look_is_not_told(
    app: Application, forest: Forest, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = f"username:{forest.people[0].name}"
    await redis.delete(key)

    async def written_meanwhile(_seconds: float) -> None:
        await redis.set(key, forest.people[0].id)

    monkeypatch.setattr("threadkit.doctor.deep.service.asyncio.sleep", written_meanwhile)
    assert await told(app) == (0, [])


def test_the_command_finds_mends_and_says_so() -> None:
    with (
        quick_folder() as folder,
        serving(Path(folder) / "d") as server,
        store_of(server) as redis,
    ):
        data = ["--data", str(server.folder)]
        clean = run("doctor", "--deep", *data)
        assert (clean.returncode, clean.stderr) == (0, ""), clean.stdout
        assert clean.stdout.startswith("Everything agrees: ")
        [key] = redis.keys("apikey:tk_pub_*:site")
        site_id = redis.get(key)
        redis.delete(key)
        found = run("doctor", "--deep", "--json", *data)
        said = json.loads(found.stdout)
        assert (found.returncode, said["exit_code"]) == (1, 1)
        assert [(tally["kind"], tally["what"], tally["count"]) for tally in said["left"]] == [("api_key", "missing", 1)]
        mended = run("doctor", "--deep", "--repair", *data)
        assert mended.returncode == 0, mended.stdout
        assert "api_key: 1 put back" in mended.stdout
        assert redis.get(key) == site_id
        redis.set("something:else", "1")
        assert run("doctor", "--deep", "--repair", *data).returncode == 2
        assert run("doctor", "--repair", *data).returncode == 1
