"""Making backups, and looking whether they can be relied on."""

import contextlib
from pathlib import Path

from threadkit import __version__
from threadkit.backup.capture import Capture, OnProgress
from threadkit.backup.census import Census, differences
from threadkit.backup.file import BackupWriter, read_header, read_records, unlock
from threadkit.backup.folder import BackupFolder, found, mark_verified
from threadkit.backup.model import MOMENTARY, SECRETS, BackupFailed, FoundBackup, Header, Record
from threadkit.backup.node import Node, open_nodes
from threadkit.backup.sealing import FileKey
from threadkit.clock import Clock
from threadkit.doctor.deep.names import AllNames
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys
from threadkit.storage.stamp import SCHEMA_VERSION


def _nobody(_done: int, _total: int) -> None:
    """Nobody looks."""


class BackupService:
    def __init__(self, *, store: Store, keys: Keys, clock: Clock, fingerprint: str) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        self._fingerprint = fingerprint

    async def create(
        self,
        folder: BackupFolder,
        *,
        keep: int | None = None,
        without_secrets: bool = False,
        passphrase: str | None = None,
        on_progress: OnProgress = _nobody,
    ) -> FoundBackup:
        """Write the whole store to a file, read that again, and let the oldest ones go when `keep` says so. With a
        passphrase it is encrypted."""
        started_ms = self._clock.now_ms()
        key = None if passphrase is None else FileKey.new(passphrase)
        with folder.writing(started_ms) as draft:
            with contextlib.closing(BackupWriter(draft, key)) as writer:
                header = await self._write(writer, started_ms, without_secrets, on_progress)
                writer.finish(header)
            check(draft, unlock(draft, passphrase))
            path = draft.with_name(draft.name.removeprefix(".").removesuffix(".part"))
        mark_verified(path, header.body_sha256, self._clock.now_ms())
        await self._store.redis.hset(self._keys.shared.backups(), "done_ms", str(started_ms))
        if keep is not None:
            folder.rotate(keep)
            folder.note_failure(None)
        return found(path)

    async def _write(
        self, writer: BackupWriter, started_ms: int, without_secrets: bool, on_progress: OnProgress
    ) -> Header:
        census = Census()
        left_out = MOMENTARY | SECRETS if without_secrets else MOMENTARY
        names = AllNames(Keys(tagged=self._keys.tagged))

        def take(record: Record) -> None:
            if not names.is_known(record.key):
                return  # of another installation, or of nobody
            if (entry := census.entry_of(record.key)) and entry.name in left_out:
                return
            if record.value is not None:
                census.add(record.key, ends=record.expires_ms >= 0)
            elif not census.remove(record.key):
                return  # it came and went
            writer.write(record)

        async with open_nodes(self._store) as nodes:
            store = await _kind_of(nodes[0])
            capture = Capture(nodes, prefix=self._keys.prefix, take=take, on_progress=on_progress)
            is_one_moment = await capture.run()
        sha256 = writer.end_of_records()
        return Header(
            threadkit=__version__,
            schema_version=SCHEMA_VERSION,
            started_ms=started_ms,
            finished_ms=self._clock.now_ms(),
            store=store,
            prefix=self._keys.prefix,
            is_tagged=self._keys.tagged,
            secret=self._fingerprint,
            has_secrets=not without_secrets,
            is_one_moment=is_one_moment,
            counts=census.counts(),
            body_bytes=writer.body_bytes,
            body_sha256=sha256,
        )


def check(path: Path, key: FileKey | None) -> Header:
    """Read to the end, and count again."""
    header = read_header(path)
    census = Census()
    for record in read_records(path, header, key):
        if record.value is None:
            census.remove(record.key)
        else:
            census.add(record.key, ends=record.expires_ms >= 0)
    if wrong := differences(header, census.counts()):
        raise BackupFailed(f"{path} does not hold what it says, and cannot be relied on: {'; '.join(wrong)}.")
    return header


async def _kind_of(node: Node) -> str:
    (text,) = await node.ask(("INFO", "server"))
    text = text.decode() if isinstance(text, bytes) else str(text)
    facts = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return f"valkey {facts['valkey_version']}" if "valkey_version" in facts else f"redis {facts['redis_version']}"
