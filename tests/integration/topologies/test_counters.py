"""Counts on a cluster and behind Sentinel: many sites in one flush, wherever their keys live."""

from tests.integration.topologies.nodes import on_both
from threadkit.app import Application
from threadkit.ids import PageId

pytestmark = on_both

READER = {b"user-agent": b"Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"}
PAGES = [PageId(f"5f0c1d2e-0000-5000-8000-{number:012d}") for number in range(5)]


async def test_two_workers_count_many_sites(app: Application, other: Application) -> None:
    sites = [(await app.services.sites.create(f"Site {number}", f"{number}.example")).site.id for number in range(8)]
    for site_id in sites:  # somebody wrote on these pages, so their views are counted by day
        for page_id in PAGES:
            page = app.services.keys.site(site_id).page(page_id)
            await app.services.store.redis.hset(page, mapping={"site_id": site_id, "url": "https://blog.example.org/"})
    for _ in range(3):
        for worker in (app, other):
            for site_id in sites:
                for page_id in PAGES:
                    worker.services.tally.view(site_id, page_id, ("203.0.113.7", 1), READER)
                worker.services.tally.comment(site_id)
            assert await worker.services.tally.flush() is None
    queries = app.services.counter_queries
    for site_id in sites:
        month, before = await queries.usage(site_id, months=2)
        assert (month.pageviews, month.comments, month.visitors) == (30, 6, 1)
        assert (before.pageviews, before.visitors) == (0, 0)
        today = (await queries.usage_by_day(site_id, days=1))[0]
        assert (today.pageviews, today.comments, today.visitors) == (30, 6, 1)
    # Where keys carry no tag of their site, the same page of all sites is one page.
    seen = 6 if app.services.keys.tagged else 6 * len(sites)
    assert await queries.views_of(sites[0], PAGES) == [seen] * 5
    assert (await queries.views_by_day(sites[0], PAGES[0], days=1))[0].views == seen
