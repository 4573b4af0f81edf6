"""The store: persistence, memory, version; and what lies in it: a sample of indexes, the outbox."""

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.doctor.clinic import Clinic, Open
from tests.people import create, guest
from threadkit.clock import SystemClock
from threadkit.doctor.checks.store import is_safe_version
from threadkit.outbox.model import DeadLetter
from threadkit.sites.roles import Role


@pytest.mark.parametrize(
    ("name", "wrong", "right", "check"),
    [
        ("appendfsync", "everysec", "always", "persistence"),
        ("no-appendfsync-on-rewrite", "yes", "no", "persistence"),
        ("maxmemory-policy", "allkeys-lru", "noeviction", "memory_policy"),
    ],
)
async def test_a_store_that_can_lose_comments_is_red(
    clinic: Open, redis: Redis, name: str, wrong: str, right: str, check: str
) -> None:
    async with clinic() as here:
        assert await here.state(check) == "ok"
        await redis.config_set(name, wrong)
        try:
            found = (await here.ask())[check]
            assert found["state"] == "bad"
            assert name in found["found"] + found["fix"]
        finally:
            await redis.config_set(name, right)


async def test_who_has_accepted_the_loss_is_only_warned(clinic: Open, redis: Redis) -> None:
    async with clinic(durability="relaxed") as here:
        await redis.config_set("appendfsync", "everysec")
        try:
            assert await here.state("persistence") == "warning"
        finally:
            await redis.config_set("appendfsync", "always")


async def test_a_store_whose_memory_is_nearly_full_is_red(clinic: Open, redis: Redis) -> None:
    async with clinic() as here:
        assert await here.state("memory") == "ok"
        used = int((await redis.info("memory"))["used_memory"])
        try:
            await redis.config_set("maxmemory", str(int(used / 0.8)))
            assert await here.state("memory") in ("warning", "bad")
            await redis.config_set("maxmemory", str(used))
            assert await here.state("memory") == "bad"
        finally:
            await redis.config_set("maxmemory", "0")


async def test_the_bundled_store_is_there_and_new_enough(clinic: Open) -> None:
    async with clinic() as here:
        found = await here.ask()
        assert {found[check]["state"] for check in ("store", "stamp", "store_version")} == {"ok"}


@pytest.mark.parametrize(
    ("kind", "version", "is_safe"),
    [
        ("Redis", "7.0.15", False),
        ("Redis", "7.2.10", False),
        ("Redis", "7.2.11", True),
        ("Redis", "8.4.0", False),
        ("Redis", "8.8.0", True),
        ("Valkey", "8.0.1", False),
        ("Valkey", "8.1.4", True),
        ("Valkey", "9.0.3", False),
        ("Valkey", "9.1.2", True),
    ],
)
def test_versions_with_known_holes_are_told(kind: str, version: str, is_safe: bool) -> None:
    assert is_safe_version(kind, version) is is_safe


async def test_data_of_another_secret_is_red(clinic: Open, redis: Redis) -> None:
    async with clinic() as here:
        await redis.hset("threadkit:stamp", "secret", "another")
        assert await here.state("stamp") == "bad"


async def test_an_index_that_does_not_agree_is_red(clinic: Open, redis: Redis) -> None:
    async with clinic() as here:
        assert (await here.ask())["indexes"]["found"] == "There is nothing to look at yet."
        await _write(here, 3)
        assert await here.state("indexes") == "ok"
        key = await _only(redis, "page:*:comments:top")
        member = str((await redis.zrange(key, 0, 0))[0])
        await redis.zrem(key, member)
        found = (await here.ask())["indexes"]
        assert (found["state"], found["fix"]) == ("bad", "Run `threadkit rebuild`.")
        assert await redis.zscore(key, member) is None, "it only looks"


async def test_an_outbox_that_does_not_move_is_red(clinic: Open, redis: Redis) -> None:
    async with clinic() as here:
        site_id = here.site.site.id
        assert await here.state("outbox") == "ok"
        await here.app.services.outbox.stop()
        old_ms = SystemClock().now_ms() - 120_000
        await redis.xadd(f"site:{site_id}:outbox", {"event": "{}"}, id=f"{old_ms}-1")
        assert await here.state("outbox") == "bad"
        await redis.delete(f"site:{site_id}:outbox")
        letter = DeadLetter(event="{}", why="nobody knows")
        await redis.xadd(f"site:{site_id}:outbox:dead", {"event": letter.event, "why": letter.why})
        assert await here.state("outbox") == "warning"


async def test_owners_of_other_sites_see_only_what_concerns_theirs(clinic: Open) -> None:
    async with clinic() as here:
        services = here.app.services
        other = Clinic(here.app, await services.sites.create("Other", "other.example"))
        whole, own = await here.answer(), await other.answer()
        assert (whole["is_whole_server"], own["is_whole_server"]) == (True, False)
        assert {check["id"] for check in whole["checks"]} > {"store", "mail", "disk", "proxy", "origins"}
        assert {check["id"] for check in own["checks"]} == {
            *("origins", "sign_in", "services", "websocket", "outbox", "indexes")
        }
        assert {check["site_id"] for check in own["checks"]} == {other.site.site.id}
        assert here.site.site.id not in str(own)


async def test_an_owner_who_is_signed_in_sees_the_same_as_the_secret_key(clinic: Open) -> None:
    async with clinic() as here:
        transport = httpx.ASGITransport(here.app)
        async with httpx.AsyncClient(transport=transport, base_url="https://comments.example.org") as http:
            owner = await create(http, here.site, "owner")
            assert (await owner.call("GET", "/v1/admin/doctor")).status_code == 403
            await here.app.services.roles.grant(here.site.site.id, owner.id, Role.OWNER)  # type: ignore[arg-type]
            answer = await owner.call("GET", "/v1/admin/doctor")
            assert answer.json()["is_whole_server"] is True


async def _write(here: Clinic, number: int) -> None:
    transport = httpx.ASGITransport(here.app)
    async with httpx.AsyncClient(transport=transport, base_url="https://comments.example.org") as http:
        for place in range(number):
            person = await guest(http, here.site)
            body = {"page_url": "https://blog.example.org/a", "content": f"number {place}"}
            assert (await person.call("POST", "/v1/comments", body)).status_code == 200


async def _only(redis: Redis, pattern: str) -> str:
    [key] = [str(key) async for key in redis.scan_iter(pattern)]
    return key
