"""A server that limits, with numbers of its own so that a test needs few calls."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from tests.make import ManualClock
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.settings import LimitSettings, Settings, StoreTuning
from threadkit.storage.bundled import BundledStore


@pytest.fixture
def limits() -> LimitSettings:
    return LimitSettings()


@pytest.fixture
def settings(settings: Settings, limits: LimitSettings) -> Settings:
    # A crowd of the test's is to reach what it is about, and not the end of the room for work, however busy it is.
    patient = StoreTuning(command_timeout_s=30, wait_for_connection_s=30)
    return replace(settings, limits=replace(limits, requests_at_once=1000), store=patient)


@pytest.fixture
async def second(
    app: Application, bundled: BundledStore, settings: Settings, keyring: Keyring, clock: ManualClock
) -> AsyncIterator[Application]:
    """Another worker on the same store."""
    application = create_app(settings, bundled.address, keyring, clock=clock)
    async with application.lifespan():
        yield application
