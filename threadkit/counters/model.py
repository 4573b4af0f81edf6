"""What is counted. No I/O here."""

from datetime import UTC, date, datetime, timedelta
from typing import Literal, get_args

from msgspec import Struct

from threadkit.ids import PageId, SiteId

KeyKind = Literal["public", "secret", "sso"]
KEY_KINDS: tuple[KeyKind, ...] = get_args(KeyKind)

MINUTE_MS = 60_000
DAY_MS = 86_400_000
KEPT_S = 90 * 86_400
DAYS_VISITORS_KEPT_S = 2 * 86_400  # their number is kept like the others
MOST_DAYS = 90
MOST_UNWRITTEN = 10_000  # anybody can look at addresses that nobody else has ever seen
ENOUGH_VISITORS = 3
MOST_MONTHS = 4  # 90 days touch no more

# The address of the connection, what proxies say about it, and the user agent; see visitors.py.
Visitor = tuple[str | None, bytes, bytes, bytes]


class Gathered:
    """What happened on one site on one day and is not in the store yet. Plain fields: the fast lane adds to them."""

    __slots__ = (
        "comments",
        "connections",
        "day",
        "keys",
        "pageviews",
        "requests",
        "seen_by",
        "site_id",
        "views",
        "visitors",
    )

    def __init__(self, site_id: SiteId, day: str) -> None:
        self.site_id = site_id
        self.day = day
        self.views: dict[PageId, int] = {}
        self.seen_by: dict[PageId, Visitor] = {}
        """The first who looked at each of these pages."""
        self.visitors: set[Visitor] = set()
        self.comments = 0
        self.pageviews = 0
        self.requests = 0
        self.connections = 0
        self.keys: dict[KeyKind, int] = {}

    def usage(self) -> tuple[int, int, int, int]:
        return self.comments, self.pageviews, self.requests, self.connections

    def is_empty(self) -> bool:
        return not (self.views or self.visitors or self.keys or any(self.usage()))


class Batch(Struct, frozen=True):
    """What goes to the store in one step. It never changes, so that sending it again is sending the same."""

    site_id: SiteId
    number: int
    day: str
    usage: tuple[int, int, int, int]
    views: dict[PageId, int]
    seen_by: list[str]
    """One visitor for each of these pages, in their order."""
    visitors: list[str]
    keys: dict[KeyKind, int]

    @property
    def month(self) -> str:
        return month_of(self.day)


class MonthOfUse(Struct):
    """A site in one month, in UTC. `visitors` is an estimate, good to a per cent or two, unless counted exactly."""

    month: str
    comments: int
    pageviews: int
    api_requests: int
    websocket_connections: int
    visitors: int


class DayOfUse(Struct):
    """A site on one day, in UTC. `visitors` is an estimate, good to a per cent or two."""

    date: str
    comments: int = 0
    pageviews: int = 0
    api_requests: int = 0
    websocket_connections: int = 0
    visitors: int = 0


class DayOfViews(Struct):
    date: str
    views: int


def views_in(written: str | None, unwritten: str | None) -> int:
    """How often a page was viewed, from its own number and from before anybody wrote there."""
    return int(written or 0) + int((unwritten or "0").partition(" ")[0])


def day_of(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).date().isoformat()


def month_of(day: str) -> str:
    return day[:7]


def last_days(ms: int, count: int) -> list[str]:
    """Today and the days before it, newest first."""
    today = date.fromisoformat(day_of(ms))
    return [(today - timedelta(days=back)).isoformat() for back in range(count)]


def last_months(ms: int, count: int) -> list[str]:
    """This month and those before it, newest first."""
    today = date.fromisoformat(day_of(ms))
    number = today.year * 12 + today.month - 1
    return [f"{month // 12:04d}-{month % 12 + 1:02d}" for month in range(number, number - count, -1)]
