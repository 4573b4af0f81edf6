"""A server that leaves its outboxes alone, so that tests say when people are told; and people to tell."""

import httpx
import pytest
from msgspec.structs import replace

from tests.people import Person, create
from threadkit.settings import Settings
from threadkit.sites.model import NewSite


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, outbox="worker")


@pytest.fixture
async def ada(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "ada")


@pytest.fixture
async def eve(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "eve")


@pytest.fixture
async def bob(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "bob")
