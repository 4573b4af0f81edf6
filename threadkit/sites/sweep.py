"""Goes through the store and takes away what belongs to one site. Repeated, it finds only what is left.

What hangs on a page or a comment goes before the record that says whose it is; so whoever goes on after a crash can
still tell. Nothing is remembered between two goings-through.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec

from threadkit.ids import CommentId, PageId, SessionId, SiteId, UserId
from threadkit.rebuild.scan import key_batches, key_count
from threadkit.sites.belongings import Belongings, Found, How
from threadkit.sites.scripts import ForgetSite
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys
from threadkit.users.scripts import EndSessions

VOTED_BATCH = 500
PASSES = 2

Progress = Callable[[int, int], Awaitable[None]]


class Sweep:
    def __init__(self, *, store: Store, keys: Keys) -> None:
        self._store = store
        self._redis = store.redis
        self._keys = keys
        self._belongings = Belongings(keys)
        self._forget_site = ForgetSite(store.redis, keys)
        self._end_sessions = EndSessions(store.redis, keys)

    async def run(self, site_id: SiteId, on_progress: Progress) -> int:
        """How many things were taken away; 0 when nothing of the site is left."""
        total = PASSES * await key_count(self._store)
        seen = removed = 0
        for take in (self._take_dependents, self._take_rest):
            async for batch in key_batches(self._store):
                found = [name for key in batch if (name := self._belongings.parse(key)) is not None]
                removed += await take(site_id, found)
                seen += len(batch)
                await on_progress(seen, total)
        return removed

    # --- First what hangs on records, and what people have of the site ------------------------------------------------

    async def _take_dependents(self, site_id: SiteId, found: Sequence[Found]) -> int:
        # A page's or comment's own keys bear the site's tag in a cluster; on one server the record says whose they are.
        tagged = [one.key for one in found if one.tag == site_id and one.how not in ("record", "name")]
        others = [one for one in found if one.tag != site_id]
        pages = await self._pages(site_id, (one.parts["page_id"] for one in _those(others, "page")))
        comments = await self._comments(site_id, (one.parts["comment_id"] for one in _those(others, "comment")))
        doomed = [one.key for one in _those(others, "page") if one.parts["page_id"] in pages]
        doomed += [one.key for one in _those(others, "comment") if one.parts["comment_id"] in comments]
        doomed += await self._requests(site_id, [one.key for one in _those(others, "request")])
        doomed += await self._by_value(site_id, [one.key for one in _those(others, "value")])
        removed = await self._unlink([*tagged, *doomed])
        for one in _those(others, "voted_pages"):
            removed += await self._forget_voted_pages(site_id, one.key)
        for user_id in sorted({one.parts["user_id"] for one in _those(others, "user")}):
            removed += await self._forget_site(UserId(user_id), site_id)
        return removed + await self._take_sessions(site_id, _those(others, "session"))

    async def _requests(self, site_id: SiteId, keys: Sequence[str]) -> list[str]:
        values = await self._values(keys)
        comments = await self._comments(site_id, values.values())
        return [key for key, value in values.items() if value in comments]

    async def _by_value(self, site_id: SiteId, keys: Sequence[str]) -> list[str]:
        return [key for key, value in (await self._values(keys)).items() if _names(value, site_id)]

    async def _forget_voted_pages(self, site_id: SiteId, key: str) -> int:
        removed, cursor = 0, -1
        while cursor:
            cursor, members = await self._redis.sscan(key, max(cursor, 0), count=VOTED_BATCH)
            if doomed := await self._pages(site_id, members):
                removed += await self._redis.srem(key, *doomed)
        return removed

    async def _take_sessions(self, site_id: SiteId, found: Sequence[Found]) -> int:
        async with self._redis.pipeline(transaction=False) as pipe:
            for one in found:
                pipe.hmget(one.key, "site_id", "user_id")
            owners = await pipe.execute() if found else []
        removed = 0
        for one, (owner, user_id) in zip(found, owners, strict=True):
            if owner != site_id:
                continue
            session_id = SessionId(one.parts["session_id"])
            await self._end_sessions(UserId(user_id), only=session_id)
            keys = self._keys.user(UserId(user_id))
            await self._unlink([one.key, keys.provider_session(session_id)])
            removed += 1
        return removed

    # --- Then the records, and what bears the site's name -------------------------------------------------------------

    async def _take_rest(self, site_id: SiteId, found: Sequence[Found]) -> int:
        doomed = [one.key for one in found if one.how == "name" and one.parts["site_id"] == site_id]
        records = _those(found, "record")
        owners = await self._owners([one.key for one in records])
        doomed += [one.key for one, owner in zip(records, owners, strict=True) if owner == site_id]
        return await self._unlink(doomed)

    # --- Questions ----------------------------------------------------------------------------------------------------

    async def _pages(self, site_id: SiteId, page_ids: Iterable[str]) -> set[str]:
        """Those of them that are pages of the site. One that nobody wrote on has no record, but was looked at."""
        wanted, keys = sorted(set(page_ids)), self._keys.site(site_id)
        owners = await self._owners([keys.page(PageId(page_id)) for page_id in wanted])
        async with self._redis.pipeline(transaction=False) as pipe:
            for page_id in wanted:
                pipe.sismember(keys.viewed_pages(), page_id)
            viewed = await pipe.execute() if wanted else []
        return {
            page_id
            for page_id, owner, is_viewed in zip(wanted, owners, viewed, strict=True)
            if owner == site_id or (owner is None and is_viewed)
        }

    async def _comments(self, site_id: SiteId, comment_ids: Iterable[str]) -> set[str]:
        wanted, keys = sorted(set(comment_ids)), self._keys.site(site_id)
        owners = await self._owners([keys.comment(CommentId(comment_id)) for comment_id in wanted])
        return {comment_id for comment_id, owner in zip(wanted, owners, strict=True) if owner == site_id}

    async def _owners(self, records: Sequence[str]) -> list[str | None]:
        async with self._redis.pipeline(transaction=False) as pipe:
            for key in records:
                pipe.hget(key, "site_id")
            return await pipe.execute() if records else []

    async def _values(self, keys: Sequence[str]) -> dict[str, str]:
        async with self._redis.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.get(key)
            values = await pipe.execute() if keys else []
        return {key: value for key, value in zip(keys, values, strict=True) if value is not None}

    async def _unlink(self, keys: Sequence[str]) -> int:
        async with self._redis.pipeline(transaction=False) as pipe:
            for key in keys:
                # The library's `unlink` goes round a cluster's pipeline.
                pipe.execute_command("UNLINK", key)
            return sum(await pipe.execute()) if keys else 0


def _those(found: Sequence[Found], how: How) -> list[Found]:
    return [one for one in found if one.how == how]


def _names(value: str, site_id: SiteId) -> bool:
    """Whether a value is this site, or JSON about it."""
    if value == site_id:
        return True
    if site_id not in value:
        return False
    try:
        decoded = msgspec.json.decode(value)
    except msgspec.DecodeError:
        return False
    return isinstance(decoded, dict) and decoded.get("site_id") == site_id
