"""The moderation log: who did what to whom, why and when. It can be added to and read, and nothing else."""

import re
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec import Struct

from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

LOOK_BATCH = 500
MOST_LOOKED_AT = 5000
_ENTRY_ID = re.compile(r"\d{1,20}-\d{1,20}")


class LogEntry(Struct, kw_only=True, omit_defaults=True):
    id: str = ""
    action: str
    at_ms: int = 0
    by: UserId | None = None
    user_id: UserId | None = None
    comment_id: CommentId | None = None
    page_id: PageId | None = None
    reason: str | None = None
    before: str | None = None
    after: str | None = None
    until_ms: int | None = None
    seen: str | None = None
    """The `updated_at` of the text that was decided about."""
    said: dict[str, str] | None = None
    """What was said of a comment before: fields of its record. Only there to be undone, so lists leave it out."""
    count: int | None = None
    job_id: str | None = None


class SoughtEntry(Struct, frozen=True):
    """Which entries; what is absent is as good as any."""

    action: str | None = None
    by: UserId | None = None
    user_id: UserId | None = None

    def fits(self, entry: LogEntry) -> bool:
        return (
            self.action in (None, entry.action)
            and self.by in (None, entry.by)
            and self.user_id in (None, entry.user_id)
        )


class FoundEntries(Struct, frozen=True):
    """Without a `next` these were the last."""

    entries: list[LogEntry]
    next: str | None


class ModerationLog:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def newest(self, site_id: SiteId, *, before: str | None, limit: int) -> list[LogEntry]:
        """Newest first, from an entry on backwards."""
        start = f"({before}" if before and _ENTRY_ID.fullmatch(before) else "+"
        found = await self._redis.xrevrange(self._keys.site(site_id).modlog(), start, "-", count=limit)
        return [_read(entry_id, fields) for entry_id, fields in found]

    async def find(self, site_id: SiteId, sought: SoughtEntry, *, before: str | None, limit: int) -> FoundEntries:
        """Newest first: at most so many, among at most a few thousand that are looked through."""
        found: list[LogEntry] = []
        batch_size = LOOK_BATCH if sought != SoughtEntry() else limit + 1
        for _ in range(MOST_LOOKED_AT // LOOK_BATCH):
            batch = await self.newest(site_id, before=before, limit=batch_size)
            for place, entry in enumerate(batch):
                before = entry.id
                if sought.fits(entry):
                    found.append(entry)
                if len(found) == limit:
                    has_more = place + 1 < len(batch) or len(batch) == batch_size
                    return FoundEntries(found, before if has_more else None)
            if len(batch) < batch_size:
                return FoundEntries(found, None)
        return FoundEntries(found, before)

    async def about(self, site_id: SiteId, user_id: UserId, *, limit: int) -> list[LogEntry]:
        """The newest about one person, among the newest few thousand of all."""
        found: list[LogEntry] = []
        before: str | None = None
        for _ in range(MOST_LOOKED_AT // LOOK_BATCH):
            batch = await self.newest(site_id, before=before, limit=LOOK_BATCH)
            found += [entry for entry in batch if entry.user_id == user_id]
            if len(found) >= limit or len(batch) < LOOK_BATCH:
                break
            before = batch[-1].id
        return found[:limit]

    async def role_changes(self, site_id: SiteId) -> dict[UserId, LogEntry]:
        """The newest change of each person's role, among the newest few thousand entries of all."""
        found: dict[UserId, LogEntry] = {}
        before: str | None = None
        for _ in range(MOST_LOOKED_AT // LOOK_BATCH):
            batch = await self.newest(site_id, before=before, limit=LOOK_BATCH)
            for entry in batch:
                if entry.action == "role" and entry.user_id:
                    found.setdefault(entry.user_id, entry)
            if len(batch) < LOOK_BATCH:
                break
            before = batch[-1].id
        return found

    async def all(self, site_id: SiteId) -> AsyncIterator[list[LogEntry]]:
        """Everything there is now, oldest first, a few hundred at a time. What is added meanwhile is not waited for."""
        key = self._keys.site(site_id).modlog()
        last = await self._redis.xrevrange(key, "+", "-", count=1)
        start = "-"
        while last and (found := await self._redis.xrange(key, start, last[0][0], count=LOOK_BATCH)):
            yield [_read(entry_id, fields) for entry_id, fields in found]
            start = f"({found[-1][0]}"

    async def entry(self, site_id: SiteId, entry_id: str) -> LogEntry | None:
        if not _ENTRY_ID.fullmatch(entry_id):
            return None
        found = await self._redis.xrange(self._keys.site(site_id).modlog(), entry_id, entry_id)
        return _read(*found[0], is_whole=True) if found else None


def stream_order(entry_id: str) -> tuple[int, ...]:
    """By this the ids of entries sort from the oldest to the newest."""
    return tuple(int(part) for part in entry_id.split("-"))


def _read(entry_id: str, fields: dict[str, Any], *, is_whole: bool = False) -> LogEntry:
    entry = msgspec.json.decode(fields["entry"], type=LogEntry)
    entry.id = entry_id
    if not is_whole:
        entry.said = None
    return entry
