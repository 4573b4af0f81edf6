"""What the doctor looks at, and what it says. No I/O here."""

import enum
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from threadkit.http.client_address import Address
from threadkit.ids import SiteId

# Nobody has this address: it is kept for examples (RFC 5737). Whoever seems to come from it made it up.
MADE_UP_ADDRESS = "192.0.2.1"


class State(enum.StrEnum):
    OK = "ok"
    WARNING = "warning"
    BAD = "bad"
    UNKNOWN = "unknown"


class Check(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was looked at. `id` is a promise to programs and stays; `fix` says what to do when it is not ok."""

    id: str
    title: str
    state: State
    found: str
    fix: str = ""
    site_id: SiteId | None = None
    site: str | None = None


class Asked(Struct, frozen=True, kw_only=True):
    """The request that wants to know, and what the page behind it tells of itself."""

    peer: Address
    address: Address
    is_peer_trusted: bool
    forwarded_for: str | None = None
    real_ip: str | None = None
    forwarded_proto: str | None = None
    scheme: str = "http"
    host: str = ""
    page_origin: str | None = None
    browser_ms: int | None = None
    websocket: Literal["open", "failed"] | None = None

    @property
    def is_forwarded(self) -> bool:
        return self.forwarded_for is not None or self.real_ip is not None


class Tries(Struct, frozen=True, kw_only=True):
    """What only the page itself can try: open this socket, and send this header with the next question."""

    websocket_url: str
    header: str = "X-Forwarded-For"
    header_value: str = MADE_UP_ADDRESS


class Diagnosis(Struct, frozen=True, kw_only=True):
    """Everything that was looked at. `is_healthy` means that nothing is bad; warnings may stay as they are."""

    is_healthy: bool
    looked_at: str
    checks: list[Check]

    @property
    def counts(self) -> dict[State, int]:
        return {state: sum(1 for check in self.checks if check.state is state) for state in State}


def is_local_url(url: str) -> bool:
    """Whether an address leads to the machine one sits at: a server that is only tried out."""
    host = (urlsplit(url).hostname or "").lower()
    return host == "localhost" or host.endswith(".localhost") or host == "::1" or host.startswith("127.")
