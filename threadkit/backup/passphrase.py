"""Where the passphrase of encrypted backups comes from."""

from pathlib import Path

from threadkit.backup.model import BackupFailed
from threadkit.settings import BackupSettings

SHORTEST = 12


def passphrase_of(settings: BackupSettings) -> str | None:
    """The one of the settings; None when backups are not to be encrypted. A file that is named and cannot be used is an
    error, never a backup that lies open."""
    return read_passphrase(Path(settings.passphrase_file)) if settings.passphrase_file else settings.passphrase


def read_passphrase(path: Path) -> str:
    """The first line of a file."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors mark the beginning
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not a text"
        raise BackupFailed(f"The passphrase of backups cannot be read from {path}: {why}.") from error
    return long_enough(text.split("\n", 1)[0].rstrip("\r"), f"The first line of {path}")


def long_enough(passphrase: str, where: str) -> str:
    if len(passphrase) < SHORTEST:
        raise BackupFailed(f"{where} is too short for a passphrase: {SHORTEST} characters are the least.")
    return passphrase
