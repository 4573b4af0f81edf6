"""One worker that counts, on the real store."""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from tests.integration.counters.counting import Counting, counting
from tests.integration.counters.line import Line, line_to
from tests.make import ManualClock
from threadkit.keyring import Keyring
from threadkit.storage.bundled import BundledStore


@pytest.fixture
async def worker(redis: Redis, bundled: BundledStore, keyring: Keyring, clock: ManualClock) -> AsyncIterator[Counting]:
    async with counting(bundled.address, keyring, clock) as found:
        yield found


@pytest.fixture
async def exact(redis: Redis, bundled: BundledStore, keyring: Keyring, clock: ManualClock) -> AsyncIterator[Counting]:
    async with counting(bundled.address, keyring, clock, visitors="exact") as found:
        yield found


@pytest.fixture
async def line(redis: Redis, bundled: BundledStore) -> AsyncIterator[Line]:
    assert bundled.address.path
    async with line_to(bundled.address.path) as found:
        yield found


@pytest.fixture
async def far(line: Line, keyring: Keyring, clock: ManualClock) -> AsyncIterator[Counting]:
    """A worker whose line to the store can be cut."""
    async with counting(line.address, keyring, clock) as found:
        yield found
