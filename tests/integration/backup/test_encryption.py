"""Encrypted backups as an owner makes and uses them."""

import json
import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.folders import quick_folder
from tests.integration.backup.stores import backup_of, do, new_folder, opened, refused, state_of
from tests.integration.server.program import THREADKIT, environment
from tests.make import ManualClock
from threadkit.app import create_app
from threadkit.backup.file import read_header
from threadkit.backup.folder import BackupFolder
from threadkit.backup.queries import backup_state
from threadkit.backup.sealing import PIECE
from threadkit.keyring import Keyring
from threadkit.settings import BackupSettings, Settings
from threadkit.storage.bundled import BundledStore

PASSPHRASE = "correct horse battery staple"
SEALED_PIECE = PIECE + 16
OWN = {b"threadkit:probe", b"threadkit:backups"}


@pytest.fixture(scope="module")
def parent() -> Iterator[Path]:
    with quick_folder() as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def filled(parent: Path) -> Path:
    """A data folder whose backup has several pieces."""
    folder = parent / "filled"
    do("site", "create", "Blog", "blog.example.org", "--data", str(folder))
    words = ("--comments", "100", "--users", "30", "--votes", "100", "--pages", "4", "--seed", "one")
    do("loadgen", "--site", "Blog", *words, "--data", str(folder))
    with opened(folder) as store:
        for number in range(12):  # notes that do not compress
            store.set(f"verify:{number}@example.org", os.urandom(30_000), ex=3600)
    return folder


@pytest.fixture(scope="module")
def secret(parent: Path) -> Path:
    file = parent / "passphrase"
    file.write_text(f"{PASSPHRASE}\nonly the first line counts\n")
    return file


@pytest.fixture(scope="module")
def backup(filled: Path, secret: Path) -> Path:
    return backup_of(filled, "--encrypt", "--passphrase-file", str(secret))


def test_an_encrypted_backup_comes_back_with_its_passphrase(filled: Path, backup: Path, secret: Path) -> None:
    named = ("--passphrase-file", str(secret))
    assert "100 comments" in do("backup", "verify", str(backup), *named)
    assert "everything agrees" in do("backup", "verify", "--deep", str(backup), *named)
    target = new_folder(filled.parent, "back", like=filled)
    assert "encrypted" in do("backup", "restore", str(backup), *named, "--data", str(target))
    before, after = state_of(filled), state_of(target)
    for keys in (before, after):
        for key in OWN:
            keys.pop(key, None)
    assert after == before


def test_it_is_listed_and_counted_without_the_passphrase_and_shows_nothing_else(filled: Path, backup: Path) -> None:
    (found,) = [
        each
        for each in json.loads(do("backup", "list", "--data", str(filled), "--json"))
        if each["file"] == str(backup)
    ]
    assert found["is_encrypted"]
    assert found["counts"]["comment:{comment_id}"] == 100
    assert "Encrypted" in do("backup", "list", "--data", str(filled))
    with opened(filled) as store:
        comments = store.scan_iter("comment:*", _type="hash")
        texts = [bytes(store.hget(key, "content") or b"") for key in comments]  # type: ignore[arg-type]
    longest = max(texts, key=len)  # a short one may be there by chance
    assert len(longest) > 20
    assert longest[:20] not in backup.read_bytes()


def damaged(backup: Path) -> dict[str, bytes]:
    whole = backup.read_bytes()
    start = len(whole) - read_header(backup).body_bytes
    body = whole[start:]
    assert len(body) > 3 * SEALED_PIECE
    changed = bytearray(whole)
    changed[start + SEALED_PIECE + 99] ^= 1
    first, second, rest = body[:SEALED_PIECE], body[SEALED_PIECE : 2 * SEALED_PIECE], body[2 * SEALED_PIECE :]
    return {
        "cut off": whole[:-1],
        "cut off where a piece ends": whole[: start + 2 * SEALED_PIECE],
        "changed": bytes(changed),
        "swapped": whole[:start] + second + first + rest,
    }


def test_a_wrong_passphrase_or_changed_bytes_put_nothing_back(filled: Path, backup: Path, secret: Path) -> None:
    target = new_folder(filled.parent, "untouched", like=filled)
    restore = ("backup", "restore", "--data", str(target))
    other = filled.parent / "other"
    other.write_text("another passphrase")
    for words in (restore, ("backup", "verify")):
        assert "is encrypted" in refused(*words, str(backup))
        assert "does not open with this passphrase" in refused(*words, str(backup), "--passphrase-file", str(other))
    wrong = filled.parent / "wrong.backup"
    for how, data in damaged(backup).items():
        wrong.write_bytes(data)
        said = refused(*restore, str(wrong), "--passphrase-file", str(secret))
        assert "is damaged or cut off" in said, how
    assert set(state_of(target)) <= OWN
    do(*restore, str(backup), THREADKIT_BACKUP_PASSPHRASE=PASSPHRASE)


def test_with_a_passphrase_in_the_settings_all_are_encrypted_unless_told_otherwise(filled: Path, secret: Path) -> None:
    place = filled.parent / "set"
    create = ("backup", "create", "--json", "--to", str(place), "--data", str(filled))
    for env in (
        {"THREADKIT_BACKUP_PASSPHRASE": PASSPHRASE},
        {"THREADKIT_BACKUP_PASSPHRASE_FILE": str(secret)},
    ):
        made = json.loads(do(*create, **env))
        assert made["is_encrypted"]
        do("backup", "verify", made["file"], **env)
        assert not json.loads(do(*create, "--no-encrypt", **env))["is_encrypted"]
    both = {"THREADKIT_BACKUP_PASSPHRASE": PASSPHRASE, "THREADKIT_BACKUP_PASSPHRASE_FILE": str(secret)}
    assert "set only one of them" in refused(*create, **both)
    shown = do("config", "show", THREADKIT_BACKUP_PASSPHRASE=PASSPHRASE)
    assert PASSPHRASE not in shown


def test_no_backup_lies_open_because_its_passphrase_could_not_be_read(filled: Path) -> None:
    place, short = filled.parent / "none", filled.parent / "short"
    short.write_text("too short\n")
    create = ("backup", "create", "--to", str(place), "--data", str(filled))
    missing = {"THREADKIT_BACKUP_PASSPHRASE_FILE": str(filled.parent / "missing")}
    assert "cannot be read from" in refused(*create, **missing)
    assert "too short for a passphrase" in refused(*create, "--passphrase-file", str(short))
    assert "with which passphrase?" in refused(*create, "--encrypt")
    assert "choose one of them" in refused(*create, "--no-encrypt", "--passphrase-file", str(short))
    assert not place.exists()
    assert "cannot be read from" in refused("serve", "--port", "0", "--data", str(filled.parent / "new"), **missing)


def test_whoever_names_a_passphrase_gets_no_backup_that_anybody_could_have_made(filled: Path, secret: Path) -> None:
    plain = backup_of(filled, "--no-encrypt")
    assert "is not encrypted" in refused("backup", "verify", str(plain), "--passphrase-file", str(secret))
    do("backup", "verify", str(plain), THREADKIT_BACKUP_PASSPHRASE=PASSPHRASE)


def test_on_a_terminal_the_passphrase_is_asked_for_and_not_shown(filled: Path) -> None:
    ours, theirs = pty.openpty()
    words = ("backup", "create", "--encrypt", "--to", str(filled.parent / "asked"), "--data", str(filled), "--json")
    program = subprocess.Popen(
        [*THREADKIT, *words],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment(),
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""
    while b"Passphrase of the backup" not in seen:
        seen += os.read(ours, 1000)
    os.write(ours, f"{PASSPHRASE}\n".encode())
    while b"Repeat" not in seen:
        seen += os.read(ours, 1000)
    os.write(ours, f"{PASSPHRASE}\n".encode())
    said, _ = program.communicate(timeout=60)
    os.close(ours)
    assert PASSPHRASE.encode() not in seen
    do("backup", "verify", json.loads(said)["file"], THREADKIT_BACKUP_PASSPHRASE=PASSPHRASE)


async def test_the_backup_of_the_day_is_encrypted_or_fails(
    redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring, clock: ManualClock, tmp_path: Path
) -> None:
    file = tmp_path / "passphrase"
    file.write_text(PASSPHRASE)
    folder = BackupFolder(tmp_path / "backups")
    wanted = BackupSettings(enabled=False, folder=str(folder.path), passphrase_file=str(file))
    settings = replace(settings, backup=wanted)
    application = create_app(settings, bundled.address, keyring, clock=clock)
    async with application.lifespan():
        clock.advance(seconds=86_400)
        await application.services.backups.look()
        (made,) = folder.all()
        assert made.header is not None
        assert made.header.encryption is not None
        assert made.verified_ms is not None
        file.unlink()
        await redis.delete(application.services.keys.shared.backups())  # so the next one is due
        await application.services.backups.look()
    assert folder.all() == [made]
    failure = backup_state(settings, clock).failure
    assert failure is not None
    assert "The passphrase of backups cannot be read" in failure.why
