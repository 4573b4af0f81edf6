"""What a worker counts, gathered in memory and taken to the store once a second.

Counting costs the reader nothing: no round trip, no hashing. What is gathered waits for a store that is away, up to a
bound; a clean stop takes along what is left. A worker that is killed loses at most its last second.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping

import structlog

from threadkit.clock import Clock
from threadkit.counters.bots import is_bot, is_prefetch
from threadkit.counters.model import DAY_MS, MINUTE_MS, Batch, Gathered, KeyKind, Visitor, day_of, month_of
from threadkit.counters.scripts import AddCounts
from threadkit.counters.visitors import VisitorHashes
from threadkit.ids import PageId, SiteId, random_text
from threadkit.settings import CounterSettings
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

log = structlog.get_logger()

FLUSH_EVERY_S = 1.0
MOST_PAGES = 100_000
MOST_VISITORS = 20_000
PAGES_A_BATCH = 500
VISITORS_A_ROUND = 500  # hashing one takes up to 20 µs, in which nobody is answered
MOST_REMEMBERED = 10_000
LONGEST_AGENT = 400
LONGEST_ADDRESSES = 200


class Tally:
    """One per worker. `view`, `request`, `comment`, `connection` and `key` only write down in memory."""

    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        visitors: VisitorHashes,
        settings: CounterSettings,
    ) -> None:
        self.sources: list[Callable[[], None]] = []  # have brought what they know before it is taken to the store
        self._clock = clock
        self._visitors = visitors
        self._count_bots = settings.count_bots
        self._add_counts = AddCounts(redis, keys, worker=random_text(16), is_exact=settings.visitors == "exact")
        self._bots: dict[bytes, bool] = {}
        self._key_minutes: dict[tuple[SiteId, KeyKind], int] = {}

        self._day = ""
        self._day_from = self._day_until = 0
        self._today: dict[SiteId, Gathered] = {}
        self._sealed: dict[SiteId, deque[Gathered]] = {}
        self._in_doubt: dict[SiteId, Batch] = {}
        self._number = 0
        self._pages_held = 0
        self._visitors_held = 0
        # What found no room: views of single pages (the site's own number has them), and visitors.
        self.lost_views = 0
        self.lost_visitors = 0

        self._task: asyncio.Task[None] | None = None
        self._flushing = asyncio.Lock()
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._lost_told = (0, 0)

    # --- What the requests call -------------------------------------------------------------------------------------

    def view(
        self, site_id: SiteId, page_id: PageId, client: tuple[str, int] | None, headers: Mapping[bytes, bytes]
    ) -> None:
        """Somebody was given a page's comments. `client` and `headers` are those of the ASGI scope."""
        agent = headers.get(b"user-agent", b"")[:LONGEST_AGENT]
        if not self._count_bots:
            verdict = self._bots.get(agent)
            if verdict is None:
                verdict = self._judge(agent)
            if verdict or is_prefetch(headers):
                return
        gathered = self._of(site_id)
        gathered.pageviews += 1
        # A proxy's word is looked at when the visitor is hashed; cut, so that nobody can fill the memory with it.
        visitor = (
            client[0] if client else None,
            headers.get(b"x-forwarded-for", b"")[-LONGEST_ADDRESSES:],
            headers.get(b"x-real-ip", b"")[:LONGEST_ADDRESSES],
            agent,
        )
        views = gathered.views
        so_far = views.get(page_id)
        if so_far is not None:
            views[page_id] = so_far + 1
        else:
            self._first_view(gathered, page_id, visitor)
        if visitor not in gathered.visitors:
            self._first_visit(gathered.visitors, visitor)

    def request(self, site_id: SiteId, key: KeyKind | None = None) -> None:
        """A call of the API that opened a site, with a key or with a token alone."""
        self._of(site_id).requests += 1
        if key is not None:
            self.key(site_id, key)

    def key(self, site_id: SiteId, kind: KeyKind) -> None:
        """A key of the site was used. Once a minute is enough to know when it was last."""
        now_ms = self._clock.now_ms()
        minute_ms = now_ms - now_ms % MINUTE_MS
        if self._key_minutes.get((site_id, kind)) == minute_ms:
            return
        if len(self._key_minutes) >= MOST_REMEMBERED:
            self._key_minutes.clear()
        self._key_minutes[site_id, kind] = minute_ms
        self._of(site_id).keys[kind] = minute_ms

    def comment(self, site_id: SiteId) -> None:
        """A comment was written."""
        self._of(site_id).comments += 1

    def connection(self, site_id: SiteId) -> None:
        """A WebSocket was opened."""
        self._of(site_id).connections += 1

    # --- Taking it to the store -------------------------------------------------------------------------------------

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="tally")

    async def stop(self) -> None:
        """Take everything along; what the store does not want now is lost, and that is said."""
        self._is_stopping = True
        self._wake.set()
        if self._task:
            await self._task
        for _ in range(2):  # the first may find older counts waiting, behind which today's could not be taken
            trouble = await self.flush()
        if trouble:
            log.error("counts_lost", why=str(trouble), pages=self._pages_held, visitors=self._visitors_held)

    async def flush(self) -> Exception | None:
        """Take what is gathered now to the store; says why some of it has to wait, if it has to."""
        async with self._flushing:
            for bring in self.sources:
                bring()
            self._seal(also_behind_older=False)
            stuck: dict[SiteId, Exception] = {}
            while batches := self._next_batches(stuck):
                troubles = await self._add_counts(batches)
                for batch, trouble in zip(batches, troubles, strict=True):
                    if trouble is None:
                        self._confirm(batch)
                    else:
                        stuck[batch.site_id] = trouble
                if all(troubles):  # the store is away: no use in trying the other sites one after another
                    break
        self._tell_losses()
        return next(iter(stuck.values()), None)

    async def _run(self) -> None:
        is_away = False
        while not self._is_stopping:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), FLUSH_EVERY_S)
            self._wake.clear()
            trouble = await self.flush()
            if trouble and not is_away:  # once per outage
                log.warning("counts_wait", why=str(trouble))
            is_away = trouble is not None

    def _seal(self, *, also_behind_older: bool) -> None:
        """Put today's counts in line; where older ones still wait, they go on growing, which keeps the line short."""
        for site_id in list(self._today):
            if also_behind_older or site_id not in self._sealed:
                self._sealed.setdefault(site_id, deque()).append(self._today.pop(site_id))

    def _next_batches(self, stuck: Mapping[SiteId, Exception]) -> list[Batch]:
        """At most one for each site. One that was not confirmed is sent again as it was, before anything newer."""
        batches = [batch for site_id, batch in self._in_doubt.items() if site_id not in stuck]
        room = VISITORS_A_ROUND - sum(len(batch.visitors) for batch in batches)
        for site_id in list(self._sealed):
            if site_id in self._in_doubt or site_id in stuck:
                continue
            if room <= 0:
                break
            batch = self._take(site_id, most_visitors=room)
            room -= len(batch.visitors)
            self._in_doubt[site_id] = batch
            batches.append(batch)
        return batches

    def _take(self, site_id: SiteId, *, most_visitors: int) -> Batch:
        line = self._sealed[site_id]
        gathered = line[0]
        month = month_of(gathered.day)
        views = dict(_some(gathered.views, PAGES_A_BATCH))
        seen_by = [gathered.seen_by.pop(page_id) for page_id in views]
        for page_id in views:
            del gathered.views[page_id]
        visitors = [gathered.visitors.pop() for _ in range(min(most_visitors, len(gathered.visitors)))]
        self._number += 1
        batch = Batch(
            site_id,
            self._number,
            gathered.day,
            gathered.usage(),
            views,
            [self._visitors.member(site_id, month, visitor) for visitor in seen_by],
            [self._visitors.member(site_id, month, visitor) for visitor in visitors],
            gathered.keys,
        )
        gathered.keys = {}
        gathered.comments = gathered.pageviews = gathered.requests = gathered.connections = 0
        if gathered.is_empty():
            line.popleft()
            if not line:
                del self._sealed[site_id]
        return batch

    def _confirm(self, batch: Batch) -> None:
        del self._in_doubt[batch.site_id]
        self._pages_held -= len(batch.views)
        self._visitors_held -= len(batch.visitors)

    def _tell_losses(self) -> None:
        lost = (self.lost_views, self.lost_visitors)
        if lost != self._lost_told:
            views, visitors = lost[0] - self._lost_told[0], lost[1] - self._lost_told[1]
            log.warning("counts_dropped", why="more than fits into memory at once", views=views, visitors=visitors)
            self._lost_told = lost

    # --- What happens seldom ----------------------------------------------------------------------------------------

    def _of(self, site_id: SiteId) -> Gathered:
        now_ms = self._clock.now_ms()
        if not self._day_from <= now_ms < self._day_until:
            self._turn_day(now_ms)
        gathered = self._today.get(site_id)
        if gathered is None:
            gathered = self._today[site_id] = Gathered(site_id, self._day)
        return gathered

    def _turn_day(self, now_ms: int) -> None:
        self._seal(also_behind_older=True)
        self._day = day_of(now_ms)
        self._day_from = now_ms - now_ms % DAY_MS
        self._day_until = self._day_from + DAY_MS

    def _judge(self, agent: bytes) -> bool:
        if len(self._bots) >= MOST_REMEMBERED:
            self._bots.clear()
        verdict = self._bots[agent] = is_bot(agent)
        return verdict

    def _first_view(self, gathered: Gathered, page_id: PageId, visitor: Visitor) -> None:
        if self._pages_held >= MOST_PAGES:
            self.lost_views += 1
            return
        gathered.views[page_id] = 1
        gathered.seen_by[page_id] = visitor
        self._pages_held += 1
        if self._pages_held == MOST_PAGES // 2:
            self._wake.set()

    def _first_visit(self, visitors: set[Visitor], visitor: Visitor) -> None:
        if self._visitors_held >= MOST_VISITORS:
            self.lost_visitors += 1
            return
        visitors.add(visitor)
        self._visitors_held += 1
        if self._visitors_held == MOST_VISITORS // 2:
            self._wake.set()


def _some(views: dict[PageId, int], most: int) -> Iterator[tuple[PageId, int]]:
    for place, entry in enumerate(views.items()):
        if place == most:
            return
        yield entry
