"""The 100,000 passwords of at least eight characters that people choose most, as they were in leaks: a Bloom filter of
300 KB. One in 100,000 others is taken for one of them."""

import functools
import hashlib
from collections.abc import Iterator, Sequence
from importlib import resources

BITS = 2_400_000
HASHES = 16


def is_common(password: str) -> bool:
    bits = _bits()
    return all(bits[place >> 3] >> (place & 7) & 1 for place in _places(password))


def make(passwords: Sequence[str]) -> bytes:
    bits = bytearray(BITS // 8)
    for password in passwords:
        for place in _places(password):
            bits[place >> 3] |= 1 << (place & 7)
    return bytes(bits)


def _places(password: str) -> Iterator[int]:
    """Two hashes make all (Kirsch and Mitzenmacher)."""
    digest = hashlib.blake2b(password.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    first, step = int.from_bytes(digest[:8]), int.from_bytes(digest[8:]) | 1
    return ((first + number * step) % BITS for number in range(HASHES))


@functools.cache
def _bits() -> bytes:
    return resources.files("threadkit.users").joinpath("common_passwords.bin").read_bytes()
