"""Folders for stores: in memory where the machine has room for them there, else where temporary files lie."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_MEMORY = Path("/dev/shm")
_ROOM = 2 * 1024**3  # containers often have 64 MB there


def _memory() -> str | None:
    return str(_MEMORY) if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM else None


@contextlib.contextmanager
def quick_folder() -> Iterator[str]:
    """Its path is short enough for a unix socket. A journal that is synced at every write costs nothing there."""
    with tempfile.TemporaryDirectory(prefix="tk-", ignore_cleanup_errors=True, dir=_memory()) as folder:
        yield folder


@contextlib.contextmanager
def disk_folder() -> Iterator[str]:
    """For tests about what a disk keeps: kills, power cuts, full disks."""
    with tempfile.TemporaryDirectory(prefix="tk-", ignore_cleanup_errors=True) as folder:
        yield folder
