"""A real server in the test's own loop: real sockets, and the application at hand."""

from collections.abc import AsyncIterator

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.live.ears import LiveServer, serving
from tests.integration.live.houses import House
from tests.make import ManualClock
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore


@pytest.fixture
async def live(app: Application) -> AsyncIterator[LiveServer]:
    async with serving(app) as server:
        yield server


@pytest.fixture
async def impatient(app: Application) -> AsyncIterator[LiveServer]:
    """A server that asks for a sign of life far more often."""
    async with serving(app, ws_ping_interval=0.2, ws_ping_timeout=0.4) as server:
        yield server


@pytest.fixture
async def other(
    app: Application,
    redis: Redis,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
    clock: ManualClock,
) -> AsyncIterator[LiveServer]:
    """A second server on the same store."""
    application = create_app(settings, bundled.address, keyring, clock=clock)
    async with application.lifespan(), serving(application) as server:
        yield server


@pytest.fixture
async def house(live: LiveServer, new_site: NewSite, clock: ManualClock) -> AsyncIterator[House]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}") as web:
        yield House(new_site, web, live.port, clock)
