"""Builders for tests."""


class ManualClock:
    """A clock that tests set."""

    def __init__(self, now_ms: int = 1_765_000_000_000) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, *, seconds: float) -> None:
        self._now_ms += round(seconds * 1000)
