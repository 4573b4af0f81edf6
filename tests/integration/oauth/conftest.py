"""The application with every provider set up, all of them played by one of ours."""

from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.oauth.browser import Browser
from tests.integration.oauth.provider import CLIENT_ID, CLIENT_SECRET, MockProvider, serving
from tests.make import ManualClock
from threadkit import logs
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.settings import OidcSettings, ProviderSettings, Settings
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.storage.bundled import BundledStore
from threadkit.users.oauth.model import ProviderEndpoints

BASE_URL = "https://comments.test"
NAMES = ("google", "github", "discord", "oidc")


@pytest.fixture
async def provider(clock: ManualClock) -> AsyncIterator[MockProvider]:
    mock = MockProvider(clock, {f"{BASE_URL}/auth/{name}/callback" for name in NAMES})
    mock.person = {
        "sub": "248289761001",
        "name": "Jane Doe",
        "email": "jane@example.org",
        "email_verified": True,
        "picture": "https://pictures.example.org/jane.png",
    }
    async with serving(mock):
        yield mock


@pytest.fixture
def endpoints(provider: MockProvider) -> ProviderEndpoints:
    url = provider.url
    return ProviderEndpoints(
        google_issuer=url,
        github_authorize=f"{url}/github/authorize",
        github_token=f"{url}/github/token",
        github_api=f"{url}/github/api",
        discord_authorize=f"{url}/discord/authorize",
        discord_token=f"{url}/discord/token",
        discord_api=f"{url}/discord/api",
    )


@pytest.fixture
def settings(settings: Settings, provider: MockProvider) -> Settings:
    account = ProviderSettings(client_id=CLIENT_ID, client_secret=CLIENT_SECRET)
    return replace(
        settings,
        public_url=BASE_URL,
        google=account,
        github=account,
        discord=account,
        oidc=OidcSettings(issuer=provider.url, client_id=CLIENT_ID, client_secret=CLIENT_SECRET),
    )


@pytest.fixture
async def app(
    redis: Redis,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
    clock: ManualClock,
    endpoints: ProviderEndpoints,
) -> AsyncIterator[Application]:
    logs.configure(settings)
    application = create_app(settings, bundled.address, keyring, clock=clock, endpoints=endpoints)
    async with application.lifespan():
        yield application


@pytest.fixture
async def new_site(app: Application) -> NewSite:
    auth = AuthSettings(google=True, github=True, discord=True, oidc=True)
    return await app.services.sites.create("Blog", "blog.example.org", settings=SiteSettings(auth=auth))


@pytest.fixture
def new_browser(http: httpx.AsyncClient, new_site: NewSite) -> Callable[[], Browser]:
    return lambda: Browser(http, new_site.site)


@pytest.fixture
def browser(new_browser: Callable[[], Browser]) -> Browser:
    return new_browser()
