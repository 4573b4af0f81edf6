"""Atomic writes of sites."""

from itertools import chain
from typing import Any

import msgspec

from threadkit.errors import SiteChanged, SiteTaken
from threadkit.ids import SiteId, UserId
from threadkit.sites.model import Site
from threadkit.storage.lua import KeyedScript
from threadkit.storage.records import to_hash


class SaveSite(KeyedScript):
    file = "save_site.lua"
    repeatable = True

    async def __call__(self, site: Site, *, changed_from: int, entry: dict[str, Any] | None = None) -> None:
        fields = list(chain.from_iterable(to_hash(site).items()))
        keys = self._keys.site(site.id)
        noted = msgspec.json.encode(entry).decode() if entry else ""
        reply = await self._run(
            keys=[keys.config(), keys.modlog()], args=[changed_from, msgspec.json.encode(fields).decode(), noted]
        )
        if reply == "TAKEN":
            raise SiteTaken(site_id=site.id)
        if reply == "CHANGED":
            raise SiteChanged


class ForgetSite(KeyedScript):
    file = "forget_site.lua"
    uses = ("notices.lua",)
    repeatable = True

    async def __call__(self, user_id: UserId, site_id: SiteId) -> int:
        keys = self._keys.user(user_id)
        return int(
            await self._run(
                keys=[keys.notifications(), keys.unread(), keys.unread_by_site(), keys.applied()], args=[site_id]
            )
        )
