"""Encoded threads, kept per worker: what most readers get is made once and handed out many times.

A snapshot shows what everybody may see. It is good while the page's version stands still; the version is asked for at
most once a second, so nobody sees a state older than that; a worker looks again at once when it writes to a page, and
others when they hear of it on the page's channel. Only the number of views may lag, because counting a reader must not
cost the next one a new snapshot.

However many ask for a page that is being written to, one look goes on at a time. Those who ask after a write share the next
one.

While the store is away the last copy of a page is shown, however many wrote there since. It is kept for that until something
is taken away from the page: nobody may find a comment again that was deleted, edited or hidden.
"""

import asyncio
import functools
import gzip
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any

import msgspec

from threadkit.clock import Clock
from threadkit.comments.model import Replies, Sort, Thread
from threadkit.comments.window import Window
from threadkit.http.manners import API_POLICY, SECURITY
from threadkit.ids import PageId, SiteId
from threadkit.pages.queries import FoundPage
from threadkit.storage.keys import Keys
from threadkit.storage.listener import Listener, Receiver

CHECK_EVERY_MS = 1000
VIEWS_LAG_MS = 60_000
STALE_MS = 600_000
ADDS = frozenset(("new_comment", "vote_update", "pin_update", "lock_update"))
"""Events after which what a page showed before may still be shown, while the store cannot be asked."""
SETTLED_WITHIN_S = 0.01
LOOKS_AT_ONCE = 8
MOST_WATCHED = 5000
MOST_BYTES = 64 * 1024 * 1024
BYTES_BESIDE = 4096  # what a snapshot takes beside its body: three heads, its key, its places in the dicts
SMALLEST_TO_COMPRESS = 512
LARGEST_AT_ONCE = 64 * 1024  # compressing more than this would keep others waiting

Answer = Thread | Replies
Key = tuple[SiteId, int, PageId, Sort, Window | None]


_HOW_TO_KEEP = [(b"cache-control", b"no-cache"), (b"vary", b"accept-encoding, authorization")]


def _length(body: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]


class Head:
    """A part of an answer's head: as ASGI wants it, and as it goes over the wire."""

    __slots__ = ("listed", "wire")

    def __init__(self, *listed: tuple[bytes, bytes]) -> None:
        self.listed = list(listed)
        self.wire = b"".join(b"%b: %b\r\n" % header for header in listed)


class Snapshot:
    """One thread in one order, ready to be sent."""

    __slots__ = (
        "_compressing",
        "_same",
        "body",
        "checked_ms",
        "compressed",
        "etag",
        "head",
        "head_compressed",
        "head_known",
        "is_outdated",
        "made_ms",
        "outdated_ms",
        "page_id",
        "size",
        "version",
        "views",
    )

    def __init__(self, body: bytes, found: FoundPage, views: int | None, now_ms: int, *, mark: str) -> None:
        """`mark` is what the ETag says beside the page's version and views."""
        self.body = body
        self.compressed: bytes | None = None
        self._compressing: asyncio.Future[bytes] | None = None
        self.size = BYTES_BESIDE + len(body)
        self.page_id = found.id
        self.version = found.page.version
        self.views = views
        self.etag = f'"{found.id[:8]}-{self.version}-{views or 0}-{mark}"'.encode()
        self.made_ms = self.checked_ms = now_ms
        self.is_outdated = False
        self.outdated_ms = 0
        # The parts of the answer's head that are the same for everybody.
        self._same = [*SECURITY, (b"content-security-policy", API_POLICY), (b"etag", self.etag), *_HOW_TO_KEEP]
        self.head_known = Head(*self._same)
        self.head = self.head_compressed = Head(*self._same, *_length(self.body))

    @classmethod
    def of(cls, answer: Answer, found: FoundPage, now_ms: int, *, mark: str) -> "Snapshot":
        shows_views = isinstance(answer, Thread) and answer.pageviews is not msgspec.UNSET
        views = found.views if shows_views else None
        made = cls(msgspec.json.encode(answer), found, views, now_ms, mark=mark)
        if len(made.body) >= SMALLEST_TO_COMPRESS:
            made._compress()
        return made

    @property
    def is_compressing(self) -> bool:
        return self._compressing is not None

    async def until_compressed(self) -> None:
        """For whoever would rather wait a moment than read it as it is."""
        if self._compressing is not None:
            await asyncio.wait([self._compressing])

    def _compress(self) -> None:
        """A large one is compressed beside its first readers."""
        if len(self.body) <= LARGEST_AT_ONCE:
            compressed = _compressed(self.body)
            self.size += len(compressed)
            self._take(compressed)
            return
        room = len(self.body) // 2  # taken now, so that what is kept does not grow behind the back of who counts it
        self.size += room
        self._compressing = asyncio.get_running_loop().run_in_executor(None, _compressed, self.body)

        def take(done: "asyncio.Future[bytes]") -> None:
            self._compressing = None
            if not done.cancelled() and len(done.result()) <= room:
                self._take(done.result())

        self._compressing.add_done_callback(take)

    def _take(self, compressed: bytes) -> None:
        self.head_compressed = Head(*self._same, (b"content-encoding", b"gzip"), *_length(compressed))
        self.compressed = compressed

    def still_shows(self, found: FoundPage, now_ms: int) -> bool:
        if (found.id, found.page.version) != (self.page_id, self.version):
            return False
        return self.views in (None, found.views) or now_ms - self.made_ms < VIEWS_LAG_MS


def _compressed(body: bytes) -> bytes:
    return gzip.compress(body, 6, mtime=0)


class _Change(msgspec.Struct):
    """What matters here of an event on a page's channel."""

    type: str = ""
    version: int | None = None


class _Look:
    """One look at a page, for all who wait for it."""

    __slots__ = ("asked", "is_late", "is_void", "made", "next")

    def __init__(self, *pages: PageId) -> None:
        self.asked = set(pages)  # with the page where a moved one's thread is
        self.is_late = False  # what it finds may be from before a change
        self.is_void = False  # or even show what was taken away since
        self.next: _Look | None = None
        self.made: asyncio.Future[Snapshot]


class Snapshots:
    def __init__(self, *, clock: Clock, keys: Keys, listener: Listener, most_bytes: int = MOST_BYTES) -> None:
        self._clock = clock
        self._keys = keys
        self._listener = listener
        self._watched: OrderedDict[PageId, tuple[str, Receiver]] = OrderedDict()
        self._watching: set[asyncio.Task[None]] = set()
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[Key, Snapshot] = OrderedDict()
        self._of_page: dict[PageId, set[Key]] = {}
        self._looks: dict[Key, _Look] = {}
        self._turns = asyncio.Semaphore(LOOKS_AT_ONCE)
        listener.on_back(self._hear_again)

    def fresh(self, key: Key) -> Snapshot | None:
        """A snapshot that need not be checked again yet."""
        snapshot = self._kept.get(key)
        if snapshot is None or snapshot.is_outdated:
            return None
        return snapshot if self._clock.now_ms() - snapshot.checked_ms < CHECK_EVERY_MS else None

    def stale(self, key: Key) -> Snapshot | None:
        """One that may be shown while nobody can say whether it still holds."""
        snapshot = self._kept.get(key)
        if snapshot is not None and self._clock.now_ms() - snapshot.checked_ms <= STALE_MS:
            return snapshot
        return None

    async def get(
        self,
        key: Key,
        *,
        page: Callable[[], Awaitable[FoundPage]],
        make: Callable[[FoundPage], Awaitable[Answer]],
    ) -> Snapshot:
        """The snapshot as it is now: checked, or made anew. However many ask at once, it is done once."""
        if snapshot := self.fresh(key):
            return snapshot
        look = self._looks.get(key)
        if look is None:
            self._looks[key] = look = self._begin(key, page, make)
        elif look.is_late:
            look.next = look = look.next or self._begin(key, page, make, after=look)
        # One reader who goes away must not take the others' answer along.
        return await asyncio.shield(look.made)

    def _begin(
        self,
        key: Key,
        page: Callable[[], Awaitable[FoundPage]],
        make: Callable[[FoundPage], Awaitable[Answer]],
        *,
        after: _Look | None = None,
    ) -> _Look:
        look = _Look(key[2])

        async def begin() -> Snapshot:
            if after is not None:
                await asyncio.wait([after.made])
            async with self._turns:
                return await self._look(key, look, page, make)

        look.made = asyncio.ensure_future(begin())
        look.made.add_done_callback(lambda made: self._end(key, look, made))
        return look

    def _end(self, key: Key, look: _Look, made: asyncio.Future[Snapshot]) -> None:
        if look.next is not None:
            self._looks[key] = look.next
        else:
            del self._looks[key]
        if not made.cancelled():
            made.exception()  # those who wait get it; nobody waiting is no reason to complain

    async def _look(
        self,
        key: Key,
        look: _Look,
        page: Callable[[], Awaitable[FoundPage]],
        make: Callable[[FoundPage], Awaitable[Answer]],
    ) -> Snapshot:
        loop = asyncio.get_running_loop()
        now_ms, until_s = self._clock.now_ms(), loop.time() + SETTLED_WITHIN_S
        if (kept := self._kept.get(key)) is not None:
            look.asked.add(kept.page_id)
        found = await page()
        look.asked.add(found.id)
        if kept is not None and kept.still_shows(found, now_ms):
            if not look.is_late:
                kept.checked_ms, kept.is_outdated = now_ms, False
            if key in self._kept:
                self._kept.move_to_end(key)
            return kept
        while True:
            answer, read = await make(found), found
            found = await page()
            is_settled = (found.id, found.page.version) == (read.id, read.page.version)
            if is_settled or loop.time() > until_s:
                break
            # Somebody wrote while we read: what was read may be a state that never was.
            look.asked.add(found.id)
        if is_settled:
            made = Snapshot.of(answer, found, now_ms, mark=str(key[1]))
            made.is_outdated = look.is_late
        else:
            # Good enough for those who wait now, under an ETag of its own, and while the store is away.
            made = Snapshot.of(answer, read, now_ms, mark=f"unsettled-{secrets.token_hex(8)}")
            made.is_outdated = True
        if not look.is_void:
            self._keep(key, made)
        return made

    def outdate(self, page_id: PageId) -> None:
        """Something was added: the next reader looks again."""
        self._outrun(page_id)
        for key in self._of_page.get(page_id, ()):
            if (kept := self._kept.get(key)) is not None:
                kept.is_outdated, kept.outdated_ms = True, self._clock.now_ms()

    def drop(self, page_id: PageId) -> None:
        """Something was taken away, or may have been: nobody is shown it any more."""
        self._outrun(page_id, is_void=True)
        for key in self._of_page.pop(page_id, ()):
            if (gone := self._kept.pop(key, None)) is not None:
                self._bytes -= gone.size

    def _outrun(self, page_id: PageId, *, is_void: bool = False) -> None:
        """What is being looked at may be from before a change: those who ask from now on get another look."""
        for look in self._looks.values():
            if page_id in look.asked:
                look.is_late = True
                look.is_void |= is_void

    def _keep(self, key: Key, snapshot: Snapshot) -> None:
        if (before := self._kept.pop(key, None)) is not None:
            self._bytes -= before.size
        self._kept[key] = snapshot
        self._of_page.setdefault(snapshot.page_id, set()).add(key)
        self._watch(key[0], snapshot.page_id)
        self._bytes += snapshot.size
        while self._bytes > self._most_bytes and self._kept:
            oldest, gone = self._kept.popitem(last=False)
            self._bytes -= gone.size
            of_page = self._of_page.get(gone.page_id, set())
            of_page.discard(oldest)
            if not of_page:
                self._of_page.pop(gone.page_id, None)

    def _watch(self, site_id: SiteId, page_id: PageId) -> None:
        """Hear of what other workers write on a page. The check once a second covers what is not heard."""
        if page_id in self._watched:
            self._watched.move_to_end(page_id)
            return
        channel = self._keys.site(site_id).page_channel(page_id)
        hear = functools.partial(self._hear, page_id)
        self._watched[page_id] = (channel, hear)
        self._soon(self._listener.subscribe(channel, hear))
        if len(self._watched) > MOST_WATCHED:
            _, forgotten = self._watched.popitem(last=False)
            self._soon(self._listener.unsubscribe(*forgotten))

    def _hear(self, page_id: PageId, text: str) -> None:
        change = msgspec.json.decode(text, type=_Change)
        if (version := change.version) is None:
            return
        kept = [self._kept[key] for key in self._of_page.get(page_id, ()) if key in self._kept]
        is_behind = any(snapshot.version < version for snapshot in kept)
        if change.type in ADDS:
            if is_behind:
                self.outdate(page_id)
        elif is_behind or any(page_id in look.asked for look in self._looks.values()):
            self.drop(page_id)

    def _hear_again(self, channels: Collection[str]) -> None:
        """Nobody knows what was missed. Readers are told to look again, and must not find what they had."""
        away = frozenset(channels)
        checked_ms = self._clock.now_ms() - CHECK_EVERY_MS
        for page_id, (channel, _) in self._watched.items():
            if channel in away:
                self._outrun(page_id)
                for key in self._of_page.get(page_id, ()):
                    if (kept := self._kept.get(key)) is not None:
                        kept.checked_ms = min(kept.checked_ms, checked_ms)

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)
