"""Atomic writes of the first hour: several servers may start at once on one store."""

from threadkit.ids import SiteId
from threadkit.storage.lua import KeyedScript


class ClaimFirstSite(KeyedScript):
    file = "claim_first_site.lua"
    repeatable = True

    async def __call__(self, site_id: SiteId, *, now_ms: int) -> SiteId:
        return SiteId(await self._run(keys=[self._keys.shared.sites()], args=[site_id, now_ms]))


class AddOwnerLink(KeyedScript):
    file = "add_owner_link.lua"

    async def __call__(self, link: str, *, now_ms: int, good_for_s: int) -> None:
        await self._run(keys=[self._keys.shared.owner_link()], args=[link, now_ms, good_for_s])


class UseOwnerLink(KeyedScript):
    file = "use_owner_link.lua"

    async def __call__(self, link: str, *, now_ms: int) -> bool:
        return bool(await self._run(keys=[self._keys.shared.owner_link()], args=[link, now_ms]))
