"""The fast lane: what the program does all day, answered before the framework wakes up.

It takes `GET /v1/comments` of visitors without an account, with a key this worker knows, from a page it has seen to be
allowed. Everything else, and everything unusual, goes the ordinary way, which gives the same answers.
"""

import time
from typing import Any
from urllib.parse import parse_qs

from litestar.types import ASGIApp, Receive, Send
from redis.exceptions import RedisError

from threadkit.comments.model import LONGEST_URL, Sort, normal_url, page_id_of
from threadkit.comments.service import CommentService
from threadkit.comments.snapshots import Key, Snapshot, Snapshots
from threadkit.http.access_log import AccessLog
from threadkit.http.manners import EXPOSED, HSTS, is_https, request_id_of
from threadkit.http.metrics import Metrics
from threadkit.sites.model import OpenedSite, Site, origin_host, origin_is_allowed
from threadkit.sites.queries import SiteQueries

PATH = "/v1/comments"
MOST_REMEMBERED = 10_000
_SORTS: dict[str, Sort] = {sort: sort for sort in ("new", "old", "top", "hot", "controversial")}


class FastLane:
    def __init__(
        self,
        app: ASGIApp,
        *,
        comments: CommentService,
        snapshots: Snapshots,
        site_queries: SiteQueries,
        access_log: AccessLog,
        metrics: Metrics,
        allow_localhost: bool,
    ) -> None:
        self._access_log = access_log
        self._metrics = metrics
        self._app = app
        self._comments = comments
        self._snapshots = snapshots
        self._site_queries = site_queries
        self._allow_localhost = allow_localhost
        self._questions: dict[tuple[str, int, bytes], tuple[str, Key] | None] = {}
        self._origins: dict[tuple[str, int, bytes], bool] = {}

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        headers = dict(scope["headers"])
        opened = self._known_site(headers)
        question = self._question(opened.site, scope["query_string"]) if opened else None
        if opened is None or question is None:
            await self._app(scope, receive, send)
            return
        page_url, key = question
        snapshot = self._snapshots.fresh(key)
        if snapshot is None:
            try:
                snapshot = await self._comments.snapshot(opened.site, page_url, key[3])
            except (RedisError, OSError):  # the ordinary way knows how to say it
                await self._app(scope, receive, send)
                return
        request_id = request_id_of(headers)
        status, sent = await _answer(snapshot, scope, headers, request_id, send)
        seconds = time.perf_counter() - started
        self._metrics.request(scope["method"], PATH, status, seconds)
        if self._access_log.is_on:
            scope["state"] = {"opened": opened}
            self._access_log.record(
                scope,
                headers,
                method=scope["method"],
                status=status,
                seconds=seconds,
                sent=sent,
                request_id=request_id,
            )

    def _known_site(self, headers: dict[bytes, bytes]) -> OpenedSite | None:
        """The site, if everything about the caller is ordinary."""
        api_key = headers.get(b"projectid")
        if api_key is None or b"authorization" in headers or b"range" in headers:
            return None
        opened = self._site_queries.remembered(api_key.decode("latin-1"))
        if opened is None or opened.is_owner:
            return None
        page = headers.get(b"origin") or headers.get(b"referer")
        if page is not None and not self._may_ask(opened.site, page):
            return None
        return opened

    def _may_ask(self, site: Site, page: bytes) -> bool:
        remembered = (site.id, site.version, page)
        allowed = self._origins.get(remembered)
        if allowed is None:
            host = origin_host(page.decode("latin-1"))
            allowed = host is not None and origin_is_allowed(host, site, allow_localhost=self._allow_localhost)
            if len(self._origins) >= MOST_REMEMBERED:
                self._origins.clear()
            self._origins[remembered] = allowed
        return allowed

    def _question(self, site: Site, query: bytes) -> tuple[str, Key] | None:
        """Which page in which order; None for what the ordinary way should answer or refuse."""
        remembered = (site.id, site.version, query)
        if remembered in self._questions:
            return self._questions[remembered]
        asked = _understood(site, query)
        if len(self._questions) >= MOST_REMEMBERED:
            self._questions.clear()
        self._questions[remembered] = asked
        return asked


def _understood(site: Site, query: bytes) -> tuple[str, Key] | None:
    try:
        parameters = parse_qs(query.decode("ascii"), keep_blank_values=True, strict_parsing=True, max_num_fields=4)
    except ValueError:
        return None
    urls, sorts = parameters.pop("page_url", []), parameters.pop("sort", ["new"])
    if parameters or len(urls) != 1 or len(sorts) != 1 or not 1 <= len(urls[0]) <= LONGEST_URL:
        return None
    if (sort := _SORTS.get(sorts[0])) is None:
        return None
    page_id = page_id_of(site.id, normal_url(urls[0], drop_tracking=site.settings.drop_tracking_parameters))
    return urls[0], (site.id, site.version, page_id, sort)


async def _answer(
    snapshot: Snapshot, scope: Any, headers: dict[bytes, bytes], request_id: str, send: Send
) -> tuple[int, int]:
    """Send it; says with which status, and how many bytes of body."""
    own = [(b"x-request-id", request_id.encode()), (b"vary", b"origin")]
    if (origin := headers.get(b"origin")) is not None:
        own += [(b"access-control-allow-origin", origin), EXPOSED]
    if is_https(scope, headers):
        own.append(HSTS)
    status, body = 200, snapshot.body
    if is_known(headers.get(b"if-none-match"), snapshot.etag):
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
