"""S3-71: a site's use by month."""

import json

import httpx
import pytest
from redis.asyncio import Redis

from tests.conftest import SECRET
from tests.integration.counters.counting import DAY, MONTH, PAGE, SITE, Counting, counting, written
from tests.integration.counters.test_views import admin, flush
from tests.integration.server.program import environment, run
from tests.make import ManualClock
from tests.people import create
from tests.stores import url_of
from threadkit.app import Application
from threadkit.clock import SystemClock
from threadkit.counters.model import DayOfUse
from threadkit.keyring import Keyring
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore


async def test_numbers_equal_the_calls_made_s3_71(worker: Counting, redis: Redis) -> None:
    for count, call in ((3, worker.tally.comment), (5, worker.tally.request), (7, worker.tally.connection)):
        for _ in range(count):
            call(SITE)
    for _ in range(11):
        worker.view()
    await worker.flushed()
    key = f"site:{SITE}:usage:{MONTH}"
    assert await redis.hgetall(key) == {
        "comments": "3",
        "pageviews": "11",
        "api_requests": "5",
        "websocket_connections": "7",
    }
    assert 7_775_000 < await redis.ttl(key) <= 7_776_000
    await redis.expire(key, 5000)
    worker.tally.comment(SITE)
    await worker.flushed()
    assert await redis.hget(key, "comments") == "4"
    assert await redis.ttl(key) <= 5000, "90 days from the first write"


async def test_every_call_that_opened_the_site_is_an_api_request(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    key = {"projectid": new_site.site.api_key_public}
    for path, headers in (
        ("/v1/site", key),
        ("/v1/auth/methods", key | {"origin": "https://blog.example.org"}),
        ("/v1/users/me", key),  # opened, then refused
        ("/v1/site", {"projectid": new_site.secret_key}),
        ("/v1/site", {}),
        ("/v1/site", {"projectid": "tk_pub_unknown-key"}),
        ("/v1/site", key | {"origin": "https://evil.example"}),
        ("/health", key),
    ):
        await http.get(path, headers=headers)
    await flush(app)
    assert (await app.services.counter_queries.usage(new_site.site.id, months=1))[0].api_requests == 4


async def test_the_month_turns_at_midnight_of_utc(worker: Counting, redis: Redis, clock: ManualClock) -> None:
    await written(redis)
    clock.advance(seconds=(1_767_225_600_000 - clock.now_ms()) / 1000 - 0.001)
    worker.view()
    worker.tally.comment(SITE)
    clock.advance(seconds=0.001)
    worker.view()
    worker.view(peer="203.0.113.8")
    await worker.flushed()
    await worker.flushed()
    found = await worker.queries.usage(SITE, months=3)
    assert [(each.month, each.pageviews, each.comments, each.visitors) for each in found] == [
        ("2026-01", 2, 0, 2),
        ("2025-12", 1, 1, 1),
        ("2025-11", 0, 0, 0),
    ]
    days = await worker.queries.views_by_day(SITE, PAGE, days=2)
    assert [(each.date, each.views) for each in days] == [("2026-01-01", 2), ("2025-12-31", 1)]


async def test_a_clock_that_is_set_back_counts_on_the_day_it_says(
    worker: Counting, redis: Redis, clock: ManualClock
) -> None:
    await written(redis)
    worker.view()
    clock.advance(seconds=-86_400)
    worker.view()
    worker.view()
    await worker.flushed()
    await worker.flushed()
    clock.advance(seconds=86_400)
    assert [each.views for each in await worker.queries.views_by_day(SITE, PAGE, days=2)] == [1, 2]


async def test_administrators_of_the_site_and_nobody_else_see_its_usage(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, user = await admin(app, http, new_site), await create(http, new_site, "Uwe")
    path = f"/v1/admin/sites/{new_site.site.id}/usage"
    app.services.tally.connection(new_site.site.id)
    await flush(app)
    answer = await ada.call("GET", f"{path}?months=2")
    assert answer.status_code == 200, answer.text
    newest, before = answer.json()["months"]
    assert newest == {
        "month": "2025-12",
        "comments": 0,
        "pageviews": 0,
        "api_requests": 2,
        "websocket_connections": 1,
        "visitors": 0,
    }
    assert (before["month"], before["api_requests"]) == ("2025-11", 0)
    assert len((await ada.call("GET", path)).json()["months"]) == 3
    for months in (0, 5, "x"):
        assert (await ada.call("GET", f"{path}?months={months}")).status_code == 400
    refused = await user.call("GET", path)
    assert (refused.status_code, refused.json()["code"]) == (403, "admin_required")
    other = await app.services.sites.create("Other", "other.example")
    elsewhere = await ada.call("GET", f"/v1/admin/sites/{other.site.id}/usage")
    assert (elsewhere.status_code, elsewhere.json()["error"]) == (403, "Site ID mismatch")


@pytest.fixture
async def owned(app: Application, bundled: BundledStore, keyring: Keyring, new_site: NewSite) -> NewSite:
    """A site that was used just now, by the clock on the wall: the command line has no other."""
    async with counting(bundled.address, keyring, SystemClock()) as worker:
        for _ in range(4):
            worker.view(site_id=new_site.site.id)
        worker.tally.comment(new_site.site.id)
        await worker.flushed()
    return new_site


async def test_usage_on_the_command_line(owned: NewSite, bundled: BundledStore) -> None:
    words = ["site", "usage", owned.site.domain, "--months", "2", "--redis-url", url_of(bundled)]
    env = environment(THREADKIT_SECRET=SECRET)
    result = run(*words, "--json", env=env)
    assert result.returncode == 0, result.stderr
    months = json.loads(result.stdout)["months"]
    assert len(months) == 2
    assert (sum(each["pageviews"] for each in months), sum(each["comments"] for each in months)) == (4, 1)
    assert sum(each["visitors"] for each in months) == 1
    table = run(*words, env=env)
    assert "Page views" in table.stdout
    assert months[0]["month"] in table.stdout
    wrong = run("site", "usage", "nope", "--redis-url", url_of(bundled), env=env)
    assert (wrong.returncode, wrong.stderr) == (1, "Error: There is no site 'nope'.\n")


async def test_every_day_has_all_numbers(worker: Counting, clock: ManualClock, redis: Redis) -> None:
    for peer in ("203.0.113.7", "203.0.113.8", "203.0.113.7"):
        worker.view(peer=peer)
    worker.tally.comment(SITE)
    await worker.flushed()
    clock.advance(seconds=86_400)
    worker.view()
    worker.tally.request(SITE)
    worker.tally.connection(SITE)
    await worker.flushed()
    await worker.flushed()
    newest, before, *older = await worker.queries.usage_by_day(SITE, days=90)
    assert newest == DayOfUse("2025-12-07", 0, 1, 1, 1, 1)
    assert before == DayOfUse(DAY, 1, 3, 0, 0, 2)
    assert len(older) == 88
    assert {(day.pageviews, day.visitors) for day in older} == {(0, 0)}
    assert 7_775_000 < await redis.ttl(f"site:{SITE}:day:{DAY}") <= 7_776_000
    await redis.delete(f"site:{SITE}:day:{DAY}:visitors")  # as after two days
    assert (await worker.queries.usage_by_day(SITE, days=2))[1].visitors == 2


async def test_a_days_visitors_are_one_number_however_they_come_in(exact: Counting, clock: ManualClock) -> None:
    for _ in range(2):
        exact.view(peer="203.0.113.7")
        await exact.flushed()
    assert (await exact.queries.usage_by_day(SITE, days=1))[0].visitors == 1


async def test_days_come_in_the_same_answer_when_asked_for(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await admin(app, http, new_site)
    path = f"/v1/admin/sites/{new_site.site.id}/usage"
    app.services.tally.comment(new_site.site.id)
    await flush(app)
    assert (await ada.call("GET", path)).json().keys() == {"months"}
    answer = (await ada.call("GET", f"{path}?days=90")).json()
    assert (len(answer["days"]), answer["days"][0]["date"], answer["days"][0]["comments"]) == (90, DAY, 1)
    for days in (-1, 91, "x"):
        assert (await ada.call("GET", f"{path}?days={days}")).status_code == 400
