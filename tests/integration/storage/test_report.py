"""What the operator is told about the store, also by one that does not tell everything."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.make import ManualClock
from tests.people import create
from threadkit.health import store as health_store
from threadkit.health.store import StoreReports
from threadkit.settings import StoreTuning
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys

PATH = "/v1/admin/server/store"


async def test_the_report_of_a_store_that_tells_everything(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    for number in range(3):
        await write(ada, f"text {number}")
    answer = await http.get(PATH, headers={"projectid": new_site.secret_key})
    assert answer.status_code == 200, answer.text
    report = answer.json()
    [node] = report["nodes"]
    assert node["version"].startswith(("Valkey ", "Redis "))
    assert 0 < node["memory_used"] <= node["memory_peak"]
    assert (node["memory_policy"], node["aof_enabled"], node["aof_fsync"]) == ("noeviction", True, "always")
    assert (node["aof_last_write_ok"], node["aof_last_rewrite_ok"], node["not_available"]) == (True, True, [])
    assert node["clients"] > 0
    assert report["topology"] == "standalone"
    assert report["keys"] == await redis.dbsize() == report["sampled"]
    comments = [family for family in report["families"] if family["pattern"] == "comment:{comment_id}"]
    assert comments == [{"about": "comment", "pattern": "comment:{comment_id}", "keys": 3}]


async def test_slow_commands_are_named_and_nothing_of_what_they_held(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    before = str((await redis.config_get("slowlog-log-slower-than"))["slowlog-log-slower-than"])
    await redis.config_set("slowlog-log-slower-than", 0)
    try:
        for number in range(30):
            await redis.get(f"email:somebody-{number}@example.org")
    finally:
        await redis.config_set("slowlog-log-slower-than", before)
    answer = await http.get(PATH, headers={"projectid": new_site.secret_key})
    await redis.slowlog_reset()
    slow = answer.json()["nodes"][0]["slow"]
    assert len(slow) == 20
    assert "GET" in {one["command"] for one in slow}
    assert all(one["took_ms"] >= 0 and " " not in one["command"] for one in slow)
    assert "example.org" not in answer.text


async def test_a_report_is_kept_for_some_seconds(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    headers = {"projectid": new_site.secret_key}
    first = (await http.get(PATH, headers=headers)).json()
    clock.advance(seconds=4)
    assert (await http.get(PATH, headers=headers)).json() == first
    clock.advance(seconds=2)
    assert (await http.get(PATH, headers=headers)).json()["at"] > first["at"]


@pytest.fixture
async def hosted(redis: Redis, bundled: BundledStore) -> AsyncIterator[Store]:
    """A store as some sell it: its configuration and its slow log are nobody's business."""
    await redis.acl_setuser(
        "tenant", enabled=True, passwords=["+pw"], keys=["*"], categories=["+@all"], commands=["-config", "-slowlog"]
    )
    opened = Store(replace(bundled.address, username="tenant", password="pw"), StoreTuning())
    yield opened
    await opened.close()
    await redis.acl_deluser("tenant")


async def test_what_a_hosted_store_does_not_tell_is_named(hosted: Store, clock: ManualClock) -> None:
    [node] = (await StoreReports(store=hosted, keys=Keys(), clock=clock).newest()).nodes
    assert (node.aof_fsync, node.slow) == (None, None)
    assert node.not_available == ["CONFIG GET", "SLOWLOG GET"]
    assert node.memory_used


async def test_only_a_sample_of_many_keys_is_looked_at(
    redis: Redis, bundled: BundledStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_store, "MOST_SAMPLED", 500)
    async with redis.pipeline(transaction=False) as pipe:
        for number in range(2000):
            pipe.set(f"email:{number}@example.org", "somebody")
        await pipe.execute()
    store = Store(bundled.address, StoreTuning())
    report = await StoreReports(store=store, keys=Keys(), clock=clock).newest()
    await store.close()
    assert (report.keys, report.sampled) == (2000, 500)
    assert [(family.pattern, family.keys) for family in report.families] == [("email:{email}", 2000)]
