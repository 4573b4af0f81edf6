"""Makes a site's stored hot scores anew when its formula has changed: in the background, once, whoever crashes."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence

import structlog
from msgspec.structs import replace
from redis.exceptions import RedisError

from threadkit import scoring
from threadkit.clock import Clock, from_iso
from threadkit.ids import CommentId, PageId, SiteId, random_text
from threadkit.rebuild.model import Ranking
from threadkit.rebuild.scripts import Rank, ReadFields, SaveRanking, SettleRanks, SiteHasChanged
from threadkit.sites.model import Site
from threadkit.sites.queries import MEMORY_S, SiteQueries
from threadkit.storage.claims import Release
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.records import from_hash

log = structlog.get_logger()

PAUSE_S = 2.0
LEASE_S = 15
BATCH = 200
# A worker may rank with the old formula until it hears of the new one, so after that time there is a second round.
STRAGGLERS_MS = (MEMORY_S + 5) * 1000

_FIELDS = ("page_id", "parent_id", "created_at", "upvotes", "downvotes")


class RankingQueries:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def of(self, site_id: SiteId) -> Ranking | None:
        fields = await self._redis.hgetall(self._keys.site(site_id).ranking())
        return from_hash(Ranking, fields) if fields else None

    async def percent(self, site: Site) -> int | None:
        """How far a re-ranking has come; None when none is under way, 0 when a server has yet to begin."""
        ranking = await self.of(site.id)
        if ranking is None or ranking.formula == site.settings.hot:
            return None
        return ranking.percent if ranking.wanted == site.settings.hot else 0


class Reranker:
    """Goes through a site's comments from the newest back, and remembers the place: whoever comes next goes on there.

    Every server process looks every few seconds, which also finds what a crashed one left; a lease lets one work.
    """

    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock, site_queries: SiteQueries) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._site_queries = site_queries
        self._queries = RankingQueries(redis=redis, keys=keys)
        self._read_fields = ReadFields(redis, keys)
        self._settle_ranks = SettleRanks(redis, keys)
        self._save_ranking = SaveRanking(redis, keys)
        self._release = Release(redis)
        self._name = random_text(16)
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._settled: dict[SiteId, str] = {}

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="reranker")

    async def stop(self) -> None:
        """Finish the batch at hand; the next worker goes on from there."""
        self._stopping.set()
        if self._task:
            await self._task

    async def look(self) -> None:
        """Do whatever there is to do now, for all sites."""
        for site_id, version in await self._versions():
            if self._settled.get(site_id) == version:
                continue
            try:
                await self._look_at(site_id)
            except RedisError as error:  # one site's trouble is not the others'
                log.warning("reranking_waits", site_id=site_id, why=str(error))

    async def _versions(self) -> list[tuple[SiteId, str | None]]:
        """Of all sites: what does not change needs no closer look."""
        site_ids = await self._redis.zrange(self._keys.shared.sites(), 0, -1)
        versions: list[str | None] = []
        for start in range(0, len(site_ids), BATCH):
            async with self._redis.pipeline(transaction=False) as pipe:
                for site_id in site_ids[start : start + BATCH]:
                    pipe.hget(self._keys.site(site_id).config(), "version")
                versions += await pipe.execute()
        return list(zip(map(SiteId, site_ids), versions, strict=True))

    async def _run(self) -> None:
        is_away = False
        while not self._stopping.is_set():
            try:
                await self.look()
                is_away = False
            except (RedisError, OSError) as error:
                if not is_away:  # once per outage
                    log.warning("reranking_waits", why=str(error))
                is_away = True
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), PAUSE_S)

    async def _look_at(self, site_id: SiteId) -> None:
        site, ranking = await self._site_queries.by_id(site_id), await self._queries.of(site_id)
        if site is None:
            return
        if ranking is not None and ranking.formula == site.settings.hot:
            self._settled[site_id] = str(site.version)
        if not self._is_due(site, ranking):
            return
        keys = self._keys.site(site.id)
        if not await self._redis.set(keys.ranking_lease(), self._name, nx=True, ex=LEASE_S):
            return
        try:
            # Read again, now that nobody else changes it.
            current, ranking = await self._site_queries.by_id(site.id), await self._queries.of(site.id)
            if current is not None and self._is_due(current, ranking):
                await self._go_on(current, ranking)
        finally:
            await self._release(keys.ranking_lease(), self._name)

    def _is_due(self, site: Site, ranking: Ranking | None) -> bool:
        if ranking is None:
            return True
        if ranking.wanted != site.settings.hot:
            return ranking.formula != site.settings.hot
        return self._clock.now_ms() >= ranking.not_before_ms

    async def _go_on(self, site: Site, ranking: Ranking | None) -> None:
        if ranking is None or ranking.wanted != site.settings.hot:
            ranking = await self._first_round(site)
            log.info("reranking_starts", site_id=site.id, comments=ranking.total)
        while not self._stopping.is_set():
            if not await self._save(site, ranking):
                return
            batch, ranking = await self._next_batch(site, ranking)
            if not batch:
                await self._end_round(site, ranking)
                return
            try:
                await self._rank(site, batch)
            except SiteHasChanged:
                return  # the next look sees what the formula is now

    async def _first_round(self, site: Site) -> Ranking:
        total = await self._redis.zcard(self._keys.site(site.id).comments())
        return Ranking(wanted=site.settings.hot, total=total)

    async def _end_round(self, site: Site, ranking: Ranking) -> None:
        now_ms = self._clock.now_ms()
        if ranking.round == 1 and ranking.total:
            again = Ranking(wanted=ranking.wanted, round=2, not_before_ms=now_ms + STRAGGLERS_MS, total=ranking.total)
            await self._save(site, again)
        else:
            await self._save(site, Ranking(formula=ranking.wanted))
        log.info("reranking_ends", site_id=site.id, comments=ranking.done, round=ranking.round)

    async def _save(self, site: Site, ranking: Ranking) -> bool:
        return await self._save_ranking(site.id, ranking, holder=self._name, lease_s=LEASE_S)

    async def _next_batch(self, site: Site, ranking: Ranking) -> tuple[list[CommentId], Ranking]:
        """The next comments, newest first, and the place behind them. Many may have been written in one millisecond."""
        most = "+inf" if ranking.cursor_ms is None else ranking.cursor_ms
        found = await self._redis.zrange(
            self._keys.site(site.id).comments(),
            most,
            "-inf",
            desc=True,
            byscore=True,
            offset=ranking.skip,
            num=BATCH,
            withscores=True,
        )
        if not found:
            return [], ranking
        last = int(found[-1][1])
        at_last = sum(1 for _, score in found if int(score) == last)
        skip = at_last + (ranking.skip if last == ranking.cursor_ms else 0)
        after = replace(ranking, cursor_ms=last, skip=skip, done=ranking.done + len(found))
        return [CommentId(comment_id) for comment_id, _ in found], after

    async def _rank(self, site: Site, comment_ids: Sequence[CommentId]) -> None:
        keys = self._keys.site(site.id)
        answers = await self._read_fields([keys.comment(i) for i in comment_ids], *_FIELDS)
        ranks = [
            _rank_of(site, comment_id, fields)
            for comment_id, fields in zip(comment_ids, answers, strict=True)
            if all(name in fields for name in _FIELDS if name != "parent_id")
        ]
        if ranks:
            await self._settle_ranks(site.id, site.version, ranks)


def _rank_of(site: Site, comment_id: CommentId, fields: Mapping[str, str]) -> Rank:
    up, down = int(fields["upvotes"]), int(fields["downvotes"])
    hot = scoring.hot(site.settings.hot, up, down, from_iso(fields["created_at"]))
    parent_id = CommentId(fields["parent_id"]) if "parent_id" in fields else None
    return Rank(comment_id, PageId(fields["page_id"]), parent_id, up, down, scoring.as_text(hot))
