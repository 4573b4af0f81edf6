"""From a key back to what it is the key of: the schema read the other way round."""

import re

from msgspec import Struct

from threadkit.ids import SiteId
from threadkit.storage.keys import SCHEMA, Keys, Kind

RECORDS = frozenset({"comment", "page", "vote"})
INDEXES = frozenset(
    {
        *("page_new", "page_top", "page_hot", "roots", "pinned", "unlisted", "replies", "replies_by"),
        *("comments", "comments_of", "modqueue", "pages"),
    }
)
VOTE_INDEXES = frozenset({"page_votes", "voted_pages"})


class Name(Struct, frozen=True):
    """A key, the function in `keys.py` that makes it, and what it was given."""

    key: str
    of: str
    type: Kind
    parts: dict[str, str]
    tag: str

    @property
    def site_id(self) -> SiteId:
        """As far as the key itself says: by its hash tag, or by its name."""
        return SiteId(self.tag or self.parts.get("site_id", ""))

    @property
    def label(self) -> str:
        """`roots:hot`, `page_top`: what a report calls it."""
        sort = self.parts.get("sort")
        return f"{self.of.removesuffix('_by')}:{sort}" if sort else self.of


class Names:
    def __init__(self, keys: Keys) -> None:
        self._prefix = keys.prefix
        self._is_tagged = keys.tagged
        wanted = RECORDS | INDEXES | VOTE_INDEXES
        self._patterns: dict[str, list[tuple[str, Kind, re.Pattern[str]]]] = {}
        for entry in SCHEMA:
            if entry.group == "SiteKeys" and entry.name in wanted:
                pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^:{}]+)", re.escape(entry.pattern))
                first = entry.pattern.partition(":")[0]
                found = (entry.name, entry.kind, re.compile(pattern))
                # `votes:{user_id}:pages` before `votes:{user_id}:{page_id}`, which would match it too.
                place = 0 if entry.name == "voted_pages" else len(self._patterns.get(first, []))
                self._patterns.setdefault(first, []).insert(place, found)

    def parse(self, key: str) -> Name | None:
        """None for a key that is neither a record nor derived from one."""
        if not key.startswith(self._prefix):
            return None
        bare, tag = key[len(self._prefix) :], ""
        if self._is_tagged:
            tag, _, bare = bare.removeprefix("{").partition("}")
        for of, kind, pattern in self._patterns.get(bare.partition(":")[0], ()):
            if match := pattern.fullmatch(bare):
                return Name(key, of, kind, match.groupdict(), tag)
        return None
