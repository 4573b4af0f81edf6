"""Encrypts the records of a backup with a passphrase, piece by piece, so that memory stays small.

Each piece is sealed for itself (AES-256-GCM). Its nonce is its number and whether it is the last one, so a piece that was
changed, left out, doubled or moved does not open, and neither does the end of a file that was cut off or added to. A nonce
is never used twice, because every file has a key of its own: argon2id of the passphrase and a salt.
"""

import hmac
import os
import unicodedata
from typing import Annotated, Literal

from argon2.low_level import Type, hash_secret_raw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Meta, Struct

PIECE = 65_536
_TAG = 16
_KEY = 32
_PURPOSE = b"threadkit-backup"


class Encryption(Struct, frozen=True, kw_only=True):
    """What is needed besides the passphrase. The ends of the ranges keep a made-up file from taking all memory."""

    cipher: Literal["AES-256-GCM"] = "AES-256-GCM"
    key_from: Literal["argon2id"] = "argon2id"
    salt: Annotated[bytes, Meta(min_length=16, max_length=64)]
    time_cost: Annotated[int, Meta(ge=1, le=16)] = 3
    memory_kib: Annotated[int, Meta(ge=8, le=1_048_576)] = 65_536
    lanes: Annotated[int, Meta(ge=1, le=16)] = 4


class DoesNotOpen(Exception):
    """Another key, or other bytes than those that were sealed."""


class FileKey:
    """What a passphrase and the parameters of one file make together."""

    def __init__(self, passphrase: str, encryption: Encryption) -> None:
        self.encryption = encryption
        root = hash_secret_raw(
            # Keyboards differ in how they write an é; the passphrase is the same.
            unicodedata.normalize("NFC", passphrase).encode(),
            encryption.salt,
            time_cost=encryption.time_cost,
            memory_cost=encryption.memory_kib,
            parallelism=encryption.lanes,
            hash_len=_KEY,
            type=Type.ID,
        )
        self._for_header = hmac.digest(root, b"threadkit-backup:header", "sha256")
        self._for_records = hmac.digest(root, b"threadkit-backup:records", "sha256")

    @classmethod
    def new(cls, passphrase: str) -> "FileKey":
        return cls(passphrase, Encryption(salt=os.urandom(16)))

    def sign(self, header: bytes) -> bytes:
        return hmac.digest(self._for_header, header, "sha256").hex().encode()

    def has_signed(self, header: bytes, signature: bytes) -> bool:
        return hmac.compare_digest(self.sign(header), signature)

    def sealer(self) -> "Sealer":
        return Sealer(AESGCM(self._for_records))

    def opener(self) -> "Opener":
        return Opener(AESGCM(self._for_records))


class _Pieces:
    def __init__(self, cipher: AESGCM) -> None:
        self._cipher = cipher
        self._buffer = bytearray()
        self._number = 0

    def _next_nonce(self, *, is_last: bool) -> bytes:
        nonce = self._number.to_bytes(11, "big") + bytes([is_last])
        self._number += 1
        return nonce

    def _take(self, length: int) -> bytes:
        taken = bytes(self._buffer[:length])
        del self._buffer[:length]
        return taken


class Sealer(_Pieces):
    def add(self, data: bytes) -> bytes:
        """What can be written already. Something is always held back, since the last piece is sealed as the last one."""
        self._buffer += data
        sealed = bytearray()
        while len(self._buffer) > PIECE:
            sealed += self._seal(self._take(PIECE), is_last=False)
        return bytes(sealed)

    def end(self) -> bytes:
        return self._seal(self._take(PIECE), is_last=True)

    def _seal(self, piece: bytes, *, is_last: bool) -> bytes:
        return self._cipher.encrypt(self._next_nonce(is_last=is_last), piece, _PURPOSE)


class Opener(_Pieces):
    def add(self, data: bytes) -> bytes:
        self._buffer += data
        opened = bytearray()
        while len(self._buffer) > PIECE + _TAG:
            opened += self._open(self._take(PIECE + _TAG), is_last=False)
        return bytes(opened)

    def end(self) -> bytes:
        return self._open(self._take(PIECE + _TAG), is_last=True)

    def _open(self, piece: bytes, *, is_last: bool) -> bytes:
        try:
            return self._cipher.decrypt(self._next_nonce(is_last=is_last), piece, _PURPOSE)
        except (InvalidTag, ValueError) as error:  # the latter for what is shorter than a tag
            raise DoesNotOpen from error
