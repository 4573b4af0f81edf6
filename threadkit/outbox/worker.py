"""Takes the outboxes of all sites forward: each entry has its effect once, whoever fails or crashes in between.

An entry is always in one place: in the outbox; among those that are tried again, if a handler failed; among the dead
letters, if it was given up; or settled and gone. Moving it is one atomic step that only the first to come can do. A
crash before that step repeats handlers, which know by the entry's id what they have done.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import structlog

from threadkit.clock import Clock
from threadkit.ids import SiteId, random_text
from threadkit.outbox.handlers import Event, Handler, Handlers
from threadkit.outbox.model import RETRY_PAUSES_S, DeadLetter, NotUnderstood, Retrying, SiteMustWait
from threadkit.outbox.queries import OutboxQueries
from threadkit.outbox.scripts import LEASE_S, ApplyToUser, HoldLease, Later, PutOff, SettleEntry, SettleRetry
from threadkit.outbox.totals import Totals
from threadkit.storage.claims import Release
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

log = structlog.get_logger()

SERVER_LOOK_S = 1.0  # writers of the same process wake us; the look is for others and for what is tried again
WORKER_LOOK_S = 0.25
BATCH = 200
BATCHES_A_PASS = 10
RETRYING_S = 5.0  # new entries wait no longer than this for old ones that are tried again
HANDLER_S = 10.0
RENEW_S = LEASE_S - HANDLER_S - 1  # so that a lease outlives the slowest handler
SITES_AT_A_TIME = 8
GATHER_S = 0.05
LANES = 32
FEW_LANES = 2
LONG_QUEUE = 20_000
ABOUT_ONE_PERSON = ("karma", "comment_posted", "moderated", "mod_action")

_chance = random.SystemRandom()


class OutboxWorker:
    """One worker at a time holds a site's lease; several sites are taken forward at a time."""

    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock, queries: OutboxQueries) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._queries = queries
        self._hold_lease = HoldLease(redis, keys)
        self._settle_entry = SettleEntry(redis, keys)
        self._settle_retry = SettleRetry(redis, keys)
        self._release = Release(redis)
        self._apply = ApplyToUser(redis, keys)
        self.is_server_busy: Callable[[], bool] = lambda: False
        self.handlers = Handlers()
        Totals(apply=self._apply, put_off=PutOff(redis, keys)).register(self.handlers)

        self._name = random_text(16)
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._woken = asyncio.Event()
        self._turns = asyncio.Semaphore(SITES_AT_A_TIME)
        self._hints: set[SiteId] = set()
        self._passes: dict[SiteId, asyncio.Task[int]] = {}
        self._once_more: set[SiteId] = set()
        self._waiting: set[SiteId] = set()

    async def start(self, *, look_every_s: float = SERVER_LOOK_S) -> None:
        self._task = asyncio.create_task(self._run(look_every_s), name="outbox")

    async def stop(self) -> None:
        """Finish the entries at hand; what is left waits for the next worker."""
        self._stopping.set()
        self._woken.set()
        if self._task:
            await self._task
        await asyncio.gather(*self._passes.values())

    def wake(self, site_id: SiteId) -> None:
        """Something was written to this site's outbox: see to it now. Does nothing where no worker runs."""
        if self._task:
            self._hints.add(site_id)
            self._woken.set()

    async def drain(self) -> int:
        """Take everything that waits or is due now forward; says how many entries that were."""
        total = 0
        while sites := await self._queries.sites_with_work(self._clock.now_ms()):
            done = sum(await asyncio.gather(*(self._begin_pass(site_id) for site_id in sites)))
            total += done
            if not done:  # others are at it, or it cannot be done now
                break
        return total

    async def _run(self, look_every_s: float) -> None:
        is_away, next_look = False, 0.0
        while not self._stopping.is_set():
            self._woken.clear()
            sites, self._hints = self._hints, set()
            if time.monotonic() >= next_look:
                try:
                    sites.update(await self._queries.sites_with_work(self._clock.now_ms()))
                    is_away = False
                except Exception as error:
                    if not is_away:  # once per outage, not at every look
                        log.warning("outbox_waits", why=str(error))
                    is_away = True
                next_look = time.monotonic() + look_every_s
            for site_id in sites:
                self._begin_pass(site_id)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), max(0.0, next_look - time.monotonic()))
            with contextlib.suppress(TimeoutError):  # who wakes us is seldom alone, and together they cost less
                await asyncio.wait_for(self._stopping.wait(), GATHER_S)

    def _begin_pass(self, site_id: SiteId) -> asyncio.Task[int]:
        """A site at a time is gone through once; whoever comes meanwhile has it gone through once more."""
        if running := self._passes.get(site_id):
            self._once_more.add(site_id)
            return running
        started = asyncio.create_task(self._pass(site_id), name=f"outbox of {site_id}")
        self._passes[site_id] = started
        started.add_done_callback(lambda _: self._end_pass(site_id))
        return started

    def _end_pass(self, site_id: SiteId) -> None:
        del self._passes[site_id]
        if site_id in self._once_more:
            self._once_more.discard(site_id)
            self.wake(site_id)

    async def _pass(self, site_id: SiteId) -> int:
        async with self._turns:
            try:
                done = await self._take_forward(site_id)
            except Exception as error:  # one site's trouble is not the others'
                if site_id not in self._waiting:
                    log.warning("outbox_waits", site_id=site_id, why=str(error) or repr(error))
                self._waiting.add(site_id)
                return 0
            self._waiting.discard(site_id)
            return done

    async def _take_forward(self, site_id: SiteId) -> int:
        lease = _Lease(self._hold_lease, site_id, self._name)
        if self._stopping.is_set() or not await lease.is_held():
            return 0
        try:
            done = await self._carry_out_new(site_id, lease)
            return done + await self._carry_out_due(site_id, lease)
        finally:
            with contextlib.suppress(Exception):  # it runs out by itself
                await self._release(self._keys.site(site_id).outbox_lease(), self._name)

    async def _carry_out_new(self, site_id: SiteId, lease: "_Lease") -> int:
        done = 0
        for _ in range(BATCHES_A_PASS):
            found = await self._redis.xrange(self._keys.site(site_id).outbox(), count=BATCH)
            entries = [_Entry(entry_id, fields) for entry_id, fields in found]
            for together in _side_by_side(entries, await self._lanes(site_id)):
                carried_out = await self._carry_out_together(site_id, together, lease)
                done += carried_out
                if carried_out < sum(map(len, together)):
                    return done
            if len(entries) < BATCH:
                return done
        self._once_more.add(site_id)
        return done

    async def _lanes(self, site_id: SiteId) -> int:
        """Effects take the time that requests need. While some of them wait effects can wait too, but not without an end."""
        if not self.is_server_busy():
            return LANES
        waiting = await self._redis.xlen(self._keys.site(site_id).outbox())
        return LANES if waiting > LONG_QUEUE else FEW_LANES

    async def _carry_out_due(self, site_id: SiteId, lease: "_Lease") -> int:
        done, ends = 0, time.monotonic() + RETRYING_S
        for item in await self._queries.due(site_id, self._clock.now_ms(), BATCH):
            if self._stopping.is_set() or time.monotonic() > ends or not await lease.is_held():
                break
            await self._try_again(site_id, item)
            done += 1
        return done

    async def _carry_out_together(self, site_id: SiteId, lanes: Sequence[Sequence["_Entry"]], lease: "_Lease") -> int:
        """Lanes side by side, the entries of each in turn; says how many were seen to before it had to stop."""
        settled: list[str] = []
        done = 0

        async def carry_out(lane: Sequence[_Entry]) -> None:
            nonlocal done
            for entry in lane:
                if self._stopping.is_set() or not await lease.is_held():
                    return
                later, dead = await self._effects(site_id, entry)
                if later or dead:
                    await self._settle_entry(site_id, entry.id, later, dead)
                else:
                    settled.append(entry.id)
                done += 1

        try:
            results = await asyncio.gather(*map(carry_out, lanes), return_exceptions=True)
        finally:
            if settled:  # a crash before this repeats the effects, which know that they happened
                await self._redis.xdel(self._keys.site(site_id).outbox(), *settled)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return done

    async def _effects(self, site_id: SiteId, entry: "_Entry") -> tuple[list[Later], list[DeadLetter]]:
        """Let an entry have its effects; says what is tried again, and what is given up."""
        later: list[Later] = []
        dead: list[DeadLetter] = []
        try:
            if isinstance(entry.event, NotUnderstood):
                raise entry.event
            handlers = self.handlers.of(entry.event, entry.handler)
        except NotUnderstood as error:
            return [], [_given_up(site_id, entry.id, entry.handler, entry.text, error, tries=0)]
        for name, handler in handlers.items():
            try:
                await _call(handler, site_id, entry.id, entry.event)
            except SiteMustWait:
                raise
            except NotUnderstood as error:
                dead.append(_given_up(site_id, entry.id, name, entry.text, error, tries=0))
            except Exception as error:
                again = Retrying(entry_id=entry.id, handler=name, event=entry.text, tries=1)
                later.append(self._put_off(site_id, again, error))
        return later, dead

    async def _try_again(self, site_id: SiteId, item: Retrying) -> None:
        tries = item.tries + 1
        try:
            event = _decoded(item.event)
            for handler in self.handlers.of(event, item.handler).values():
                await _call(handler, site_id, item.entry_id, event)
        except SiteMustWait:
            raise
        except Exception as error:
            if isinstance(error, NotUnderstood) or tries > len(RETRY_PAUSES_S):
                dead = _given_up(site_id, item.entry_id, item.handler, item.event, error, tries=tries)
                await self._settle_retry(site_id, item, dead=dead)
            else:
                again = msgspec.structs.replace(item, tries=tries)
                await self._settle_retry(site_id, item, later=self._put_off(site_id, again, error))
        else:
            await self._settle_retry(site_id, item)

    def _put_off(self, site_id: SiteId, item: Retrying, error: Exception) -> Later:
        pause_s = RETRY_PAUSES_S[item.tries - 1] * _chance.uniform(0.8, 1.2)
        log.warning(
            "outbox_tries_again",
            site_id=site_id,
            entry=item.entry_id,
            handler=item.handler,
            tries=item.tries,
            in_s=round(pause_s, 1),
            why=_reason(error),
        )
        return Later(item, self._clock.now_ms() + round(pause_s * 1000))


class _Entry:
    """An entry of the outbox, read."""

    def __init__(self, entry_id: str, fields: Mapping[str, str]) -> None:
        self.id = entry_id
        self.text = fields.get("event", "")
        self.handler = fields.get("handler", "")
        self.event: Event | NotUnderstood
        try:
            self.event = _decoded(self.text)
        except NotUnderstood as error:
            self.event = error

    @property
    def person(self) -> str | None:
        """The only person whose things change by it, if that is known."""
        if isinstance(self.event, NotUnderstood) or self.event.get("type") not in ABOUT_ONE_PERSON:
            return None
        return str(self.event.get("user_id"))


def _side_by_side(entries: Sequence[_Entry], most: int) -> Iterator[list[list[_Entry]]]:
    """Entries about different people can be seen to at once, those about the same in turn, and any other alone."""
    lanes: dict[str, list[_Entry]] = {}
    for entry in entries:
        if entry.person is not None and (entry.person in lanes or len(lanes) < most):
            lanes.setdefault(entry.person, []).append(entry)
            continue
        if lanes:
            yield list(lanes.values())
            lanes = {}
        if entry.person is not None:
            lanes[entry.person] = [entry]
        else:
            yield [[entry]]
    if lanes:
        yield list(lanes.values())


class _Lease:
    """One worker's hold on one site, prolonged as long as it is asked for."""

    def __init__(self, hold: HoldLease, site_id: SiteId, worker: str) -> None:
        self._hold = hold
        self._site_id = site_id
        self._worker = worker
        self._renew_at = 0.0

    async def is_held(self) -> bool:
        now = time.monotonic()
        if now < self._renew_at:
            return True
        is_held = await self._hold(self._site_id, self._worker)
        self._renew_at = now + RENEW_S if is_held else 0.0
        return is_held


async def _call(handler: Handler, site_id: SiteId, entry_id: str, event: Event) -> None:
    async with asyncio.timeout(HANDLER_S):
        await handler(site_id, entry_id, event)


def _decoded(text: str) -> Event:
    try:
        return msgspec.json.decode(text, type=Event)
    except msgspec.DecodeError as error:
        raise NotUnderstood(f"it is no event: {error}") from None


def _given_up(site_id: SiteId, entry_id: str, handler: str, event: str, error: Exception, *, tries: int) -> DeadLetter:
    why = _reason(error)
    log.warning("outbox_gives_up", site_id=site_id, entry=entry_id, handler=handler, tries=tries, why=why)
    return DeadLetter(entry_id=entry_id, handler=handler, event=event, why=why, tries=tries)


def _reason(error: Exception) -> str:
    if isinstance(error, NotUnderstood):
        return str(error)
    if isinstance(error, TimeoutError) and not str(error):
        return f"it took longer than {HANDLER_S:g} seconds"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
