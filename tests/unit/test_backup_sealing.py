"""An encrypted backup: it opens with its passphrase only, and only as it was written."""

import hashlib
import random
from pathlib import Path

import msgspec
import pytest

from threadkit.backup import file as backup_file
from threadkit.backup.file import BackupWriter, read_header, read_records, unlock
from threadkit.backup.model import BackupFailed, Count, Header, Record
from threadkit.backup.passphrase import read_passphrase
from threadkit.backup.sealing import PIECE, DoesNotOpen, Encryption, FileKey

PASSPHRASE = "correct horse battery staple"
SEALED_PIECE = PIECE + 16
NOISE = random.Random(3).randbytes(5 * PIECE)  # does not compress, so there are several pieces
RECORDS = [
    Record(b"comment:1", -1, b"a word that can be recognised"),
    Record(b"user:2", 1_765_000_000_000, NOISE),
    Record(b"comment:1", -1, None),
]


def quick_key(salt: bytes = b"0123456789abcdef") -> FileKey:
    return FileKey(PASSPHRASE, Encryption(salt=salt, time_cost=1, memory_kib=8, lanes=1))


def written(path: Path, key: FileKey | None = None) -> None:
    writer = BackupWriter(path, key or quick_key())
    for record in RECORDS:
        writer.write(record)
    sha256 = writer.end_of_records()
    writer.finish(
        Header(
            threadkit="1.2.3",
            schema_version=1,
            started_ms=1,
            finished_ms=2,
            store="valkey 9.1.2",
            prefix="",
            is_tagged=False,
            secret="0123",
            has_secrets=True,
            is_one_moment=True,
            counts={"user:{user_id}": Count(1, 1)},
            body_bytes=writer.body_bytes,
            body_sha256=sha256,
        )
    )


def read(path: Path, passphrase: str | None = PASSPHRASE) -> list[Record]:
    key = unlock(path, passphrase)
    return list(read_records(path, read_header(path), key))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "one.backup"
    written(path)
    return path


def body_of(path: Path) -> int:
    return path.stat().st_size - read_header(path).body_bytes


def test_what_was_written_is_read_with_the_passphrase(path: Path) -> None:
    assert read(path) == RECORDS
    assert b"recognised" not in path.read_bytes()
    assert NOISE[:64] not in path.read_bytes()


@pytest.mark.parametrize("length", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 7])
def test_any_length_is_sealed_and_opened_in_pieces_of_any_size(length: int) -> None:
    key, text, dice = quick_key(), NOISE[:length], random.Random(length)
    sealer, opener, sealed, opened, at = key.sealer(), key.opener(), b"", b"", 0
    while at < length:
        step = dice.randrange(1, 2 * PIECE)
        sealed += sealer.add(text[at : at + step])
        assert len(sealer._buffer) <= PIECE, "no more than a piece is held back"
        at += step
    sealed += sealer.end()
    assert len(sealed) == length + 16 * max(1, -(-length // PIECE))
    for start in range(0, len(sealed), 50_000):
        opened += opener.add(sealed[start : start + 50_000])
    assert opened + opener.end() == text


def test_each_file_has_a_key_of_its_own() -> None:
    one, other = FileKey.new(PASSPHRASE), FileKey.new(PASSPHRASE)
    assert one.encryption.salt != other.encryption.salt
    sealer, opener = one.sealer(), other.opener()
    opener.add(sealer.add(b"text") + sealer.end())
    with pytest.raises(DoesNotOpen):
        opener.end()


def test_a_passphrase_is_the_same_however_it_was_typed_or_saved(path: Path, tmp_path: Path) -> None:
    parameters = quick_key().encryption
    assert FileKey("caf\u00e9 cr\u00e8me", parameters).sign(b"") == FileKey("cafe\u0301 cre\u0300me", parameters).sign(
        b""
    )
    file = tmp_path / "passphrase"
    for saved in (PASSPHRASE, f"{PASSPHRASE}\n", f"{PASSPHRASE}\r\n", f"\ufeff{PASSPHRASE}\nsomething else"):
        file.write_text(saved, newline="")
        assert read(path, read_passphrase(file)) == RECORDS


@pytest.mark.parametrize("passphrase", ["Correct horse battery staple", "correct horse battery staple ", ""])
def test_another_passphrase_opens_nothing(path: Path, passphrase: str) -> None:
    with pytest.raises(BackupFailed, match="does not open with this passphrase"):
        read(path, passphrase)


def test_without_a_passphrase_it_is_said_how_to_give_one(path: Path) -> None:
    with pytest.raises(BackupFailed, match=r"is encrypted.*--passphrase-file"):
        read(path, None)
    assert read_header(path).counts, "what it holds can be listed all the same"


def test_no_changed_bit_goes_unnoticed(path: Path) -> None:
    whole, dice = path.read_bytes(), random.Random(7)
    places = {*range(0, 200, 7), *(dice.randrange(len(whole)) for _ in range(150)), body_of(path) - 1, len(whole) - 1}
    first_line = whole.index(b"\n")
    for place in {*places, first_line}:
        changed = bytearray(whole)
        changed[place] ^= 1 << dice.randrange(8)
        path.write_bytes(changed)
        with pytest.raises(BackupFailed):
            read(path)


def test_pieces_that_were_cut_off_left_out_doubled_or_swapped_are_refused(path: Path) -> None:
    whole, start = path.read_bytes(), body_of(path)
    top, body = whole[:start], whole[start:]
    pieces = [body[at : at + SEALED_PIECE] for at in range(0, len(body), SEALED_PIECE)]
    assert len(pieces) > 4
    for wrong in (
        pieces[:-1],  # cut off where a piece ends
        [*pieces[:-1], pieces[-1][:-1]],
        [],
        [pieces[1], pieces[0], *pieces[2:]],
        [pieces[0], *pieces[2:]],
        [pieces[0], pieces[0], *pieces[1:]],
        [pieces[0], pieces[0], *pieces[2:]],
        [*pieces, pieces[-1]],
        [*pieces, b"x"],
    ):
        path.write_bytes(top + b"".join(wrong))
        with pytest.raises(BackupFailed, match="is damaged"):
            read(path)


def test_the_pieces_themselves_notice_it_whatever_the_checksum_says(path: Path) -> None:
    """Somebody who can write the header's checksums, and has no passphrase."""
    key, whole, start = unlock(path, PASSPHRASE), path.read_bytes(), body_of(path)
    pieces = [whole[at : at + SEALED_PIECE] for at in range(start, len(whole), SEALED_PIECE)]
    for wrong in (pieces[:-1], [pieces[1], pieces[0], *pieces[2:]], [*pieces, b""], [*pieces, pieces[-1]]):
        body = b"".join(wrong)
        path.write_bytes(whole[:start] + body)
        digest = hashlib.sha256(body).hexdigest()
        header = msgspec.structs.replace(read_header(path), body_bytes=len(body), body_sha256=digest)
        if wrong[-1] == b"":
            assert list(read_records(path, header, key)) == RECORDS, "the control: nothing was changed here"
            continue
        with pytest.raises(BackupFailed, match="is damaged"):
            list(read_records(path, header, key))


def test_a_header_that_somebody_wrote_anew_is_refused(path: Path) -> None:
    whole, start = path.read_bytes(), body_of(path)
    header = msgspec.structs.replace(read_header(path), secret="9999")
    block = msgspec.json.encode(header).ljust(32_768)
    signature = whole[: start - 32_768].split()[3]
    path.write_bytes(backup_file._first_line(block, signature) + block + whole[start:])
    assert read_header(path).secret == "9999"
    with pytest.raises(BackupFailed, match="somebody has changed its header"):
        read(path)


def test_the_parts_of_two_backups_with_one_passphrase_do_not_mix(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.backup"
    written(other, quick_key(salt=b"fedcba9876543210"))
    start = body_of(path)
    path.write_bytes(path.read_bytes()[:start] + other.read_bytes()[start:])
    with pytest.raises(BackupFailed, match="is damaged"):
        read(path)


@pytest.mark.parametrize("change", [{"memory_kib": 1 << 30}, {"time_cost": 10_000}, {"lanes": 0}, {"cipher": "rot13"}])
def test_made_up_parameters_take_neither_memory_nor_time(path: Path, change: dict[str, object]) -> None:
    whole, start = path.read_bytes(), body_of(path)
    tree = msgspec.to_builtins(read_header(path))
    tree["encryption"] |= change
    block = msgspec.json.encode(tree).ljust(32_768)
    signature = whole[: start - 32_768].split()[3]
    path.write_bytes(backup_file._first_line(block, signature) + block + whole[start:])
    with pytest.raises(BackupFailed, match="is damaged"):
        read(path)
