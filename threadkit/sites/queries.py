"""What can be asked about sites. The answer to "whose key is this" is kept in memory as long as we hear of changes."""

from collections import OrderedDict
from collections.abc import Callable

import msgspec
from msgspec import Struct
from redis.exceptions import RedisError

from threadkit.clock import Clock
from threadkit.ids import API_KEY_PATTERN, SECRET_KEY_PREFIX, SiteId, key_name
from threadkit.sites.model import KeyType, OpenedSite, Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.listener import Listener
from threadkit.storage.records import from_hash

CACHE_S = 300
MEMORY_S = 10  # how long a change can go unnoticed when its author died before telling
UNKNOWN_CACHE_S = 30
MOST_CACHED = 10_000
FORMERLY_MS = 600_000
BATCH = 200


class _CachedKey(Struct):
    """The JSON under `apikey:{api_key}`."""

    site_id: SiteId
    key_type: KeyType
    settings: dict[str, object]
    site: Site


class SiteQueries:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock, listener: Listener) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._listener = listener
        # Looked up by digest for secret keys: a memory dump should not hold what a backup does not.
        self._opened: OrderedDict[str, tuple[OpenedSite | None, int]] = OrderedDict()
        self._formerly: OrderedDict[str, tuple[OpenedSite, int]] = OrderedDict()
        self._newest: dict[SiteId, int] = {}
        self.on_forgotten: Callable[[SiteId], None] = lambda _site_id: None
        self.generation = 0  # raised whenever something that was remembered may be wrong
        listener.on(keys.shared.site_changes(), self._hear_of_change)
        listener.on_gap(self._forget_all)

    async def by_id(self, site_id: SiteId) -> Site | None:
        fields = await self._redis.hgetall(self._keys.site(site_id).config())
        return from_hash(Site, fields) if fields else None

    async def all(self) -> list[Site]:
        site_ids = await self._redis.zrange(self._keys.shared.sites(), 0, -1)
        found: list[Site] = []
        for start in range(0, len(site_ids), BATCH):
            async with self._redis.pipeline(transaction=False) as pipe:
                for site_id in site_ids[start : start + BATCH]:
                    pipe.hgetall(self._keys.site(site_id).config())
                found += [from_hash(Site, fields) for fields in await pipe.execute() if fields]
        return found

    async def first_id(self) -> SiteId | None:
        """The site that was made first: whoever owns it runs this server."""
        found = await self._redis.zrange(self._keys.shared.sites(), 0, 0)
        return SiteId(found[0]) if found else None

    async def opened_by(self, api_key: str) -> OpenedSite | None:
        """The site an API key opens, or None."""
        if not API_KEY_PATTERN.match(api_key):
            return None
        name = key_name(api_key)
        now = self._clock.now_ms()
        known, until = (self._opened.get(name) if self._listener.is_listening else None) or (None, 0)
        if now < until:
            return known
        try:
            opened = (
                await self._from_site(known) or await self._from_cache(name) or await self._from_record(api_key, name)
            )
        except (RedisError, OSError):
            if (formerly := self.formerly_opened(api_key)) is None:
                raise
            return formerly
        if opened and not self._still_opens(opened, api_key, now):
            opened = None
        self._remember(name, opened, now)
        return opened

    def remembered(self, api_key: str) -> tuple[OpenedSite, int] | None:
        """What this worker knows without asking the store, and until when (ms) while `generation` stays the same."""
        known = self._opened.get(key_name(api_key)) if self._listener.is_listening else None
        if known is None or known[0] is None or self._clock.now_ms() >= known[1]:
            return None
        return known[0], known[1]

    def formerly_opened(self, api_key: str) -> OpenedSite | None:
        """What a public key opened in the last ten minutes, for readers while the store is away."""
        name = key_name(api_key)
        opened, at_ms = self._formerly.get(name, (None, 0))
        now_ms = self._clock.now_ms()
        if opened is None or now_ms - at_ms > FORMERLY_MS or not self._still_opens(opened, api_key, now_ms):
            return None
        return opened

    def forget(self, site_id: SiteId, version: int) -> None:
        """Drop what this worker knows of a site; others hear of it on the channel."""
        self.generation += 1
        self.on_forgotten(site_id)
        self._newest[site_id] = max(version, self._newest.get(site_id, 0))
        for name, (opened, _) in list(self._opened.items()):
            if opened is None or opened.site.id == site_id:
                del self._opened[name]
        for name, (before, _) in list(self._formerly.items()):
            if before.site.id == site_id:
                del self._formerly[name]

    def _forget_all(self) -> None:
        self.generation += 1
        self._opened.clear()

    def _hear_of_change(self, message: str) -> None:
        site_id, _, version = message.partition(" ")
        self.forget(SiteId(site_id), int(version))

    async def _from_site(self, known: OpenedSite | None) -> OpenedSite | None:
        """What was found before, as it is now: in a cluster the site's own shard knows, and the entry of its key may lie
        on another, which may be away."""
        site = await self.by_id(known.site.id) if known else None
        return OpenedSite(site, known.key_type) if known and site else None

    async def _from_cache(self, name: str) -> OpenedSite | None:
        text = await self._redis.get(self._keys.shared.api_key(name))
        if text is None:
            return None
        try:
            cached = msgspec.json.decode(text, type=_CachedKey)
        except msgspec.ValidationError:  # written by another version of ThreadKit
            return None
        # The record decides: whoever changed the site may have died before it could drop this entry.
        if not await self._is_current(cached.site):
            return None
        return OpenedSite(cached.site, cached.key_type)

    async def _from_record(self, api_key: str, name: str) -> OpenedSite | None:
        site_id = await self._redis.get(self._keys.shared.api_key_site(name))
        site = await self.by_id(site_id) if site_id else None
        if site is None:
            return None
        key_type = KeyType.SECRET if api_key.startswith(SECRET_KEY_PREFIX) else KeyType.PUBLIC
        opened = OpenedSite(site, key_type)
        if self._still_opens(opened, api_key, self._clock.now_ms()):
            await self._fill_cache(name, opened)
        return opened

    async def _fill_cache(self, name: str, opened: OpenedSite) -> None:
        cache_key = self._keys.shared.api_key(name)
        site = opened.site
        entry = _CachedKey(site.id, opened.key_type, msgspec.to_builtins(site.settings), site)
        await self._redis.set(cache_key, msgspec.json.encode(entry), ex=CACHE_S)
        # The site may have changed, and its cache been dropped, between our reading and our writing.
        if not await self._is_current(site):
            await self._redis.unlink(cache_key)

    async def _is_current(self, site: Site) -> bool:
        version = await self._redis.hget(self._keys.site(site.id).config(), "version")
        return bool(version == str(site.version))

    def _still_opens(self, opened: OpenedSite, api_key: str, now_ms: int) -> bool:
        if opened.key_type is KeyType.SECRET:
            return opened.site.opens_with_secret(api_key)
        return opened.site.opens_with_public(api_key, now_ms)

    def _remember(self, name: str, opened: OpenedSite | None, now_ms: int) -> None:
        if opened and opened.site.version < self._newest.get(opened.site.id, 0):
            return
        until = now_ms + 1000 * (MEMORY_S if opened else UNKNOWN_CACHE_S)
        if opened:
            until = min([until, *(ends_ms for ends_ms in opened.site.replaced_keys.values() if ends_ms > now_ms)])
        self._opened[name] = (opened, until)
        if len(self._opened) > MOST_CACHED:
            self._opened.popitem(last=False)
        self._formerly.pop(name, None)
        if opened and opened.key_type is KeyType.PUBLIC:
            self._formerly[name] = (opened, now_ms)
            if len(self._formerly) > MOST_CACHED:
                self._formerly.popitem(last=False)
