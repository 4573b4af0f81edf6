"""Encoded threads, kept per worker: what most readers get is made once and handed out many times.

A snapshot shows what everybody may see. It is good while the page's version stands still; the version is asked for at
most once a second, so nobody sees a state older than that, and a worker drops its own snapshots of a page at once when
it writes there.
"""

import asyncio
import gzip
from collections import OrderedDict
from collections.abc import Awaitable, Callable

import msgspec

from threadkit.clock import Clock
from threadkit.comments.model import Page, Sort, Thread
from threadkit.http.manners import API_POLICY, SECURITY
from threadkit.ids import PageId, SiteId

CHECK_EVERY_MS = 1000
MOST_TRIES = 5
MOST_BYTES = 64 * 1024 * 1024
SMALLEST_TO_COMPRESS = 512

Key = tuple[SiteId, int, PageId, Sort]


_HOW_TO_KEEP = [(b"cache-control", b"no-cache"), (b"vary", b"accept-encoding, authorization")]


def _length(body: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]


class Snapshot:
    """One thread in one order, ready to be sent."""

    __slots__ = ("body", "checked_ms", "compressed", "etag", "head", "head_compressed", "head_known", "version")

    def __init__(self, thread: Thread, version: int, now_ms: int) -> None:
        self.body = msgspec.json.encode(thread)
        self.compressed = gzip.compress(self.body, 6, mtime=0) if len(self.body) >= SMALLEST_TO_COMPRESS else None
        self.version = version
        self.etag = f'"{version}"'.encode()
        self.checked_ms = now_ms
        # The parts of the answer's head that are the same for everybody.
        self.head_known = [*SECURITY, (b"content-security-policy", API_POLICY), (b"etag", self.etag), *_HOW_TO_KEEP]
        self.head = [*self.head_known, *_length(self.body)]
        self.head_compressed = [*self.head_known, (b"content-encoding", b"gzip"), *_length(self.compressed or b"")]

    @property
    def size(self) -> int:
        return len(self.body) + len(self.compressed or b"")


class Snapshots:
    def __init__(self, *, clock: Clock, most_bytes: int = MOST_BYTES) -> None:
        self._clock = clock
        self._most_bytes = most_bytes
        self._bytes = 0
        self._drops = 0
        self._kept: OrderedDict[Key, Snapshot] = OrderedDict()
        self._of_page: dict[PageId, set[Key]] = {}
        self._making: dict[Key, asyncio.Future[Snapshot]] = {}

    def fresh(self, key: Key) -> Snapshot | None:
        """A snapshot that need not be checked again yet."""
        snapshot = self._kept.get(key)
        if snapshot is not None and self._clock.now_ms() - snapshot.checked_ms < CHECK_EVERY_MS:
            return snapshot
        return None

    async def get(
        self,
        key: Key,
        *,
        page: Callable[[], Awaitable[Page]],
        thread: Callable[[], Awaitable[Thread]],
    ) -> Snapshot:
        """The snapshot as it is now: checked, or made anew. However many ask at once, it is done once."""
        if snapshot := self.fresh(key):
            return snapshot
        making = self._making.get(key)
        if making is None:
            making = asyncio.ensure_future(self._look(key, page, thread))
            self._making[key] = making
            making.add_done_callback(lambda done: self._made(key, done))
        # One reader who goes away must not take the others' answer along.
        return await asyncio.shield(making)

    async def _look(
        self, key: Key, page: Callable[[], Awaitable[Page]], thread: Callable[[], Awaitable[Thread]]
    ) -> Snapshot:
        now_ms = self._clock.now_ms()
        version = (await page()).version
        kept = self._kept.get(key)
        if kept is not None and kept.version == version:
            kept.checked_ms = now_ms
            self._kept.move_to_end(key)
            return kept
        drops = self._drops
        for _ in range(MOST_TRIES):
            found = await thread()
            after = (await page()).version
            if after == version:
                break
            # Somebody wrote while we read: what was read may be a state that never was.
            version = after
        # Dropped meanwhile by our own writer: the next reader looks again.
        made = Snapshot(found, version, now_ms if drops == self._drops else 0)
        self._keep(key, made)
        return made

    def drop(self, page_id: PageId) -> None:
        self._drops += 1
        # What is being made may be from before this change: whoever asks from now on gets another.
        for key in [key for key in self._making if key[2] == page_id]:
            del self._making[key]
        for key in self._of_page.pop(page_id, ()):
            if (gone := self._kept.pop(key, None)) is not None:
                self._bytes -= gone.size

    def _made(self, key: Key, done: asyncio.Future[Snapshot]) -> None:
        if self._making.get(key) is done:
            del self._making[key]
        if not done.cancelled():
            done.exception()  # those who wait get it; nobody waiting is no reason to complain

    def _keep(self, key: Key, snapshot: Snapshot) -> None:
        if (before := self._kept.pop(key, None)) is not None:
            self._bytes -= before.size
        self._kept[key] = snapshot
        self._of_page.setdefault(key[2], set()).add(key)
        self._bytes += snapshot.size
        while self._bytes > self._most_bytes and self._kept:
            oldest, gone = self._kept.popitem(last=False)
            self._bytes -= gone.size
            of_page = self._of_page.get(oldest[2], set())
            of_page.discard(oldest)
            if not of_page:
                self._of_page.pop(oldest[2], None)
