"""The moderation log: who did what to whom, why and when. It can be added to and read, and nothing else."""

import re
from typing import Any

import msgspec
from msgspec import Struct

from threadkit.ids import CommentId, SiteId, UserId
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

_ENTRY_ID = re.compile(r"\d{1,20}-\d{1,20}")


class LogEntry(Struct, kw_only=True, omit_defaults=True):
    id: str = ""
    action: str
    at_ms: int = 0
    by: UserId | None = None
    user_id: UserId | None = None
    comment_id: CommentId | None = None
    reason: str | None = None
    before: str | None = None
    after: str | None = None
    until_ms: int | None = None


class ModerationLog:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def newest(self, site_id: SiteId, *, before: str | None, limit: int) -> list[LogEntry]:
        """Newest first, from an entry on backwards."""
        start = f"({before}" if before and _ENTRY_ID.fullmatch(before) else "+"
        found = await self._redis.xrevrange(self._keys.site(site_id).modlog(), start, "-", count=limit)
        return [_read(entry_id, fields) for entry_id, fields in found]

    async def entry(self, site_id: SiteId, entry_id: str) -> LogEntry | None:
        if not _ENTRY_ID.fullmatch(entry_id):
            return None
        found = await self._redis.xrange(self._keys.site(site_id).modlog(), entry_id, entry_id)
        return _read(*found[0]) if found else None


def _read(entry_id: str, fields: dict[str, Any]) -> LogEntry:
    entry = msgspec.json.decode(fields["entry"], type=LogEntry)
    entry.id = entry_id
    return entry
