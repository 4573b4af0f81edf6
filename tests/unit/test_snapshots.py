"""What a worker keeps of threads takes about as much memory as it counts."""

import asyncio
import gzip
import random
import tracemalloc
from collections.abc import Callable, Collection

import pytest

from tests.make import ManualClock
from threadkit.comments.fast_lane import _wants_compressed
from threadkit.comments.model import Comment, PageTree, Status, Thread, TreeComment
from threadkit.comments.snapshots import LARGEST_AT_ONCE, Key, Snapshot, Snapshots
from threadkit.ids import CommentId, PageId, SiteId, UserId, new_uuid
from threadkit.pages.model import Page
from threadkit.pages.queries import FoundPage
from threadkit.storage.keys import Keys
from threadkit.storage.listener import Receiver

MEBIBYTE = 1024 * 1024


class Deaf:
    """A listener that remembers who listens, and hears nothing."""

    def __init__(self) -> None:
        self._receivers: dict[str, Receiver] = {}

    async def subscribe(self, channel: str, receiver: Receiver) -> None:
        self._receivers[channel] = receiver

    async def unsubscribe(self, channel: str, receiver: Receiver) -> None:
        self._receivers.pop(channel, None)

    def on_back(self, look_again: Callable[[Collection[str]], None]) -> None:
        self._look_again = look_again

    def is_back(self) -> None:
        self._look_again(list(self._receivers))


async def test_pages_that_nobody_wrote_on_cannot_take_more_than_the_budget() -> None:
    snapshots = Snapshots(
        clock=ManualClock(),
        keys=Keys(),
        listener=Deaf(),  # type: ignore[arg-type]
        most_bytes=4 * MEBIBYTE,
    )
    site_id = SiteId(new_uuid())

    async def ask() -> None:
        page_id = PageId(new_uuid())

        async def page() -> FoundPage:
            return FoundPage(page_id, Page(site_id=SiteId(""), url=""), 0)

        async def make(found: FoundPage) -> Thread:
            return Thread(page_id=found.id, tree=PageTree([], 0), total=0, pageviews=0)

        await snapshots.get((site_id, 1, page_id, "new", None), page=page, make=make)

    await ask()
    tracemalloc.start()
    try:
        for _ in range(3000):
            await ask()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 2 * MEBIBYTE < taken < 6 * MEBIBYTE


async def test_a_look_from_before_a_gap_makes_nothing_fresh_after_it() -> None:
    """Readers who are told to look again must not find what they had."""
    clock, listener, page_id = ManualClock(), Deaf(), PageId(new_uuid())
    snapshots = Snapshots(clock=clock, keys=Keys(), listener=listener)  # type: ignore[arg-type]
    key: Key = (SiteId(new_uuid()), 1, page_id, "new", None)
    is_answered = asyncio.Event()

    async def page() -> FoundPage:
        await is_answered.wait()
        return FoundPage(page_id, Page(site_id=SiteId(""), url="", version=1), 0)

    async def make(found: FoundPage) -> Thread:
        return Thread(page_id=found.id, tree=PageTree([], 0), total=0)

    is_answered.set()
    await snapshots.get(key, page=page, make=make)
    clock.advance(seconds=2)
    is_answered.clear()
    looking = asyncio.create_task(snapshots.get(key, page=page, make=make))
    await asyncio.sleep(0)
    listener.is_back()  # the answer is under way, and somebody has written since
    is_answered.set()
    await looking
    assert snapshots.fresh(key) is None


class Library:
    """One page that others write on, and how many look at it."""

    def __init__(self) -> None:
        self.key: Key = (SiteId(new_uuid()), 1, PageId(new_uuid()), "new", None)
        self.snapshots = Snapshots(clock=ManualClock(), keys=Keys(), listener=Deaf())  # type: ignore[arg-type]
        self.version = self.looks = self.most = 0
        self._looking = 0
        self.may_go = asyncio.Event()

    async def get(self) -> Snapshot:
        return await self.snapshots.get(self.key, page=self._page, make=self._make)

    async def _page(self) -> FoundPage:
        return FoundPage(self.key[2], Page(site_id=SiteId(""), url="", version=self.version), 0)

    async def _make(self, found: FoundPage) -> Thread:
        self.looks += 1
        self._looking += 1
        self.most = max(self.most, self._looking)
        await self.may_go.wait()
        self._looking -= 1
        return Thread(page_id=found.id, tree=PageTree([], 0), total=0)


async def test_one_look_goes_on_at_a_time_however_many_ask_and_write() -> None:
    library = Library()
    asked: list[asyncio.Task[Snapshot]] = []
    for _ in range(5):
        asked += [asyncio.create_task(library.get()) for _ in range(10)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        library.version += 1
        library.snapshots.outdate(library.key[2])
    last = asyncio.create_task(library.get())
    await asyncio.sleep(0)
    library.may_go.set()
    await asyncio.gather(*asked)
    assert (await last).version == 5, "nobody gets a page from before they asked"
    assert library.most == 1
    assert library.looks <= 4, "two, and one more try of each that was overtaken"


@pytest.mark.parametrize("is_taken_away", [False, True], ids=["added", "taken away"])
async def test_a_copy_is_kept_for_an_outage_until_something_is_taken_away(is_taken_away: bool) -> None:
    library = Library()
    library.may_go.set()
    made = await library.get()
    library.version += 1
    (library.snapshots.drop if is_taken_away else library.snapshots.outdate)(library.key[2])
    assert library.snapshots.fresh(library.key) is None
    assert library.snapshots.stale(library.key) is (None if is_taken_away else made)


async def test_a_look_under_way_when_something_is_taken_away_is_not_kept() -> None:
    library = Library()
    looking = asyncio.create_task(library.get())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    library.snapshots.drop(library.key[2])
    library.may_go.set()
    await looking
    assert library.snapshots.stale(library.key) is None


@pytest.mark.parametrize("letters", ["a", "".join(map(chr, range(0x100, 0x3000)))], ids=["plain", "incompressible"])
async def test_a_large_thread_is_compressed_beside_its_readers_and_counts_no_less_than_it_takes(letters: str) -> None:
    text = "".join(random.Random(1).choices(letters, k=LARGEST_AT_ONCE))
    when = "2026-01-01T00:00:00.000Z"
    comment = Comment(
        id=CommentId("c"),
        site_id=SiteId("s"),
        page_id=PageId("p"),
        page_url="https://blog.example.org/",
        author_id=UserId("a"),
        author_name="ada",
        content=text,
        content_html="",
        render_version=1,
        status=Status.APPROVED,
        created_at=when,
        updated_at=when,
    )
    thread = Thread(page_id=PageId("p"), tree=PageTree([TreeComment.of(comment)], 0), total=1)
    snapshot = Snapshot.of(thread, FoundPage(PageId("p"), Page(site_id=SiteId("s"), url=""), 0), 0, mark="1")
    counted, was_compressing = snapshot.size, snapshot.is_compressing
    headers = {b"accept-encoding": b"gzip"}
    assert _wants_compressed(snapshot, headers)
    assert not _wants_compressed(snapshot, headers | {b"if-none-match": snapshot.etag}), "it has no body to wait for"
    await snapshot.until_compressed()
    assert (was_compressing, snapshot.is_compressing) == (True, False)
    assert snapshot.size == counted >= len(snapshot.body) + len(snapshot.compressed or b"")
    if letters == "a":
        assert snapshot.compressed is not None
        assert gzip.decompress(snapshot.compressed) == snapshot.body
        assert (b"content-length", str(len(snapshot.compressed)).encode()) in snapshot.head_compressed.listed
    else:
        assert snapshot.compressed is None, "it takes more room than was counted"
