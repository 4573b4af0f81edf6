"""What can be asked about outboxes, of many sites in one round trip."""

import contextlib
import re
from collections.abc import AsyncIterator, Sequence

import msgspec
from msgspec import Struct
from redis.exceptions import ConnectionError as StoreConnectionError
from redis.exceptions import TimeoutError as StoreTimeoutError

from threadkit.errors import InvalidParameter
from threadkit.ids import SiteId
from threadkit.moderation.log import stream_order
from threadkit.outbox.model import DeadLetter, FoundDead, Retrying, State, entry_ms
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

SITES_AT_ONCE = 500
DEAD_AT_ONCE = 500
_PLACE = re.compile(r"(\d{1,19}-\d{1,19})\.([0-9a-f-]{36})")


class Sum(Struct, frozen=True):
    """All outboxes together."""

    waiting: int
    retrying: int
    dead: int


class OutboxQueries:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._sites: list[list[SiteId]] = []

    async def sites_with_work(self, now_ms: int) -> list[SiteId]:
        """Sites where something waits or is due; two small questions a site, and no site's record is read."""
        found: list[SiteId] = []
        for sites in await self._known_sites():
            async with self._redis.pipeline(transaction=False) as pipe:
                for site_id in sites:
                    keys = self._keys.site(site_id)
                    pipe.xlen(keys.outbox())
                    pipe.zcount(keys.outbox_due(), "-inf", now_ms)
                counts = await pipe.execute(raise_on_error=False)
            errors = [count for count in counts if isinstance(count, Exception)]
            if len(errors) == len(counts):
                raise errors[0]
            # A site whose shard is away is not the others' trouble.
            for site, *work in zip(sites, counts[::2], counts[1::2], strict=True):
                if not any(isinstance(count, Exception) for count in work) and any(work):
                    found.append(site)
        return found

    async def _known_sites(self) -> list[list[SiteId]]:
        """All sites, or those that were there at the last look: the list may lie on a shard that is away."""
        try:
            self._sites = [sites async for sites in self._all_sites()]
        except (StoreConnectionError, StoreTimeoutError):
            if not self._sites:
                raise
        return self._sites

    async def states(self, sites: Sequence[SiteId]) -> list[State]:
        found: list[State] = []
        for start in range(0, len(sites), SITES_AT_ONCE):
            some = sites[start : start + SITES_AT_ONCE]
            async with self._redis.pipeline(transaction=False) as pipe:
                for site_id in some:
                    keys = self._keys.site(site_id)
                    pipe.xlen(keys.outbox())
                    pipe.xrange(keys.outbox(), count=1)
                    pipe.zcard(keys.outbox_due())
                    pipe.zrange(keys.outbox_due(), 0, 0, withscores=True)
                    pipe.xlen(keys.outbox_dead())
                answers = await pipe.execute()
            for place, site_id in enumerate(some):
                waiting, oldest, retrying, due, dead = answers[5 * place : 5 * place + 5]
                found.append(
                    State(
                        site_id=site_id,
                        waiting=waiting,
                        oldest_ms=entry_ms(oldest[0][0]) if oldest else None,
                        retrying=retrying,
                        next_try_ms=int(due[0][1]) if due else None,
                        dead=dead,
                    )
                )
        return found

    async def all_states(self) -> list[State]:
        return [state async for sites in self._all_sites() for state in await self.states(sites)]

    async def newest_dead(self, sites: Sequence[SiteId], *, before: str | None, limit: int) -> list[FoundDead]:
        """Of all these sites together, newest first, from a place on backwards."""
        last, last_site = _place(before) if before is not None else ("+", SiteId(""))
        async with self._redis.pipeline(transaction=False) as pipe:
            for site_id in sites:
                # Two sites can have letters of one id; then their own ids decide the order.
                start = last if before is None or site_id < last_site else f"({last}"
                pipe.xrevrange(self._keys.site(site_id).outbox_dead(), start, "-", count=limit)
            answers = await pipe.execute() if sites else []
        found = [
            FoundDead(id=dead_id, site_id=site_id, letter=_letter(fields))
            for site_id, entries in zip(sites, answers, strict=True)
            for dead_id, fields in entries
        ]
        found.sort(key=lambda letter: (stream_order(letter.id), letter.site_id), reverse=True)
        return found[:limit]

    async def sum(self) -> Sum:
        waiting = retrying = dead = 0
        async for sites in self._all_sites():
            for state in await self.states(sites):
                waiting, retrying, dead = waiting + state.waiting, retrying + state.retrying, dead + state.dead
        return Sum(waiting, retrying, dead)

    async def due(self, site_id: SiteId, now_ms: int, most: int) -> list[Retrying]:
        """What is to be tried again now, the longest overdue first."""
        keys = self._keys.site(site_id)
        names = await self._redis.zrange(keys.outbox_due(), "-inf", now_ms, byscore=True, offset=0, num=most)
        if not names:
            return []
        records = await self._redis.hmget(keys.outbox_retrying(), names)
        return [msgspec.json.decode(record, type=Retrying) for record in records if record is not None]

    async def dead(self, site_id: SiteId) -> AsyncIterator[FoundDead]:
        """A site's dead letters, oldest first."""
        after = "-"
        while entries := await self._redis.xrange(self._keys.site(site_id).outbox_dead(), after, count=DEAD_AT_ONCE):
            for dead_id, fields in entries:
                yield FoundDead(id=dead_id, site_id=site_id, letter=_letter(fields))
            after = f"({entries[-1][0]}"

    async def dead_by_id(self, site_id: SiteId, dead_id: str) -> FoundDead | None:
        entries = await self._redis.xrange(self._keys.site(site_id).outbox_dead(), dead_id, dead_id)
        return FoundDead(id=dead_id, site_id=site_id, letter=_letter(entries[0][1])) if entries else None

    async def _all_sites(self) -> AsyncIterator[list[SiteId]]:
        start = 0
        while sites := await self._redis.zrange(self._keys.shared.sites(), start, start + SITES_AT_ONCE - 1):
            yield sites
            start += SITES_AT_ONCE


def _place(text: str) -> tuple[str, SiteId]:
    match = _PLACE.fullmatch(text)
    if match is None:
        raise InvalidParameter(name="cursor", why="is not one from an answer", field="cursor")
    return match[1], SiteId(match[2])


def _letter(fields: dict[str, str]) -> DeadLetter:
    """Whatever lies there, as a dead letter: also one that an older server put down."""
    with contextlib.suppress(msgspec.ValidationError):
        return msgspec.convert(fields, DeadLetter, strict=False)
    return DeadLetter(event=fields.get("event", ""), why="it cannot be read")
