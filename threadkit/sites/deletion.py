"""Deletes sites completely: the keys at once, the data in the background, on to the end whoever crashes.

A site that is being deleted stands in `sites:deleting` until nothing of it is left. Its record goes first, and with it
every API key; what is read or written by requests that were under way then is found by the next going-through. The
site is gone when one finds nothing, later than any other process could still have thought that the site is there.
"""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator

import msgspec
import structlog
from msgspec import Struct
from redis.exceptions import RedisError

from threadkit.clock import Clock
from threadkit.errors import InvalidParameter, NotFound
from threadkit.ids import SiteId, random_text
from threadkit.sites.model import Site, normal_domain
from threadkit.sites.queries import MEMORY_S, SiteQueries
from threadkit.sites.service import stored_secret_name
from threadkit.sites.sweep import Sweep
from threadkit.storage.claims import Release
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys

log = structlog.get_logger()

PAUSE_S = 2.0
LEASE_S = 60
KEPT_S = 2_592_000
ALL_SEEN = 99
# Other processes may take the site for there until they hear of its end, and write a moment longer.
STRAGGLERS_MS = (MEMORY_S + 5) * 1000


class DeletionNotFound(NotFound):
    """There is no such deletion, or it ended long ago."""

    code = "deletion_not_found"


class Doomed(Struct, frozen=True):
    """What is known of a site that is being deleted; the JSON in `sites:deleting`."""

    deletion_id: str
    settles_ms: int | None = None  # None until its keys are dead


class Deletion(Struct, frozen=True, kw_only=True):
    """How far it is; the JSON under `deletion:{id}`. Says nothing of the site, because it outlives it."""

    percent: int = 0
    removed: int = 0
    is_done: bool = False


class SiteDeletions:
    def __init__(self, *, store: Store, keys: Keys, clock: Clock, site_queries: SiteQueries) -> None:
        self._store = store
        self._redis = store.redis
        self._keys = keys
        self._clock = clock
        self._site_queries = site_queries
        self._sweep = Sweep(store=store, keys=keys)
        self._release = Release(store.redis)
        self._name = random_text(16)
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._woken = asyncio.Event()

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="site-deletions")

    async def stop(self) -> None:
        """Finish the batch at hand; the next worker goes through again and finds what is left."""
        self._stopping.set()
        self._woken.set()
        if self._task:
            await self._task

    # --- What can be asked for ----------------------------------------------------------------------------------------

    async def begin(self, site: Site, *, confirm: str, in_foreground: bool = False) -> str:
        """Its API keys are dead when this returns; the rest follows. The answer is the deletion's id."""
        if normal_domain(confirm) != site.domain:
            raise InvalidParameter(name="confirm", why=f"must be the site's domain, {site.domain}", field="confirm")
        doomed = Doomed(random_text(32))
        if in_foreground:  # before anybody else sees that there is something to do
            await self._take_lease(doomed)
        await self._save(doomed, Deletion())
        if not await self._redis.hsetnx(self._keys.shared.deleting(), site.id, msgspec.json.encode(doomed)):
            # Somebody else was quicker.
            await self._give_lease(doomed)
            await self._redis.unlink(self._keys.shared.deletion(doomed.deletion_id))
            doomed = await self._doomed(site.id) or doomed
        await self._end_keys(site.id, doomed)
        if not in_foreground:
            log.info("site_deletion_begins", site_id=site.id, deletion=doomed.deletion_id)
        self._woken.set()
        return doomed.deletion_id

    async def progress(self, deletion_id: str) -> Deletion:
        text = await self._redis.get(self._keys.shared.deletion(deletion_id))
        if text is None:
            raise DeletionNotFound
        return msgspec.json.decode(text, type=Deletion)

    async def is_under_way(self, site_id: SiteId) -> bool:
        return bool(await self._redis.hexists(self._keys.shared.deleting(), site_id))

    async def to_the_end(self, site_id: SiteId, *, look_every_s: float = 0.25) -> AsyncIterator[Deletion]:
        """Delete here and now, or watch another process do it."""
        doomed = await self._doomed(site_id)
        while doomed is not None:
            work = asyncio.create_task(self._look_at(site_id))
            while not work.done():
                await asyncio.wait({work}, timeout=look_every_s)
                yield await self.progress(doomed.deletion_id)
            await work
            if not await self.is_under_way(site_id):
                yield await self.progress(doomed.deletion_id)
                return
            await asyncio.sleep(look_every_s)

    async def look(self) -> None:
        """Do whatever there is to do now."""
        for site_id in await self._redis.hkeys(self._keys.shared.deleting()):
            try:
                await self._look_at(SiteId(site_id))
            except RedisError as error:  # one site's trouble is not the others'
                log.warning("site_deletion_waits", site_id=site_id, why=str(error))

    # --- How it is done -----------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        is_away = False
        while not self._stopping.is_set():
            self._woken.clear()
            try:
                await self.look()
                is_away = False
            except (RedisError, OSError) as error:
                if not is_away:  # once per outage
                    log.warning("site_deletion_waits", why=str(error))
                is_away = True
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), PAUSE_S)

    async def _look_at(self, site_id: SiteId) -> None:
        doomed = await self._doomed(site_id)
        if doomed is None or not await self._take_lease(doomed):
            return
        try:
            doomed = await self._end_keys(site_id, doomed)
            await self._go_through(site_id, doomed)
        finally:
            await self._give_lease(doomed)

    async def _end_keys(self, site_id: SiteId, doomed: Doomed) -> Doomed:
        """Nothing opens the site from here on. Can be said again after a crash."""
        site = await self._site_queries.by_id(site_id)
        if site is None and doomed.settles_ms is not None:
            return doomed
        shared = self._keys.shared
        await self._redis.unlink(self._keys.site(site_id).config())
        await self._redis.zrem(shared.sites(), site_id)
        version = site.version + 1 if site else 0
        if site:
            for name in (site.api_key_public, *site.replaced_keys, stored_secret_name(site)):
                await self._redis.unlink(shared.api_key(name))
        self._site_queries.forget(site_id, version)
        heard = await self._redis.publish(shared.site_changes(), f"{site_id} {version}")
        await self._redis.publish(shared.site_deletions(), site_id)
        # Where nobody listens nobody works; only of a cluster's other nodes the answer says nothing.
        has_others = bool(heard) or self._store.address.topology == "cluster"
        settles_ms = self._clock.now_ms() + (STRAGGLERS_MS if has_others else 0)
        doomed = Doomed(doomed.deletion_id, settles_ms)
        await self._redis.hset(shared.deleting(), site_id, msgspec.json.encode(doomed))
        return doomed

    async def _go_through(self, site_id: SiteId, doomed: Doomed) -> None:
        before = await self._known(doomed)
        is_first, removed = before.percent < ALL_SEEN, before.removed
        if not is_first and not self._is_settled(doomed):
            return  # all that was there is gone; one more look when nobody can write any more
        for _ in range(2 if is_first else 1):
            is_settled = self._is_settled(doomed)
            note = functools.partial(self._note, doomed, removed, is_first)
            try:
                found = await self._sweep.run(site_id, note)
            except _Stopped:
                return
            removed, is_first = removed + found, False
            await self._save(doomed, Deletion(percent=ALL_SEEN, removed=removed))
            if not found and is_settled:
                await self._finish(site_id, doomed, removed)

    def _is_settled(self, doomed: Doomed) -> bool:
        return doomed.settles_ms is not None and self._clock.now_ms() >= doomed.settles_ms

    async def _note(self, doomed: Doomed, removed: int, is_first: bool, seen: int, total: int) -> None:
        if self._stopping.is_set():
            raise _Stopped
        await self._redis.expire(self._keys.shared.deletion_lease(doomed.deletion_id), LEASE_S)
        if is_first:
            percent = min(ALL_SEEN - 1, ALL_SEEN * seen // max(total, 1))
            await self._save(doomed, Deletion(percent=percent, removed=removed))

    async def _finish(self, site_id: SiteId, doomed: Doomed, removed: int) -> None:
        await self._save(doomed, Deletion(percent=100, removed=removed, is_done=True))
        await self._redis.hdel(self._keys.shared.deleting(), site_id)
        if self._task:  # in the foreground the command says it
            log.info("site_deletion_ends", site_id=site_id, deletion=doomed.deletion_id, removed=removed)

    async def _doomed(self, site_id: SiteId) -> Doomed | None:
        text = await self._redis.hget(self._keys.shared.deleting(), site_id)
        return msgspec.json.decode(text, type=Doomed) if text else None

    async def _known(self, doomed: Doomed) -> Deletion:
        try:
            return await self.progress(doomed.deletion_id)
        except DeletionNotFound:  # it stood still for longer than that is kept
            return Deletion()

    async def _save(self, doomed: Doomed, deletion: Deletion) -> None:
        key = self._keys.shared.deletion(doomed.deletion_id)
        await self._redis.set(key, msgspec.json.encode(deletion), ex=KEPT_S)

    async def _take_lease(self, doomed: Doomed) -> bool:
        key = self._keys.shared.deletion_lease(doomed.deletion_id)
        if await self._redis.set(key, self._name, nx=True, ex=LEASE_S):
            return True
        # One who deletes in the foreground has taken it before.
        return self._task is None and bool(await self._redis.get(key) == self._name)

    async def _give_lease(self, doomed: Doomed) -> None:
        with contextlib.suppress(RedisError, OSError):  # it runs out by itself
            await self._release(self._keys.shared.deletion_lease(doomed.deletion_id), self._name)


class _Stopped(Exception):
    """The process ends; the next one goes on."""
