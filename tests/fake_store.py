"""fakeredis in the place of a server: quick to be made, in this process, and true enough for most of what services do."""

import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from fakeredis import FakeAsyncRedis, FakeServer

from threadkit.storage.client import Commands, Store, StoreAddress


class _Client(FakeAsyncRedis):
    """With the answers that the program wants at its start, and scripts that begin with flags: fakeredis knows neither."""

    flagged: dict[str, str]
    """The scripts that had flags, by the digests under which the program asks for them."""

    async def execute_command(self, *words: Any, **options: Any) -> Any:
        if words[0] == "EVAL" and words[1].startswith("#!"):
            digest = hashlib.sha1(words[1].encode(), usedforsecurity=False).hexdigest()
            self.flagged[digest] = words[1].partition("\n")[2]
            words = ("EVALSHA", digest, *words[2:])
        if words[0] == "EVALSHA" and words[1] in self.flagged:
            words = ("EVAL", self.flagged[words[1]], *words[2:])
        return await super().execute_command(*words, **options)  # type: ignore[no-untyped-call]

    async def info(self, *_sections: Any, **_options: Any) -> Any:
        return {
            "redis_version": "7.0.0",
            "redis_mode": "standalone",
            "role": "master",
            "used_memory": 1_000_000,
            "maxmemory": 0,
            "total_system_memory": 8_000_000_000,
            "maxmemory_policy": "noeviction",
            "aof_enabled": 1,
            "loading": 0,
        }

    async def config_get(self, *_names: Any, **_options: Any) -> Any:
        return {"maxmemory-policy": "noeviction", "appendonly": "yes", "appendfsync": "always", "save": ""}


class FakeStore:
    address = StoreAddress("standalone", path="a fake")

    def __init__(self) -> None:
        self._server = FakeServer(version=(7, 0))
        self._flagged: dict[str, str] = {}

    def client(self) -> Commands:
        client = _Client(server=self._server, decode_responses=True, max_connections=10_000)
        client.flagged = self._flagged
        return client


@contextlib.contextmanager
def fake_store() -> Iterator[FakeStore]:
    """While it is open, applications that are given its address get it; all others get what they ask for."""
    fake, connect = FakeStore(), Store._connect

    def connect_or_fake(store: Store, **options: Any) -> Commands:
        return fake.client() if store.address is FakeStore.address else connect(store, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "_connect", connect_or_fake)
        yield fake
