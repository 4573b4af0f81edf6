"""First part of a rebuild: every key has its type and stays, and no index holds what does not belong there."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from threadkit.ids import CommentId, SiteId
from threadkit.rebuild.model import Finding, Look
from threadkit.rebuild.names import INDEXES, RECORDS, VOTE_INDEXES, Name
from threadkit.rebuild.scripts import (
    Looked,
    LookIntoKeys,
    Members,
    SettleKey,
    SettlePages,
    SweepIndexes,
    SweepVotedPages,
    SweepVotes,
)
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

CHUNK = 200
MOST_AT_ONCE = 400


class Indexes:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._look_into_keys = LookIntoKeys(redis, keys)
        self._settle_key = SettleKey(redis, keys)
        self._sweep_indexes = SweepIndexes(redis, keys)
        self._settle_pages = SettlePages(redis, keys)
        self._sweep_votes = SweepVotes(redis, keys)
        self._sweep_voted_pages = SweepVotedPages(redis, keys)

    async def go_through(self, names: Sequence[Name], look: Look) -> None:
        for start in range(0, len(names), CHUNK):
            some = names[start : start + CHUNK]
            pairs = [(name.key, self._owner(name)) for name in some]
            found = [
                (name, looked)
                for name, looked in zip(some, await self._look_into_keys(pairs, members=CHUNK), strict=True)
                if look.wants(name.site_id or looked.site_id) and await self._is_sound(name, looked, look)
            ]
            look.indexes += sum(1 for name, _ in found if name.of not in RECORDS)
            await self._sweep([pair for pair in found if pair[0].of in INDEXES], look)
            # Most voters have few votes on a page: asked for together, they travel together.
            await asyncio.gather(
                *(
                    self._sweep_votes_of(name, SiteId(name.site_id or looked.site_id), look)
                    for name, looked in found
                    if name.of in VOTE_INDEXES
                )
            )

    def _owner(self, name: Name) -> str:
        """The record a key belongs to, which says of which site and page it is."""
        keys, parts = self._keys.site(name.site_id), name.parts
        if "comment_id" in parts:
            return keys.comment(parts["comment_id"])
        # A list over several pages belongs to the site that its name says, or to all of them.
        return keys.page(parts["page_id"]) if "page_id" in parts else name.key

    async def _is_sound(self, name: Name, looked: Looked, look: Look) -> bool:
        """Whether a key has its type and no end. One that has not is put right, or told."""
        if (looked.type, looked.ttl_ms) == (name.type, -1):
            return True
        wrong = await self._settle_key(look.mode, name.key, name.type, is_record=name.of in RECORDS)
        if wrong is None:
            return looked.type == name.type
        what, found = wrong
        look.note(Finding(name.label, what, name.key, found, name.type))  # type: ignore[arg-type]
        return what == "lifetime"

    async def _sweep(self, found: Sequence[tuple[Name, Looked]], look: Look) -> None:
        """Small indexes many at once, large ones chunk by chunk."""
        waiting: list[tuple[Name, Members]] = []
        size = 0
        for name, looked in found:
            async for ids in self._chunks(name, looked.members):
                if name.of == "pages":
                    for page_id, what in await self._settle_pages(look.mode, name.site_id, ids):
                        look.note(Finding("pages", what, f"page {page_id}"))  # type: ignore[arg-type]
                    continue
                if waiting and size + len(ids) > MOST_AT_ONCE:
                    await self._sweep_members(waiting, look)
                    waiting, size = [], 0
                waiting.append((name, self._members(name, looked, ids)))
                size += len(ids) + 1
        await self._sweep_members(waiting, look)

    async def _chunks(self, name: Name, first: list[str]) -> AsyncIterator[list[str]]:
        if len(first) < CHUNK:
            if first:
                yield first
            return
        cursor = -1
        while cursor:
            cursor, members = await self._redis.zscan(name.key, max(cursor, 0), count=CHUNK)
            ids = [str(member) for member, _ in members]
            for start in range(0, len(ids), MOST_AT_ONCE):
                yield ids[start : start + MOST_AT_ONCE]

    def _members(self, name: Name, looked: Looked, ids: list[str]) -> Members:
        parts = name.parts
        wanted: dict[str, str] = {}
        match name.of:
            case "page_new" | "page_top" | "page_hot" | "pinned":
                wanted = {"page_id": parts["page_id"]}
            case "roots":
                wanted = {"page_id": parts["page_id"], "parent_id": ""}
            case "replies" | "replies_by":
                wanted = {"parent_id": parts["comment_id"]}
            case "unlisted":
                wanted = {"page_id": parts["page_id"], "author_id": parts["user_id"]}
            case "comments_of":
                wanted = {"site_id": parts["site_id"], "author_id": parts["user_id"]}
            case "comments" | "modqueue":
                wanted = {"site_id": parts["site_id"]}
        is_seen = name.of not in ("unlisted", "comments_of", "comments", "modqueue")
        page_id = parts.get("page_id") or looked.page_id
        return Members(
            index=name.key,
            page=self._keys.site(name.site_id).page(page_id) if is_seen and page_id else None,
            wanted=wanted,
            # A deleted comment does not say any more whose it was.
            keeps_deleted=name.of == "comments_of",
            ids=[CommentId(i) for i in ids],
        )

    async def _sweep_members(self, waiting: Sequence[tuple[Name, Members]], look: Look) -> None:
        if not waiting:
            return
        groups = [members for _, members in waiting]
        for place, comment_id in await self._sweep_indexes(look.mode, waiting[0][0].site_id, groups):
            name = waiting[place][0]
            look.note(Finding(name.label, "stray", f"{comment_id} in {name.key}"))

    async def _sweep_votes_of(self, name: Name, site_id: SiteId, look: Look) -> None:
        voter, page_id = name.parts["user_id"], name.parts.get("page_id")
        cursor = -1
        while cursor:
            if page_id is not None:
                cursor, fields = await self._redis.hscan(name.key, max(cursor, 0), count=CHUNK)
                stray = await self._sweep_votes(look.mode, site_id, voter, page_id, list(fields))
            else:
                cursor, pages = await self._redis.sscan(name.key, max(cursor, 0), count=CHUNK)
                stray = await self._sweep_voted_pages(look.mode, site_id, voter, list(pages))
            for member in stray:
                look.note(Finding(name.of, "stray", f"{member} in {name.key}"))
