"""The fast lane: what the program does all day, answered before the framework wakes up.

It takes `GET /v1/comments` of visitors without an account, with a key this worker knows, from a page it has seen to be
allowed. Everything else, and everything unusual, goes the ordinary way, which gives the same answers. What lies ready is
written by the server's protocol itself (server/protocol.py); what has to be fetched first waits here.
"""

import functools
import re
import time
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from litestar.types import ASGIApp, Receive, Send
from redis.exceptions import RedisError

from threadkit.clock import Clock
from threadkit.comments.reading import ThreadReader
from threadkit.comments.snapshots import Head, Key, Snapshot, Snapshots
from threadkit.comments.window import Question, begins_a_visit, order_of
from threadkit.errors import ThreadKitError
from threadkit.http.ledger import Ledger, Note
from threadkit.http.manners import API_POLICY, EXPOSED, HSTS, SECURITY, is_https, request_id_of
from threadkit.ids import SiteId
from threadkit.pages.model import PageRef
from threadkit.problems import PROBLEM_JSON, problem_of
from threadkit.ratelimit.lane import ReaderLimits
from threadkit.ratelimit.model import RateLimited, Standing
from threadkit.sites.model import PageRule, Site, origin_host
from threadkit.sites.queries import SiteQueries

PATH = "/v1/comments"
NUMBERS = ("limit", "replies", "depth")
MOST_REMEMBERED = 10_000

ASK_AGAIN_MS = 1000
LONGEST_ASKED = 4096

_STATUS_LINES = {
    200: b"HTTP/1.1 200 OK\r\n",
    304: b"HTTP/1.1 304 Not Modified\r\n",
    429: b"HTTP/1.1 429 Too Many Requests\r\n",
}
_HSTS_LINE = b"%b: %b\r\n" % HSTS
# Numbers as anybody writes them; what is odd is judged by the ordinary way.
_PLAIN = re.compile(r"0|[1-9][0-9]{0,3}")
_NO_WEIGHT = re.compile(rb"\s*q\s*=\s*0(\.0*)?\s*", re.IGNORECASE)


_Asked = tuple[bytes | None, bytes | None, bytes | None, bytes]


class _Caller:
    """What was found out about callers who ask the same question with the same key from the same page."""

    __slots__ = ("generation", "head", "key", "site", "until_ms")

    def __init__(self, site: Site, key: Key, origin: bytes | None, until_ms: int, generation: int) -> None:
        self.site = site
        self.key = key
        self.until_ms = until_ms
        self.generation = generation
        allowed = [] if origin is None else [(b"access-control-allow-origin", origin), EXPOSED]
        self.head = Head((b"vary", b"origin"), *allowed)


class FastLane:
    def __init__(
        self,
        app: ASGIApp,
        *,
        threads: ThreadReader,
        snapshots: Snapshots,
        site_queries: SiteQueries,
        clock: Clock,
        ledger: Ledger,
        limits: ReaderLimits | None,
        pages: PageRule,
    ) -> None:
        self._app = app
        self._threads = threads
        self._snapshots = snapshots
        self._site_queries = site_queries
        self._clock = clock
        self._ledger = ledger
        self._pages = pages
        self._limits = limits
        self._store_left_ms = -ASK_AGAIN_MS
        self._callers: dict[_Asked, _Caller] = {}
        site_queries.on_forgotten = self._forget

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        headers = dict(scope["headers"])
        caller = self._caller(headers, scope["query_string"])
        warning: list[tuple[bytes, bytes]] = []
        snapshot = None
        if caller is not None:
            snapshot = self._snapshots.fresh(caller.key) or await self._made(caller)
        if snapshot is None and (last := await self._last_known(headers, scope["query_string"])):
            caller, snapshot, warning = last
        if caller is None or snapshot is None:  # the ordinary way knows how to say it
            await self._app(scope, receive, send)
            return
        try:
            limits = self._limits.spend(caller.site, scope, headers) if self._limits else b""
        except RateLimited:  # counted only when it is let through, so it is refused there too
            await self._app(scope, receive, send)
            return
        if _wants_compressed(snapshot, headers):
            await snapshot.until_compressed()
        status, head, body = _chosen(snapshot, headers)
        request_id = request_id_of(headers)
        own = [(b"x-request-id", request_id.encode()), *caller.head.listed, *_listed(limits), *warning]
        if is_https(scope, headers):
            own.append(HSTS)
        if scope["method"] == "HEAD":
            body = b""
        await send({"type": "http.response.start", "status": status, "headers": head.listed + own})
        await send({"type": "http.response.body", "body": body, "more_body": False})
        self._note(started, status, len(body), request_id, caller, snapshot, scope, headers)

    def at_once(self, scope: Any, query: bytes) -> tuple[bytes, bytes, bytes] | None:
        """The answer to a GET, if it lies ready: the status line (the server says the date after it), head and body."""
        started = time.perf_counter()
        headers = dict(scope["headers"])
        caller = self._caller(headers, query)
        if caller is None:
            return None
        snapshot = self._snapshots.fresh(caller.key)
        if snapshot is None or _wants_compressed(snapshot, headers):
            return None
        try:
            limits = self._limits.spend(caller.site, scope, headers) if self._limits else b""
        except RateLimited as refused:
            return self._refuse(refused, started, caller, scope, headers)
        status, head, body = _chosen(snapshot, headers)
        request_id = request_id_of(headers)
        own = b"x-request-id: %b\r\n%b" % (request_id.encode(), limits)
        if is_https(scope, headers):
            own += _HSTS_LINE
        self._note(started, status, len(body), request_id, caller, snapshot, scope, headers)
        return _STATUS_LINES[status], head.wire + caller.head.wire + own + b"\r\n", body

    def _forget(self, site_id: SiteId) -> None:
        """A site has changed: what was known of its keys and pages must not be used without asking, either."""
        self._callers = {asked: caller for asked, caller in self._callers.items() if caller.site.id != site_id}

    def _refuse(
        self, refused: RateLimited, started: float, caller: _Caller, scope: Any, headers: dict[bytes, bytes]
    ) -> tuple[bytes, bytes, bytes]:
        """Refusing must not cost more than answering, or refusing many would."""
        request_id = request_id_of(headers)
        body = msgspec.json.encode(problem_of(refused, request_id=request_id))
        standing: Standing = refused.facts["standing"]
        head = Head(
            *SECURITY,
            *caller.head.listed,
            *standing.headers(),
            (b"content-security-policy", API_POLICY),
            (b"cache-control", b"no-store"),
            (b"retry-after", b"%d" % standing.wait_s),
            (b"content-type", PROBLEM_JSON.encode()),
            (b"content-length", b"%d" % len(body)),
            (b"x-request-id", request_id.encode()),
        )
        self._note(started, 429, len(body), request_id, caller, None, scope, headers)
        return _STATUS_LINES[429], head.wire + b"\r\n", body

    async def _made(self, caller: _Caller) -> Snapshot | None:
        """The snapshot as the store has it; None when it cannot be had."""
        try:
            return await self._threads.snapshot(caller.site, *caller.key[2:])
        except ThreadKitError:
            return None
        except (RedisError, OSError):
            self._store_left_ms = self._clock.now_ms()
            return None

    async def _last_known(
        self, headers: dict[bytes, bytes], query: bytes
    ) -> tuple[_Caller, Snapshot, list[tuple[bytes, bytes]]] | None:
        """What was true when the store was last heard of: while it is away, and for a minute at most."""
        caller = self._callers.get(_asked(headers, query))
        snapshot = self._snapshots.stale(caller.key) if caller else None
        if caller is None or snapshot is None or not await self._store_is_away(caller):
            return None
        age_s = (self._clock.now_ms() - snapshot.checked_ms) // 1000
        return caller, snapshot, [(b"age", b"%d" % age_s), (b"warning", b'110 - "Response is Stale"')]

    async def _store_is_away(self, caller: _Caller) -> bool:
        if self._clock.now_ms() - self._store_left_ms >= ASK_AGAIN_MS:
            try:
                await self._site_queries.by_id(caller.site.id)
            except (RedisError, OSError):
                self._store_left_ms = self._clock.now_ms()
        return self._clock.now_ms() - self._store_left_ms < ASK_AGAIN_MS

    def _note(
        self,
        started: float,
        status: int,
        sent: int,
        request_id: str,
        caller: _Caller,
        snapshot: Snapshot | None,
        scope: Any,
        headers: dict[bytes, bytes],
    ) -> None:
        is_view = status == 200 and scope["method"] == "GET" and begins_a_visit(caller.key[4])
        shown = snapshot.page_id if snapshot and is_view else None
        seconds = time.perf_counter() - started
        self._ledger.note(Note(time.time(), seconds, status, sent, request_id, caller.site.id, shown, scope, headers))

    def _caller(self, headers: dict[bytes, bytes], query: bytes) -> _Caller | None:
        """Who asks for what, if everything about it is ordinary."""
        if b"authorization" in headers or b"range" in headers:
            return None
        if b"projectid" not in headers and (b"key=" not in query or b"x-api-key" in headers):
            return None
        asked = _asked(headers, query)
        caller = self._callers.get(asked)
        if (
            caller is not None
            and caller.generation == self._site_queries.generation
            and self._clock.now_ms() < caller.until_ms
        ):
            return caller
        caller = self._look(*asked)
        if caller is not None and not _is_long(asked):
            if len(self._callers) >= MOST_REMEMBERED:
                self._callers.clear()
            self._callers[asked] = caller
        return caller

    def _look(self, api_key: bytes | None, origin: bytes | None, referer: bytes | None, query: bytes) -> _Caller | None:
        fields = _fields(query)
        if fields is None:
            return None
        key_text = fields.pop("key", "") if api_key is None else api_key.decode("latin-1")
        remembered = self._site_queries.remembered(key_text)
        if remembered is None or remembered[0].is_owner:
            return None
        opened, until_ms = remembered
        page = origin or referer
        if page is not None:
            if not page.isascii() or not page.decode().isprintable():
                return None
            if origin_host(page.decode()) is None or not self._pages.allows(page.decode(), opened.site):
                return None
        key = _understood(opened.site, fields)
        return _Caller(opened.site, key, origin, until_ms, self._site_queries.generation) if key else None


def _asked(headers: dict[bytes, bytes], query: bytes) -> _Asked:
    origin = headers.get(b"origin")
    return headers.get(b"projectid"), origin, None if origin else headers.get(b"referer"), query


def _is_long(asked: _Asked) -> bool:
    """Nothing that a browser sends, and too much to be remembered."""
    return sum(len(part) for part in asked if part) > LONGEST_ASKED


def _listed(lines: bytes) -> list[tuple[bytes, bytes]]:
    """Lines of a head, as ASGI wants them."""
    pairs = [line.partition(b": ") for line in lines.splitlines()]
    return [(name, value) for name, _, value in pairs]


def _fields(query: bytes) -> dict[str, str] | None:
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, strict_parsing=True, max_num_fields=9)
    except ValueError:
        return None
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else None


def _understood(site: Site, fields: dict[str, str]) -> Key | None:
    if "around" in fields:
        return None
    try:
        asked = {
            name: int(value) if name in NUMBERS and _PLAIN.fullmatch(value) else value for name, value in fields.items()
        }
        question = msgspec.convert(asked, Question)
        order = order_of(question.sort, site)
        window = question.window(order)
        ref = PageRef(question.page_url, question.page_id)
    except (ValueError, ThreadKitError):
        return None
    if ref.may_be_id:
        return None
    page_id = ref.page_id(site.id, drop_tracking=site.settings.drop_tracking_parameters)
    return site.id, site.version, page_id, order, window


def _chosen(snapshot: Snapshot, headers: dict[bytes, bytes]) -> tuple[int, Head, bytes]:
    """Status, head and body for a reader, who may have it already or may want it compressed."""
    if b"if-none-match" in headers and is_known(headers[b"if-none-match"], snapshot.etag):
        return 304, snapshot.head_known, b""
    if snapshot.compressed is not None and _accepts_gzip(headers):
        return 200, snapshot.head_compressed, snapshot.compressed
    return 200, snapshot.head, snapshot.body


def _wants_compressed(snapshot: Snapshot, headers: dict[bytes, bytes]) -> bool:
    """Whether a reader would rather wait for it. Who has it already needs neither form."""
    return (
        snapshot.is_compressing
        and _accepts_gzip(headers)
        and not is_known(headers.get(b"if-none-match"), snapshot.etag)
    )


def _accepts_gzip(headers: dict[bytes, bytes]) -> bool:
    return accepts_gzip(headers.get(b"accept-encoding", b""))


@functools.lru_cache(maxsize=256)
def accepts_gzip(accept_encoding: bytes) -> bool:
    """Whether gzip is named, and not with a weight of nothing."""
    for part in accept_encoding.split(b","):
        name, _, weight = part.partition(b";")
        if name.strip().lower() == b"gzip":
            return _NO_WEIGHT.fullmatch(weight) is None
    return False


def is_known(if_none_match: bytes | None, etag: bytes) -> bool:
    """Whether the client already has this, also when it says so weakly or names several."""
    if if_none_match is None:
        return False
    named = [part.strip().removeprefix(b"W/") for part in if_none_match.split(b",")]
    return etag in named or named == [b"*"]
