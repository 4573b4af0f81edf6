"""Takes the outboxes of all sites forward: each entry has its effect once, in order, whoever crashes in between."""

import asyncio
import contextlib
from typing import Any

import msgspec
import structlog
from redis.exceptions import RedisError

from threadkit.ids import SiteId, UserId, random_text
from threadkit.sites.queries import SiteQueries
from threadkit.storage.claims import Release
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.lua import KeyedScript

log = structlog.get_logger()

PAUSE_S = 0.05
AWAY_PAUSE_S = 0.5
LEASE_S = 15
BATCH = 200


class ApplyToUser(KeyedScript):
    file = "apply_to_user.lua"
    repeatable = True

    async def __call__(self, user_id: UserId, site_id: SiteId, entry_id: str, *, field: str, change: int) -> None:
        keys = self._keys.user(user_id)
        await self._run(keys=[keys.profile(), keys.applied()], args=[site_id, _comparable(entry_id), field, change])


class OutboxWorker:
    """One worker at a time holds a site's lease, so entries of one site take effect in their order."""

    def __init__(self, *, redis: Commands, keys: Keys, site_queries: SiteQueries) -> None:
        self._redis = redis
        self._keys = keys
        self._site_queries = site_queries
        self._apply = ApplyToUser(redis, keys)
        self._release = Release(redis)
        self._name = random_text(16)
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="outbox")

    async def stop(self) -> None:
        """Finish the batch at hand; what is left waits for the next worker."""
        self._stopping.set()
        if self._task:
            await self._task

    async def drain(self) -> int:
        """Take everything that waits now forward; says how many entries that were."""
        done = 0
        for site in await self._site_queries.all():
            try:
                done += await self._drain_site(site.id)
            except RedisError as error:  # one site's trouble is not the others'
                log.warning("outbox_waits", site_id=site.id, why=str(error))
        return done

    async def _run(self) -> None:
        is_away = False
        while not self._stopping.is_set():
            try:
                done = await self.drain()
                is_away = False
            except (RedisError, OSError) as error:
                if not is_away:  # once per outage, not twenty times a second
                    log.warning("outbox_waits", why=str(error))
                is_away, done = True, 0
            if not done:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), AWAY_PAUSE_S if is_away else PAUSE_S)

    async def _drain_site(self, site_id: SiteId) -> int:
        keys = self._keys.site(site_id)
        if not await self._redis.exists(keys.outbox()):
            return 0
        if not await self._redis.set(keys.outbox_lease(), self._name, nx=True, ex=LEASE_S):
            return 0
        try:
            entries = await self._redis.xrange(keys.outbox(), count=BATCH)
            for entry_id, fields in entries:
                try:
                    await self._carry_out(site_id, entry_id, msgspec.json.decode(fields["event"]))
                except (KeyError, ValueError, TypeError, msgspec.DecodeError) as error:
                    # Nobody here understands it, perhaps a newer server does: kept aside, so that others go on.
                    log.warning("outbox_dead_letter", site_id=site_id, entry=entry_id, why=repr(error))
                    await self._redis.xadd(keys.outbox_dead(), fields)
                await self._redis.xdel(keys.outbox(), entry_id)
            return len(entries)
        finally:
            await self._release(keys.outbox_lease(), self._name)

    async def _carry_out(self, site_id: SiteId, entry_id: str, event: dict[str, Any]) -> None:
        user_id = UserId(event.get("user_id", ""))
        match event["type"]:
            case "comment_posted":
                await self._apply(user_id, site_id, entry_id, field="total_comments", change=1)
            case "karma":
                await self._apply(user_id, site_id, entry_id, field="karma", change=int(event["change"]))
            case unknown:
                raise ValueError(f"nobody knows what {unknown} means")


def _comparable(entry_id: str) -> str:
    """Stream ids as texts that compare like the ids."""
    ms, _, number = entry_id.partition("-")
    return f"{int(ms):020d}-{int(number):010d}"
