"""Whether the limiter goes on without the store, and when it tries again."""

import structlog

from threadkit.clock import Clock

log = structlog.get_logger()

FIRST_PAUSE_MS = 5_000
LONGEST_PAUSE_MS = 60_000


class Outage:
    """One per worker. The first failure opens it; from then on the store is asked again after 5 s, 10 s … 60 s."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pause_ms = 0
        self._until_ms = 0

    @property
    def is_on(self) -> bool:
        """Whether the last that was heard of the store is that it does not answer."""
        return self._pause_ms > 0

    @property
    def is_waiting(self) -> bool:
        """Whether it is too early to ask the store again."""
        return self.is_on and self._clock.now_ms() < self._until_ms

    def began(self, error: Exception) -> None:
        if self.is_waiting:
            return
        if not self.is_on:
            # The library's errors name hosts, but never a password.
            log.warning("limiter_in_memory", why=str(error) or type(error).__name__)
        self._pause_ms = min(LONGEST_PAUSE_MS, self._pause_ms * 2 or FIRST_PAUSE_MS)
        self._until_ms = self._clock.now_ms() + self._pause_ms

    def ended(self) -> None:
        if self.is_on:
            log.info("limiter_in_store_again")
        self._pause_ms = 0
