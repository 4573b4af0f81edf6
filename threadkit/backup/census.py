"""Counts keys by their kind, each once however often it is seen."""

from collections import defaultdict

from threadkit import __version__
from threadkit.backup.model import Count, Header
from threadkit.storage.footprint import Places
from threadkit.storage.keys import Entry

UNKNOWN = "unknown"


class Census:
    """Remembers keys by a number each: about a hundred bytes for one key."""

    def __init__(self) -> None:
        self._places = Places()
        self._lasting: dict[str, set[int]] = defaultdict(set)
        self._passing: dict[str, set[int]] = defaultdict(set)

    def entry_of(self, key: bytes) -> Entry | None:
        text = key.decode(errors="replace")
        return self._places.entry_of(text, text.replace("{", ":").replace("}", ":").split(":"))

    def add(self, key: bytes, *, ends: bool) -> None:
        entry = self.entry_of(key)
        kind, number = entry.pattern if entry else UNKNOWN, hash(key)
        (self._lasting if ends else self._passing)[kind].discard(number)
        (self._passing if ends else self._lasting)[kind].add(number)

    def remove(self, key: bytes) -> bool:
        """Whether it had been counted."""
        entry = self.entry_of(key)
        kind, number = entry.pattern if entry else UNKNOWN, hash(key)
        was_there = number in self._lasting[kind] or number in self._passing[kind]
        self._lasting[kind].discard(number)
        self._passing[kind].discard(number)
        return was_there

    def counts(self) -> dict[str, Count]:
        found = {
            kind: Count(len(self._lasting[kind]) + len(self._passing[kind]), len(self._passing[kind]))
            for kind in sorted({*self._lasting, *self._passing})
        }
        return {kind: count for kind, count in found.items() if count.keys}


def differences(header: Header, counts: dict[str, Count], *, may_have_ended: bool = False) -> list[str]:
    """Where the numbers are not those of the backup; with `may_have_ended` keys that end by themselves may be fewer."""
    said, seen = header.counts, counts
    if header.threadkit != __version__:  # which may have called the kinds otherwise
        said, seen = {"all": _all(said)}, {"all": _all(seen)}
    sentences = []
    for kind in sorted({*said, *seen}):
        expected, found = said.get(kind, Count(0, 0)), seen.get(kind, Count(0, 0))
        least = expected.keys - expected.passing if may_have_ended else expected.keys
        if not least <= found.keys <= expected.keys:
            sentences.append(f"{kind}: {found.keys} instead of {expected.keys}")
    return sentences


def _all(counts: dict[str, Count]) -> Count:
    return Count(sum(count.keys for count in counts.values()), sum(count.passing for count in counts.values()))
