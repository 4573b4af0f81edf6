"""Somebody leaves: their id goes from what moderators wrote down, and what was done stays done."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from threadkit.clock import iso
from threadkit.ids import SiteId, UserId, new_uuid
from threadkit.moderation.forgetting_scripts import ABANDONED_S, BATCH, CopyLog, UnnameField, notes_of_site
from threadkit.moderation.log import ModerationLog
from threadkit.rebuild.scan import key_batches
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys

WAIT_S = 0.1


class Deeds:
    """Most people are not in the log of a site: then nothing is done but to look. Every step can be repeated."""

    def __init__(self, *, store: Store, keys: Keys, log: ModerationLog) -> None:
        self._store = store
        self._redis = store.redis
        self._keys = keys
        self._log = log
        self._copy_log = CopyLog(store.redis, keys)
        self._unname_field = UnnameField(store.redis)

    async def export(self, site_id: SiteId, user_id: UserId) -> list[dict[str, Any]]:
        """What moderators did to somebody, or somebody as a moderator; not by whom, to whom, nor what is kept from them."""
        entries = [entry async for batch in self._log.all(site_id) for entry in batch]
        return [
            {
                "site_id": site_id,
                "action": entry.action,
                "at": iso(entry.at_ms),
                "comment_id": entry.comment_id,
                "until": iso(entry.until_ms) if entry.until_ms else None,
                "by_you": entry.by == user_id,
            }
            for entry in entries
            if user_id == entry.by or (user_id == entry.user_id and "shadow" not in entry.action)
        ]

    async def forget(self, site_id: SiteId, user_id: UserId) -> None:
        """The log goes last: that it names somebody is why the rest is looked through."""
        keys = self._keys.site(site_id)
        async for field, text in self._fields_with(keys.jobs(), user_id):
            if msgspec.json.decode(text)["user_id"] == user_id:
                await self._redis.hdel(keys.jobs(), field)
            else:
                await self._unname_field(keys.jobs(), field, user_id)
        if not await self._is_named(site_id, user_id):
            return
        async for field, _ in self._fields_with(keys.standings(), user_id):
            await self._unname_field(keys.standings(), field, user_id)
        await self._forget_notes(site_id, user_id)
        while not await self._copied(site_id, user_id):
            pass

    async def _forget_notes(self, site_id: SiteId, user_id: UserId) -> None:
        begin, end = notes_of_site(self._keys, site_id)
        async for batch in key_batches(self._store):
            for key in batch:
                if key.startswith(begin) and key.endswith(end):
                    async for field, _ in self._fields_with(key, user_id):
                        await self._unname_field(key, field, user_id)

    async def _copied(self, site_id: SiteId, user_id: UserId) -> bool:
        async with self._copying(site_id) as copier:
            while (state := await self._copy_log(site_id, user_id, copier)) == "MORE":
                pass
        return state == "DONE"

    @asynccontextmanager
    async def _copying(self, site_id: SiteId) -> AsyncIterator[str]:
        """One at a time, or the second to finish would bring back what the first took out."""
        keys, copier = self._keys.site(site_id), new_uuid()
        while not await self._redis.set(keys.modlog_lease(), copier, nx=True, ex=ABANDONED_S):  # noqa: ASYNC110 - another server has it
            await asyncio.sleep(WAIT_S)
        await self._redis.unlink(keys.modlog_draft())
        yield copier

    async def _is_named(self, site_id: SiteId, user_id: UserId) -> bool:
        key, start = self._keys.site(site_id).modlog(), "-"
        while found := await self._redis.xrange(key, start, "+", count=BATCH):
            if any(user_id in fields["entry"] for _, fields in found):
                return True
            start = f"({found[-1][0]}"
        return False

    async def _fields_with(self, key: str, user_id: UserId) -> AsyncIterator[tuple[str, str]]:
        cursor: Any = -1
        while cursor:
            cursor, found = await self._redis.hscan(key, max(cursor, 0), count=BATCH)
            for field, text in found.items():
                if user_id in text:
                    yield field, text
