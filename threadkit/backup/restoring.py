"""Puts a backup back into an empty store.

A mark stands in the store from before the first key until after the last: whatever would start on half of the data
refuses to. Whoever comes after a crash begins anew.
"""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
from redis.exceptions import ResponseError

from threadkit.backup.capture import OnProgress
from threadkit.backup.census import Census, differences
from threadkit.backup.file import read_records, unlock
from threadkit.backup.model import SECRETS, BackupFailed, Count, Header, Record
from threadkit.backup.node import Node, all_keys, anybody_listens, open_nodes
from threadkit.backup.service import check
from threadkit.clock import Clock, iso
from threadkit.doctor.deep.names import AllNames
from threadkit.storage.client import Commands, Store, close_client
from threadkit.storage.keys import Keys
from threadkit.storage.stamp import SCHEMA_VERSION, refuse_open_prefix

BATCH = 500
BATCH_BYTES = 4 << 20
_TAG = re.compile(rb"^\{[^}]*\}")
# A cluster has one for each site, a single store one for all of them.
_VOTED_PAGES = re.compile(rb"^\{[^}]*\}votes:[^:]+:pages$")


class RestoreService:
    def __init__(self, *, store: Store, keys: Keys, clock: Clock, fingerprint: str) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        self._fingerprint = fingerprint
        self._names = AllNames(keys)
        self._tagged_names = AllNames(Keys(keys.prefix, tagged=True))
        shared = keys.shared
        self._own = {key.encode() for key in (shared.stamp(), shared.write_probe(), shared.restoring())}

    async def fill(
        self, path: Path, *, new_secret: bool, passphrase: str | None = None, on_progress: OnProgress
    ) -> Header:
        """Everything is there when this returns, and nobody is let in before `finish`."""
        key = unlock(path, passphrase)
        header = check(path, key)
        self._refuse_what_cannot_be_used(path, header, new_secret)
        client = self._store.waiting_client()
        try:
            async with open_nodes(self._store) as nodes:
                await self._refuse_beside_servers(nodes)
                await self._begin(nodes, client, path)
                left_out = await self._write(client, read_records(path, header, key), header, new_secret, on_progress)
                await self._compare(nodes, header, left_out)
                if header.is_tagged and not self._keys.tagged:
                    await self._merge_voted_pages(nodes, client)
        finally:
            await close_client(client)
        return header

    async def finish(self) -> None:
        await self._store.redis.unlink(self._keys.shared.restoring())

    # --- What is refused ----------------------------------------------------------------------------------------------

    def _refuse_what_cannot_be_used(self, path: Path, header: Header, new_secret: bool) -> None:
        if header.schema_version > SCHEMA_VERSION:
            raise BackupFailed(f"{path} was made by ThreadKit {header.threadkit}. Use that version or a newer one.")
        if self._keys.tagged and not header.is_tagged:
            raise BackupFailed(
                f"{path} was made from a single store, and cannot be put back into a cluster. Restore it into a data "
                "folder of its own, and move that with `threadkit copy`."
            )
        if header.prefix != self._keys.prefix:
            refuse_open_prefix(self._keys)
        if header.secret != self._fingerprint and not new_secret:
            raise BackupFailed(
                f"{path} was made with another server secret. Put the secret.key of that time into the data folder, or "
                "set THREADKIT_SECRET to the secret of that time. If it is lost, --new-secret restores everything but "
                "what only that secret opens: people sign in again, and secrets for single sign-on are made anew."
            )

    async def _refuse_beside_servers(self, nodes: list[Node]) -> None:
        if await anybody_listens(nodes, self._keys.shared.site_changes()):
            raise BackupFailed("A ThreadKit server is running on this store. Stop it first.")

    async def _begin(self, nodes: list[Node], client: Commands, path: Path) -> None:
        mark = self._keys.shared.restoring()
        if await client.exists(mark):  # all that is here was put here by a restore that did not come to its end
            async for keys in self._all_ours(nodes):
                await _in_one_go(client, [("UNLINK", key) for key in keys if key != mark.encode()])
        await self._refuse_data(nodes)
        facts = {"file": path.name, "since": iso(self._clock.now_ms())}
        await client.hset(mark, mapping=facts)
        try:
            await self._refuse_data(nodes)  # a server may have started just before the mark was there
        except BackupFailed:
            await client.unlink(mark)
            raise

    async def _refuse_data(self, nodes: list[Node]) -> None:
        found = 0
        # Without a prefix the whole store has to be ours.
        async for keys in self._all_ours(nodes) if self._keys.prefix else all_keys(nodes, ""):
            found += sum(key not in self._own for key in keys)
        if found:
            raise BackupFailed(
                f"The store at {self._store.address} holds data already: {found:,} keys. A backup is only put back into "
                "an empty one: choose another data folder (--data), empty the store, or set another key_prefix."
            )

    # --- How it is done -----------------------------------------------------------------------------------------------

    async def _write(
        self,
        client: Commands,
        records: Iterator[Record],
        header: Header,
        new_secret: bool,
        on_progress: OnProgress,
    ) -> dict[str, Count]:
        """Says what it left out: secrets of another server, and what older versions took along of other installations."""
        left_out, done, total = Census(), 0, header.keys
        names = AllNames(Keys(tagged=header.is_tagged))
        for batch in _batches(records):
            commands = []
            for record in batch:
                entry = left_out.entry_of(record.key)
                if names.is_known(record.key) and not (new_secret and entry is not None and entry.name in SECRETS):
                    commands.append(self._command(record, header))
                elif record.value is None:
                    left_out.remove(record.key)
                else:
                    left_out.add(record.key, ends=record.expires_ms >= 0)
            try:
                await _in_one_go(client, commands)
            except ResponseError as error:
                raise BackupFailed(
                    f"The store refuses what {header.store} wrote: {error}. Use {header.store} or a newer one."
                ) from error
            done += len(batch)
            on_progress(min(done, total), total)
        if new_secret:
            await client.hset(self._keys.shared.stamp(), "secret", self._fingerprint)
        return left_out.counts()

    def _command(self, record: Record, header: Header) -> tuple[Any, ...]:
        keeps_name = self._keys.tagged or not header.is_tagged or _VOTED_PAGES.match(record.key)
        key = self._keys.prefix.encode() + (record.key if keeps_name else _TAG.sub(b"", record.key))
        if record.value is None:
            return ("UNLINK", key)
        return ("RESTORE", key, max(record.expires_ms, 0), record.value, "REPLACE", "ABSTTL")

    async def _compare(self, nodes: list[Node], header: Header, left_out: dict[str, Count]) -> None:
        census, shared = Census(), self._keys.shared
        ours = {key.encode() for key in (shared.restoring(), shared.write_probe())}  # written meanwhile
        length = len(self._keys.prefix.encode())
        async for keys in self._all_ours(nodes):
            for key in keys:
                if key not in ours:
                    census.add(key[length:], ends=False)
        wrong = differences(_without(header, left_out), census.counts(), may_have_ended=True)
        if wrong:
            raise BackupFailed(f"Not everything arrived in the store: {'; '.join(wrong)}. Restore it once more.")

    async def _all_ours(self, nodes: list[Node]) -> AsyncIterator[list[bytes]]:
        async for keys in all_keys(nodes, self._keys.prefix):
            # Of a cluster's backup, what is merged at the end has its tag until then.
            yield [key for key in keys if self._names.is_known(key) or self._tagged_names.is_known(key)]

    async def _merge_voted_pages(self, nodes: list[Node], client: Commands) -> None:
        prefix = self._keys.prefix
        async for keys in all_keys(nodes, f"{prefix}{{"):
            for key in filter(self._tagged_names.is_known, keys):
                merged = prefix.encode() + _TAG.sub(b"", key[len(prefix.encode()) :])
                await _in_one_go(client, [("SUNIONSTORE", merged, merged, key), ("UNLINK", key)])


def _without(header: Header, left_out: dict[str, Count]) -> Header:
    counts = dict(header.counts)
    for kind, count in left_out.items():
        there = counts.get(kind, Count(0, 0))
        counts[kind] = Count(there.keys - count.keys, there.passing - count.passing)
    return msgspec.structs.replace(header, counts=counts)


async def _in_one_go(client: Commands, commands: list[tuple[Any, ...]]) -> None:
    if not commands:
        return
    async with client.pipeline(transaction=False) as pipe:
        for command in commands:
            pipe.execute_command(*command)
        await pipe.execute()


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    size = 0
    for record in records:
        batch.append(record)
        size += len(record.value or b"")
        if len(batch) >= BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
