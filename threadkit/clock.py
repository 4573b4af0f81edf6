"""Time, made here so that tests can set it."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Anything that can say what time it is, in milliseconds since the epoch."""

    def now_ms(self) -> int: ...


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


def iso(ms: int) -> str:
    """The text form of a moment as it stands in hashes and JSON: UTC, milliseconds, `Z`."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_iso(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
