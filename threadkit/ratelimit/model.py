"""How often something may be done: what is counted, and what callers are told. No I/O here."""

from datetime import UTC, datetime
from typing import Literal, NamedTuple

from msgspec import Struct

from threadkit.errors import TooMany, Unavailable

MINUTE_S = 60
DAY_S = 86_400

Kind = Literal["read", "write"]
Layer = Literal["IP", "project_id", "user"]
Action = Literal["comments", "reports", "codes", "exports", "imports"]


class RateLimited(TooMany):
    """Rate limit exceeded"""

    code = "too_many_requests"


class TooSoon(TooMany):
    """You are writing very quickly. Please wait {retry_after_s} seconds."""

    code = "too_soon"


class MinuteUsedUp(TooMany):
    """That was a lot in one minute. Please wait {retry_after_s} seconds."""

    code = "minute_used_up"


class DayUsedUp(TooMany):
    """You have reached today's limit. It starts anew in {retry_after_s} seconds."""

    code = "day_used_up"


class Busy(Unavailable):
    """ThreadKit has more to do than it can do right now. Please try again in a moment."""

    code = "busy"


class Allowance(NamedTuple):
    """Requests a minute, by layer; None where there is no limit."""

    ip: int | None
    key: int | None
    user: int | None


class Standing(NamedTuple):
    """Where a caller stands in one layer: for the headers of every answer."""

    kind: Kind
    limit: int
    remaining: int
    now_s: int

    @property
    def wait_s(self) -> int:
        """Until a new minute begins."""
        return MINUTE_S - self.now_s % MINUTE_S

    def headers(self) -> list[tuple[bytes, bytes]]:
        """The names that older clients read, and those of the draft standard."""
        reset_s = self.now_s + self.wait_s
        return [
            (b"x-ratelimit-limit", b"%d" % self.limit),
            (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-reset", b"%d" % reset_s),
            (b"ratelimit-policy", b'"%b";q=%d;w=%d' % (self.kind.encode(), self.limit, MINUTE_S)),
            (b"ratelimit", b'"%b";r=%d;t=%d' % (self.kind.encode(), self.remaining, self.wait_s)),
        ]


class Quota(Struct, frozen=True):
    """What one client may do of a costly action."""

    per_minute: int
    per_day: int


class Pace(Struct, frozen=True):
    """At most so many in so many seconds, and a pause between two."""

    limit: int
    seconds: int
    gap_s: int


class Reservation(Struct, frozen=True):
    """A costly action that was let through. It remembers its day, so that giving it back after midnight does not lower
    the count of the next."""

    id: str
    subject: str
    day: str
    is_in_memory: bool = False


def day_of(now_ms: int) -> tuple[str, int]:
    """The day of UTC, and the whole seconds that are left of it: at least one."""
    text = datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()
    left_ms = DAY_S * 1000 - now_ms % (DAY_S * 1000)
    return text, max(1, -(-left_ms // 1000))
