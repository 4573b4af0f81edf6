"""S3-70: page views, in all and by day."""

import asyncio

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import URL, write
from tests.integration.counters.counting import BROWSER, DAY, PAGE, SITE, Counting, counting, page, written
from tests.make import ManualClock
from tests.people import Person, create
from threadkit.app import Application
from threadkit.counters import scripts
from threadkit.ids import PageId, UserId
from threadkit.keyring import Keyring
from threadkit.pages.model import page_id_of
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role
from threadkit.storage.bundled import BundledStore


async def admin(app: Application, http: httpx.AsyncClient, site: NewSite) -> Person:
    person = await create(http, site, "Adele")
    await app.services.roles.grant(site.site.id, UserId(person.id), Role.ADMIN)
    return person


def view(app: Application, site: NewSite, page_id: PageId, times: int = 1) -> None:
    for _ in range(times):
        app.services.tally.view(site.site.id, page_id, ("203.0.113.7", 1), {b"user-agent": BROWSER})


async def flush(app: Application) -> None:
    for _ in range(2):
        assert await app.services.tally.flush() is None


async def test_a_thousand_views_at_once_are_a_thousand_s3_70(
    worker: Counting, redis: Redis, bundled: BundledStore, keyring: Keyring, clock: ManualClock
) -> None:
    await written(redis)
    async with counting(bundled.address, keyring, clock) as second:

        async def reader(number: int) -> None:
            each = (worker, second)[number % 2]
            each.view(peer=f"203.0.113.{number % 200}")
            if number % 50 == 0:
                await each.flushed()
            await asyncio.sleep(0)

        await asyncio.gather(*(reader(number) for number in range(1000)))
        await worker.flushed()
        await second.flushed()
    day = f"page:{PAGE}:views:{DAY}"
    assert (await redis.get(f"page:{PAGE}:views"), await redis.get(day)) == ("1000", "1000")
    assert await redis.ttl(f"page:{PAGE}:views") == -1
    assert 7_775_000 < await redis.ttl(day) <= 7_776_000


async def test_the_lifetime_of_a_day_begins_with_its_first_view(worker: Counting, redis: Redis) -> None:
    await written(redis)
    worker.view()
    await worker.flushed()
    await redis.expire(f"page:{PAGE}:views:{DAY}", 5000)
    worker.view()
    await worker.flushed()
    assert 0 < await redis.ttl(f"page:{PAGE}:views:{DAY}") <= 5000


async def test_reading_invented_addresses_grows_the_store_up_to_a_bound(
    worker: Counting, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "MOST_UNWRITTEN", 50)
    sizes = []
    for first in range(0, 300, 100):
        for number in range(first, first + 100):
            worker.view(page(number))
        await worker.flushed()
        sizes.append((await redis.dbsize(), await redis.hlen(f"site:{SITE}:viewed:unwritten")))
    assert [number for _, number in sizes] == [50] * 3
    assert len({keys for keys, _ in sizes}) == 1


async def test_a_page_that_several_looked_at_is_not_pushed_out_by_invented_ones(
    worker: Counting, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "MOST_UNWRITTEN", 5)
    for number in range(4):
        worker.view(peer=f"203.0.113.{number}")
        await worker.flushed()
    for number in range(200):
        worker.view(page(number), peer="203.0.113.9")
    await worker.flushed()
    assert await worker.queries.views(SITE, PAGE) == 4


async def test_what_was_viewed_before_anybody_wrote_counts_on(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await admin(app, http, new_site)
    page_id = page_id_of(new_site.site.id, URL)
    view(app, new_site, page_id, 3)
    await flush(app)
    assert await redis.exists(f"page:{page_id}:views") == 0
    await write(ada, "hi")
    for expected in (3, 5):
        assert (await ada.call("GET", f"/v1/admin/pages/{page_id}/views")).json()["total"] == expected
        view(app, new_site, page_id, 2)
        await flush(app)
    assert await redis.get(f"page:{page_id}:views") == "7"
    assert await redis.exists(f"site:{new_site.site.id}:viewed:unwritten") == 0


@pytest.mark.parametrize(
    "headers",
    [
        {b"user-agent": b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"},
        {b"user-agent": b""},
        {},
        {b"user-agent": BROWSER, b"sec-purpose": b"prefetch;prerender"},
        {b"user-agent": BROWSER, b"purpose": b"prefetch"},
        {b"user-agent": BROWSER, b"x-moz": b"prefetch"},
    ],
)
async def test_bots_and_pages_fetched_ahead_do_not_count_unless_wanted(
    worker: Counting,
    redis: Redis,
    bundled: BundledStore,
    keyring: Keyring,
    clock: ManualClock,
    headers: dict[bytes, bytes],
) -> None:
    for _ in range(2):
        worker.tally.view(SITE, PAGE, ("203.0.113.7", 1), headers)
    await worker.flushed()
    assert await redis.dbsize() == 0
    async with counting(bundled.address, keyring, clock, count_bots=True) as curious:
        curious.tally.view(SITE, PAGE, ("203.0.113.7", 1), headers)
        await curious.flushed()
    assert await worker.queries.views(SITE, PAGE) == 1


async def test_views_of_many_pages_come_in_one_answer(worker: Counting) -> None:
    for number in range(1, 4):
        for _ in range(number):
            worker.view(page(number))
    await worker.flushed()
    assert await worker.queries.views_of(SITE, [page(3), page(9), page(1)]) == [3, 0, 1]
    assert await worker.queries.views_of(SITE, []) == []


async def test_an_administrator_sees_every_day_also_those_without_a_view(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada = await admin(app, http, new_site)
    await write(ada, "hi")
    page_id = page_id_of(new_site.site.id, URL)
    await flush(app)
    before = await app.services.counter_queries.views(new_site.site.id, page_id)
    view(app, new_site, page_id, 3)
    clock.advance(seconds=3 * 86_400)
    view(app, new_site, page_id, 2)
    await flush(app)
    answer = await ada.call("GET", f"/v1/admin/pages/{page_id}/views?days=5")
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "page_id": page_id,
        "total": before + 5,
        "days": [
            {"date": "2025-12-09", "views": 2},
            {"date": "2025-12-08", "views": 0},
            {"date": "2025-12-07", "views": 0},
            {"date": "2025-12-06", "views": before + 3},
            {"date": "2025-12-05", "views": 0},
        ],
    }
    assert len((await ada.call("GET", f"/v1/admin/pages/{page_id}/views")).json()["days"]) == 30
    for days, status in ((90, 200), (91, 400), (0, 400), ("x", 400)):
        assert (await ada.call("GET", f"/v1/admin/pages/{page_id}/views?days={days}")).status_code == status


async def test_a_page_nobody_wrote_on_is_found_by_its_address_and_never_another_sites(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await admin(app, http, new_site)
    other = await app.services.sites.create("Other", "other.example")
    quiet, foreign = page_id_of(new_site.site.id, URL), page_id_of(other.site.id, URL)
    view(app, new_site, quiet, 2)
    view(app, other, foreign, 7)
    await write(await create(http, other, "Otto"), "hi")
    await flush(app)

    async def ask(page_id: str, **query: str) -> httpx.Response:
        return await ada.call("GET", str(httpx.URL(f"/v1/admin/pages/{page_id}/views", params=query)))

    assert (await ask(quiet)).status_code == 404
    assert (await ask(quiet, page_url=URL)).json()["total"] == 2
    for refused in (await ask(foreign), await ask(foreign, page_url=URL)):
        assert (refused.status_code, refused.json()["code"]) == (404, "page_not_found")
    assert (await ask("5")).status_code == 400


async def test_reading_on_is_no_other_view_and_a_page_without_scripts_is_one(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await admin(app, http, new_site)
    for number in range(3):
        await write(ada, f"comment {number}")
    key = new_site.site.api_key_public
    page_id = page_id_of(new_site.site.id, URL)

    async def views() -> int:
        await flush(app)
        return int((await ada.call("GET", f"/v1/admin/pages/{page_id}/views")).json()["total"])

    for more in ({}, {"authorization": "Bearer nobody"}):  # the fast lane, and the ordinary way
        before = await views()
        headers = {"projectid": key, "user-agent": BROWSER.decode()} | more
        asked: dict[str, str | int] = {"page_url": URL, "limit": 1}
        for _ in range(3):
            thread = (await http.get("/v1/comments", params=asked, headers=headers)).json()
            asked["cursor"] = thread.get("next", "")
        assert asked["cursor"] == "", "read to the end"
        assert await views() == before + 1
    before = await views()
    comment_id = thread["tree"]["c"][0]["i"]
    for agent, expected in ((BROWSER, 1), (b"Googlebot/2.1", 1)):
        for extra in ({}, {"cursor": "new"}, {"under": comment_id}, {"reply": comment_id}, {"fragment": "1"}):
            answer = await http.get(
                "/v1/render",
                params={"key": key, "page_url": URL, "sort": "new"} | extra,
                headers={"user-agent": agent.decode()},
            )
            assert answer.status_code == 200, answer.text
        assert await views() == before + expected
