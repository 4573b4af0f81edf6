"""The folder of backups: what is in it, one writer at a time, and room made for the next."""

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from threadkit.backup.file import read_header
from threadkit.backup.model import BackupFailed, Failure, FoundBackup

_NAME = re.compile(r"threadkit-(\d{8}-\d{6})(?:-(\d+))?\.backup")
_FAILURE = "failed.json"


class BackupFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    @contextlib.contextmanager
    def writing(self, now_ms: int) -> Iterator[Path]:
        """A name to write to. What is there at the end gets its real name; what is not written to the end is removed,
        at the latest by the next who writes."""
        self._prepare()
        with (self.path / "backup.lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BackupFailed(f"Another backup is being made in {self.path}. Wait for it.") from None
            for left in self.path.glob(".threadkit-*.part"):
                left.unlink()
            final = self._free_name(now_ms)
            draft = final.with_name(f".{final.name}.part")
            try:
                yield draft
                draft.rename(final)
                self._sync()
            finally:
                draft.unlink(missing_ok=True)

    def all(self) -> list[FoundBackup]:
        """The newest first."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return [found(path) for path in sorted(self._paths(), key=_age_of_name, reverse=True)]
        return []

    def _paths(self) -> list[Path]:
        return [path for path in self.path.iterdir() if _NAME.fullmatch(path.name)]

    def newest(self, *, until_ms: int) -> FoundBackup | None:
        """The newest that can be read. What seems to be made later was made by a wrong clock."""
        return next((each for each in self.all() if each.header and each.header.started_ms <= until_ms), None)

    def rotate(self, keep: int) -> list[Path]:
        """Remove the oldest beyond so many. Unreadable ones do not count as kept, and are left for people to look at."""
        removed = [backup.path for backup in self.all() if backup.header][keep:]
        for path in removed:
            path.unlink(missing_ok=True)
            _mark_of(path).unlink(missing_ok=True)
        return removed

    @property
    def failure(self) -> Failure | None:
        try:
            return msgspec.json.decode((self.path / _FAILURE).read_bytes(), type=Failure)
        except (OSError, msgspec.MsgspecError):
            return None

    def note_failure(self, failure: Failure | None) -> None:
        if failure is None:
            (self.path / _FAILURE).unlink(missing_ok=True)
        else:
            self._prepare()
            write_private(self.path / _FAILURE, msgspec.json.encode(failure))

    def _prepare(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise BackupFailed(f"The folder {self.path} cannot be made: {error.strerror}.") from error
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise BackupFailed(f"The folder {self.path} is not writable.")

    def _free_name(self, now_ms: int) -> Path:
        """Of several in one second the later has the higher number, also when the first of them has gone by now."""
        moment = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%d-%H%M%S")
        taken = [number for at, number in map(_age_of_name, self._paths()) if at == moment]
        return self.path / f"threadkit-{moment}{f'-{max(taken) + 1}' if taken else ''}.backup"

    def _sync(self) -> None:
        """The new name is on disk too."""
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def found(path: Path) -> FoundBackup:
    try:
        header = read_header(path)
    except (BackupFailed, OSError):
        header = None
    return FoundBackup(
        path=path,
        bytes=path.stat().st_size,
        header=header,
        verified_ms=_verified_ms(path, header.body_sha256) if header else None,
    )


def mark_verified(path: Path, sha256: str, now_ms: int) -> None:
    """A note beside the file; one that is about other bytes does not count."""
    with contextlib.suppress(OSError):  # on a disk that is not ours to write to
        write_private(_mark_of(path), msgspec.json.encode({"sha256": sha256, "at_ms": now_ms}))


def write_private(path: Path, data: bytes) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _mark_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.verified")


def _verified_ms(path: Path, sha256: str) -> int | None:
    try:
        mark = msgspec.json.decode(_mark_of(path).read_bytes(), type=dict[str, str | int])
    except (OSError, msgspec.MsgspecError):
        return None
    at_ms = mark.get("at_ms")
    return at_ms if mark.get("sha256") == sha256 and isinstance(at_ms, int) else None


def _age_of_name(path: Path) -> tuple[str, int]:
    moment, number = _NAME.fullmatch(path.name).groups()  # type: ignore[union-attr]
    return moment, int(number or 1)
