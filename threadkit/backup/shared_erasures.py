"""Several servers on one store keep a journal each, and every one holds what all of them erased.

They tell each other through a stream in the store, sealed: what is in the store knows nothing of who left.
"""

import asyncio
import contextlib
import socket
from collections.abc import Iterable

import msgspec
import structlog
from redis.exceptions import RedisError

from threadkit.backup.erasures import Erasure, ErasureJournal
from threadkit.clock import Clock
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.keyring import Keyring
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

log = structlog.get_logger()

LOOK_S = 10.0
SAY_MS = 24 * 3600 * 1000
MOST = 10_000
FORGOTTEN_MS = 90 * 24 * 3600 * 1000
_PURPOSE = "erasures"


class SharedErasures:
    def __init__(self, *, journal: ErasureJournal, redis: Commands, keys: Keys, keyring: Keyring, clock: Clock) -> None:
        self.journal = journal
        self._redis = redis
        self._keys = keys.shared
        self._keyring = keyring
        self._clock = clock
        self._server = f"{socket.gethostname()}:{journal.path.resolve()}"
        self._seen = "-"
        self._said_ms = 0
        self._task: asyncio.Task[None] | None = None

    async def note_user(self, user_id: UserId) -> None:
        await self._note(Erasure(at_ms=self._clock.now_ms(), user_id=user_id))

    async def note_comment(self, site_id: SiteId, comment_id: CommentId) -> None:
        await self._note(Erasure(at_ms=self._clock.now_ms(), site_id=site_id, comment_id=comment_id))

    async def start(self) -> None:
        await self._look()
        self._task = asyncio.create_task(self._run(), name="erasures")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def take_over(self) -> None:
        """Put into our journal what other servers noted, and say in the store that we keep one."""
        found = await self._redis.xrange(self._keys.erasures(), min=self._seen)
        told = [erasure for _, fields in found if (erasure := self._opened(fields))]
        known = await asyncio.to_thread(lambda: set(self.journal.since(0)))
        if not any(erasure.server == self._server for erasure in known):
            told.append(Erasure(at_ms=self._clock.now_ms(), server=self._server))
        for erasure in told:
            if erasure not in known:
                await self.journal.note(erasure)
        if found:
            self._seen = f"({found[-1][0]}"
        if (now_ms := self._clock.now_ms()) - self._said_ms >= SAY_MS:
            await self._redis.hset(self._keys.erasure_journals(), self._server, str(now_ms))
            self._said_ms = now_ms

    async def not_among(self, read: Iterable[Erasure]) -> list[str]:
        """Servers that keep a journal, by what the store says, of which none of those that were read is."""
        kept = await self._redis.hgetall(self._keys.erasure_journals())
        recently = self._clock.now_ms() - FORGOTTEN_MS
        return sorted(
            {server for server, at_ms in kept.items() if int(at_ms) > recently} - {each.server for each in read}
        )

    async def _note(self, erasure: Erasure) -> None:
        await self.journal.note(erasure)
        sealed = self._keyring.seal(_PURPOSE, msgspec.json.encode(erasure).decode())
        try:
            await self._redis.xadd(self._keys.erasures(), {"erasure": sealed}, maxlen=MOST, approximate=True)
        except (RedisError, OSError) as error:  # it is in ours, and nothing is kept from being deleted
            log.warning("erasure_not_shared", why=str(error))

    def _opened(self, fields: dict[str, str]) -> Erasure | None:
        try:
            return msgspec.json.decode(self._keyring.unseal(_PURPOSE, fields["erasure"]), type=Erasure)
        except (msgspec.MsgspecError, KeyError):  # of another secret
            return None

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await self._look()

    async def _look(self) -> None:
        try:
            await self.take_over()
        except (RedisError, OSError) as error:
            log.warning("erasures_wait", why=str(error))
