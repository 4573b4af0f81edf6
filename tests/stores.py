"""The store that the tests run on: the bundled Valkey, or with THREADKIT_TEST_STORE a fake, a cluster or one behind Sentinel."""

import contextlib
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from redis.asyncio import BlockingConnectionPool, Redis, UnixDomainSocketConnection

from tests.documented import DocumentedCluster
from tests.fake_store import FakeStore
from tests.integration.topologies.servers import Cluster, SentinelGroup, Topology, running
from tests.keyspace import assert_keys_are_known
from threadkit.settings import Settings
from threadkit.storage.bundled import BundledStore
from threadkit.storage.client import Commands, StoreAddress, parse_url

KIND = os.environ.get("THREADKIT_TEST_STORE", "valkey")
_KINDS = ("valkey", "fake", "cluster", "sentinel")
# Nothing is meant to fail over here, however busy the machine is.
PATIENCE_MS = 30_000


class Outside:
    """A store of several processes in the place of the bundled one."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology

    @property
    def address(self) -> StoreAddress:
        return parse_url(self.topology.url)


TestedStore = BundledStore | Outside | FakeStore


@contextlib.contextmanager
def tested_store(folder: Path) -> Iterator[TestedStore]:
    if KIND == "cluster":
        with running(Cluster, replicas=True, patience_ms=PATIENCE_MS) as cluster:
            yield Outside(cluster)
    elif KIND == "sentinel":
        with running(SentinelGroup, sentinels=3, patience_ms=PATIENCE_MS) as group:
            yield Outside(group)
    else:
        assert KIND in _KINDS, f"THREADKIT_TEST_STORE is one of {', '.join(_KINDS)}, not {KIND}"
        store = BundledStore(Settings(data=str(folder)))
        store.start()
        yield store
        store.stop()


def url_of(store: TestedStore) -> str:
    """How a program of its own is told where the store is."""
    assert not isinstance(store, FakeStore), "no program but this one can reach a fake"
    return store.topology.url if isinstance(store, Outside) else f"unix://{store.address.path}"


def client_of(store: TestedStore) -> Commands:
    """The store as the tests look at it."""
    if isinstance(store, FakeStore):
        return store.client()
    if not isinstance(store, Outside):
        # A crowd waits its turn: a socket takes only so many who come at once.
        pool = BlockingConnectionPool(
            connection_class=UnixDomainSocketConnection,
            path=store.address.path,
            decode_responses=True,
            max_connections=100,
            timeout=60,
        )
        return Redis.from_pool(pool)
    if isinstance(store.topology, Cluster):
        return DocumentedCluster(*store.address.hosts)
    return Redis(port=store.topology.primary.port, decode_responses=True)


@contextlib.asynccontextmanager
async def emptied(store: TestedStore) -> AsyncIterator[Commands]:
    """The store, empty at first; afterwards every key in it must be one of the schema."""
    async with contextlib.aclosing(client_of(store)) as client:
        if isinstance(store, Outside):
            for server in store.topology.primaries:
                server.ask("FLUSHALL")
        else:
            await client.flushall()
        yield client
        if isinstance(store, Outside):
            for server in store.topology.primaries:
                async with Redis(port=server.port, decode_responses=True) as node:
                    await assert_keys_are_known(node)
        else:
            await assert_keys_are_known(client)
