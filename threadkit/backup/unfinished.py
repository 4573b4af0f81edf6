"""Goes on with the deletion of accounts that a crash interrupted: the journal knows of them before anything is taken."""

import asyncio
import contextlib

import structlog
from redis.exceptions import RedisError

from threadkit.backup.erasures import ErasureJournal
from threadkit.clock import Clock
from threadkit.users.queries import UserQueries
from threadkit.users.service import UserService

log = structlog.get_logger()

LOOKED_BACK_MS = 24 * 3600 * 1000


class UnfinishedErasures:
    """Looks once, when a server starts. Several at once do no harm: each step of leaving can be repeated."""

    def __init__(self, *, journal: ErasureJournal, users: UserService, queries: UserQueries, clock: Clock) -> None:
        self._journal = journal
        self._users = users
        self._queries = queries
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def finish(self) -> None:
        noted = await asyncio.to_thread(lambda: list(self._journal.since(self._clock.now_ms() - LOOKED_BACK_MS)))
        for user_id in {erasure.user_id for erasure in noted if erasure.user_id is not None}:
            user = await self._queries.by_id(user_id)
            # Leaving begins with the end of all sessions: whoever has one came back, and may ask again or not.
            if user is not None and not await self._queries.sessions(user_id):
                await self._users.leave(user)
                log.info("erasure_finished", user_id=user_id)

    async def _run(self) -> None:
        try:
            await self.finish()
        except (RedisError, OSError) as error:  # the next start looks again
            log.warning("erasures_wait", why=str(error))
