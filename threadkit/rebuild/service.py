"""`rebuild`: derives every index and counter again from the records, while people go on writing.

Records are the comments, the pages, the single votes. Each step is a small script that reads a record again and writes
what follows from it, so nothing that happens meanwhile is lost or overwritten by what was read before. Everything is gone
through again until nothing was left to change.

Some numbers are no index, and stay as they are: a comment's counts of votes (they outlive the votes of people who left,
and leave out those of shadowed people), karma and the number of comments ever written (they come through the outbox).
"""

import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol

from threadkit.clock import Clock
from threadkit.comments.scripts import level_keys
from threadkit.ids import SiteId
from threadkit.rebuild.counters import Counters
from threadkit.rebuild.indexes import Indexes
from threadkit.rebuild.model import Look, Report, merged
from threadkit.rebuild.names import INDEXES, RECORDS, VOTE_INDEXES, Name, Names
from threadkit.rebuild.records import Records
from threadkit.rebuild.scan import key_batches, key_count
from threadkit.sites.queries import SiteQueries
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys

MOST_ROUNDS = 5
SCANS = 3  # how often one round goes through all keys: once for each part
# Larger indexes than a look in passing goes through.
LARGEST_SAMPLED = 5_000


class _Part(Protocol):
    async def go_through(self, names: Sequence[Name], look: Look) -> None: ...


class RebuildService:
    def __init__(self, *, store: Store, keys: Keys, clock: Clock, site_queries: SiteQueries) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        self._site_queries = site_queries
        self._names = Names(keys)

    async def run(
        self,
        *,
        site_id: SiteId | None = None,
        is_check: bool = False,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Report:
        """Put everything right, or only tell what is wrong. `on_progress` hears how many of how many keys were seen."""
        report = Report(is_check=is_check, site_id=site_id)
        while not report.is_settled and report.rounds < (1 if is_check else MOST_ROUNDS):
            look = await self._round(site_id, is_check, on_progress)
            report.rounds += 1
            report.tallies = merged(report.tallies, look.tallies())
            report.is_settled = look.changes == 0
            report.comments, report.pages = look.comments, look.pages
            report.votes, report.indexes = look.votes, look.indexes
        return report

    async def sample(self, site_id: SiteId, *, pages: int = 3, comments: int = 50) -> Report:
        """Look at some pages of a site and some of their comments, and tell what is wrong with them. What is wrong at the
        first look and right at the second was being written meanwhile."""
        names = await self._some_names(site_id, pages, comments)
        report = Report(is_check=True, site_id=site_id)
        while not report.is_settled and report.rounds < 2:
            look = Look(site_id=site_id, is_check=True, on_progress=lambda more: None)
            for part, wanted in self._parts():
                await part.go_through([name for name in names if name.of in wanted], look)
            report.rounds += 1
            report.tallies = look.tallies()
            report.is_settled = not report.tallies
            report.comments, report.pages, report.indexes = look.comments, look.pages, look.indexes
        return report

    async def _some_names(self, site_id: SiteId, pages: int, comments: int) -> list[Name]:
        redis, keys = self._store.redis, self._keys.site(site_id)
        found: set[str] = set()
        for page_id in await redis.zrandmember(keys.pages(), pages):
            found |= {keys.page(page_id), keys.page_new(page_id), keys.page_top(page_id), keys.page_hot(page_id)}
            found |= {keys.pinned(page_id), *level_keys(keys, page_id, None)}
            for comment_id in await redis.zrandmember(keys.page_new(page_id), comments):
                found |= {keys.comment(comment_id), *level_keys(keys, page_id, comment_id)}
        names = [name for key in sorted(found) if (name := self._names.parse(key))]
        async with redis.pipeline(transaction=False) as pipe:
            for name in names:
                if name.of in INDEXES:
                    pipe.zcard(name.key)
            sizes = await pipe.execute(raise_on_error=False)
        large = {
            name.key
            for name, size in zip([name for name in names if name.of in INDEXES], sizes, strict=True)
            if isinstance(size, int) and size > LARGEST_SAMPLED
        }
        return [name for name in names if name.key not in large]

    def _parts(self) -> list[tuple[_Part, frozenset[str]]]:
        redis = self._store.redis
        return [
            (Indexes(redis=redis, keys=self._keys), RECORDS | INDEXES | VOTE_INDEXES),
            (
                Records(redis=redis, keys=self._keys, clock=self._clock, site_queries=self._site_queries),
                frozenset({"comment"}),
            ),
            (Counters(redis=redis, keys=self._keys), RECORDS),
        ]

    async def _round(self, site_id: SiteId | None, is_check: bool, on_progress: Callable[[int, int], None]) -> Look:
        total = SCANS * await key_count(self._store)
        seen = 0

        def advance(more: int) -> None:
            nonlocal seen
            seen += more
            on_progress(min(seen, total), total)

        look = Look(site_id=site_id, is_check=is_check, on_progress=advance)
        await self.go_through(look)
        return look

    async def go_through(self, look: Look) -> None:
        """Everything once, part after part, because later ones build on what earlier ones put right."""
        for part, wanted in self._parts():
            async for names in self._batches(wanted, look):
                await part.go_through(names, look)

    async def _batches(self, wanted: frozenset[str], look: Look) -> AsyncIterator[list[Name]]:
        async for batch in key_batches(self._store):
            # Sorted, because in a cluster one call can have the keys of one site only.
            names = [name for key in sorted(set(batch)) if (name := self._names.parse(key)) and name.of in wanted]
            for _, of_site in itertools.groupby(names, lambda name: name.tag):
                yield list(of_site)
            look.on_progress(len(batch))
