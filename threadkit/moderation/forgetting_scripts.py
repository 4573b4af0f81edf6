"""Atomic writes that take somebody out of what moderators wrote down."""

from typing import Literal

from threadkit.ids import SiteId, UserId
from threadkit.storage.keys import Keys
from threadkit.storage.lua import KeyedScript, LuaScript
from threadkit.users.model import DELETED_USER

BATCH = 500
ABANDONED_S = 30


class CopyLog(KeyedScript):
    file = "copy_log.lua"

    async def __call__(self, site_id: SiteId, user_id: UserId, copier: str) -> Literal["MORE", "DONE", "LOST"]:
        keys = self._keys.site(site_id)
        reply: Literal["MORE", "DONE", "LOST"] = await self._run(
            keys=[keys.modlog(), keys.modlog_draft(), keys.modlog_lease()],
            args=[copier, user_id, DELETED_USER, BATCH, ABANDONED_S],
        )
        return reply


class UnnameField(LuaScript):
    file = "unname_field.lua"
    repeatable = True

    async def __call__(self, key: str, field: str, user_id: UserId) -> None:
        await self._run(keys=[key], args=[field, user_id, DELETED_USER])


def notes_of_site(keys: Keys, site_id: SiteId) -> tuple[str, str]:
    """How the keys of all notes on a site begin and end."""
    begin, _, end = keys.site(site_id).notes_about("\0").partition("\0")
    return begin, end
