"""What a check may look at."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
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


class Samples(Protocol):
    """Whoever can look whether a few pages of a site agree with their records."""

    async def sample(self, site_id: SiteId) -> Report: ...


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """`asked` is None on the command line, where no browser asks."""

    settings: Settings
    store: Store
    keys: Keys
    keyring: Keyring
    clock: Clock
    providers: frozenset[str]
    outboxes: OutboxQueries
    samples: Samples
    asked: Asked | None = None

    @property
    def is_local(self) -> bool:
        return is_local_url(self.settings.base_url)


ServerCheck = Callable[[Surroundings], Awaitable[Check]]
SiteCheck = Callable[[Surroundings, Site], Awaitable[Check]]


class About:
    """The name of a check, to make its answers with."""

    def __init__(self, check_id: str, title: str) -> None:
        self.id = check_id
        self.title = title

    def ok(self, found: str) -> Check:
        return self._check(State.OK, found, "")

    def warning(self, found: str, fix: str) -> Check:
        return self._check(State.WARNING, found, fix)

    def bad(self, found: str, fix: str) -> Check:
        return self._check(State.BAD, found, fix)

    def unknown(self, found: str, fix: str = "") -> Check:
        return self._check(State.UNKNOWN, found, fix)

    def _check(self, state: State, found: str, fix: str) -> Check:
        return Check(id=self.id, title=self.title, state=state, found=found, fix=fix)
