"""What became of a copy, and what can be wrong with it. No I/O here."""

from collections import Counter

from msgspec import Struct

from threadkit.errors import CannotStart


class CopyFailed(CannotStart):
    """A store could not be copied; the text says why and what to do."""


class LeftBehind(Struct):
    """Keys of one kind that were not copied to a cluster, because nothing in the store says whose they are."""

    kind: str
    count: int = 0
    example: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.count:,}, e.g. {self.example}"


class Tallies:
    """What was counted while both stores were gone through, by kind of key."""

    def __init__(self) -> None:
        self.there: Counter[str] = Counter()
        self.arrived: Counter[str] = Counter()
        self.missing: Counter[str] = Counter()
        self.different: Counter[str] = Counter()
        self.surplus: Counter[str] = Counter()
        self.unknown = 0
        self._left_behind: dict[str, LeftBehind] = {}

    def leave_behind(self, kind: str, key: bytes) -> None:
        left = self._left_behind.setdefault(kind, LeftBehind(kind, 0, key.decode(errors="replace")))
        left.count += 1

    @property
    def left_behind(self) -> list[LeftBehind]:
        return [self._left_behind[kind] for kind in sorted(self._left_behind)]

    def differences(self) -> list[str]:
        """A sentence for each kind that is not the same in both stores."""
        sentences = []
        for kind in sorted({*self.missing, *self.different, *self.surplus}):
            counts = ((self.missing, "missing"), (self.different, "different"), (self.surplus, "too many"))
            words = [f"{count[kind]:,} {word}" for count, word in counts if count[kind]]
            sentences.append(f"{kind}: {', '.join(words)} of {self.there[kind]:,}")
        return sentences


class CopyReport(Struct, frozen=True, kw_only=True):
    """A copy that was compared with what it was made from, key by key."""

    is_resumed: bool
    keys: int
    """How many there are now in the store that was copied into."""
    counts: dict[str, tuple[int, int]]
    """By kind of key, in both stores. What a person voted on is one key a site in a cluster, and one in all elsewhere."""
    left_behind: list[LeftBehind]
    unknown: int
    """Keys that no line of the schema describes; they are somebody else's and stay where they are."""
