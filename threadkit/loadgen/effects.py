"""The outbox taken forward many entries at a time: for one load, not for a server that has others to serve."""

import asyncio
import contextlib

import msgspec

from threadkit.ids import SiteId, random_text
from threadkit.loadgen.gathered import Gathered
from threadkit.outbox.handlers import Event, Handler, Handlers
from threadkit.outbox.model import NotUnderstood
from threadkit.outbox.scripts import ApplyToUser, HoldLease, PutOff
from threadkit.outbox.totals import Totals
from threadkit.outbox.worker import OutboxWorker
from threadkit.storage.claims import Release
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

BATCH = 1000
OTHERS_AT_ONCE = 16


class BulkEffects:
    """The same handlers as the worker's, with the users' numbers of a whole batch in one round trip, in their order.

    An entry whose handler fails, or that nobody understands, stays where it is, and so do those after it: the worker
    knows what to do about them.
    """

    def __init__(self, *, redis: Commands, keys: Keys, outbox: OutboxWorker) -> None:
        self._redis = redis
        self._keys = keys
        self._outbox = outbox
        gathered = Gathered(redis)
        self._totals = Handlers()
        Totals(apply=ApplyToUser(gathered, keys), put_off=PutOff(gathered, keys)).register(self._totals)
        self._others = asyncio.Semaphore(OTHERS_AT_ONCE)
        self._hold_lease = HoldLease(redis, keys)
        self._release = Release(redis)
        self._name = random_text(16)

    async def drain(self, site_id: SiteId) -> int:
        """Take a batch forward; says how many entries that were. None where a server is at it."""
        keys = self._keys.site(site_id)
        if not await self._hold_lease(site_id, self._name):
            return 0
        try:
            await self._redis.script_load(ApplyToUser.source())
            entries = await self._redis.xrange(keys.outbox(), count=BATCH)
            results = await asyncio.gather(
                *(self._carry_out(site_id, entry_id, fields.get("event", "")) for entry_id, fields in entries),
                return_exceptions=True,
            )
            done: list[str] = []
            for (entry_id, _), result in zip(entries, results, strict=True):
                if isinstance(result, BaseException):
                    break
                done.append(entry_id)
            if done:
                await self._redis.xdel(keys.outbox(), *done)
            return len(done)
        finally:
            await self._release(keys.outbox_lease(), self._name)

    async def _carry_out(self, site_id: SiteId, entry_id: str, text: str) -> None:
        event = msgspec.json.decode(text, type=Event)
        quick: dict[str, Handler] = {}
        with contextlib.suppress(NotUnderstood):
            quick = self._totals.of(event)
        for name, handler in self._outbox.handlers.of(event).items():
            if name in quick:
                await quick[name](site_id, entry_id, event)
            else:
                async with self._others:
                    await handler(site_id, entry_id, event)
