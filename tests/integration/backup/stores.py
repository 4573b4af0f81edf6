"""Data folders for tests of backups: filled, opened, compared."""

import contextlib
import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from redis import Redis

from tests.integration.server.program import command, environment
from tests.integration.server.program import refused as program_refused
from threadkit.settings import Settings
from threadkit.storage.bundled import BundledStore

BATCH = 1000

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
    names = client.scan_iter(count=BATCH)
    while batch := list(itertools.islice(names, BATCH)):
        with client.pipeline(transaction=False) as pipe:
            for name in batch:
                pipe.type(name)
            kinds = dict(zip(batch, pipe.execute(), strict=True))
            kept = [name for name, kind in kinds.items() if kind != b"none"]  # it ended meanwhile
            for name in kept:
                _READERS[kinds[name]](pipe, name)
                pipe.pexpiretime(name)
            answers = iter(pipe.execute())
        for name in kept:
            found[name] = ((kinds[name], next(answers)), int(next(answers)))
    return found


def state_of(folder: Path) -> State:
    with opened(folder) as client:
        return state(client)


def do(*words: str, **env: str) -> str:
    """A command that must succeed; what it says."""
    return command(*words, **env)


def refused(*words: str, **env: str) -> str:
    return program_refused(*words, env=environment(**env))


def backup_of(folder: Path, *words: str, **env: str) -> Path:
    do("backup", "create", *words, "--data", str(folder), **env)
    return max((folder / "backups").glob("*.backup"))


def new_folder(parent: Path, name: str, *, like: Path) -> Path:
    """An empty data folder with the secret of another."""
    folder = parent / name
    folder.mkdir()
    shutil.copy(like / "secret.key", folder)
    return folder
