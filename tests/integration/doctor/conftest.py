"""What the doctor's tests share."""

import pytest
from redis.asyncio import Redis

from tests.integration.doctor.clinic import Open, opener
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.storage.bundled import BundledStore


@pytest.fixture
def clinic(redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring) -> Open:
    return opener(redis, bundled, settings, keyring)
