"""What can be asked about counts. They are at most a second old."""

import asyncio
from collections.abc import Sequence

from threadkit.clock import Clock
from threadkit.counters.model import (
    MOST_DAYS,
    MOST_MONTHS,
    DayOfUse,
    DayOfViews,
    MonthOfUse,
    last_days,
    last_months,
    views_in,
)
from threadkit.ids import PageId, SiteId
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys


class CounterQueries:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock

    async def views(self, site_id: SiteId, page_id: PageId) -> int:
        """How often a page was viewed, ever."""
        return (await self.views_of(site_id, [page_id]))[0]

    async def views_of(self, site_id: SiteId, page_ids: Sequence[PageId]) -> list[int]:
        """The same for many pages, in their order, in two calls at once."""
        if not page_ids:
            return []
        keys = self._keys.site(site_id)
        written, unwritten = await asyncio.gather(
            self._redis.mget([keys.page_views(page_id) for page_id in page_ids]),
            self._redis.hmget(keys.unwritten_views(), list(page_ids)),
        )
        return [views_in(one, other) for one, other in zip(written, unwritten, strict=True)]

    async def views_by_day(self, site_id: SiteId, page_id: PageId, *, days: int) -> list[DayOfViews]:
        """The last days in UTC, newest first, those without a view too."""
        keys = self._keys.site(site_id)
        dates = last_days(self._clock.now_ms(), min(days, MOST_DAYS))
        found = await self._redis.mget([keys.page_views_on(page_id, date) for date in dates])
        return [DayOfViews(date, int(views or 0)) for date, views in zip(dates, found, strict=True)]

    async def usage_by_day(self, site_id: SiteId, *, days: int) -> list[DayOfUse]:
        """The last days in UTC, newest first, those in which nothing happened too."""
        keys = self._keys.site(site_id)
        dates = last_days(self._clock.now_ms(), min(days, MOST_DAYS))
        async with self._redis.pipeline(transaction=False) as pipe:
            for date in dates:
                pipe.hgetall(keys.usage_on(date))
            answers = await pipe.execute()
        return [
            DayOfUse(date, **{name: int(count) for name, count in found.items() if name in DayOfUse.__struct_fields__})
            for date, found in zip(dates, answers, strict=True)
        ]

    async def key_uses(self, site_id: SiteId) -> dict[str, int]:
        """When each kind of key was last used, ms, to the minute; those that were never used are absent."""
        found = await self._redis.hgetall(self._keys.site(site_id).key_uses())
        return {kind: int(used_ms) for kind, used_ms in found.items()}

    async def usage(self, site_id: SiteId, *, months: int) -> list[MonthOfUse]:
        """The last months in UTC, newest first, those in which nothing happened too."""
        keys = self._keys.site(site_id)
        names = last_months(self._clock.now_ms(), min(months, MOST_MONTHS))
        async with self._redis.pipeline(transaction=False) as pipe:
            for month in names:
                pipe.hgetall(keys.usage(month))
                pipe.type(keys.visitors(month))
            answers = await pipe.execute()
        fields, kinds = answers[::2], answers[1::2]
        async with self._redis.pipeline(transaction=False) as pipe:
            for month, kind in zip(names, kinds, strict=True):
                # By its name: the client library has no `pfcount` in a cluster's pipeline, though one key is no problem.
                pipe.execute_command("SCARD" if kind == "set" else "PFCOUNT", keys.visitors(month))
            visitors = await pipe.execute()
        return [
            MonthOfUse(
                month,
                comments=int(found.get("comments", 0)),
                pageviews=int(found.get("pageviews", 0)),
                api_requests=int(found.get("api_requests", 0)),
                websocket_connections=int(found.get("websocket_connections", 0)),
                visitors=int(unique),
            )
            for month, found, unique in zip(names, fields, visitors, strict=True)
        ]
