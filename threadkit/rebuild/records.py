"""Second part of a rebuild: every comment is in the indexes that follow from its record, with the right scores."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence

from threadkit import scoring
from threadkit.clock import Clock, from_iso
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.rebuild.depths import Depths
from threadkit.rebuild.model import Finding, Look
from threadkit.rebuild.names import Name
from threadkit.rebuild.scripts import Read, ReadFields, SettleComments, SiteHasChanged
from threadkit.sites.model import Site
from threadkit.sites.queries import SiteQueries
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

BATCH = 50
MOST_TRIES = 5
# Between a vote's count and its rank lies a moment. A hot score that is wrong for longer is wrong.
PAUSE_S = 0.05
MOST_PAUSES = 100

_FIELDS = ("id", "site_id", "page_id", "page_url", "parent_id", "author_id", "created_at", "upvotes", "downvotes")


class Records:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock, site_queries: SiteQueries) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._site_queries = site_queries
        self._read_fields = ReadFields(redis, keys)
        self._settle_comments = SettleComments(redis, keys)
        self._depths = Depths(redis=redis, keys=keys)
        self._sites: dict[SiteId, Site | None] = {}
        self._pauses = 0

    async def go_through(self, names: Sequence[Name], look: Look) -> None:
        comments = [name for name in names if name.of == "comment"]
        for start in range(0, len(comments), BATCH):
            some = comments[start : start + BATCH]
            by_site: dict[SiteId, dict[CommentId, dict[str, str]]] = {}
            for comment_id, fields in (await self._fields(some, look)).items():
                by_site.setdefault(SiteId(fields["site_id"]), {})[comment_id] = fields
            for site_id, found in by_site.items():
                look.comments += len(found)
                await self._settle(site_id, found, look)

    async def _fields(self, names: Sequence[Name], look: Look) -> dict[CommentId, dict[str, str]]:
        answers = await self._read_fields([name.key for name in names], *_FIELDS)
        found = {}
        for name, fields in zip(names, answers, strict=True):
            if not look.wants(fields.get("site_id")):
                continue
            if trouble := _trouble(name.parts["comment_id"], fields):
                if await self._redis.type(name.key) == "hash":  # otherwise the first part has told it, or it is gone
                    look.note(Finding("comment", "damaged", name.key, trouble))
                continue
            found[CommentId(name.parts["comment_id"])] = fields
        return found

    async def _settle(self, site_id: SiteId, found: Mapping[CommentId, dict[str, str]], look: Look) -> None:
        """These comments, and those whose place hangs on theirs: a deleted one is shown while a reply is."""
        waiting = deque([(list(found), False)])
        known = dict(found)
        tries: dict[CommentId, int] = {}
        while waiting:
            ids, is_sure = waiting.popleft()
            missing = [i for i in ids if i not in known]
            known |= await self._more(site_id, missing)
            reads = await self._reads(site_id, {i: known[i] for i in ids if i in known}, look)
            if not reads:
                continue
            site = self._sites[site_id]
            assert site is not None  # noqa: S101 - otherwise nothing was read
            try:
                answers = await self._settle_comments(
                    look.mode, site_id, site.version, reads, sure=is_sure, now_ms=self._clock.now_ms()
                )
            except SiteHasChanged:
                del self._sites[site_id]
                waiting.append((ids, is_sure))
                continue
            again, parents, suspects = set(), set(), set()
            for read, kind, what, was, wanted in answers:
                match what:
                    case "again":
                        again.add(read.id)
                    case "suspect":
                        suspects.add(read.id)
                    case _:
                        look.note(Finding(_label(kind, read), what, _subject(kind, read), was, wanted))  # type: ignore[arg-type]
                        if kind == "level:new" and read.parent_id and not look.is_check:
                            parents.add(read.parent_id)
            for comment_id in again | suspects:
                known.pop(comment_id, None)
                tries[comment_id] = tries.get(comment_id, 0) + 1
            # Whoever still votes after so many tries settles the score themselves.
            if some := sorted(i for i in again if tries[i] <= MOST_TRIES):
                waiting.append((some, is_sure))
            if suspects:
                await self._pause()
                waiting.append((sorted(suspects), True))
            if parents:
                waiting.append((sorted(parents), False))

    async def _more(self, site_id: SiteId, comment_ids: Sequence[CommentId]) -> dict[CommentId, dict[str, str]]:
        keys = self._keys.site(site_id)
        answers = await self._read_fields([keys.comment(i) for i in comment_ids], *_FIELDS)
        return {
            comment_id: fields
            for comment_id, fields in zip(comment_ids, answers, strict=True)
            if not _trouble(comment_id, fields) and fields["site_id"] == site_id
        }

    async def _reads(self, site_id: SiteId, found: Mapping[CommentId, dict[str, str]], look: Look) -> list[Read]:
        if site_id not in self._sites:
            self._sites[site_id] = await self._site_queries.by_id(site_id)
        site = self._sites[site_id]
        if site is None:
            for comment_id in found:
                look.note(Finding("comment", "damaged", f"comment {comment_id}", f"there is no site {site_id}"))
            return []
        parents = {i: CommentId(f["parent_id"]) if "parent_id" in f else None for i, f in found.items()}
        depths = await self._depths.of(site_id, parents)
        reads = []
        for comment_id, fields in found.items():
            if depths[comment_id] is None:
                look.note(
                    Finding("comment", "damaged", f"comment {comment_id}", "what it answers is gone, or is itself")
                )
            up, down, created_ms = int(fields["upvotes"]), int(fields["downvotes"]), from_iso(fields["created_at"])
            reads.append(
                Read(
                    id=comment_id,
                    page_id=PageId(fields["page_id"]),
                    page_url=fields["page_url"],
                    parent_id=parents[comment_id],
                    author_id=UserId(fields["author_id"]),
                    created_ms=created_ms,
                    up=up,
                    down=down,
                    hot=scoring.as_text(scoring.hot(site.settings.hot, up, down, created_ms)),
                    depth=depths[comment_id],
                )
            )
        return reads

    async def _pause(self) -> None:
        """Where very many are wrong, it is not for votes that are being counted."""
        self._pauses += 1
        if self._pauses <= MOST_PAUSES:
            await asyncio.sleep(PAUSE_S)


def _trouble(comment_id: str, fields: Mapping[str, str]) -> str:
    """Why a record cannot be understood, or nothing."""
    missing = [field for field in _FIELDS if field not in fields and field != "parent_id"]
    if missing:
        return f"it has no {', '.join(missing)}"
    if fields["id"] != comment_id:
        return f"it says that it is {fields['id']}"
    try:
        int(fields["upvotes"]), int(fields["downvotes"]), from_iso(fields["created_at"])
    except ValueError as error:
        return str(error)
    return ""


def _label(kind: str, read: Read) -> str:
    if not kind.startswith("level:"):
        return kind
    sort = kind.removeprefix("level:")
    if read.parent_id is None:
        return f"roots:{sort}"
    return "replies" if sort == "new" else f"replies:{sort}"


def _subject(kind: str, read: Read) -> str:
    return f"page {read.page_id}" if kind == "page" else f"comment {read.id}"
