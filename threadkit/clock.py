"""Time, made here so that tests can set it."""

import time
from datetime import UTC, datetime
from typing import ClassVar, Protocol


class Clock(Protocol):
    """Anything that can say what time it is, in milliseconds since the epoch."""

    def now_ms(self) -> int: ...


class SystemClock:
    """What the machine's clock said at the start, and the time that has passed since. Nobody who sets the machine's clock
    moves this one. A process has one time, however many of these it makes, and the store's time corrects it."""

    _since_ns: ClassVar[int] = time.time_ns() - time.monotonic_ns()

    def now_ms(self) -> int:
        return (SystemClock._since_ns + time.monotonic_ns()) // 1_000_000

    @staticmethod
    def correct(by_ms: int) -> None:
        SystemClock._since_ns += by_ms * 1_000_000

    @staticmethod
    def machine_ms() -> int:
        """What the machine's clock says, right or wrong."""
        return time.time_ns() // 1_000_000


def iso(ms: int) -> str:
    """The text form of a moment as it stands in hashes and JSON: UTC, milliseconds, `Z`."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_iso(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
