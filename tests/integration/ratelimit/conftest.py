"""A server that limits, with numbers of its own so that a test needs few calls."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from tests.make import ManualClock
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.settings import LimitSettings, Settings
from threadkit.storage.bundled import BundledStore


@pytest.fixture
def limits() -> LimitSettings:
    return LimitSettings()


@pytest.fixture
def settings(settings: Settings, limits: LimitSettings) -> Settings:
    return replace(settings, limits=limits)


@pytest.fixture
async def second(
    app: Application, bundled: BundledStore, settings: Settings, keyring: Keyring, clock: ManualClock
) -> AsyncIterator[Application]:
    """Another worker on the same store."""
    application = create_app(settings, bundled.address, keyring, clock=clock)
    async with application.lifespan():
        yield application
