"""Copies everything from one store into an empty one, and compares both afterwards.

A mark stands in the target from before the first key until after the last look: whatever would start on half of the data
refuses to. Whoever comes after a crash goes on: what is the same already is not written again, and what is no longer in
the source is taken away.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from redis.exceptions import ResponseError

from threadkit.backup.node import anybody_listens
from threadkit.clock import Clock, iso
from threadkit.copying import pouring
from threadkit.copying.contents import Contents
from threadkit.copying.model import CopyFailed, CopyReport, Tallies
from threadkit.copying.side import Command, Side, raw
from threadkit.copying.translation import Translation
from threadkit.doctor.deep.names import Known
from threadkit.storage.stamp import SCHEMA_VERSION, refuse_open_prefix

# Leases, who looks at a page, counts of requests: by the time a server starts on the copy they have ended anyway.
SHORT_LIVED_S = 120
_MARKS = frozenset({"shared.restoring", "shared.copying"})
_VERSION_AND_CHECKSUM = 10  # the last bytes of what DUMP answers
_NO_KEY = -2

OnProgress = Callable[[str, int, int], None]


class _Pair(NamedTuple):
    name: Known
    source: bytes
    target: bytes


class _Value(NamedTuple):
    dump: bytes | None
    expires_ms: int

    def is_same(self, other: "_Value") -> bool:
        return (
            self.expires_ms == other.expires_ms
            and self.dump is not None
            and other.dump is not None
            and self.dump[:-_VERSION_AND_CHECKSUM] == other.dump[:-_VERSION_AND_CHECKSUM]
        )


class CopyService:
    def __init__(self, *, source: Side, target: Side, clock: Clock) -> None:
        self._source = source
        self._target = target
        self._clock = clock
        self._there = Translation(source, target)
        self._back = Translation(target, source)
        self._contents = Contents(source, target)
        self._mark = target.keys.shared.copying()
        shared = target.keys.shared
        self._own = {raw(key) for key in (shared.stamp(), shared.write_probe(), self._mark)}

    async def fill(self, on_progress: OnProgress) -> CopyReport:
        """Everything is there and compared when this returns, and nobody is let in before `finish`."""
        await self._refuse_source()
        is_resumed = await self._begin()
        if not await self._source.shares_a_server_with(self._target):  # which does not tell its databases apart
            for node in self._source.nodes:
                await node.listen_for_changes(self._source.keys.prefix)
        if is_resumed:
            await self._sweep(on_progress)
        await self._copy(on_progress, compares=is_resumed)
        tallies = Tallies()
        await self._compare(tallies, on_progress)
        await self._look_for_surplus(tallies, on_progress)
        if wrong := tallies.differences():
            raise CopyFailed(f"The copy is not the same as the source: {'; '.join(wrong)}. Run this once more.")
        return CopyReport(
            is_resumed=is_resumed,
            keys=tallies.arrived.total(),
            counts={
                kind: (tallies.there[kind], tallies.arrived[kind])
                for kind in sorted({*tallies.there, *tallies.arrived})
            },
            left_behind=tallies.left_behind,
            unknown=tallies.unknown,
        )

    async def finish(self) -> None:
        """The last look at the source, and then the copy is open to everybody."""
        await self._refuse_changes()
        await self._target.ask_one("UNLINK", self._mark)

    # --- What is refused ----------------------------------------------------------------------------------------------

    async def _refuse_source(self) -> None:
        await self._refuse_servers(self._source)
        shared = self._source.keys.shared
        version = await self._source.ask_one("HGET", shared.stamp(), "schema_version")
        if version is None:
            prefix = f" under the prefix {self._source.keys.prefix!r}" if self._source.keys.prefix else ""
            raise CopyFailed(f"There is no data of ThreadKit in the store at {self._source}{prefix}.")
        if int(version) > SCHEMA_VERSION:
            raise CopyFailed(f"The data in {self._source} was written by a newer ThreadKit. Use that one.")
        for mark in (shared.restoring(), shared.copying()):
            if await self._source.ask_one("EXISTS", mark):
                raise CopyFailed(
                    f"The data in {self._source} is not complete: a restore or a copy into it did not come to its end."
                )

    async def _refuse_servers(self, side: Side) -> None:
        if await anybody_listens(side.nodes, side.keys.shared.site_changes()):
            raise CopyFailed(f"A ThreadKit server is running on the store at {side}. Stop it first.")

    async def _refuse_data(self) -> None:
        found = 0
        refuse_open_prefix(self._target.keys)
        async for keys in self._target.batches():
            # Without a prefix the whole store has to be ours.
            ours = [key for key in keys if self._target.known(key)] if self._target.keys.prefix else keys
            found += sum(key not in self._own for key in ours)
        if found:
            raise CopyFailed(
                f"The store at {self._target} holds data already: {found:,} keys. A copy is only made into an empty one: "
                "choose another one, empty it, or name a prefix that nothing has there."
            )

    async def _refuse_changes(self) -> None:
        """Keys that end by themselves do so meanwhile; anything else was written by somebody."""
        await self._refuse_servers(self._source)
        for node in self._source.nodes:
            await node.ask(("PING",))  # whatever changed before is known when this is answered
            for key in node.take_changed():
                name = self._source.known(key)
                if name is not None and name.entry.ttl_s is None:
                    raise CopyFailed(
                        f"Something wrote to the store at {self._source} while it was copied ({name.key}). "
                        "Stop it, and run this once more."
                    )

    async def _begin(self) -> bool:
        """Whether it goes on with a copy that did not come to its end."""
        await self._refuse_servers(self._target)
        if await self._target.ask_one("EXISTS", self._mark):
            return True
        await self._refuse_data()
        since = iso(self._clock.now_ms())
        await self._target.ask_one("HSET", self._mark, "source", str(self._source), "since", since)
        try:
            await self._refuse_data()  # a server may have started just before the mark was there
        except CopyFailed:
            await self._target.ask_one("UNLINK", self._mark)
            raise
        return False

    # --- How it is done -----------------------------------------------------------------------------------------------

    async def _sweep(self, on_progress: OnProgress) -> None:
        """What the source no longer has, and what is put together anew."""
        done, total = 0, await self._target.size()
        async for keys in self._target.batches():
            names = [name for key in keys if (name := self._target.known(key)) and name.of not in _MARKS]
            kept = [name for name in names if _is_copied(name) and not self._back.is_regrouped(name)]
            kept_keys = {name.key for name in kept} - {name.key for name in await self._without_source(kept)}
            doomed = [name for name in names if name.key not in kept_keys]
            await self._target.ask([("UNLINK", raw(name.key)) for name in doomed])
            done += len(keys)
            on_progress("Looking at what is there", done, max(done, total))

    async def _copy(self, on_progress: OnProgress, *, compares: bool) -> None:
        done, total = 0, await self._source.size()
        async for keys in self._source.batches():
            names = self._names(keys, None)
            pairs = await self._pairs(names, None)
            values = await _values(self._source, [pair.source for pair in pairs])
            others = await _values(self._target, [pair.target for pair in pairs]) if compares else []
            commands: list[Command] = []
            for place, (pair, value) in enumerate(zip(pairs, values, strict=True)):
                if value.dump is None or (compares and value.is_same(others[place])):
                    continue
                if len(value.dump) > pouring.LARGE:
                    await pouring.pour(self._source, self._target, pair.source, pair.target, value.expires_ms)
                else:
                    ends = max(value.expires_ms, 0)
                    commands.append(("RESTORE", pair.target, ends, value.dump, "REPLACE", "ABSTTL"))
            for name in names:
                if self._there.is_regrouped(name):
                    groups, _ = await self._there.groups(name)
                    commands += [("SADD", key, *members) for key, members in groups.items()]
            await self._write(commands)
            done += len(keys)
            on_progress("Copying", done, max(done, total))

    async def _write(self, commands: Sequence[Command]) -> None:
        try:
            await self._target.ask(commands)
        except ResponseError as error:
            raise CopyFailed(
                f"The store at {self._target} refuses what {self._source} wrote: {error}. It needs room for all of it, and "
                "must be the same program in the same version or a newer one. Then run this again; it goes on."
            ) from error

    async def _compare(self, tallies: Tallies, on_progress: OnProgress) -> None:
        """Everything in the source is in the target, to the byte."""
        done, total = 0, await self._source.size()
        async for keys in self._source.batches():
            names = self._names(keys, tallies)
            pairs = await self._pairs(names, tallies)
            values = await _values(self._source, [pair.source for pair in pairs])
            others = await _values(self._target, [pair.target for pair in pairs])
            for pair, value, other in zip(pairs, values, others, strict=True):
                if not value.is_same(other):
                    await self._compare_closely(pair, tallies)
            for name in names:
                if self._there.is_regrouped(name):
                    await self._compare_groups(name, tallies)
            done += len(keys)
            on_progress("Comparing", done, max(done, total))

    async def _compare_closely(self, pair: _Pair, tallies: Tallies) -> None:
        ends, ends_there = (
            await self._source.ask_one("PEXPIRETIME", pair.source),
            await self._target.ask_one("PEXPIRETIME", pair.target),
        )
        if ends == _NO_KEY or (ends_there == _NO_KEY and 0 <= ends <= self._clock.now_ms()):
            return  # it has ended by itself
        if ends_there == _NO_KEY:
            tallies.missing[pair.name.entry.pattern] += 1
        elif ends != ends_there or not await self._contents.are_same(pair.source, pair.target):
            tallies.different[pair.name.entry.pattern] += 1

    async def _compare_groups(self, name: Known, tallies: Tallies) -> None:
        groups, lost = await self._there.groups(name)
        if lost:
            tallies.leave_behind(name.entry.pattern, raw(name.key))
        for key, members in groups.items():
            is_there = await self._target.ask_one("SMISMEMBER", key, *members)
            # Of several sites in one key, each is looked for by itself.
            is_all = self._source.keys.tagged or await self._target.ask_one("SCARD", key) == len(members)
            if not all(is_there) or not is_all:
                tallies.different[name.entry.pattern] += 1

    async def _look_for_surplus(self, tallies: Tallies, on_progress: OnProgress) -> None:
        """Everything in the target is in the source."""
        done, total = 0, await self._target.size()
        async for keys in self._target.batches():
            names = [name for key in keys if (name := self._target.known(key)) and _is_copied(name)]
            tallies.arrived.update(name.entry.pattern for name in names)
            surplus = await self._without_source([name for name in names if not self._back.is_regrouped(name)])
            tallies.surplus.update(name.entry.pattern for name in surplus if name.entry.ttl_s is None)
            done += len(keys)
            on_progress("Counting", done, max(done, total))

    def _names(self, keys: Sequence[bytes], tallies: Tallies | None) -> list[Known]:
        known = [self._source.known(key) for key in keys]
        names = [name for name in known if name and _is_copied(name)]
        if tallies:
            tallies.unknown += known.count(None)
            tallies.there.update(name.entry.pattern for name in names)
        return names

    async def _pairs(self, names: Sequence[Known], tallies: Tallies | None) -> list[_Pair]:
        plain = [name for name in names if not self._there.is_regrouped(name)]
        pairs = []
        for name, key in zip(plain, await self._there.names(plain), strict=True):
            if key is not None:
                pairs.append(_Pair(name, raw(name.key), key))
            elif tallies:
                tallies.leave_behind(name.entry.pattern, raw(name.key))
        return pairs

    async def _without_source(self, names: Sequence[Known]) -> list[Known]:
        """Those that the source does not have. What cannot be traced back to a key there was made from one all the same."""
        keys = await self._back.names(names)
        asked = [(name, key) for name, key in zip(names, keys, strict=True) if key is not None]
        is_there = await self._source.ask([("EXISTS", key) for _, key in asked])
        return [name for (name, _), answer in zip(asked, is_there, strict=True) if not answer]


def _is_copied(name: Known) -> bool:
    return name.of not in _MARKS and (name.entry.ttl_s is None or name.entry.ttl_s > SHORT_LIVED_S)


async def _values(side: Side, keys: Sequence[bytes]) -> list[_Value]:
    answers = await side.ask([command for key in keys for command in (("DUMP", key), ("PEXPIRETIME", key))])
    return [
        _Value(dump, expires_ms) if expires_ms != _NO_KEY else _Value(None, expires_ms)
        for dump, expires_ms in zip(answers[::2], answers[1::2], strict=True)
    ]
