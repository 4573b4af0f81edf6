"""How commands come to the passphrase of an encrypted backup: an option, the settings, or a question."""

import sys
from pathlib import Path

import click

from threadkit.backup.file import read_header
from threadkit.backup.model import BackupFailed
from threadkit.backup.passphrase import long_enough, passphrase_of, read_passphrase
from threadkit.settings import Settings

passphrase_option = click.option(
    "--passphrase-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Take the passphrase from the first line of this file.",
)


def passphrase_for_new(settings: Settings, file: Path | None, is_wanted: bool | None) -> str | None:
    """For a backup that is made; None when it shall lie open. Without a wish the settings decide."""
    if is_wanted is False:
        if file:
            raise BackupFailed("--no-encrypt and --passphrase-file: choose one of them.")
        return None
    known = read_passphrase(file) if file else passphrase_of(settings.backup)
    if known is not None or not is_wanted:
        return known
    if not sys.stdin.isatty():
        raise BackupFailed(
            "Encrypt with which passphrase? Name a file that holds it with --passphrase-file, or set "
            "backup.passphrase_file or THREADKIT_BACKUP_PASSPHRASE."
        )
    asked = click.prompt("Passphrase of the backup", hide_input=True, confirmation_prompt=True, err=True)
    return long_enough(str(asked), "This")


def passphrase_for(path: Path, settings: Settings, file: Path | None) -> str | None:
    """For a backup that is there."""
    if read_header(path).encryption is None:
        if file:  # whoever names one counts on nobody else having made this file
            raise BackupFailed(
                f"{path} is not encrypted, so no passphrase says whose it is. Leave --passphrase-file out."
            )
        return None
    known = read_passphrase(file) if file else passphrase_of(settings.backup)
    if known is None and sys.stdin.isatty():
        return str(click.prompt(f"Passphrase of {path.name}", hide_input=True, err=True))
    return known
