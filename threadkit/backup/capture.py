"""Reads the whole store as it is at one moment, while people go on writing.

Everything is read once, batch by batch, and the store tells which keys change meanwhile. These are read again, and
those that change during that again, until few are left. Then the store holds writers back for the blink in which the
last ones are read. See DECISIONS.md for why not a snapshot of the store's own.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence

from redis.exceptions import RedisError, ResponseError

from threadkit.backup.model import BackupFailed, Record
from threadkit.backup.node import Node

BATCH = 500
FEW = 500
MOST_ROUNDS = 30
TRIES = 5
PAUSE_MS = 1000  # less than anybody waits for a command
_NO_KEY = -2  # it ended between the two questions

Take = Callable[[Record], None]
OnProgress = Callable[[int, int], None]


class Capture:
    def __init__(self, nodes: Sequence[Node], *, prefix: str, take: Take, on_progress: OnProgress) -> None:
        self._nodes = nodes
        self._prefix = prefix
        self._take = take
        self._on_progress = on_progress
        self._read = 0

    async def run(self) -> bool:
        """Whether what was taken is how everything was at one moment."""
        are_heard = [await node.listen_for_changes(self._prefix) for node in self._nodes]
        shares = await self._shares()
        total = sum([(await node.ask(("DBSIZE",)))[0] for node in self._nodes])
        for node in self._nodes:
            await self._read_all(node, total)
        is_one_moment = all(are_heard) and await self._catch_up()
        if await self._shares() != shares:
            raise BackupFailed("The cluster moved keys between its servers while the backup was made. Make it again.")
        return is_one_moment

    async def _read_all(self, node: Node, total: int) -> None:
        cursor: bytes | None = None
        match = ("MATCH", f"{self._prefix}*") if self._prefix else ()
        while cursor != b"0":
            ((cursor, found),) = await node.ask(("SCAN", cursor or b"0", *match, "COUNT", str(BATCH)))
            await self._read_again(node, found)
            self._read += len(found)
            self._on_progress(self._read, max(total, self._read))

    async def _catch_up(self) -> bool:
        try:
            for _ in range(MOST_ROUNDS):
                if sum(len(node.changed) for node in self._nodes) <= FEW:
                    break
                await self._read_changed()
            for _ in range(TRIES):
                if await self._read_the_last_at_once():
                    return True
        except ResponseError:  # one that does not let us hold writers back
            await self._read_changed()
        return False

    async def _read_the_last_at_once(self) -> bool:
        """Whether all that was left could be read before writers were let go on by themselves."""
        began = time.monotonic()
        try:
            await self._ask_all("CLIENT", "PAUSE", str(PAUSE_MS), "WRITE")
            await self._ask_all("PING")  # whatever changed before the pause is known when this is answered
            last = [await _values(node, node.take_changed()) for node in self._nodes]
            is_in_time = (time.monotonic() - began) * 1000 < PAUSE_MS
        finally:
            with contextlib.suppress(RedisError, OSError):
                await self._ask_all("CLIENT", "UNPAUSE")
        for records in last:
            self._hand_over(records)
        return is_in_time

    async def _read_changed(self) -> None:
        for node in self._nodes:
            changed = list(node.changed)
            for start in range(0, len(changed), BATCH):
                await self._read_again(node, changed[start : start + BATCH])

    async def _read_again(self, node: Node, keys: Sequence[bytes]) -> None:
        node.changed.difference_update(keys)  # what changes from here on is heard again
        self._hand_over(await _values(node, keys))

    def _hand_over(self, records: Sequence[Record]) -> None:
        length = len(self._prefix.encode())
        for record in records:
            self._take(record._replace(key=record.key[length:]))

    async def _ask_all(self, *command: str) -> None:
        await asyncio.gather(*(node.ask(command) for node in self._nodes))

    async def _shares(self) -> list[tuple[int, int, bytes]]:
        """Which server of a cluster has which slots."""
        if len(self._nodes) == 1:
            return []
        (slots,) = await self._nodes[0].ask(("CLUSTER", "SLOTS"))
        return sorted((first, last, primary[2]) for first, last, primary, *_ in slots)


async def _values(node: Node, keys: Sequence[bytes]) -> list[Record]:
    if not keys:
        return []
    answers = await node.ask(*(command for key in keys for command in (("DUMP", key), ("PEXPIRETIME", key))))
    return [
        Record(key, max(expires_ms, -1), None if expires_ms == _NO_KEY else value)
        for key, value, expires_ms in zip(keys, answers[::2], answers[1::2], strict=True)
    ]
