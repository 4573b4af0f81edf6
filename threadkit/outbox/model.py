"""What waits, what failed, and what was given up."""

import msgspec
from msgspec import Struct

from threadkit.errors import Conflict, NotFound
from threadkit.ids import SiteId

# Pauses before the second try, the third, and so on. Whoever fails after the last one is given up.
RETRY_PAUSES_S = (1, 5, 30, 120, 600)
MOST_DEAD = 10_000
LONGEST_REASON = 500


class NotUnderstood(Exception):
    """An event nobody here can make sense of. Raised before anything was done; it goes to the dead letters at once."""


class SiteMustWait(Exception):
    """An entry has to stay where it is, and with it all later ones of its site, until the store is well again."""


class DeadLetterNotFound(NotFound):
    """There is no dead letter {id}."""

    code = "dead_letter_not_found"


class DeadLetterAmbiguous(Conflict):
    """More than one site has a dead letter {id}. Say which site."""

    code = "dead_letter_ambiguous"


class Retrying(Struct, frozen=True, kw_only=True):
    """One handler's share of an entry that waits for its next try; the JSON in `outbox:retrying`."""

    entry_id: str
    handler: str
    event: str
    tries: int

    @property
    def name(self) -> str:
        return f"{self.entry_id} {self.handler}"


class _Kind(Struct):
    type: str


class DeadLetter(Struct, frozen=True, kw_only=True):
    """An entry that was given up, with the reason; the fields in the stream `outbox:dead`.

    `tries` is 0 when nobody understood it: then nothing was ever done, and it can be done as if it were new.
    """

    entry_id: str = ""
    handler: str = ""
    event: str = ""
    why: str = ""
    tries: int = 0

    @property
    def kind(self) -> str | None:
        """What sort of event it is, if that can be read."""
        try:
            return msgspec.json.decode(self.event, type=_Kind).type
        except msgspec.DecodeError:
            return None

    def fields(self) -> list[str]:
        return [
            *("entry_id", self.entry_id),
            *("handler", self.handler),
            *("event", self.event),
            *("why", self.why[:LONGEST_REASON]),
            *("tries", str(self.tries)),
        ]


class FoundDead(Struct, frozen=True, kw_only=True):
    """A dead letter, and where it lies."""

    id: str
    site_id: SiteId
    letter: DeadLetter

    @property
    def died_ms(self) -> int:
        return entry_ms(self.id)

    @property
    def place(self) -> str:
        """Where it stands among those of all sites."""
        return f"{self.id}.{self.site_id}"


class State(Struct, frozen=True, kw_only=True):
    """How one site's outbox stands."""

    site_id: SiteId
    waiting: int
    oldest_ms: int | None
    retrying: int
    next_try_ms: int | None
    dead: int


def entry_ms(entry_id: str) -> int:
    """When a stream entry was written."""
    return int(entry_id.partition("-")[0])
