"""A power cut: what was not synced to disk is gone. The store is killed, and its files are cut back to what it had synced,
with a torn rest behind it at most."""

import random
from pathlib import Path

from tests.faults.between import compiled


class Power:
    def __init__(self, folder: Path) -> None:
        self._notes = folder / "synced"
        self._notes.mkdir(parents=True)
        self._library = compiled("syncs", folder)

    @property
    def environment(self) -> dict[str, str]:
        """For the process whose syncs are noted, and those it starts."""
        return {"LD_PRELOAD": str(self._library), "TK_SYNCED": str(self._notes)}

    def cut(self, files: Path, dice: random.Random) -> int:
        """Take away what was not synced, except for a torn rest; says how many bytes there were to lose."""
        unsynced = 0
        for path in sorted(files.rglob("*")):
            if not path.is_file():
                continue
            note = self._notes / str(path.stat().st_ino)
            synced = int(note.read_text() or 0) if note.exists() else 0
            length = path.stat().st_size
            if length > synced:
                unsynced += length - synced
                with path.open("r+b") as file:
                    file.truncate(min(length, synced + dice.randint(0, 40)))
        return unsynced
