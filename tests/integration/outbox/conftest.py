"""A server that leaves its outboxes alone, so that tests say when they are taken forward."""

import httpx
import pytest
from msgspec.structs import replace

from tests.integration.outbox.entries import Owner
from tests.people import Person, create
from tests.stores import url_of
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, outbox="worker")


@pytest.fixture
async def ada(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "ada")


@pytest.fixture
def owner(bundled: BundledStore, settings: Settings) -> Owner:
    """Somebody at the command line of the same store."""
    return Owner(url_of(bundled), settings)
