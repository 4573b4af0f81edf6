"""A backup made while people write: everything acknowledged before is in it, and all of it agrees."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from redis.asyncio import Redis

from tests.folders import quick_folder
from tests.integration.backup.stores import do, new_folder
from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_kill import new_writers, running
from tests.wait import until
from threadkit.backup.file import read_header
from threadkit.settings import Settings
from threadkit.storage.bundled import BundledStore

FILLING = 40_000

pytestmark = pytest.mark.prove


@pytest.fixture
def parent() -> Iterator[Path]:
    with quick_folder() as folder:
        yield Path(folder)


@pytest.mark.timeout(180)
async def test_a_backup_under_load_is_how_everything_was_at_one_moment(parent: Path) -> None:
    folder = parent / "a"
    everything: list[str] = []
    async with running(folder) as (server, http):
        writers = await new_writers(http, server.said)
        await _take_room(folder)
        work = [asyncio.create_task(writer.work(http, everything)) for writer in writers]
        await until(lambda: len(everything) > 50, "some comments", seconds=60)
        acknowledged, count = list(everything), sum(writer.done for writer in writers)
        await asyncio.to_thread(do, "backup", "create", "--data", str(folder))
        assert sum(writer.done for writer in writers) > count + 50, "nobody wrote meanwhile"
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
    (path,) = (folder / "backups").glob("*.backup")
    assert read_header(path).is_one_moment

    target = new_folder(parent, "b", like=folder)
    await asyncio.to_thread(do, "backup", "restore", str(path), "--data", str(target))
    # Looked at before anything repairs itself by being used.
    bundled = BundledStore(Settings(data=str(target)))
    await asyncio.to_thread(bundled.start)
    try:
        async with Redis(unix_socket_path=bundled.address.path, decode_responses=True) as store:
            missing = [one for one in acknowledged if not await store.exists(f"comment:{one}")]
            assert missing == []
            assert await disagreements(store, shadowed=()) == []
    finally:
        await asyncio.to_thread(bundled.stop)
    said = await asyncio.to_thread(do, "rebuild", "--check", "--data", str(target))
    assert said.startswith("Everything agrees"), said


async def _take_room(folder: Path) -> None:
    """Keys that make the backup take long enough for many writes."""
    async with Redis(unix_socket_path=str(folder / "store.sock")) as store:
        for _ in range(FILLING // 1000):
            async with store.pipeline(transaction=False) as pipe:
                for _ in range(1000):
                    pipe.set(f"page:{uuid4()}:views", "1")
                await pipe.execute()
