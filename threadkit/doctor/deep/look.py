"""One going through everything: what was found, and what of it was found before."""

from collections.abc import Callable, Collection
from typing import TypeAlias

from threadkit.doctor.deep.names import Known
from threadkit.rebuild.model import Finding, Look

MOST_REMEMBERED = 100_000

Identity: TypeAlias = tuple[str, str, str]


class DeepLook(Look):
    """Remembers what it found, up to a bound, so that a second look can tell what only seemed wrong: `suspects` are what
    the first one found, and nothing else is told then. `confirmed` is what may be mended where a single step cannot
    look and mend at once."""

    def __init__(
        self,
        *,
        is_check: bool,
        on_progress: Callable[[int], None],
        suspects: Collection[Identity] | None = None,
        confirmed: Collection[Identity] = (),
        deleting: Collection[str] = (),
    ) -> None:
        super().__init__(site_id=None, is_check=is_check, on_progress=on_progress)
        self._suspects = suspects
        self._confirmed = confirmed
        self._deleting = deleting
        self.seen: set[Identity] = set()
        self.is_overwhelmed = False
        self.keys = 0

    def note(self, finding: Finding) -> None:
        if self._suspects is not None and _identity(finding) not in self._suspects:
            return
        # A site that is being deleted does not agree with itself until it is gone.
        if any(site_id in finding.subject or site_id in finding.found for site_id in self._deleting):
            return
        super().note(finding)
        if len(self.seen) < MOST_REMEMBERED:
            self.seen.add(_identity(finding))
        else:
            self.is_overwhelmed = True

    def note_and_may_mend(self, finding: Finding) -> bool:
        """For what lies in different places: only what was wrong at two looks is touched."""
        self.note(finding)
        return not self.is_check and _identity(finding) in self._confirmed


def _identity(finding: Finding) -> Identity:
    return (finding.kind, finding.what, finding.subject)


def by_tag(found: list[Known]) -> dict[str, list[Known]]:
    """In a cluster one call can have the keys of one owner only."""
    groups: dict[str, list[Known]] = {}
    for name in found:
        groups.setdefault(name.tag, []).append(name)
    return groups
