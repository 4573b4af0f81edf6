"""The fast lane: what the program does all day, answered before the framework wakes up.

It takes `GET /v1/comments` of visitors without an account, with a key this worker knows, from a page it has seen to be
allowed. Everything else, and everything unusual, goes the ordinary way, which gives the same answers.
"""

import time
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from litestar.types import ASGIApp, Receive, Send
from redis.exceptions import RedisError

from threadkit.clock import Clock
from threadkit.comments.reading import ThreadReader
from threadkit.comments.snapshots import Key, Snapshot, Snapshots
from threadkit.comments.window import Cursor, Question
from threadkit.counters.tally import Tally
from threadkit.errors import ThreadKitError
from threadkit.http.access_log import AccessLog
from threadkit.http.manners import EXPOSED, HSTS, is_https, request_id_of
from threadkit.http.metrics import Metrics
from threadkit.pages.model import PageRef
from threadkit.sites.model import OpenedSite, Site, origin_host, origin_is_allowed
from threadkit.sites.queries import SiteQueries

PATH = "/v1/comments"
NUMBERS = ("limit", "replies", "depth")
MOST_REMEMBERED = 10_000


class _Caller:
    """What was found out about callers who ask the same question with the same key from the same page."""

    __slots__ = ("generation", "key", "opened", "own_head", "until_ms")

    def __init__(self, opened: OpenedSite, key: Key, origin: bytes | None, until_ms: int, generation: int) -> None:
        self.opened = opened
        self.key = key
        self.until_ms = until_ms
        self.generation = generation
        self.own_head = [(b"vary", b"origin")]
        if origin is not None:
            self.own_head += [(b"access-control-allow-origin", origin), EXPOSED]


class FastLane:
    def __init__(
        self,
        app: ASGIApp,
        *,
        threads: ThreadReader,
        snapshots: Snapshots,
        site_queries: SiteQueries,
        tally: Tally,
        clock: Clock,
        access_log: AccessLog,
        metrics: Metrics,
        allow_localhost: bool,
    ) -> None:
        self._app = app
        self._threads = threads
        self._snapshots = snapshots
        self._site_queries = site_queries
        self._tally = tally
        self._clock = clock
        self._access_log = access_log
        self._meters = {"GET": metrics.bulk("GET", PATH), "HEAD": metrics.bulk("HEAD", PATH)}
        self._allow_localhost = allow_localhost
        self._callers: dict[tuple[bytes, bytes | None, bytes | None, bytes], _Caller] = {}

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] not in self._meters:
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        headers = dict(scope["headers"])
        caller = self._caller(scope, headers)
        if caller is None:
            await self._app(scope, receive, send)
            return
        snapshot = self._snapshots.fresh(caller.key)
        if snapshot is None:
            try:
                snapshot = await self._threads.snapshot(caller.opened.site, *caller.key[2:])
            except (RedisError, OSError, ThreadKitError):  # the ordinary way knows how to say it
                await self._app(scope, receive, send)
                return
        request_id = request_id_of(headers)
        status, sent = await _answer(snapshot, caller, scope, headers, request_id, send)
        site_id = caller.opened.site.id
        self._tally.request(site_id)
        if status == 200 and scope["method"] == "GET":
            self._tally.view(site_id, snapshot.page_id, scope["client"], headers)
        seconds = time.perf_counter() - started
        self._meters[scope["method"]].add(status, seconds)
        if self._access_log.is_on:
            self._access_log.record(
                scope,
                headers,
                method=scope["method"],
                status=status,
                seconds=seconds,
                sent=sent,
                request_id=request_id,
                site_id=site_id,
            )

    def _caller(self, scope: Any, headers: dict[bytes, bytes]) -> _Caller | None:
        """Who asks for what, if everything about it is ordinary."""
        api_key = headers.get(b"projectid")
        if api_key is None or b"authorization" in headers or b"range" in headers:
            return None
        asked = (api_key, headers.get(b"origin"), headers.get(b"referer"), scope["query_string"])
        caller = self._callers.get(asked)
        if (
            caller is not None
            and caller.generation == self._site_queries.generation
            and self._clock.now_ms() < caller.until_ms
        ):
            return caller
        caller = self._look(*asked)
        if caller is not None:
            if len(self._callers) >= MOST_REMEMBERED:
                self._callers.clear()
            self._callers[asked] = caller
        return caller

    def _look(self, api_key: bytes, origin: bytes | None, referer: bytes | None, query: bytes) -> _Caller | None:
        remembered = self._site_queries.remembered(api_key.decode("latin-1"))
        if remembered is None or remembered[0].is_owner:
            return None
        opened, until_ms = remembered
        page = origin or referer
        if page is not None:
            host = origin_host(page.decode("latin-1"))
            if host is None or not origin_is_allowed(host, opened.site, allow_localhost=self._allow_localhost):
                return None
        key = _understood(opened.site, query)
        return _Caller(opened, key, origin, until_ms, self._site_queries.generation) if key else None


def _understood(site: Site, query: bytes) -> Key | None:
    try:
        fields = parse_qsl(query.decode("ascii"), keep_blank_values=True, strict_parsing=True, max_num_fields=8)
        asked = {name: int(value) if name in NUMBERS and value.isdecimal() else value for name, value in fields}
        if len(asked) != len(fields) or "around" in asked:
            return None
        question = msgspec.convert(asked, Question)
        if question.cursor is not None:
            Cursor.read(question.cursor, question.sort)
        ref = PageRef(question.page_url, question.page_id)
    except (ValueError, ThreadKitError):
        return None
    if ref.may_be_id:
        return None
    page_id = ref.page_id(site.id, drop_tracking=site.settings.drop_tracking_parameters)
    return site.id, site.version, page_id, question.sort, question.window()


async def _answer(
    snapshot: Snapshot, caller: _Caller, scope: Any, headers: dict[bytes, bytes], request_id: str, send: Send
) -> tuple[int, int]:
    """Send it; says with which status, and how many bytes of body."""
    own = [(b"x-request-id", request_id.encode()), *caller.own_head]
    if is_https(scope, headers):
        own.append(HSTS)
    status, body = 200, snapshot.body
    if b"if-none-match" in headers and is_known(headers[b"if-none-match"], snapshot.etag):
        status, body, head = 304, b"", snapshot.head_known
    elif snapshot.compressed is not None and b"gzip" in headers.get(b"accept-encoding", b""):
        body, head = snapshot.compressed, snapshot.head_compressed
    else:
        head = snapshot.head
    if scope["method"] == "HEAD":
        body = b""
    await send({"type": "http.response.start", "status": status, "headers": head + own})
    await send({"type": "http.response.body", "body": body, "more_body": False})
    return status, len(body)


def is_known(if_none_match: bytes | None, etag: bytes) -> bool:
    """Whether the client already has this, also when it says so weakly or names several."""
    if if_none_match is None:
        return False
    named = [part.strip().removeprefix(b"W/") for part in if_none_match.split(b",")]
    return etag in named or named == [b"*"]
