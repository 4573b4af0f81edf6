"""The line on which events come is cut again and again while people write: nobody misses a comment. Publishing remembers
nothing, so what was said meanwhile comes by looking again. THREADKIT_SOAK=1 cuts fifty times. G17."""

import asyncio
import contextlib
import os

import pytest
from redis.asyncio import Redis

from tests.integration.live.test_events import page_of
from tests.integration.live.test_outages import Mirror, Town, Writer, own_settings, shown, store, town
from tests.wait import until
from threadkit.storage.bundled import BundledStore

CUTS = 50 if os.environ.get("THREADKIT_SOAK") else 4
READERS = 5

__all__ = ["own_settings", "store", "town"]  # fixtures

pytestmark = pytest.mark.prove


@pytest.mark.timeout(60 + 10 * CUTS)
async def test_no_cut_of_the_line_costs_a_reader_a_comment(town: Town, store: BundledStore) -> None:
    page_id, _ = await page_of(town.web, town.site)
    writer, stopping = Writer(town.ada), asyncio.Event()

    async def keep_writing() -> None:
        while not stopping.is_set():
            assert await writer.write(), "the store is there all the time"

    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(Redis(unix_socket_path=store.address.path))
        mirrors = []
        for _ in range(READERS):
            ear = await stack.enter_async_context(town.live.ear(town.ada.key))
            await ear.subscribe(page_id)
            mirrors.append(Mirror(town, ear))
            mirrors[-1].picture = await shown(town)
        following = [asyncio.create_task(mirror.follow()) for mirror in mirrors]
        writing = asyncio.create_task(keep_writing())
        slowest_s = 0.0
        loop = asyncio.get_running_loop()
        for cut in range(1, CUTS + 1):
            before = len(writer.texts)
            await until(lambda: len(writer.texts) > before + 3, "some comments")  # noqa: B023
            cut_at = loop.time()
            assert await client.client_kill_filter(_type="pubsub"), "nobody listened"
            await until(lambda: all(mirror.resyncs >= cut for mirror in mirrors), "resync")  # noqa: B023
            slowest_s = max(slowest_s, loop.time() - cut_at)
        stopping.set()
        await writing
        page = await shown(town)
        await until(lambda: all(mirror.picture == page for mirror in mirrors), "the right picture", seconds=5)
        assert writer.texts.items() <= {comment_id: text for comment_id, (text, _) in page.items()}.items()
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
    assert slowest_s <= 3
    print(
        f"\nG17: {CUTS} cuts, {len(writer.texts)} comments, {READERS} readers, 0 missing; back within {slowest_s:.2f} s"
    )
