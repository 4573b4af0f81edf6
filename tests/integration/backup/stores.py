"""Data folders for tests of backups: filled, opened, compared."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from redis import Redis

from tests.integration.server.program import command, environment, run
from threadkit.settings import Settings
from threadkit.storage.bundled import BundledStore

State = dict[bytes, tuple[Any, int]]

_READERS: dict[bytes, Callable[[Redis, bytes], Any]] = {
    b"string": lambda store, key: store.get(key),
    b"hash": lambda store, key: store.hgetall(key),
    b"set": lambda store, key: store.smembers(key),
    b"zset": lambda store, key: store.zrange(key, 0, -1, withscores=True),
    b"stream": lambda store, key: store.xrange(key),
}


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Redis]:
    """The store of a data folder that no server runs with."""
    store = BundledStore(Settings(data=str(folder)))
    store.start()
    try:
        with Redis(unix_socket_path=store.address.path) as client:
            yield client
    finally:
        store.stop()


def state(client: Redis) -> State:
    """Every key with its value, and when it ends."""
    found: State = {}
    for key in client.scan_iter(count=1000):
        kind = bytes(client.type(key))  # type: ignore[arg-type]
        if kind == b"none":  # it ended meanwhile
            continue
        found[bytes(key)] = ((kind, _READERS[kind](client, key)), int(client.pexpiretime(key)))
    return found


def state_of(folder: Path) -> State:
    with opened(folder) as client:
        return state(client)


def do(*words: str, **env: str) -> str:
    """A command that must succeed; what it says."""
    return command(*words, **env)


def refused(*words: str, **env: str) -> str:
    """A command that must end with one sentence."""
    result = run(*words, env=environment(**env))
    assert result.returncode == 1, result.stdout
    assert "Traceback" not in result.stderr
    return result.stderr


def backup_of(folder: Path, *words: str, **env: str) -> Path:
    do("backup", "create", *words, "--data", str(folder), **env)
    return max((folder / "backups").glob("*.backup"))


def new_folder(parent: Path, name: str, *, like: Path) -> Path:
    """An empty data folder with the secret of another."""
    folder = parent / name
    folder.mkdir()
    shutil.copy(like / "secret.key", folder)
    return folder
