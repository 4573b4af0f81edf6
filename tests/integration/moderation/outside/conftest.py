"""The application with every outside service set up, all of them played by one server of ours."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.moderation.outside.others import Others, serving
from tests.make import ManualClock
from tests.people import Person, create
from threadkit import logs
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.moderation.outside.model import OutsideEndpoints
from threadkit.settings import ModerationServiceSettings, Settings, TurnstileServerSettings
from threadkit.sites.model import NewSite, Site
from threadkit.storage.bundled import BundledStore

SERVICE_KEY, TURNSTILE_SECRET = "the-key-of-the-service", "the-secret-of-turnstile"

Change = Callable[..., Awaitable[Site]]


@pytest.fixture
async def others() -> AsyncIterator[Others]:
    async with serving() as running:
        yield running


@pytest.fixture
def settings(settings: Settings, others: Others) -> Settings:
    return replace(
        settings,
        log_level="warning",
        moderation_service=ModerationServiceSettings(
            enabled=True, url=f"{others.url}/openai/v1", key=SERVICE_KEY, model="omni-moderation-latest"
        ),
        turnstile=TurnstileServerSettings(secret=TURNSTILE_SECRET),
    )


@pytest.fixture
async def app(
    redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring, clock: ManualClock, others: Others
) -> AsyncIterator[Application]:
    logs.configure(settings)
    endpoints = OutsideEndpoints(
        turnstile=f"{others.url}/siteverify", akismet=f"{others.url}/akismet", webhook=f"{others.url}/hook"
    )
    application = create_app(settings, bundled.address, keyring, clock=clock, outside_endpoints=endpoints)
    async with application.lifespan():
        yield application


@pytest.fixture
def change(app: Application, new_site: NewSite) -> Change:
    """Change settings of the site, with `__` for the dot."""

    async def change_settings(**settings: Any) -> Site:
        named = {name.replace("__", "."): value for name, value in settings.items()}
        return await app.services.sites.change(new_site.site.id, settings=named)

    return change_settings


@pytest.fixture
async def jane(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "jane")
