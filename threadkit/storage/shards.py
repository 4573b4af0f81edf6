"""Pub/Sub in a cluster: what concerns a site or a person is heard from the primary that has its slot."""

import asyncio
import contextlib
from collections.abc import Callable, Collection

import structlog
from redis.asyncio.cluster import ClusterNode
from redis.exceptions import RedisError

from threadkit.storage.cluster import SteadyCluster
from threadkit.storage.shard import EVERYWHERE, Address, Shard, address_of, slot_of

log = structlog.get_logger()

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0
_LOOK_EVERY_S = 1.0
_UNSURE_S = 5.0  # after a loss the first to be asked may not know yet; the old primary, now a replica, takes us back


class Shards:
    """Keeps a connection to every primary, and asks for each channel where its slot is.

    A lost connection, a refusal, a channel that its node takes away and a slot that the layout shows elsewhere are all
    the same: the channel is unheard, and asked for again. `on_settled` is called for channels that a node has confirmed,
    or of which none is going to for now; `on_back` for those that are heard again after messages may have been missed.

    What concerns all servers is asked for at every primary, and heard as often; it is missed only while none is there,
    of which `on_everybody` is told.
    """

    def __init__(
        self,
        cluster: SteadyCluster,
        *,
        hear: Callable[[str, str], None],
        on_settled: Callable[[Collection[str]], None],
        on_back: Callable[[Collection[str]], None],
        on_everybody: Callable[[bool], None],
    ) -> None:
        self.hear = hear
        self._cluster = cluster
        self._on_settled = on_settled
        self._on_back = on_back
        self._on_everybody = on_everybody
        self._shards: dict[Address, Shard] = {}
        self._listening: dict[Shard, asyncio.Task[None]] = {}
        self._everywhere: set[str] = set()
        self._hears_everybody = False
        self._unasked: set[str] = set()
        self._unheard: set[str] = set()  # these, and what was asked for again and is not confirmed yet
        self._trouble = asyncio.Event()
        self._unsure_until = 0.0
        self._keeping: asyncio.Task[None] | None = None

    @property
    def hears_all(self) -> bool:
        return not self._unheard and bool(self._shards) and all(shard.is_up for shard in self._shards.values())

    async def start(self) -> None:
        """Returns when every primary has been tried once."""
        await self._look()
        for shard in list(self._shards.values()):
            await shard.is_tried.wait()
        self._keeping = asyncio.create_task(self._keep(), name="shards")
        self._note_everybody()

    async def stop(self) -> None:
        await ended(self._keeping)
        for task in list(self._listening.values()):
            await ended(task)

    def ask_for(self, channel: str) -> bool:
        """Says whether an answer is to be expected; if not, the channel is asked for as soon as its node is there."""
        slot = slot_of(channel)
        if slot == EVERYWHERE:
            self._everywhere.add(channel)
            there = [shard for shard in self._shards.values() if shard.is_up]
            for one in there:
                one.ask_for(slot, {channel})
            return bool(there)
        shard = self._shard_of(slot)
        if shard is None or not shard.is_up:
            self.is_unheard({channel})
            return False
        shard.ask_for(slot, {channel})
        return True

    def leave(self, channel: str) -> None:
        for channels in (self._everywhere, self._unasked, self._unheard):
            channels.discard(channel)
        for shard in self._shards.values():
            shard.leave(slot_of(channel), {channel})

    # --- What shards tell ---------------------------------------------------------------------------------------------

    def is_heard(self, channels: Collection[str]) -> None:
        self._on_settled(channels)
        if back := self._unheard.intersection(channels):
            self._unheard -= back
            self._on_back(back)
        self._note_everybody()

    def is_unheard(self, channels: Collection[str]) -> None:
        self._unasked.update(channels)
        self._unheard.update(channels)
        self._on_settled(channels)
        if channels:
            self._unsure_until = asyncio.get_running_loop().time() + _UNSURE_S
        self._trouble.set()

    # --- Where slots are ----------------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                async with asyncio.timeout(_LOOK_EVERY_S):
                    await self._trouble.wait()
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            except TimeoutError:
                pause_s = _FIRST_PAUSE_S
            await self._look()
            await asyncio.sleep(pause_s)

    async def _look(self) -> None:
        is_unsure = self._trouble.is_set() or asyncio.get_running_loop().time() < self._unsure_until
        self._trouble.clear()
        try:
            await asyncio.gather(*map(self._leave_if_cut_off, list(self._shards.values())))
            # One shard's trouble must not keep the others' commands waiting, as `learn_again` would.
            await (self._cluster.learn() if is_unsure else self._cluster.initialize())
        except Exception as error:  # whatever it was: nobody else would look again
            if not isinstance(error, RedisError | OSError):
                log.warning("layout_not_learnt", why=repr(error))
            self._trouble.set()
        self._follow_layout()
        self._ask_for_the_unasked()
        if self._unasked:
            self._trouble.set()

    async def _leave_if_cut_off(self, shard: Shard) -> None:
        """A node that the others do not reach may be one that we still reach, and where nobody writes any more."""
        with contextlib.suppress(RedisError, OSError):  # nobody can tell
            if await self._cluster.was_cut_off(*shard.address):
                self._let_go(shard)
        if self._cluster.is_deaf(*shard.address):
            shard.hears_everybody = False
            self._note_everybody()

    def _follow_layout(self) -> None:
        """Commands of others learn the layout too, so slots may be elsewhere without our having heard of it."""
        primaries = {address_of(node): node for node in self._cluster.get_primaries()}
        for address in self._shards.keys() - primaries.keys():
            self._let_go(self._shards[address])
        for address, node in primaries.items():
            if address not in self._shards:
                shard = self._shards[address] = Shard(node, self)
                self._listening[shard] = asyncio.create_task(self._listen(shard), name=f"shard-{node.name}")
        for address, shard in self._shards.items():
            for slot in [slot for slot in shard.channels if self._home_of(slot) not in (None, address)]:
                channels = set(shard.channels[slot])
                shard.leave(slot, channels)
                self.is_unheard(channels)

    def _ask_for_the_unasked(self) -> None:
        by_slot: dict[int, set[str]] = {}
        for channel in self._unasked:
            by_slot.setdefault(slot_of(channel), set()).add(channel)
        for slot, channels in by_slot.items():
            shard = self._shard_of(slot)
            if shard is not None and shard.is_up:
                self._unasked -= channels
                shard.ask_for(slot, channels)

    async def _listen(self, shard: Shard) -> None:
        was_up = False

        def up() -> None:
            nonlocal was_up
            was_up = True
            if self._everywhere:
                shard.ask_for(EVERYWHERE, self._everywhere)
            self._ask_for_the_unasked()

        try:
            await shard.listen(up)
        except Exception as error:  # whatever it was, another connection is made
            if was_up:
                log.warning("shard_lost", node="{}:{}".format(*shard.address), why=repr(error))
        finally:
            del self._listening[shard]
            self._let_go(shard)

    def _let_go(self, shard: Shard) -> None:
        if self._shards.get(shard.address) is shard:
            del self._shards[shard.address]
        if (listening := self._listening.get(shard)) is not None:
            shard.is_left = True  # also if the library swallows the cancellation
            listening.cancel()
        self._on_settled(shard.channels.pop(EVERYWHERE, set()))
        self.is_unheard({channel for channels in shard.channels.values() for channel in channels})
        shard.channels.clear()
        self._note_everybody()

    def _note_everybody(self) -> None:
        """Only once every primary has been tried: whoever waits for the first time waits for all."""
        hears = self._keeping is not None and any(shard.hears_everybody for shard in self._shards.values())
        if hears != self._hears_everybody:
            self._hears_everybody = hears
            self._on_everybody(hears)

    def _shard_of(self, slot: int) -> Shard | None:
        home = self._home_of(slot)
        return self._shards.get(home) if home else None

    def _home_of(self, slot: int) -> Address | None:
        nodes: list[ClusterNode] | None = self._cluster.nodes_manager.slots_cache.get(slot)
        return address_of(nodes[0]) if nodes else None


async def ended(task: asyncio.Task[None] | None) -> None:
    """End a task that talks to the store; the client library has been seen to swallow a cancellation."""
    while task is not None and not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=1)
