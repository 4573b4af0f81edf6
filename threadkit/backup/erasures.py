"""Remembers outside the store who had their account deleted, and which comments their authors did, so that no backup
brings them back."""

import asyncio
import errno
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import structlog
from msgspec import Struct

from threadkit.comments.service import CommentService
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.users.queries import UserQueries
from threadkit.users.service import UserService

log = structlog.get_logger()

FILE = "erased.jsonl"


class Erasure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A whole account, or one comment of a site. With neither it says which server keeps the file."""

    at_ms: int
    server: str | None = None
    user_id: UserId | None = None
    site_id: SiteId | None = None
    comment_id: CommentId | None = None


class ErasureJournal:
    """A file beside the backups, a line for each; only ever added to."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    async def note(self, erasure: Erasure) -> None:
        try:
            await asyncio.to_thread(self._append, msgspec.json.encode(erasure) + b"\n")
        except OSError as error:  # nothing is kept from being deleted by a full disk
            log.error("erasure_not_noted", erasure=msgspec.to_builtins(erasure), why=str(error))

    def since(self, ms: int) -> Iterator[Erasure]:
        try:
            lines = self.path.read_bytes().splitlines()
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
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line  # a crash cut the last one off
            if os.write(descriptor, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class ErasedAgain(NamedTuple):
    accounts: int
    comments: int


async def erase_again(
    erasures: Collection[Erasure], *, users: UserService, queries: UserQueries, comments: CommentService
) -> ErasedAgain:
    """Take out of a restored store what was erased after the backup was begun; how much there was."""
    wanted = {(each.site_id, each.comment_id) for each in erasures}
    deleted = [
        await comments.delete_again(site_id, comment_id)
        for site_id, comment_id in wanted
        if site_id is not None and comment_id is not None
    ]
    left = [await queries.by_id(user_id) for user_id in {each.user_id for each in erasures} if user_id is not None]
    gone = [await users.leave(user) for user in left if user is not None]
    return ErasedAgain(accounts=len(gone), comments=sum(deleted))
