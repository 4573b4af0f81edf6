"""How often somebody may be wrong at the second step: counted before a try is looked at, and given back when it was right."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from threadkit.errors import ThreadKitError
from threadkit.ids import UserId
from threadkit.ratelimit.windows import Window, Windows
from threadkit.users.queries import UserQueries

log = structlog.get_logger()

MOST_A_DAY = 50


class Tries:
    """Networks from which the second step was passed, in a session that is still there, have tries of their own: somebody
    who knows the password alone cannot use up its owner's."""

    def __init__(self, windows: Windows, *, queries: UserQueries, per_hour: int) -> None:
        self._windows = windows
        self._queries = queries
        self._limits = (
            Window("second-step-hour", per_hour, 3600),
            Window("second-step-day", MOST_A_DAY, 86_400),
        )

    @asynccontextmanager
    async def one(self, user_id: UserId, client: str) -> AsyncIterator[None]:
        """What raises within was a wrong try."""
        sessions = await self._queries.sessions(user_id)
        is_known = any(session.passed_second_step and session.ip == client for session in sessions)
        subject = f"{user_id}:{client}" if is_known else user_id
        spent = [await self._windows.spend(limit, subject) for limit in self._limits]
        try:
            yield
        except ThreadKitError as error:
            log.warning("second_step_failed", user_id=user_id, reason=error.code)
            raise
        for one in spent:
            await self._windows.give_back(one)
