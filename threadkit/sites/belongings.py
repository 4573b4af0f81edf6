"""Which keys are a site's, read from the schema: so that nothing of a deleted site is left. No I/O here.

Every key of the schema is in one of the groups below. One that is in none makes a test fail: whoever adds a key says
how a site's share of it is found.
"""

import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from threadkit.storage.keys import SCHEMA, Entry, Keys, Kind

How = Literal[
    "record",  # a page or a comment, which says whose it is; everything that hangs on it goes before it
    "page",  # hangs on a page
    "comment",  # hangs on a comment
    "name",  # has the site's id in its name
    "voted_pages",  # a set of pages, perhaps of several sites
    "request",  # its value is a comment
    "session",
    "user",  # a user's key that holds something of several sites
    "value",  # its value is the site, or JSON that names it
    "kept",
]

_SITE: dict[str, How] = {"page": "record", "comment": "record", "voted_pages": "voted_pages", "repeated": "request"}
_USER: dict[str, How] = {
    "session": "session",
    "applied": "user",
    "notifications": "user",
    "unread_by_site": "user",
    "upvoters": "comment",
}
_SHARED: dict[str, How] = {"api_key_site": "value", "api_key": "value", "provider_state": "value"}

# People outlive sites; `unread` follows `notifications`, and what else belongs to a session goes with it.
_KEPT = {
    *("profile", "password", "provider_session", "session_lock", "sessions", "blocked", "blocked_by", "unread"),
    *("totp", "totp_draft", "passkeys", "recovery_codes", "passkey_challenge", "networks"),
    *("minute", "daily", "pace"),
    *("restoring", "copying", "backups", "backup_lease", "erasures", "erasure_journals"),
    *(
        "stamp",
        "write_probe",
        "email",
        "phone",
        "username",
        "look_alike",
        "provider",
        "verification",
        "verification_for",
        "window",
        "owner_link",
    ),
    # The list of sites, and what tells how a deletion goes, are seen to by the deletion itself.
    *("sites", "deleting", "deletion", "deletion_lease"),
}


class Found(Struct, frozen=True):
    """A key, how it is known whose it is, and what its name says."""

    key: str
    how: How
    parts: dict[str, str]
    tag: str


def how_found(entry: Entry) -> How | None:
    """How a site's share of such keys is found; None for a key nobody has thought about."""
    if entry.name in _KEPT and entry.group != "SiteKeys":
        return "kept"
    special = {"SiteKeys": _SITE, "UserKeys": _USER, "GlobalKeys": _SHARED}.get(entry.group, {}).get(entry.name)
    if special or entry.group != "SiteKeys":
        return special
    hangs_on: tuple[tuple[str, How], ...] = (("{site_id}", "name"), ("{comment_id}", "comment"), ("{page_id}", "page"))
    return next((how for part, how in hangs_on if part in entry.pattern), None)


def forgotten(schema: Iterable[Entry] = SCHEMA) -> list[str]:
    """Keys of which nobody has said what becomes of them when a site is deleted."""
    return [entry.pattern for entry in schema if entry.kind is not Kind.CHANNEL and how_found(entry) is None]


class Belongings:
    """Reads the names of keys."""

    def __init__(self, keys: Keys) -> None:
        self._prefix = keys.prefix
        self._is_tagged = keys.tagged
        self._patterns: dict[str, list[tuple[How, re.Pattern[str]]]] = {}
        # The more of a pattern is fixed, the more exact it is: `apikey:{api_key}:site` before `apikey:{api_key}`.
        for entry in sorted(SCHEMA, key=lambda one: -len(re.sub(r"\{\w+\}", "", one.pattern))):
            how = how_found(entry)
            if entry.kind is Kind.CHANNEL or how is None:
                continue
            pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^:{}]+)", re.escape(entry.pattern))
            first = entry.pattern.partition(":")[0]
            self._patterns.setdefault("" if first.startswith("{") else first, []).append((how, re.compile(pattern)))

    def parse(self, key: str) -> Found | None:
        """None for what is not ours, or is kept."""
        if not key.startswith(self._prefix):
            return None
        bare, tag = key[len(self._prefix) :], ""
        if self._is_tagged and bare.startswith("{"):
            tag, _, bare = bare.removeprefix("{").partition("}")
        first = bare.partition(":")[0]
        for how, pattern in (*self._patterns.get(first, ()), *self._patterns.get("", ())):
            if match := pattern.fullmatch(bare):
                return Found(key, how, match.groupdict(), tag) if how != "kept" else None
        return None
