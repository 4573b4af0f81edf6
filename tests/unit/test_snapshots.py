"""What a worker keeps of threads takes about as much memory as it counts."""

import tracemalloc

from tests.make import ManualClock
from threadkit.comments.model import PageTree, Thread
from threadkit.comments.snapshots import Snapshots
from threadkit.ids import PageId, SiteId, new_uuid
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
