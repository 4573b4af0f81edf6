"""A backup's file: what was written is read, and no bit of it changes unnoticed."""

import random
import stat
from pathlib import Path

import pytest

from threadkit.backup.file import BackupWriter, read_header, read_records
from threadkit.backup.model import BackupFailed, Count, Header, Record

RECORDS = [
    Record(b"comment:1", -1, b"a value"),
    Record(b"session:2", 1_765_000_000_000, bytes(range(256)) * 9000),
    Record("username:zoë".encode(), -1, b""),
    Record(b"comment:1", -1, None),
]


def written(path: Path) -> Header:
    writer = BackupWriter(path)
    for record in RECORDS:
        writer.write(record)
    sha256 = writer.end_of_records()
    header = Header(
        threadkit="1.2.3",
        schema_version=1,
        started_ms=1,
        finished_ms=2,
        store="valkey 9.1.2",
        prefix="tk:",
        is_tagged=False,
        secret="0123",
        has_secrets=True,
        is_one_moment=True,
        counts={"comment:{comment_id}": Count(1, 0)},
        body_bytes=writer.body_bytes,
        body_sha256=sha256,
    )
    writer.finish(header)
    return header


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    header = written(path)
    assert read_header(path) == header
    assert list(read_records(path, header)) == RECORDS
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_changed_bit_goes_unnoticed(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    written(path)
    whole = path.read_bytes()
    dice = random.Random(7)
    places = {*range(0, 120, 7), *(dice.randrange(len(whole)) for _ in range(200)), len(whole) - 1}
    for place in places:
        changed = bytearray(whole)
        changed[place] ^= 1 << dice.randrange(8)
        path.write_bytes(changed)
        with pytest.raises(BackupFailed):
            list(read_records(path, read_header(path)))


def test_a_file_that_is_cut_off_or_has_something_behind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    written(path)
    whole = path.read_bytes()
    for length in (0, 10, 90, 20_000, len(whole) - 100, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(BackupFailed):
            list(read_records(path, read_header(path)))
    path.write_bytes(whole + b"x")
    with pytest.raises(BackupFailed):
        list(read_records(path, read_header(path)))


def test_half_a_file_has_no_header(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    writer = BackupWriter(path)
    writer.write(RECORDS[0])
    writer.end_of_records()
    writer.close()
    with pytest.raises(BackupFailed, match="is not a backup of ThreadKit"):
        read_header(path)


def test_the_file_of_a_newer_threadkit_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    written(path)
    path.write_bytes(path.read_bytes().replace(b"threadkit-backup    1", b"threadkit-backup    3", 1))
    with pytest.raises(BackupFailed, match="newer ThreadKit"):
        read_header(path)
