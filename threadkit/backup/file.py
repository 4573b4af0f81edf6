"""The file of a backup: a line with a checksum, a header of fixed size, and the records, compressed.

    threadkit-backup 1 <SHA-256 of the header>
    <JSON, filled up with spaces>
    <zlib: for each record the lengths of key and value, when it ends, the key, the value>

The header says how long the records are and what their checksum is, so no bit of the file can change unnoticed.
"""

import hashlib
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from threadkit.backup.model import FORMAT, BackupFailed, Header, Record

_MAGIC = b"threadkit-backup "
_FIRST_LINE = len(_MAGIC) + len(b"%4d " % FORMAT) + 64 + 1
_HEADER = 32_768
_BODY_AT = _FIRST_LINE + _HEADER
_LENGTHS = struct.Struct(">IIq")
_GONE = 0xFFFFFFFF
_READ = 1 << 20
_SPEED = 3  # zlib's levels above take several times as long and save little


class BackupWriter:
    """Writes records to a file that only its owner can read. The header comes last, so that half a file is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._file.write(b" " * _BODY_AT)
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
        return self._digest.hexdigest()

    def finish(self, header: Header) -> None:
        """From here on it is a backup, and on disk."""
        text = msgspec.json.encode(header)
        if len(text) > _HEADER:
            raise BackupFailed(f"The backup's header would have {len(text)} bytes, and {_HEADER} is the most.")
        block = text.ljust(_HEADER)
        self._file.seek(0)
        self._file.write(b"%b%4d %b\n" % (_MAGIC, FORMAT, hashlib.sha256(block).hexdigest().encode()))
        self._file.write(block)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def close(self) -> None:
        self._file.close()

    def _put(self, packed: bytes) -> None:
        self._file.write(packed)
        self._digest.update(packed)
        self.body_bytes += len(packed)


def read_header(path: Path) -> Header:
    """What a backup says of itself; refused when it is none, or damaged."""
    with path.open("rb") as file:
        first, block = file.read(_FIRST_LINE), file.read(_HEADER)
    words = first.split()
    if not first.startswith(_MAGIC):
        raise BackupFailed(f"{path} is not a backup of ThreadKit.")
    if len(words) != 3 or len(block) != _HEADER:
        raise _damaged(path)
    if words[1].isdigit() and int(words[1]) > FORMAT:
        raise BackupFailed(f"{path} was written by a newer ThreadKit, which alone can read it.")
    if words[1] != b"%d" % FORMAT or hashlib.sha256(block).hexdigest().encode() != words[2]:
        raise _damaged(path)
    try:
        return msgspec.json.decode(block, type=Header)
    except msgspec.MsgspecError as error:
        raise _damaged(path) from error


def read_records(path: Path, header: Header) -> Iterator[Record]:
    """All of them, in order. A damaged file raises at the end at the latest: what was read until then is not to be
    relied on."""
    buffer, unpack, digest, size = b"", zlib.decompressobj(), hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            file.seek(_BODY_AT)
            while packed := file.read(_READ):
                digest.update(packed)
                size += len(packed)
                buffer += unpack.decompress(packed)
                done = 0
                for record, done in _records_in(buffer):  # noqa: B007
                    yield record
                buffer = buffer[done:]
    except zlib.error as error:
        raise _damaged(path) from error
    is_whole = unpack.eof and not buffer and not unpack.unused_data
    if not is_whole or size != header.body_bytes or digest.hexdigest() != header.body_sha256:
        raise _damaged(path)


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
