"""What can be asked about backups without touching the store."""

from msgspec import Struct

from threadkit.backup.folder import BackupFolder
from threadkit.backup.model import WRONG_CLOCK_MS, Failure, FoundBackup
from threadkit.clock import Clock
from threadkit.settings import Settings

LATE_S = 2 * 86_400


class BackupState(Struct, frozen=True, kw_only=True):
    """How a server stands with its backups."""

    is_scheduled: bool
    newest: FoundBackup | None
    age_s: float | None
    """Of the newest one that can be read; None when there is none here."""
    failure: Failure | None
    """Why the newest attempt came to nothing."""

    @property
    def is_late(self) -> bool:
        return self.age_s is None or self.age_s > LATE_S


def backup_state(settings: Settings, clock: Clock) -> BackupState:
    """What `threadkit doctor` and `threadkit backup list` tell: the newest backup, its age, and the last failure."""
    folder = BackupFolder(settings.backup_folder)
    now_ms = clock.now_ms()
    newest = folder.newest(until_ms=now_ms + WRONG_CLOCK_MS)
    age_s = max(now_ms - newest.header.started_ms, 0) / 1000 if newest and newest.header else None
    return BackupState(is_scheduled=settings.backup.enabled, newest=newest, age_s=age_s, failure=folder.failure)
