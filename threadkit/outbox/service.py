"""What an owner can do about dead letters."""

import re
from collections.abc import Sequence

from threadkit.clock import Clock
from threadkit.errors import InvalidParameter
from threadkit.ids import SiteId
from threadkit.outbox.model import DeadLetterAmbiguous, DeadLetterNotFound, FoundDead
from threadkit.outbox.queries import OutboxQueries
from threadkit.outbox.scripts import PutBack
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

_ID = re.compile(r"\d{1,19}-\d{1,19}")


class DeadLetters:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock, queries: OutboxQueries) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._queries = queries
        self._put_back = PutBack(redis, keys)

    async def find(self, sites: Sequence[SiteId], ids: Sequence[str]) -> list[FoundDead]:
        """The dead letters with these ids on these sites; all of them or an error."""
        return [await self._find(sites, dead_id) for dead_id in dict.fromkeys(ids)]

    async def all(self, sites: Sequence[SiteId]) -> list[FoundDead]:
        return [found for site_id in sites async for found in self._queries.dead(site_id)]

    async def put_back(self, letters: Sequence[FoundDead]) -> int:
        """Each gets all its tries anew, the first at once. Says how many were still there."""
        return sum([await self._put_back(found, now_ms=self._clock.now_ms()) for found in letters])

    async def drop(self, letters: Sequence[FoundDead]) -> int:
        """For good. Says how many were still there."""
        return sum(
            [await self._redis.xdel(self._keys.site(found.site_id).outbox_dead(), found.id) for found in letters]
        )

    async def _find(self, sites: Sequence[SiteId], dead_id: str) -> FoundDead:
        if not _ID.fullmatch(dead_id):
            raise InvalidParameter(
                name="id", why=f"{dead_id!r} is not the id of a dead letter, such as 1765000000000-0"
            )
        found = [letter for site_id in sites if (letter := await self._queries.dead_by_id(site_id, dead_id))]
        if not found:
            raise DeadLetterNotFound(id=dead_id)
        if len(found) > 1:
            raise DeadLetterAmbiguous(id=dead_id)
        return found[0]
