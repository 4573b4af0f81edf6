"""Whether two texts are nearly the same: their overlapping runs of letters, compared by a small sketch of each."""

import functools
import hashlib
import struct
import zlib

from msgspec import Struct

from threadkit.moderation.words import normal, words_of

RUN = 4
KEPT = 64
SHORT = 20
"""Below so many letters "thanks!" and its like are what many people write: only the very same counts."""


class Sketch(Struct, frozen=True):
    """A digest of the letters, how many there are, and the smallest hashes of their runs."""

    digest: str
    letters: int
    runs: tuple[int, ...]

    @property
    def is_short(self) -> bool:
        return self.letters < SHORT

    def encode(self) -> str:
        return f"{self.digest} {self.letters} {struct.pack(f'>{len(self.runs)}I', *self.runs).hex()}"

    @classmethod
    def decode(cls, text: str) -> "Sketch":
        digest, letters, runs = text.split(" ")
        return cls(digest, int(letters), struct.unpack(f">{len(runs) // 8}I", bytes.fromhex(runs)))


@functools.lru_cache(maxsize=16)  # a text is looked at before it is written, and remembered after
def sketch(text: str) -> Sketch:
    plain = normal(text)
    # A text of signs only has no letters to compare.
    letters = "".join(words_of(plain)) or "".join(plain.split())
    raw = letters.encode("utf-32-le", errors="replace")
    ends = range(RUN * 4, len(raw) + 1, 4)
    # Spread, because a checksum of few letters fills its range unevenly.
    runs = {zlib.crc32(raw[end - RUN * 4 : end]) * 0x9E3779B1 & 0xFFFFFFFF for end in ends}
    digest = hashlib.blake2b(raw, digest_size=8).hexdigest()
    return Sketch(digest, len(letters), tuple(sorted(runs)[:KEPT]))


def likeness(one: Sketch, other: Sketch) -> float:
    """How much of all their runs two texts share, from 0 to 1: exact for short ones, an estimate for long ones."""
    if one.digest == other.digest:
        return 1.0
    # The smallest hashes of both together are a fair choice of all, and each sketch knows whether it has them.
    chosen = sorted({*one.runs, *other.runs})[:KEPT]
    if not chosen:
        return 0.0
    mine, theirs = set(one.runs), set(other.runs)
    return sum(run in mine and run in theirs for run in chosen) / len(chosen)
