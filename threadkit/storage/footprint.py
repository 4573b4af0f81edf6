"""What the data takes in the store's memory, measured from the keys that are there.

Every key belongs to a kind: to the records of that kind, or to their indexes. So the report can say what one more
comment costs: its record, and its share of everything that leads to it.
"""

import enum
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Container
from dataclasses import dataclass, field

from msgspec import Struct

from threadkit.ids import is_uuid
from threadkit.storage.client import Commands
from threadkit.storage.keys import SCHEMA, Entry, Keys, Kind, schema_entries

MEASURED = 5_000
"""So many keys of each pattern are measured; where there are more, these stand for all."""
NESTED_SAMPLES = 50
AT_ONCE = 1_000
MOST_SHAPES = 10_000


class Of(enum.StrEnum):
    """What a key is about."""

    COMMENT = "comment"
    USER = "user"
    VOTE = "vote"
    SESSION = "session"
    NOTIFICATION = "notification"
    PAGE = "page"
    SITE = "site"
    OTHER = "other"


# The keys that hold one thing each; all others of the kind lead to it.
RECORDS = {
    Of.COMMENT: "comment",
    Of.USER: "profile",
    Of.VOTE: "vote",
    Of.SESSION: "session",
    Of.NOTIFICATION: "notification",
    Of.PAGE: "page",
    Of.SITE: "config",
}
_BY_NAME = {
    "page": Of.PAGE,
    "pages": Of.PAGE,
    "page_views": Of.PAGE,
    "page_views_on": Of.PAGE,
    "session": Of.SESSION,
    "sessions": Of.SESSION,
    "provider_session": Of.SESSION,
    "session_lock": Of.SESSION,
    "verification": Of.OTHER,
    "provider_state": Of.OTHER,
    "repeated": Of.OTHER,
}
_BY_WRITER = {
    "comments": Of.COMMENT,
    "votes": Of.VOTE,
    "users": Of.USER,
    "notifications": Of.NOTIFICATION,
    "pages": Of.PAGE,
    "sites": Of.SITE,
    "roles": Of.SITE,
}


def kind_of(entry: Entry) -> Of:
    """What the keys of a schema entry are about; what nobody would count in such things is `other`."""
    if entry.name in _BY_NAME:
        return _BY_NAME[entry.name]
    if entry.kind is Kind.STREAM or entry.name.startswith("outbox"):
        return Of.OTHER
    if entry.name == "applied":
        return Of.USER
    return _BY_WRITER.get(entry.writers.split()[0], Of.OTHER)


class Share(Struct, frozen=True, kw_only=True):
    """All of one kind: how many there are, and what they take."""

    kind: Of
    count: int
    record_bytes: int
    index_bytes: int
    keys: int

    @property
    def bytes(self) -> int:
        return self.record_bytes + self.index_bytes

    @property
    def bytes_each(self) -> float | None:
        """What one takes with its share of the indexes; None when there is nothing to measure."""
        return self.bytes / self.count if self.count else None


class Footprint(Struct, frozen=True, kw_only=True):
    shares: list[Share]
    used_memory: int | None
    """What the store says it takes in all; None when it does not say."""

    @property
    def bytes(self) -> int:
        return sum(share.bytes for share in self.shares)

    def share(self, kind: Of) -> Share:
        return next(share for share in self.shares if share.kind is kind)

    def estimate(self, wanted: dict[Of, int]) -> dict[Of, int | None]:
        """What so many of each would take; None where there is none to measure."""
        each = {kind: self.share(kind).bytes_each for kind in wanted}
        return {kind: None if size is None else round(size * wanted[kind]) for kind, size in each.items()}


class Sample(Struct, frozen=True):
    """How many of the keys that were looked at belong to which line of the schema; strangers' keys to none."""

    counts: dict[tuple[Of, str], int]
    seen: int


class Places:
    """Which schema entry a key belongs to. Trying all patterns on each of millions of keys would take minutes."""

    def __init__(self) -> None:
        firsts = [entry.pattern.partition(":")[0] for entry in SCHEMA]
        self._alone = {first: entry for first, entry in zip(firsts, SCHEMA, strict=True) if firsts.count(first) == 1}
        self._by_shape: dict[tuple[str, ...], Entry | None] = {}

    def entry_of(self, key: str, parts: list[str]) -> Entry | None:
        if (alone := self._alone.get(parts[0])) and alone.matches(key):
            return alone
        shape = tuple("id" if is_uuid(part) else part for part in parts)
        if shape not in self._by_shape:
            found = schema_entries(key)
            if len(self._by_shape) >= MOST_SHAPES:
                self._by_shape.clear()
            self._by_shape[shape] = found[0] if len(found) == 1 else None
        return self._by_shape[shape]


@dataclass
class _Pattern:
    """The keys of one schema entry: their number, and a fair choice of them."""

    entry: Entry
    count: int = 0
    chosen: list[str] = field(default_factory=list)

    def see(self, key: str, chance: random.Random) -> None:
        self.count += 1
        if len(self.chosen) < MEASURED:
            self.chosen.append(key)
        elif (place := chance.randrange(self.count)) < MEASURED:
            self.chosen[place] = key


class FootprintService:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def measure(self, *, among: Container[str] | None = None) -> Footprint:
        """Everything under the prefix; with `among`, only keys with one of these ids in them."""
        patterns: dict[str, _Pattern] = {}
        places = Places()
        chance = random.Random(0)  # noqa: S311 - only chooses what is measured
        async for key in self._scan():
            parts = key.replace("{", ":").replace("}", ":").split(":")
            if among is not None and not any(part in among for part in parts):
                continue
            if entry := places.entry_of(key, parts):
                patterns.setdefault(f"{entry.group}.{entry.name}", _Pattern(entry)).see(key, chance)
        sizes = {name: await self._bytes(pattern) for name, pattern in patterns.items()}
        return Footprint(shares=_shares(patterns, sizes), used_memory=await self._used_memory())

    async def sample(self, *, most: int) -> Sample:
        """Look at so many keys and no more. The store goes through them in no order of ours, so these stand for all."""
        counts: dict[tuple[Of, str], int] = defaultdict(int)
        places, seen = Places(), 0
        async for key in self._scan():
            seen += 1
            if entry := places.entry_of(key, key.replace("{", ":").replace("}", ":").split(":")):
                counts[kind_of(entry), entry.pattern] += 1
            if seen >= most:
                break
        return Sample(dict(counts), seen)

    async def _scan(self) -> AsyncIterator[str]:
        prefix = self._keys.prefix
        async for key in self._redis.scan_iter(match=f"{_escaped(prefix)}*" if prefix else None, count=1000):
            yield key.removeprefix(prefix)

    async def _bytes(self, pattern: _Pattern) -> int:
        total = 0
        for start in range(0, len(pattern.chosen), AT_ONCE):
            async with self._redis.pipeline(transaction=False) as pipe:
                for key in pattern.chosen[start : start + AT_ONCE]:
                    pipe.memory_usage(self._keys.prefix + key, samples=NESTED_SAMPLES)
                total += sum(size or 0 for size in await pipe.execute())
        return round(total * pattern.count / len(pattern.chosen)) if pattern.chosen else 0

    async def _used_memory(self) -> int | None:
        info = await self._redis.info("memory")
        if "used_memory" in info:
            return int(info["used_memory"])
        nodes = [node for node in info.values() if isinstance(node, dict)]  # a cluster answers for each node
        return sum(int(node["used_memory"]) for node in nodes) or None


def _shares(patterns: dict[str, _Pattern], sizes: dict[str, int]) -> list[Share]:
    count: dict[Of, int] = defaultdict(int)
    record: dict[Of, int] = defaultdict(int)
    index: dict[Of, int] = defaultdict(int)
    keys: dict[Of, int] = defaultdict(int)
    for name, pattern in patterns.items():
        kind = kind_of(pattern.entry)
        keys[kind] += pattern.count
        if RECORDS.get(kind) == pattern.entry.name:
            count[kind] += pattern.count
            record[kind] += sizes[name]
        else:
            index[kind] += sizes[name]
    return [
        Share(kind=kind, count=count[kind], record_bytes=record[kind], index_bytes=index[kind], keys=keys[kind])
        for kind in Of
    ]


def _escaped(prefix: str) -> str:
    return "".join(f"\\{character}" if character in "*?[]\\" else character for character in prefix)
