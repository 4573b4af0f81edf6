"""Room on the disk of the bundled store.

The store ends itself when a write does not fit on the disk. So it is closed in time: like a store without memory it takes in
nothing new, while people can read, delete and moderate with the room that is left.
"""

import contextlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# As maxmemory: no store is so small, and no owner would choose it.
CLOSED_BYTES = 1
JOURNAL = "appendonlydir"
UNFINISHED = "temp-*.aof"


@dataclass(frozen=True)
class Room:
    """What is free, and what must be: the journal is written anew beside the old one."""

    free: int
    journal: int
    least: int

    @property
    def needed(self) -> int:
        return max(self.least, 2 * self.journal) if self.least else 0

    @property
    def is_short(self) -> bool:
        return self.free < self.needed

    @property
    def is_ample(self) -> bool:
        """Enough to take in everything again: at the very edge that would go back and forth."""
        return 10 * self.free >= 11 * self.needed


def room_in(folder: Path, *, least_free_mb: int) -> Room | None:
    """None when it cannot be seen."""
    try:
        # What is being written anew takes the room that is kept free for it.
        free = shutil.disk_usage(folder).free + _size(folder.glob(UNFINISHED))
        return Room(free, _size((folder / JOURNAL).glob("*")), least_free_mb * 10**6)
    except OSError:
        return None


def _size(paths: Iterable[Path]) -> int:
    total = 0
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # the store has just replaced it
            total += path.stat().st_size
    return total


def memory_limit(maxmemory: int) -> int:
    """What an owner allows the store; 0 when it has no limit of theirs."""
    return maxmemory if maxmemory > CLOSED_BYTES else 0
