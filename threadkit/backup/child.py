"""A backup in a process of its own, so that nobody's request waits for it. What to do comes over the standard input."""

import asyncio
import os
import sys

import msgspec
from msgspec import Struct
from redis.exceptions import RedisError

from threadkit.backup.folder import BackupFolder
from threadkit.backup.model import BackupFailed
from threadkit.backup.passphrase import passphrase_of
from threadkit.backup.service import BackupService
from threadkit.clock import SystemClock
from threadkit.settings import Settings
from threadkit.storage.client import Store, StoreAddress
from threadkit.storage.keys import Keys

NICE = 10


class Task(Struct, frozen=True, kw_only=True):
    address: StoreAddress
    settings: Settings
    tagged: bool
    fingerprint: str


async def _make(task: Task) -> str:
    settings = task.settings
    store = Store(task.address, settings.store)
    try:
        service = BackupService(
            store=store,
            keys=Keys(settings.key_prefix, tagged=task.tagged),
            clock=SystemClock(),
            fingerprint=task.fingerprint,
        )
        made = await service.create(
            BackupFolder(settings.backup_folder),
            keep=settings.backup.keep,
            passphrase=passphrase_of(settings.backup),
        )
        return str(made.path)
    finally:
        await store.close()


def main() -> None:
    os.nice(NICE)
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    try:
        sys.stdout.write(asyncio.run(_make(task)))
    except (BackupFailed, RedisError, OSError) as error:
        sys.stdout.write(str(error))
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
