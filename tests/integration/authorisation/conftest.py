"""A server that leaves its outbox alone: in these tests nothing changes but what a call changes."""

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.authorisation.world import World, built
from tests.make import ManualClock
from threadkit.app import Application
from threadkit.settings import Settings
from threadkit.sites.model import NewSite


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, outbox="worker")


@pytest.fixture
async def world(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock
) -> World:
    return await built(app, http, new_site, redis, clock)
