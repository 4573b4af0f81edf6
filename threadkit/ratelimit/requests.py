"""The first layer: requests a minute of an address, a user and a key.

Writes are counted in the store, exactly, by a script that travels with what the request asks anyway. Reads are counted
in memory and brought together once a second: they cost no round trip, and several workers together let through at most
what arrives within that second. While the store is away everything is counted in memory.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from redis.exceptions import RedisError

from threadkit.clock import Clock
from threadkit.ids import SiteId, UserId
from threadkit.ratelimit.model import MINUTE_S, Kind, Layer, RateLimited, Standing
from threadkit.ratelimit.outage import Outage
from threadkit.ratelimit.scripts import AddRequests, CountRequest
from threadkit.settings import LimitSettings
from threadkit.sites.model import Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

FLUSH_EVERY_S = 1.0
MOST_COUNTED = 50_000
MOST_WITHOUT_STORE = 10_000
KEYS_A_CALL = 500
TIDY_EVERY_MS = 1000
NO_SITE = SiteId("-")
OTHERS = "others"

_LAYERS: dict[str, Layer] = {"ip": "IP", "key": "project_id", "user": "user"}


class Caller(NamedTuple):
    """Who makes a request. Whoever has a site's secret key is no visitor: that address speaks for many."""

    site: Site | None
    client: str
    user_id: UserId | None = None
    is_owner: bool = False


class Check(NamedTuple):
    """One limit that a request has to pass."""

    layer: str
    name: str
    limit: int


class Counted:
    """Requests of somebody in one minute: what the store knew when we looked last, and ours since."""

    __slots__ = ("is_unsent", "known", "layer", "minute", "name", "ours", "site_id")

    def __init__(self, site_id: SiteId, layer: str, name: str, minute: int) -> None:
        self.site_id = site_id
        self.layer = layer
        self.name = name
        self.minute = minute
        self.known = 0
        self.ours = 0
        self.is_unsent = False  # waits to be brought to the store, or to hear from it

    def begin(self, minute: int) -> None:
        self.minute, self.known, self.ours = minute, 0, 0

    @property
    def used(self) -> int:
        return self.known + self.ours


class RequestLimits:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock, settings: LimitSettings, outage: Outage) -> None:
        self.is_on = settings.enabled
        self.limits_keys_reads = settings.key_reads_per_minute is not None
        self._outage = outage
        self._keys = keys
        self._clock = clock
        self._settings = settings
        self._count_request = CountRequest(redis)
        self._add_requests = AddRequests(redis)
        self._counted: dict[tuple[SiteId, str, str], Counted] = {}
        self._unsent: list[Counted] = []
        self._tidied_ms = -TIDY_EVERY_MS
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    def checks(self, caller: Caller, kind: Kind) -> list[Check]:
        """A site's own numbers go before the server's. In the contract's order: address, key, user."""
        ours, theirs = self._settings, caller.site.settings.rate_limits if caller.site else None
        if kind == "read":
            ip = (theirs and theirs.ip_reads_per_minute) or ours.ip_reads_per_minute
            user = (theirs and theirs.user_reads_per_minute) or ours.user_reads_per_minute
            key = ours.key_reads_per_minute
        else:
            ip = (theirs and theirs.ip_writes_per_minute) or ours.ip_writes_per_minute
            user = (theirs and theirs.user_writes_per_minute) or ours.user_writes_per_minute
            key = ours.key_writes_per_minute
        found = [] if caller.is_owner else [Check("ip", f"{caller.client}.{kind[0]}", ip)]
        if key is not None and caller.site:
            found.append(Check("key", f"all.{kind[0]}", key))
        if caller.user_id:
            found.append(Check("user", f"{caller.user_id}.{kind[0]}", user))
        return found

    def spend(self, caller: Caller, kind: Kind) -> Standing | None:
        """Count one request in memory, or raise. None when nothing limits it."""
        now_s = self._clock.now_ms() // 1000
        checks = self.checks(caller, kind)
        counted = [self.counted(caller.site, check, now_s) for check in checks]
        for check, count in zip(checks, counted, strict=True):
            if count.used >= check.limit:
                self.ask_about(count)
                raise refusal(check, kind, now_s)
        for count in counted:
            self.add(count)
        return standing(checks, [count.used for count in counted], kind, now_s)

    async def spend_write(self, caller: Caller) -> Standing | None:
        """Count one write in the store, or raise; in memory while the store is away."""
        write = self.writing(caller)
        if not write.checks:
            return None
        try:
            write.judge(*await self._count_request(write.keys, write.limits))
        except (RedisError, OSError) as error:
            return self.spend_without_store(caller, "write", error)
        return write.standing

    def spend_without_store(self, caller: Caller, kind: Kind, error: Exception) -> Standing | None:
        """Count a request that the store could not be asked about."""
        self._outage.began(error)
        return self.spend(caller, kind)

    def writing(self, caller: Caller) -> "CountedWrite":
        """A write that is counted in the pipeline of whoever asks the store anyway."""
        now_s = self._clock.now_ms() // 1000
        checks = self.checks(caller, "write")
        keys = self._keys.site(caller.site.id if caller.site else NO_SITE)
        names = [keys.requests(check.layer, check.name, now_s // MINUTE_S) for check in checks]
        return CountedWrite(self._count_request, checks, names, now_s)

    def counted(self, site: Site | None, check: Check, now_s: int) -> Counted:
        """The count of somebody, in the minute that it is now."""
        site_id, minute = site.id if site else NO_SITE, now_s // MINUTE_S
        counted = self._counted.get((site_id, check.layer, check.name))
        if counted is None:
            name = check.name if self._has_room(minute) else OTHERS
            counted = self._counted.setdefault(
                (site_id, check.layer, name), Counted(site_id, check.layer, name, minute)
            )
        if counted.minute != minute:
            counted.begin(minute)
        return counted

    def add(self, counted: Counted) -> None:
        counted.ours += 1
        if not counted.is_unsent:
            self.ask_about(counted)

    def ask_about(self, counted: Counted) -> None:
        """Have it brought together with what other workers counted, at the next look."""
        if not counted.is_unsent:
            counted.is_unsent = True
            self._unsent.append(counted)

    def _has_room(self, minute: int) -> bool:
        """Makes some by forgetting past minutes, and what the store remembers. Without the store nobody is forgotten,
        which would give them a fresh minute; newcomers then share one count."""
        most = MOST_WITHOUT_STORE if self._outage.is_on else MOST_COUNTED
        if len(self._counted) < most:
            return True
        now_ms = self._clock.now_ms()
        if now_ms - self._tidied_ms < TIDY_EVERY_MS:  # going through all of them for each newcomer would be the attack
            return False
        self._tidied_ms = now_ms
        idle = [name for name, counted in self._counted.items() if counted.minute != minute]
        if not self._outage.is_on:
            idle += [name for name, one in self._counted.items() if one.minute == minute and not one.is_unsent]
        for name in idle:
            del self._counted[name]
        return len(self._counted) < most

    # --- Bringing the workers' counts together -----------------------------------------------------------------------

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="request limits")

    async def stop(self) -> None:
        self._stopping.set()
        if self._task:
            await self._task

    async def _run(self) -> None:
        while not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), FLUSH_EVERY_S)
            if self._outage.is_waiting or not (self._unsent or self._outage.is_on):
                continue
            try:
                await self.flush()
                self._outage.ended()
            except (RedisError, OSError) as error:
                self._outage.began(error)

    async def flush(self) -> None:
        """Tell the store what was counted here, and hear what was counted elsewhere."""
        minute = self._clock.now_ms() // 1000 // MINUTE_S
        unsent, self._unsent = self._unsent, []
        for counted in unsent:
            counted.is_unsent = False
        batches = _by_site([counted for counted in unsent if counted.minute == minute])
        taken = [[counted.ours for counted in batch] for batch in batches]
        try:
            totals = await self._add_requests(
                [([self._key(one) for one in batch], ours) for batch, ours in zip(batches, taken, strict=True)]
            )
        except (RedisError, OSError):
            for batch in batches:
                for counted in batch:
                    self.ask_about(counted)
            raise
        for batch, ours, counts in zip(batches, taken, totals, strict=True):
            for counted, sent, total in zip(batch, ours, counts, strict=True):
                if counted.minute == minute:
                    counted.known, counted.ours = total, counted.ours - sent

    def _key(self, counted: Counted) -> str:
        return self._keys.site(counted.site_id).requests(counted.layer, counted.name, counted.minute)


class CountedWrite:
    """A write that is being counted, and where its caller stands then."""

    def __init__(self, script: CountRequest, checks: list[Check], keys: list[str], now_s: int) -> None:
        self.checks = checks
        self.keys = keys
        self.limits = [check.limit for check in checks]
        self.standing: Standing | None = None
        self._script = script
        self._now_s = now_s

    def put(self, pipe: Any) -> None:
        self._script.put(pipe, self.keys, self.limits)

    async def got(self, reply: Any) -> None:
        self.judge(*await self._script.got(reply, self.keys, self.limits))

    def judge(self, used_up: int, counts: Sequence[int]) -> None:
        if used_up:
            raise refusal(self.checks[used_up - 1], "write", self._now_s)
        self.standing = standing(self.checks, counts, "write", self._now_s)


def standing(checks: Sequence[Check], used: Sequence[int], kind: Kind, now_s: int) -> Standing | None:
    """What the headers say: where the user stands, else where the address does."""
    for check, count in reversed(list(zip(checks, used, strict=True))):
        if check.layer != "key":
            return Standing(kind, check.limit, max(0, check.limit - count), now_s)
    return None


def refusal(check: Check, kind: Kind, now_s: int) -> RateLimited:
    where = Standing(kind, check.limit, 0, now_s)
    return RateLimited(layer=_LAYERS[check.layer], limit_type="minute", retry_after_s=where.wait_s, standing=where)


def _by_site(counted: Sequence[Counted]) -> "list[list[Counted]]":
    """In portions that are about one site each, because in a cluster a script touches only one."""
    sites: dict[SiteId, list[Counted]] = {}
    for one in counted:
        sites.setdefault(one.site_id, []).append(one)
    return [part[start : start + KEYS_A_CALL] for part in sites.values() for start in range(0, len(part), KEYS_A_CALL)]
