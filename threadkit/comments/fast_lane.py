"""The fast lane: what the program does all day, answered before the framework wakes up.

It takes `GET /v1/comments` of visitors without an account, with a key this worker knows, from a page it has seen to be
allowed. Everything else, and everything unusual, goes the ordinary way, which gives the same answers. What lies ready is
written by the server's protocol itself (server/protocol.py); what has to be fetched first waits here. While the store is
away, everybody gets the last copy of what everybody may see, those too who are signed in.
"""

import asyncio
import functools
import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from litestar.types import ASGIApp, Message, Receive, Send
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

LONGEST_ASKED = 4096
LOOK_EVERY_S = 0.05
TROUBLE_MS = 1000

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


class _NotWaited(Exception):
    """The store is away, or was a moment ago, and there is a copy."""


class _Caller:
    """What was found out about callers who ask the same question with the same key from the same page."""

    __slots__ = ("api_key", "generation", "head", "key", "site", "until_ms")

    def __init__(
        self, api_key: str, site: Site, key: Key, origin: bytes | None, until_ms: int, generation: int
    ) -> None:
        self.api_key = api_key
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
        is_store_quiet: Callable[[], bool],
    ) -> None:
        self._app = app
        self._threads = threads
        self._snapshots = snapshots
        self._site_queries = site_queries
        self._clock = clock
        self._ledger = ledger
        self._pages = pages
        self._limits = limits
        self._is_store_quiet = is_store_quiet
        self._failed_ms = 0
        self._callers: dict[_Asked, _Caller] = {}
        site_queries.on_forgotten = self._forget

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        headers = dict(scope["headers"])
        answer = functools.partial(self._send, started, scope, headers, send)
        caller = self._caller(headers, scope["query_string"])
        known = caller or self._former(headers, scope["query_string"])
        if known is not None and b"authorization" not in headers:
            try:
                snapshot = self._snapshots.fresh(known.key) or await self._made(known)
            except (RedisError, OSError, _NotWaited) as error:
                if not isinstance(error, _NotWaited):
                    self._failed_ms = self._clock.now_ms()
                last = self._snapshots.stale(known.key)
                if last is not None and await answer(known, last, is_stale=True):
                    return
            else:
                if (
                    snapshot is not None
                    and (caller or await self._still_opens(known))
                    and await answer(known, snapshot)
                ):
                    return
        # The ordinary way knows how to say what is wrong. It says that the store is away where there is no copy.
        if known is None or self._snapshots.stale(known.key) is None:
            await self._app(scope, receive, send)
        elif await self._is_away(scope, receive, send):
            last = self._snapshots.stale(known.key)
            if last is None or not await answer(known, last, is_stale=True):
                await self._app(scope, receive, send)

    async def _is_away(self, scope: Any, receive: Receive, send: Send) -> bool:
        """Go the ordinary way, unless it ends at a store that is away."""
        is_away = False

        async def unless_away(message: Message) -> None:
            nonlocal is_away
            is_away = is_away or (message["type"] == "http.response.start" and message["status"] == 503)
            if not is_away:
                await send(message)

        await self._app(scope, receive, unless_away)
        return is_away

    async def _still_opens(self, former: _Caller) -> bool:
        """Whether the store says the same of a key as before. It is asked for each reader until its changes are heard
        again."""
        try:
            opened = await self._site_queries.opened_by(former.api_key)
        except (RedisError, OSError):
            return False
        return opened is not None and opened.site.version == former.site.version

    def _has_copy_instead(self, key: Key) -> bool:
        """Whether nobody should wait any longer, because the store is away, or has been a moment ago. Then a copy must
        not be older than what was written since."""
        copy = self._snapshots.stale(key)
        if copy is None or self._is_store_quiet():
            return copy is not None
        return self._clock.now_ms() - self._failed_ms < TROUBLE_MS and copy.outdated_ms <= self._failed_ms

    async def _send(
        self,
        started: float,
        scope: Any,
        headers: dict[bytes, bytes],
        send: Send,
        caller: _Caller,
        snapshot: Snapshot,
        *,
        is_stale: bool = False,
    ) -> bool:
        """Whether it was answered, which it is not when it is one too many."""
        try:
            limits = self._limits.spend(caller.site, scope, headers) if self._limits else b""
        except RateLimited:  # counted only when it is let through, so it is refused there too
            return False
        if _wants_compressed(snapshot, headers):
            await snapshot.until_compressed()
        status, head, body = _chosen(snapshot, headers)
        request_id = request_id_of(headers)
        own = [(b"x-request-id", request_id.encode()), *caller.head.listed, *_listed(limits)]
        if is_stale:
            age_s = (self._clock.now_ms() - snapshot.checked_ms) // 1000
            own += [(b"age", b"%d" % age_s), (b"warning", b'110 - "Response is Stale"')]
        if is_https(scope, headers):
            own.append(HSTS)
        if scope["method"] == "HEAD":
            body = b""
        await send({"type": "http.response.start", "status": status, "headers": head.listed + own})
        await send({"type": "http.response.body", "body": body, "more_body": False})
        self._note(started, status, len(body), request_id, caller, snapshot, scope, headers)
        return True

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
        """The snapshot as the store has it; None when there can be none. Nobody for whom there is a copy waits to find out
        that the store is away."""
        making = asyncio.ensure_future(self._threads.snapshot(caller.site, *caller.key[2:]))
        try:
            while not making.done():
                await asyncio.wait([making], timeout=LOOK_EVERY_S)
                if not making.done() and self._has_copy_instead(caller.key):
                    raise _NotWaited
            return await making
        except ThreadKitError:
            return None
        finally:
            making.cancel()  # the look itself goes on, for whoever else waits for it

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
        if b"authorization" in headers or not _is_usual(headers, query):
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

    def _former(self, headers: dict[bytes, bytes], query: bytes) -> _Caller | None:
        """The same as far as it was known in the last minutes, for when nobody can be asked. Who is signed in does not
        matter then: they get what everybody may see."""
        return self._look(*_asked(headers, query), formerly=True) if _is_usual(headers, query) else None

    def _look(
        self,
        api_key: bytes | None,
        origin: bytes | None,
        referer: bytes | None,
        query: bytes,
        *,
        formerly: bool = False,
    ) -> _Caller | None:
        fields = _fields(query)
        if fields is None:
            return None
        key_text = fields.pop("key", "") if api_key is None else api_key.decode("latin-1")
        until_ms = 0
        if formerly:
            opened = self._site_queries.formerly_opened(key_text)
        else:
            opened, until_ms = self._site_queries.remembered(key_text) or (None, 0)
        if opened is None or opened.is_owner:
            return None
        page = origin or referer
        if page is not None:
            if not page.isascii() or not page.decode().isprintable():
                return None
            if origin_host(page.decode()) is None or not self._pages.allows(page.decode(), opened.site):
                return None
        key = _understood(opened.site, fields)
        generation = self._site_queries.generation
        return _Caller(key_text, opened.site, key, origin, until_ms, generation) if key else None


def _is_usual(headers: dict[bytes, bytes], query: bytes) -> bool:
    return b"range" not in headers and (b"projectid" in headers or (b"key=" in query and b"x-api-key" not in headers))


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
