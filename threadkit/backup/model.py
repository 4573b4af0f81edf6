"""What a backup is, what is told about it, and what can be wrong with it."""

from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from threadkit.backup.sealing import Encryption
from threadkit.errors import CannotStart

FORMAT, FORMAT_ENCRYPTED = 1, 2
# Servers do not have the same time to the second. What is further in the future than this was written by a wrong clock.
WRONG_CLOCK_MS = 3_600_000

# Of one moment: whoever held one of these will not be there to let go of it when the backup is put back, and whether the
# store takes writes is tried then anew.
MOMENTARY = frozenset(
    (
        *("outbox_lease", "ranking_lease", "modlog_lease", "backup_lease", "deletion_lease", "session_lock"),
        "write_probe",
    )
)
# Without these people must sign in again, and nothing else is lost. Password hashes stay: whoever has nothing but a
# password could not come back otherwise.
SECRETS = frozenset(
    (
        *("session", "provider_session", "session_lock", "sessions"),
        *("verification", "verification_for", "provider_state", "owner_link"),
    )
)


class BackupFailed(CannotStart):
    """A backup could not be made, read or put back; the text says why and what to do."""


class Record(NamedTuple):
    """One key as it was, without the prefix. A later record of the same key replaces an earlier one."""

    key: bytes
    expires_ms: int
    """When it ends; -1 never."""
    value: bytes | None
    """In the store's own form (DUMP); None when the key was gone again."""


class Count(Struct, frozen=True, array_like=True):
    """How many keys of one kind there are, and how many of these end by themselves."""

    keys: int
    passing: int


class Header(Struct, frozen=True, kw_only=True):
    """What stands at the beginning of the file."""

    threadkit: str
    schema_version: int
    started_ms: int
    finished_ms: int
    store: str
    prefix: str
    is_tagged: bool
    """Whether it was made from a cluster, whose keys name their owner in braces."""
    secret: str
    """The fingerprint of the server's secret."""
    has_secrets: bool
    is_one_moment: bool
    """Whether everything is as it was at one and the same moment; otherwise indexes are derived again."""
    counts: dict[str, Count]
    body_bytes: int
    body_sha256: str
    """Of what is in the file, so of the encrypted bytes when they are."""
    encryption: Encryption | None = None

    @property
    def keys(self) -> int:
        return sum(count.keys for count in self.counts.values())

    def number_of(self, pattern: str) -> int:
        return self.counts[pattern].keys if pattern in self.counts else 0


class FoundBackup(Struct, frozen=True, kw_only=True):
    """A file in the folder of backups."""

    path: Path
    bytes: int
    header: Header | None
    """None when it cannot be read."""
    verified_ms: int | None


class Failure(Struct, frozen=True):
    """Why the newest attempt of a server came to nothing; the next success removes it."""

    at_ms: int
    why: str
