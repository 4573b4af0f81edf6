"""Sites, the list of them, and the keys that open them. (part of V12 and V13)"""

import msgspec

from threadkit.clock import Clock, from_iso
from threadkit.doctor.deep.look import DeepLook
from threadkit.doctor.deep.names import Known
from threadkit.ids import SiteId, is_uuid, uuid_ms
from threadkit.rebuild.model import Finding, What
from threadkit.sites.model import Site
from threadkit.sites.queries import SiteQueries
from threadkit.sites.service import BEING_MADE_MS, stored_secret_name
from threadkit.storage.claims import Claim, Release
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys


class Sites:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock, site_queries: SiteQueries) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._site_queries = site_queries
        self._claim = Claim(redis)
        self._release = Release(redis)

    async def go_through(self, found: list[Known], look: DeepLook) -> None:
        for name in found:
            if name.of == "site.config":
                site = await self._read(SiteId(name.parts["site_id"]), look)
                if site is not None:
                    await self._listed(site, look)
                    await self._opened(site, look)
            elif name.of == "shared.api_key_site":
                await self._leads_somewhere(name, look)
            elif name.of == "shared.sites" and await self._redis.type(name.key) == "zset":
                await self._listed_ones(name, look)

    async def _read(self, site_id: SiteId, look: DeepLook) -> Site | None:
        if await self._redis.type(self._keys.site(site_id).config()) != "hash":
            return None  # gone, or told elsewhere
        try:
            return await self._site_queries.by_id(site_id)
        except msgspec.MsgspecError as error:
            look.note(Finding("site", "damaged", f"site {site_id}", str(error)))
            return None

    async def _listed(self, site: Site, look: DeepLook) -> None:
        index = self._keys.shared.sites()
        if await self._redis.type(index) not in ("zset", "none"):
            return
        is_missing = await self._redis.zscore(index, site.id) is None
        if is_missing and look.note_and_may_mend(Finding("sites", "missing", f"site {site.id}")):
            await self._redis.zadd(index, {site.id: from_iso(site.created_at)}, nx=True)

    async def _opened(self, site: Site, look: DeepLook) -> None:
        now_ms = self._clock.now_ms()
        replaced = [key for key, until_ms in site.replaced_keys.items() if until_ms > now_ms]
        for key in (site.api_key_public, stored_secret_name(site), *replaced):
            entry = self._keys.shared.api_key_site(key)
            if await self._redis.type(entry) not in ("string", "none"):
                continue
            holder = await self._redis.get(entry)
            if holder != site.id:
                what: What = "value" if holder else "missing"
                finding = Finding("api_key", what, f"a key of site {site.id}: {entry}", holder or "", site.id)
                if look.note_and_may_mend(finding):
                    await self._claim(entry, site.id, instead_of=holder or "")

    async def _leads_somewhere(self, name: Known, look: DeepLook) -> None:
        if await self._redis.type(name.key) != "string":
            return
        holder = SiteId(await self._redis.get(name.key) or "")
        is_new = is_uuid(holder) and self._clock.now_ms() - uuid_ms(holder) <= BEING_MADE_MS
        if is_new or await self._redis.exists(self._keys.site(holder).config()):
            return
        if look.note_and_may_mend(Finding("api_key", "stray", f"{name.key} leads to site {holder}")):
            await self._release(name.key, holder)

    async def _listed_ones(self, name: Known, look: DeepLook) -> None:
        for site_id in await self._redis.zrange(name.key, 0, -1):
            if not await self._redis.exists(self._keys.site(SiteId(site_id)).config()):
                look.note(Finding("sites", "damaged", f"site {site_id}", "it is listed, and its record is gone"))
