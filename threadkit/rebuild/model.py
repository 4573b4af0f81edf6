"""What a rebuild finds, and how far a re-ranking has come. No I/O here."""

from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct

from threadkit.ids import SiteId
from threadkit.scoring import HotFormula

What = Literal["missing", "stray", "score", "value", "type", "lifetime", "damaged", "unknown"]
# Nothing can be derived for these, so nothing is changed.
BEYOND_REPAIR: frozenset[What] = frozenset({"damaged", "unknown"})
MOST_EXAMPLES = 3

# (when it was only looked at, when it was put right)
_WORDS: dict[What, tuple[str, str]] = {
    "missing": ("{n} missing", "{n} put back"),
    "stray": ("{n} that do not belong there", "{n} taken out that did not belong there"),
    "score": ("{n} wrong scores", "{n} scores put right"),
    "value": ("{n} wrong", "{n} put right"),
    "type": ("{n} of the wrong type", "{n} of the wrong type made anew"),
    "lifetime": ("{n} that would expire", "{n} kept from expiring"),
    "damaged": ("{n} cannot be put right", "{n} cannot be put right"),
    "unknown": ("{n} unknown", "{n} unknown"),
}


class Finding(Struct, frozen=True):
    """One thing that does not follow from the records. `kind` is the name of the key, or of the field."""

    kind: str
    what: What
    subject: str
    found: str = ""
    wanted: str = ""

    def __str__(self) -> str:
        if self.what in ("score", "value", "type"):
            return f"{self.subject}: {self.found or 'nothing'} instead of {self.wanted or 'nothing'}"
        return f"{self.subject}: {self.found}" if self.what == "damaged" else self.subject


class Tally(Struct):
    """Findings of one sort: how many, and some of them."""

    kind: str
    what: What
    count: int = 0
    examples: list[str] = []

    def sentence(self, *, is_check: bool) -> str:
        words = _WORDS[self.what][0 if is_check else 1].format(n=f"{self.count:,}")
        return f"{self.kind}: {words}, e.g. {'; '.join(self.examples)}"


class Report(Struct):
    """What a rebuild found. `rounds` counts how often everything was gone through until nothing was left to change."""

    is_check: bool
    site_id: SiteId | None = None
    comments: int = 0
    pages: int = 0
    votes: int = 0
    indexes: int = 0
    rounds: int = 0
    is_settled: bool = False
    tallies: list[Tally] = []

    @property
    def is_clean(self) -> bool:
        """Whether everything agrees now: nothing to change, or all of it changed, and nothing damaged."""
        return self.is_settled and not any(tally.what == "damaged" for tally in self.tallies)


class Look:
    """One going through: what to do, what was found, and whom to tell how far it has come."""

    def __init__(self, *, site_id: SiteId | None, is_check: bool, on_progress: Callable[[int], None]) -> None:
        self.site_id = site_id
        self.is_check = is_check
        self.on_progress = on_progress
        self.changes = 0
        self.comments = self.pages = self.votes = self.indexes = 0
        self._tallies: dict[tuple[str, What], Tally] = {}

    @property
    def mode(self) -> Literal["check", "repair"]:
        return "check" if self.is_check else "repair"

    def wants(self, site_id: str | None) -> bool:
        return self.site_id is None or site_id == self.site_id

    def note(self, finding: Finding) -> None:
        tally = self._tallies.setdefault((finding.kind, finding.what), Tally(finding.kind, finding.what, examples=[]))
        tally.count += 1
        if len(tally.examples) < MOST_EXAMPLES:
            tally.examples.append(str(finding))
        if finding.what not in BEYOND_REPAIR:
            self.changes += 1

    def tallies(self) -> list[Tally]:
        return [self._tallies[key] for key in sorted(self._tallies)]


class Ranking(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """With which formula a site's stored hot scores were made, as stored under `site:{id}:ranking`.

    `formula` is there only when they all are; while they are made anew `wanted` is, with the place reached so far.
    """

    formula: HotFormula | None = None
    wanted: HotFormula | None = None
    round: int = 1
    not_before_ms: int = 0
    cursor_ms: int | None = None
    skip: int = 0
    done: int = 0
    total: int = 0

    @property
    def percent(self) -> int | None:
        """How much is done; None when no re-ranking is under way, or only the look back after one."""
        if self.wanted is None or self.round > 1:
            return None
        return min(100, 100 * self.done // self.total) if self.total else 0


def merged(tallies: list[Tally], more: list[Tally]) -> list[Tally]:
    """The findings of two rounds together. Damage stays what it is, so the later round has all of it."""
    found: dict[tuple[str, What], Tally] = {
        (tally.kind, tally.what): tally for tally in tallies if tally.what != "damaged"
    }
    for tally in more:
        if (before := found.get((tally.kind, tally.what))) is None:
            found[tally.kind, tally.what] = tally
        else:
            examples = [*before.examples, *tally.examples][:MOST_EXAMPLES]
            found[tally.kind, tally.what] = msgspec.structs.replace(
                before, count=before.count + tally.count, examples=examples
            )
    return [found[key] for key in sorted(found)]
