"""What can be asked about limits: who has reached one now."""

import functools
from collections.abc import Callable

from msgspec import Struct

from threadkit.clock import Clock
from threadkit.ids import SiteId
from threadkit.ratelimit.model import MINUTE_S, day_of
from threadkit.ratelimit.requests import NO_SITE
from threadkit.settings import ActionLimits, LimitSettings
from threadkit.sites.model import RateLimitSettings
from threadkit.storage.client import Commands
from threadkit.storage.keys import ClientKeys, Entry, Keys, SiteKeys, entry

BATCH = 500

_REQUESTS = entry(SiteKeys, "requests")
_DAILY = entry(ClientKeys, "daily")


class Limited(Struct, frozen=True):
    """Somebody who has to wait. Addresses appear as keyed hashes, as everywhere."""

    what: str
    who: str
    site_id: str | None
    used: int
    limit: int
    until_s: int


class LimitQueries:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock, settings: LimitSettings) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._settings = settings

    async def limited(self, sites: dict[SiteId, RateLimitSettings], *, most: int = 1000) -> list[Limited]:
        """Who has used up a minute or a day, of `most` at the most. Goes through the keys, so it is for people."""
        found: list[Limited] = []
        for entry_, read in ((_REQUESTS, functools.partial(self._request, sites)), (_DAILY, self._day)):
            batch: list[str] = []
            async for key in self._redis.scan_iter(match=self._keys.prefix + entry_.glob, count=BATCH):
                batch.append(key)
                if len(batch) >= BATCH:
                    found += await self._full(batch, entry_, read)
                    batch = []
                if len(found) >= most:
                    return found[:most]
            found += await self._full(batch, entry_, read)
        return found[:most]

    async def _full(
        self, names: list[str], entry_: Entry, read: Callable[[dict[str, str], int], Limited | None]
    ) -> list[Limited]:
        async with self._redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.get(name)
            counts = await pipe.execute()
        bare = [name.removeprefix(self._keys.prefix).rpartition("}")[2] for name in names]
        found = [
            read(parts, int(count or 0))
            for name, count in zip(bare, counts, strict=True)
            if (parts := entry_.parts(name)) is not None
        ]
        return [limited for limited in found if limited and limited.used >= limited.limit]

    def _request(self, sites: dict[SiteId, RateLimitSettings], parts: dict[str, str], used: int) -> Limited | None:
        minute = self._clock.now_ms() // 1000 // MINUTE_S
        who, _, kind = parts["who"].rpartition(".")
        if parts["bucket"] != str(minute):
            return None
        what = "reads" if kind == "r" else "writes"
        setting = f"{parts['layer']}_{what}_per_minute"
        site_id = SiteId(parts["site_id"])
        limit = getattr(sites.get(site_id), setting, None) or getattr(self._settings, setting)
        if not limit:
            return None
        site = None if site_id == NO_SITE else site_id
        return Limited(f"{what} of one {parts['layer']}", who, site, used, limit, (minute + 1) * MINUTE_S)

    def _day(self, parts: dict[str, str], used: int) -> Limited | None:
        now_ms = self._clock.now_ms()
        today, left_s = day_of(now_ms)
        action, _, who = parts["client"].partition(".")
        own: ActionLimits | None = getattr(self._settings, action, None)
        if own is None or parts["day"] != today:
            return None
        limit = own.per_day or self._settings.costly_per_day
        return Limited(f"{action} on one day", who, None, used, limit, now_ms // 1000 + left_s)
