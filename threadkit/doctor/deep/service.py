"""Goes through every key, twice where something seems wrong, and mends what follows from other records."""

import asyncio
from collections.abc import Callable, Collection
from typing import Protocol

from msgspec import Struct

from threadkit.clock import Clock
from threadkit.comments.rerendering import Rerendering
from threadkit.doctor.deep.accounts import Accounts
from threadkit.doctor.deep.belongings import Belongings
from threadkit.doctor.deep.comments import Comments, Reports
from threadkit.doctor.deep.lifetimes import Lifetimes
from threadkit.doctor.deep.look import DeepLook, Identity
from threadkit.doctor.deep.names import AllNames, Known
from threadkit.doctor.deep.sites import Sites
from threadkit.rebuild.model import BEYOND_REPAIR, Tally
from threadkit.rebuild.scan import key_batches, key_count
from threadkit.rebuild.service import SCANS, RebuildService
from threadkit.settings import Settings
from threadkit.sites.queries import SiteQueries
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys
from threadkit.users.registry import UserRegistry

MOST_ROUNDS = 5
# Whatever takes two steps has taken both by then.
PAUSE_S = 0.2

OnProgress = Callable[[str, int, int], None]


class DeepReport(Struct, kw_only=True):
    """What was found, and what is left of it after mending."""

    is_repair: bool
    keys: int = 0
    comments: int = 0
    pages: int = 0
    votes: int = 0
    found: list[Tally] = []
    left: list[Tally] = []

    @property
    def exit_code(self) -> int:
        """0 clean, 1 can be repaired, 2 cannot."""
        if any(tally.what in BEYOND_REPAIR for tally in self.left):
            return 2
        return 1 if self.left else 0


class _Part(Protocol):
    async def go_through(self, found: list[Known], look: DeepLook) -> None: ...


class DeepDoctor:
    def __init__(
        self,
        *,
        settings: Settings,
        store: Store,
        keys: Keys,
        clock: Clock,
        site_queries: SiteQueries,
        registry: UserRegistry,
        rebuild: RebuildService,
        rerendering: Rerendering,
    ) -> None:
        self._settings = settings
        self._store = store
        self._keys = keys
        self._clock = clock
        self._site_queries = site_queries
        self._registry = registry
        self._rebuild = rebuild
        self._rerendering = rerendering

    async def run(
        self, *, is_repair: bool = False, on_progress: OnProgress = lambda stage, done, total: None
    ) -> DeepReport:
        report = DeepReport(is_repair=is_repair)
        look = await self._look(on_progress)
        report.keys, report.comments, report.pages, report.votes = look.keys, look.comments, look.pages, look.votes
        report.found = report.left = look.tallies()
        rounds = 0
        while is_repair and look.changes and rounds < MOST_ROUNDS:
            rounds += 1
            await self._go_through("Mending", on_progress, is_check=False, confirmed=look.seen)
            look = await self._look(on_progress)
            report.left = look.tallies()
        return report

    async def _look(self, on_progress: OnProgress) -> DeepLook:
        """What is wrong at two looks is wrong; what only seemed so was being written."""
        first = await self._go_through("Looking", on_progress)
        if not first.seen:
            return first
        await asyncio.sleep(PAUSE_S)
        suspects = None if first.is_overwhelmed else first.seen
        return await self._go_through("Looking again", on_progress, suspects=suspects)

    async def _go_through(
        self,
        stage: str,
        on_progress: OnProgress,
        *,
        is_check: bool = True,
        suspects: Collection[Identity] | None = None,
        confirmed: Collection[Identity] = (),
    ) -> DeepLook:
        total = (SCANS + 1) * await key_count(self._store)
        seen = 0

        def advance(more: int) -> None:
            nonlocal seen
            seen += more
            on_progress(stage, min(seen, total), total)

        look = DeepLook(
            is_check=is_check,
            on_progress=advance,
            suspects=suspects,
            confirmed=confirmed,
            deleting=await self._store.redis.hkeys(self._keys.shared.deleting()),
        )
        await self._rebuild.go_through(look)
        lifetimes, parts = self._parts(look.comments)
        async for batch in key_batches(self._store):
            look.keys += len(batch)
            found = await lifetimes.unknown(sorted(set(batch)), look)
            for part in (lifetimes, *parts):
                await part.go_through(found, look)
            advance(len(batch))
        return look

    def _parts(self, comments: int) -> tuple[Lifetimes, list[_Part]]:
        redis, keys = self._store.redis, self._keys
        session_s = self._settings.accounts.session_days * 86_400
        return Lifetimes(redis=redis, names=AllNames(keys), session_s=session_s), [
            Sites(redis=redis, keys=keys, clock=self._clock, site_queries=self._site_queries),
            Accounts(redis=redis, keys=keys, clock=self._clock, registry=self._registry),
            Belongings(redis=redis, keys=keys, most_notices=self._settings.notifications.most),
            Comments(redis=redis, keys=keys, rerendering=self._rerendering, comments=comments),
            Reports(redis=redis, keys=keys),
        ]
