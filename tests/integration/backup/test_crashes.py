"""Killed at any moment: no half backup under a real name, and no half-restored store that anything starts on."""

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from redis import Redis
from redis.exceptions import RedisError

from tests.folders import disk_folder
from tests.integration.backup.stores import backup_of, do, new_folder, opened, refused, state_of
from tests.integration.server.program import THREADKIT, environment
from tests.wait import until

KEYS = 60_000

pytestmark = pytest.mark.prove


@pytest.fixture
def parent() -> Iterator[Path]:
    with disk_folder() as folder:
        yield Path(folder)


@pytest.fixture
def filled(parent: Path) -> Path:
    """So much that it takes a while."""
    folder = parent / "a"
    do("site", "create", "Blog", "blog.example.org", "--data", str(folder))
    with opened(folder) as store:
        for _ in range(KEYS // 1000):
            with store.pipeline(transaction=False) as pipe:
                for _ in range(1000):
                    pipe.set(f"page:{uuid4()}:views", "1")
                pipe.execute()
    return folder


@contextlib.contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [*THREADKIT, *words], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def test_a_backup_that_was_killed_leaves_nothing_under_a_real_name(filled: Path) -> None:
    folder = filled / "backups"

    def is_in_the_middle() -> bool:
        return any(path.stat().st_size > 200_000 for path in folder.glob(".*.part"))

    with started("backup", "create", "--data", str(filled)) as process:
        await until(is_in_the_middle, "some of the backup to be written", seconds=30)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert list(folder.glob(".*.part"))
    assert list(folder.glob("*.backup")) == []
    assert "There is no backup" in do("backup", "list", "--data", str(filled))
    path = backup_of(filled)
    assert list(folder.glob(".*.part")) == [], "the next one cleans up"
    assert "is whole" in do("backup", "verify", str(path))


async def test_nothing_starts_on_a_half_restored_store_and_the_next_restore_begins_anew(
    filled: Path, parent: Path
) -> None:
    path = backup_of(filled)
    target = new_folder(parent, "b", like=filled)

    def keys_there() -> int:
        with (
            contextlib.suppress(RedisError),
            Redis(unix_socket_path=str(target / "store.sock")) as store,
        ):
            return int(store.dbsize())
        return 0

    with started("backup", "restore", str(path), "--data", str(target)) as process:
        await until(lambda: keys_there() > 2000, "some keys to be there", seconds=30)
        process.send_signal(signal.SIGKILL)
        process.wait()
    await until(lambda: keys_there() == 0, "the store to end with its starter", seconds=30)
    with opened(target) as store:
        assert 2000 < store.dbsize() < KEYS, "killed too late to show anything"
        store.set(f"page:{uuid4()}:views", "of another backup")
    for command in (("serve", "--port", "0"), ("site", "list"), ("backup", "create")):
        said = refused(*command, "--data", str(target))
        assert path.name in said
        assert "not put back to the end" in said
    do("backup", "restore", str(path), "--data", str(target))
    before, after = state_of(filled), state_of(target)
    for keys in (before, after):
        keys.pop(b"threadkit:probe", None)
        keys.pop(b"threadkit:backups", None)
    assert after == before
    assert "Blog" in do("site", "list", "--data", str(target))
