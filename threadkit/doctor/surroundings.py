"""What a check may look at."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from threadkit.clock import Clock
from threadkit.doctor.model import Asked, Check, State, is_local_url
from threadkit.ids import SiteId
from threadkit.keyring import Keyring
from threadkit.outbox.queries import OutboxQueries
from threadkit.rebuild.model import Report
from threadkit.settings import Settings
from threadkit.sites.model import Site
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys
from threadkit.words import Fact, Locales, Words

LOCALES = Locales("threadkit.doctor")


class Samples(Protocol):
    """Whoever can look whether a few pages of a site agree with their records."""

    async def sample(self, site_id: SiteId) -> Report: ...


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """`asked` is None on the command line, where no browser asks. `words` is how what was found is said."""

    settings: Settings
    store: Store
    keys: Keys
    keyring: Keyring
    clock: Clock
    providers: frozenset[str]
    outboxes: OutboxQueries
    samples: Samples
    words: Words = field(default_factory=lambda: LOCALES.words_for("en"))
    asked: Asked | None = None

    @property
    def is_local(self) -> bool:
        return is_local_url(self.settings.base_url)

    def about(self, check_id: str) -> "About":
        return About(check_id, self.words)


ServerCheck = Callable[[Surroundings], Awaitable[Check]]
SiteCheck = Callable[[Surroundings, Site], Awaitable[Check]]


class About:
    """One check, to make its answers with. What a finding is called has its sentence in the locales, as `check.finding`,
    and what to do about it beside it, as `check.finding.fix`."""

    def __init__(self, check_id: str, words: Words) -> None:
        self.id = check_id
        self.words = words

    def ok(self, finding: str, **facts: Fact) -> Check:
        return self._check(State.OK, f"{self.id}.{finding}", facts)

    def warning(self, finding: str, **facts: Fact) -> Check:
        return self._check(State.WARNING, f"{self.id}.{finding}", facts)

    def bad(self, finding: str, **facts: Fact) -> Check:
        return self._check(State.BAD, f"{self.id}.{finding}", facts)

    def unknown(self, finding: str, **facts: Fact) -> Check:
        return self._check(State.UNKNOWN, f"{self.id}.{finding}", facts)

    def only_from_outside(self) -> Check:
        return self._check(State.UNKNOWN, "any.from_outside", {})

    def not_looked_at(self, why: str) -> Check:
        return self._check(State.UNKNOWN, "any.failed" if why else "any.slow", {"why": why})

    def _check(self, state: State, key: str, facts: dict[str, Fact]) -> Check:
        has_fix = state is not State.OK and f"{key}.fix" in self.words
        return Check(
            id=self.id,
            title=self.words(f"{self.id}.title"),
            state=state,
            found=self.words(key, **facts),
            fix=self.words(f"{key}.fix", **facts) if has_fix else "",
        )
