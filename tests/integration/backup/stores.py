"""Data folders for tests of backups: filled, opened, compared."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from redis import Redis

from tests.integration.server.program import environment, run
from threadkit.settings import Settings
from threadkit.storage.bundled import BundledStore

State = dict[bytes, tuple[bytes, int]]


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
        value, expires_ms = client.dump(key), client.pexpiretime(key)
        if value is not None and expires_ms != -2:
            found[bytes(key)] = (bytes(value), int(expires_ms))
    return found


def state_of(folder: Path) -> State:
    with opened(folder) as client:
        return state(client)


def do(*words: str, **env: str) -> str:
    """A command that must succeed; what it says."""
    result = run(*words, env=environment(**env))
    assert result.returncode == 0, result.stderr
    return result.stdout


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
