"""Remembers outside the store who had their account deleted, so that no backup brings them back."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import structlog
from msgspec import Struct

from threadkit.clock import Clock
from threadkit.ids import UserId
from threadkit.users.queries import UserQueries
from threadkit.users.service import UserService

log = structlog.get_logger()

FILE = "erased.jsonl"


class Erasure(Struct, frozen=True):
    user_id: UserId
    at_ms: int


class ErasureJournal:
    """A file beside the backups, a line for each; only ever added to."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._path = folder / FILE
        self._clock = clock

    async def note(self, user_id: UserId) -> None:
        line = msgspec.json.encode(Erasure(user_id, self._clock.now_ms())) + b"\n"
        try:
            await asyncio.to_thread(self._append, line)
        except OSError as error:  # nobody is kept from leaving by a full disk
            log.error("erasure_not_noted", user_id=user_id, why=str(error))

    def since(self, ms: int) -> Iterator[Erasure]:
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                erasure = msgspec.json.decode(line, type=Erasure)
            except msgspec.MsgspecError:  # a line that a crash cut off
                continue
            if erasure.at_ms >= ms:
                yield erasure

    def _append(self, line: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


async def erase_again(journal: ErasureJournal, since_ms: int, *, users: UserService, queries: UserQueries) -> int:
    """Take out of a restored store whoever left after the backup was made; how many there were."""
    done = 0
    for user_id in {erasure.user_id for erasure in journal.since(since_ms)}:
        user = await queries.by_id(user_id)
        if user is not None:
            await users.leave(user)
            done += 1
    return done
