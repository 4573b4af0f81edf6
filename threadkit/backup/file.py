"""The file of a backup: a line with a checksum, a header of fixed size, and the records, compressed.

    threadkit-backup 1 <SHA-256 of the header>
    <JSON, filled up with spaces>
    <zlib: for each record the lengths of key and value, when it ends, the key, the value>

The header says how long the records are and what their checksum is, so no bit of the file can change unnoticed.

An encrypted one is of format 2. Its header lies open, so that backups can be listed and counted without a passphrase; the
first line ends with a signature of it (HMAC-SHA-256), which only who knows the passphrase can make. The compressed records
are sealed in pieces (sealing.py).
"""

import hashlib
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from threadkit.backup.model import FORMAT, FORMAT_ENCRYPTED, BackupFailed, Header, Record
from threadkit.backup.sealing import DoesNotOpen, FileKey, Opener

_MAGIC = b"threadkit-backup "
_FIRST_LINE = len(_MAGIC) + len(b"%4d " % FORMAT) + 64 + 1
_SIGNATURE = 1 + 64
_HEADER = 32_768
_LENGTHS = struct.Struct(">IIq")
_GONE = 0xFFFFFFFF
_READ = 1 << 20
_SPEED = 3  # zlib's levels above take several times as long and save little


class BackupWriter:
    """Writes records to a file that only its owner can read. The header comes last, so that half a file is none."""

    def __init__(self, path: Path, key: FileKey | None = None) -> None:
        self.path = path
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._file.write(b" " * _body_at(is_encrypted=key is not None))
        self._key = key
        self._sealer = key.sealer() if key else None
        self._pack = zlib.compressobj(_SPEED)
        self._digest = hashlib.sha256()
        self.body_bytes = 0

    def write(self, record: Record) -> None:
        length = _GONE if record.value is None else len(record.value)
        head = _LENGTHS.pack(len(record.key), length, record.expires_ms)
        self._put(self._pack.compress(head + record.key + (record.value or b"")))

    def end_of_records(self) -> str:
        """No more records come; the answer is their checksum."""
        self._put(self._pack.flush())
        if self._sealer:
            self._write_body(self._sealer.end())
        return self._digest.hexdigest()

    def finish(self, header: Header) -> None:
        """From here on it is a backup, and on disk."""
        if self._key:
            header = msgspec.structs.replace(header, encryption=self._key.encryption)
        text = msgspec.json.encode(header)
        if len(text) > _HEADER:
            raise BackupFailed(f"The backup's header would have {len(text)} bytes, and {_HEADER} is the most.")
        block = text.ljust(_HEADER)
        self._file.seek(0)
        self._file.write(_first_line(block, self._key.sign(block) if self._key else None))
        self._file.write(block)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def close(self) -> None:
        self._file.close()

    def _put(self, packed: bytes) -> None:
        self._write_body(self._sealer.add(packed) if self._sealer else packed)

    def _write_body(self, data: bytes) -> None:
        self._file.write(data)
        self._digest.update(data)
        self.body_bytes += len(data)


class _Top(NamedTuple):
    header: Header
    block: bytes
    signature: bytes


def read_header(path: Path) -> Header:
    """What a backup says of itself; refused when it is none, or damaged. That of an encrypted one can be anybody's until
    it was unlocked."""
    return _read_top(path).header


def unlock(path: Path, passphrase: str | None) -> FileKey | None:
    """What opens the records of an encrypted backup, whose header is its own then; None for one that lies open."""
    top = _read_top(path)
    if top.header.encryption is None:
        return None
    if passphrase is None:
        raise BackupFailed(
            f"{path} is encrypted. Name the file that holds its passphrase with --passphrase-file, or set "
            "backup.passphrase_file or THREADKIT_BACKUP_PASSPHRASE."
        )
    key = FileKey(passphrase, top.header.encryption)
    if not key.has_signed(top.block, top.signature):
        raise BackupFailed(f"{path} does not open with this passphrase. (Or somebody has changed its header.)")
    return key


def read_records(path: Path, header: Header, key: FileKey | None = None) -> Iterator[Record]:
    """All of them, in order. A damaged file raises at the end at the latest: what was read until then is not to be
    relied on."""
    buffer, unpack, digest, size = b"", zlib.decompressobj(), hashlib.sha256(), 0
    opener = key.opener() if key else None
    try:
        with path.open("rb") as file:
            file.seek(_body_at(is_encrypted=key is not None))
            while packed := file.read(_READ):
                digest.update(packed)
                size += len(packed)
                buffer += unpack.decompress(_opened(packed, opener, is_last=size >= header.body_bytes))
                done = 0
                for record, done in _records_in(buffer):  # noqa: B007
                    yield record
                buffer = buffer[done:]
    except (zlib.error, DoesNotOpen) as error:
        raise _damaged(path) from error
    is_whole = unpack.eof and not buffer and not unpack.unused_data
    if not is_whole or size != header.body_bytes or digest.hexdigest() != header.body_sha256:
        raise _damaged(path)


def _opened(packed: bytes, opener: Opener | None, *, is_last: bool) -> bytes:
    if opener is None:
        return packed
    return opener.add(packed) + (opener.end() if is_last else b"")


def _read_top(path: Path) -> _Top:
    with path.open("rb") as file:
        first, block = file.readline(_FIRST_LINE + _SIGNATURE), file.read(_HEADER)
    if not first.startswith(_MAGIC):
        raise BackupFailed(f"{path} is not a backup of ThreadKit.")
    words = first.split()
    if len(words) > 1 and words[1].isdigit() and int(words[1]) > FORMAT_ENCRYPTED:
        raise BackupFailed(f"{path} was written by a newer ThreadKit, which alone can read it.")
    signature = words[3] if len(words) == 4 else None
    if first != _first_line(block, signature) or len(block) != _HEADER:
        raise _damaged(path)
    try:
        header = msgspec.json.decode(block, type=Header)
    except msgspec.MsgspecError as error:
        raise _damaged(path) from error
    if (header.encryption is None) != (signature is None):
        raise _damaged(path)
    return _Top(header, block, signature or b"")


def _first_line(block: bytes, signature: bytes | None) -> bytes:
    checksum = hashlib.sha256(block).hexdigest().encode()
    if signature is None:
        return b"%b%4d %b\n" % (_MAGIC, FORMAT, checksum)
    return b"%b%4d %b %b\n" % (_MAGIC, FORMAT_ENCRYPTED, checksum, signature)


def _body_at(*, is_encrypted: bool) -> int:
    return _FIRST_LINE + (_SIGNATURE if is_encrypted else 0) + _HEADER


def _records_in(buffer: bytes) -> Iterator[tuple[Record, int]]:
    """The whole records at the beginning, each with the place behind it."""
    at = 0
    while at + _LENGTHS.size <= len(buffer):
        key_length, value_length, expires_ms = _LENGTHS.unpack_from(buffer, at)
        key_at = at + _LENGTHS.size
        value_at = key_at + key_length
        end = value_at + (0 if value_length == _GONE else value_length)
        if end > len(buffer):
            return
        value = None if value_length == _GONE else buffer[value_at:end]
        at = end
        yield Record(buffer[key_at:value_at], expires_ms, value), at


def _damaged(path: Path) -> BackupFailed:
    return BackupFailed(f"{path} is damaged or cut off, and cannot be relied on. Use another backup.")
