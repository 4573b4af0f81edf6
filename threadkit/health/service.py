"""Looks at the store and says what it sees."""

import asyncio
import contextlib
import time
from typing import Literal

from msgspec import Struct
from redis.exceptions import RedisError

from threadkit.http.metrics import Metrics
from threadkit.outbox.queries import OutboxQueries
from threadkit.ratelimit.outage import Outage
from threadkit.settings import Settings
from threadkit.sites.queries import SiteQueries
from threadkit.storage.checks import StoreHealth, is_writable
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys
from threadkit.storage.room import room_in


class Checks(Struct, frozen=True):
    """What `/readyz` tells those who hold a secret key."""

    api_key_configured: bool
    redis_reachable: bool
    redis_writable: bool
    redis_round_trip_ms: float | None
    disk_has_room: bool
    """Without it the bundled store takes in nothing new."""
    live_updates: bool
    rate_limiter_backend: Literal["redis", "in_memory"]
    rate_limiter_ok: bool
    rate_limiter_warning: str | None
    durability: str
    can_be_lost: list[str]


class HealthService:
    def __init__(
        self,
        *,
        store: Store,
        keys: Keys,
        settings: Settings,
        site_queries: SiteQueries,
        metrics: Metrics,
        limiter_outage: Outage,
    ) -> None:
        self._store = store
        self._keys = keys
        self._settings = settings
        self._site_queries = site_queries
        self._outboxes = OutboxQueries(redis=store.redis, keys=keys)
        self._limiter_outage = limiter_outage
        self.metrics = metrics
        self.found_at_start: StoreHealth | None = None

    async def store_answers(self) -> bool:
        return await self._store.ping()

    async def checks(self, *, live_updates: bool) -> Checks:
        started = time.perf_counter()
        reachable = await self._store.ping()
        round_trip_ms = round((time.perf_counter() - started) * 1000, 2)
        writable = reachable and await is_writable(self._store, self._keys)
        if writable:
            self._limiter_outage.ended()
        return Checks(
            api_key_configured=reachable and await self._has_site(),
            redis_reachable=reachable,
            redis_writable=writable,
            redis_round_trip_ms=round_trip_ms if reachable else None,
            disk_has_room=await asyncio.to_thread(self._disk_has_room),
            live_updates=live_updates,
            rate_limiter_backend="redis" if writable else "in_memory",
            rate_limiter_ok=writable,
            rate_limiter_warning=None if writable else self._limits_without_store(),
            durability=self._settings.durability,
            can_be_lost=self.found_at_start.risks if self.found_at_start else [],
        )

    def _disk_has_room(self) -> bool:
        if self._settings.redis_url is not None:
            return True
        room = room_in(self._settings.data_folder, least_free_mb=self._settings.store.least_free_mb)
        return room is None or not room.is_short

    def _limits_without_store(self) -> str:
        workers = self._settings.workers
        together = f", so that {workers} workers together let through {workers} times the limit" if workers > 1 else ""
        return f"Limits are counted in memory, by each worker for itself{together}."

    async def measure(self) -> None:
        """Bring the store's meters up to date; a store that is away is a reading too."""
        started = time.perf_counter()
        self.metrics.tasks.set(len(asyncio.all_tasks()))
        reachable = await self._store.ping()
        self.metrics.store_up.set(reachable)
        self.metrics.store_round_trip.set(time.perf_counter() - started)
        self.metrics.store_writable.set(reachable and await is_writable(self._store, self._keys))
        if reachable:
            try:
                memory = await asyncio.wait_for(self._store.redis.info("memory"), 2)
                self.metrics.store_memory.set(_total(memory, "used_memory"))
            except (RedisError, OSError, TimeoutError):
                self.metrics.store_memory.set(0)
            await self._measure_outboxes()

    async def _measure_outboxes(self) -> None:
        with contextlib.suppress(RedisError, OSError):  # the last reading stays
            outboxes = await self._outboxes.sum()
            for state in ("waiting", "retrying", "dead"):
                self.metrics.outbox.labels(state).set(getattr(outboxes, state))

    async def _has_site(self) -> bool:
        try:
            return await self._site_queries.first_id() is not None
        except (RedisError, OSError):
            return False


def _total(info: dict[str, object], name: str) -> float:
    """One number of INFO, summed over the nodes of a cluster."""
    if name in info:
        return float(str(info[name]))
    return sum(float(str(node[name])) for node in info.values() if isinstance(node, dict) and name in node)
