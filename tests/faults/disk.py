"""A disk that is as full as a test wants it."""

from pathlib import Path

from tests.faults.between import compiled


class Disk:
    def __init__(self, folder: Path, data: Path) -> None:
        folder.mkdir(parents=True)
        self._data = data
        self._free = folder / "free"
        self._library = compiled("full", folder)

    @property
    def environment(self) -> dict[str, str]:
        """For the processes that live on it."""
        return {
            "LD_PRELOAD": str(self._library),
            "TK_DISK": f"{self._data.resolve()}/",
            "TK_DISK_FREE": str(self._free),
        }

    def has_only(self, megabytes: int) -> None:
        draft = self._free.with_suffix(".draft")
        draft.write_text(str(megabytes * 10**6))
        draft.replace(self._free)

    def has_room(self) -> None:
        self._free.unlink()
