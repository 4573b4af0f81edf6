"""From any key back to its line of the schema, quickly: there are millions of keys and a hundred lines."""

import re
from collections.abc import Iterator

from msgspec import Struct

from threadkit.settings import LONGEST_PREFIX
from threadkit.storage.keys import SCHEMA, Entry, Keys, Kind

_GROUPS = {"SiteKeys": "site", "UserKeys": "user", "ClientKeys": "client", "GlobalKeys": "shared"}
# Ids of ours have no colon in them; what comes from elsewhere may.
_PLAIN = {"sort", "date", "day", "month", "worker", "visitor", "text_digest"}


class Known(Struct, frozen=True):
    """A key, its line of the schema, and what its name says. `of` is such as `site.page_new`."""

    key: str
    of: str
    entry: Entry
    parts: dict[str, str]
    tag: str


class AllNames:
    def __init__(self, keys: Keys) -> None:
        self._prefix = keys.prefix
        self._is_tagged = keys.tagged
        self._patterns: dict[str, list[tuple[str, Entry, re.Pattern[str]]]] = {}
        # The line with the most fixed letters is the most exact one.
        for entry in sorted(SCHEMA, key=lambda entry: -len(re.sub(r"\{\w+\}", "", entry.pattern))):
            if entry.kind is not Kind.CHANNEL:
                first = entry.pattern.partition(":")[0]
                found = (f"{_GROUPS[entry.group]}.{entry.name}", entry, _reader(entry.pattern))
                self._patterns.setdefault("" if "{" in first else first, []).append(found)

    def is_ours(self, key: str) -> bool:
        """With a prefix, keys without it are somebody else's."""
        return key.startswith(self._prefix)

    def is_known(self, key: bytes) -> bool:
        """What is not is somebody else's: keys of the prefix `blog2` begin with `blog` too."""
        return self.parse(key.decode(errors="surrogateescape")) is not None

    def others(self, key: str) -> Iterator[str]:
        """The longer prefixes under which an unknown key could be another installation's."""
        bare = key[len(self._prefix) :]
        for end in range(1, min(len(bare), LONGEST_PREFIX)):
            if self.parse(self._prefix + bare[end:]) is not None:
                yield self._prefix + bare[:end]

    def parse(self, key: str) -> Known | None:
        """None for a key that no line of the schema describes."""
        bare, tag = key[len(self._prefix) :], ""
        if self._is_tagged and bare.startswith("{"):
            tag, _, bare = bare[1:].partition("}")
        for first in (bare.partition(":")[0], ""):
            for of, entry, pattern in self._patterns.get(first, ()):
                if match := pattern.fullmatch(bare):
                    return Known(key, of, entry, match.groupdict(), tag)
        return None


def _reader(pattern: str) -> re.Pattern[str]:
    def part(match: re.Match[str]) -> str:
        name = match[1]
        is_plain = name in _PLAIN or (name.endswith("_id") and name != "provider_id")
        return f"(?P<{name}>{'[^:{}]+' if is_plain else '[^{}]+'})"

    return re.compile(re.sub(r"\\\{(\w+)\\\}", part, re.escape(pattern)))
