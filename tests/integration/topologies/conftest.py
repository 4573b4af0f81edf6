"""The application on each topology, and the guard over the keys of all its nodes."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.topologies.servers import Cluster, SentinelGroup, Topology, running
from tests.keyspace import assert_keys_are_known
from tests.make import ManualClock
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.storage.client import parse_url


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    # A busy machine keeps nodes waiting, and nobody could take another's place here.
    with running(Cluster, patience_ms=3_000) as topology:
        yield topology


@pytest.fixture(scope="session")
def sentinel() -> Iterator[SentinelGroup]:
    with running(SentinelGroup) as topology:
        yield topology


@pytest.fixture
async def topology(request: pytest.FixtureRequest) -> AsyncIterator[Topology]:
    """What the test names with `on`, empty at first; afterwards every key on every node must be one of the schema."""
    store: Topology = request.getfixturevalue(request.param)
    for server in store.primaries:
        server.ask("FLUSHALL")
    yield store
    for server in store.primaries:
        async with Redis(port=server.port, decode_responses=True) as node:
            await assert_keys_are_known(node)


@pytest.fixture
async def app(
    topology: Topology, settings: Settings, keyring: Keyring, clock: ManualClock
) -> AsyncIterator[Application]:
    application = create_app(settings, parse_url(topology.url), keyring, clock=clock)
    async with application.lifespan():
        yield application


@pytest.fixture
async def other(
    app: Application, topology: Topology, settings: Settings, keyring: Keyring, clock: ManualClock
) -> AsyncIterator[Application]:
    """A second worker on the same store."""
    application = create_app(settings, parse_url(topology.url), keyring, clock=clock)
    async with application.lifespan():
        yield application


@pytest.fixture
async def http(app: Application) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://comments.test") as client:
        yield client
