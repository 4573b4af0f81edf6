"""The harness: a real store per test worker, the application in process, and a guard over every key that is written."""

import gc
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import settings as hypothesis_settings
from redis.asyncio import Redis

from tests import goals, tiers
from tests.fake_store import fake_store
from tests.folders import quick_folder
from tests.left_out import leave_out, reason_for, summary
from tests.make import ManualClock
from tests.stores import KIND, TestedStore, emptied, tested_store
from tests.timings import Costs, Summary
from threadkit import logs
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.moderation.rules import LinksRule, RepeatedRule, ScreeningRules, TooFastRule
from threadkit.settings import Accounts, BackupSettings, LimitSettings, Settings, StoreTuning
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.storage.client import Commands

NOTHING_HELD = ScreeningRules(
    repeated=RepeatedRule(enabled=False), too_fast=TooFastRule(enabled=False), links=LinksRule(enabled=False)
)
SECRET = "a secret of the test suite, long enough"
# How long an example takes says more about what else the machine does.
hypothesis_settings.register_profile("short", deadline=None)
hypothesis_settings.load_profile("short")


def pytest_addoption(parser: pytest.Parser) -> None:
    tiers.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    costs = Costs() if is_worker or not config.option.numprocesses else None
    if costs:
        config.pluginmanager.register(costs)
    if not is_worker:
        config.pluginmanager.register(Summary(costs))


def pytest_xdist_auto_num_workers() -> int:
    """Two for each processor: half of a test's time it waits for a store, a browser or a process."""
    return (os.cpu_count() or 1) * 2


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tiers.select(config, items)
    leave_out(items)
    # Of two tests that share a name, workers run one.
    shared = [name for name, times in Counter(item.nodeid for item in items).items() if times > 1]
    assert not shared, f"more than one test is called {shared[0]}"


def pytest_collection_finish() -> None:
    # What was imported stays, and every test makes a whole application: it need not be looked through each time.
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    goals.summary(terminalreporter)
    summary(terminalreporter)


@pytest.fixture(autouse=True)
def collected(request: pytest.FixtureRequest) -> Iterator[None]:
    """Who may leave something to the collector has it collected while that is forgiven, or the next test is blamed."""
    yield
    if any("Unraisable" in str(mark.args) for mark in request.node.iter_markers("filterwarnings")):
        gc.collect()


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    """A folder whose path is short enough for a unix socket, which pytest's own is not."""
    with quick_folder() as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def real_store(short_folder: Path) -> Iterator[TestedStore]:
    """The bundled store under its real configuration, started once per test worker; or servers that stand in its place."""
    with tested_store(short_folder / "store") as store:
        yield store


@pytest.fixture
def bundled(request: pytest.FixtureRequest) -> Iterator[TestedStore]:
    """The store of this test: a new fake where one was asked for and is good enough, or the real one."""
    if KIND == "fake" and reason_for(request.node, KIND) is None:
        with fake_store() as store:
            yield store
    else:
        yield request.getfixturevalue("real_store")


@pytest.fixture
def settings(short_folder: Path) -> Settings:
    # Cheap passwords: their cost is measured where it matters.
    accounts = Accounts(argon2_time_cost=1, argon2_memory_kib=64, argon2_parallelism=1)
    folder = str(short_folder / "store")
    # Tests are quicker than people; what limits do has tests of its own.
    limits = LimitSettings(enabled=False, requests_at_once=1000, requests_in_a_burst=1000)
    return Settings(
        data=folder,
        secret=SECRET,
        log_level="error",
        access_log=False,
        accounts=accounts,
        limits=limits,
        backup=BackupSettings(enabled=False),  # a test's clock may go on by days
        store=StoreTuning(silent_after_s=2.0),  # a busy machine keeps stores waiting too
    )


@pytest.fixture
def keyring() -> Keyring:
    return Keyring(SECRET.encode())


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def redis(bundled: TestedStore) -> AsyncIterator[Commands]:
    """The store as it is, empty at first; after the test every key in it must be one of the schema."""
    async with emptied(bundled) as client:
        yield client


@pytest.fixture
async def app(
    redis: Redis, bundled: TestedStore, settings: Settings, keyring: Keyring, clock: ManualClock
) -> AsyncIterator[Application]:
    logs.configure(settings)
    application = create_app(settings, bundled.address, keyring, clock=clock)
    async with application.lifespan():
        yield application


@pytest.fixture
async def http(app: Application) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://comments.test") as client:
        yield client


@pytest.fixture
async def new_site(app: Application) -> NewSite:
    """A site on which everybody may write, and whatever they like."""
    settings = SiteSettings(auth=AuthSettings(anonymous=True), screening=NOTHING_HELD)
    return await app.services.sites.create("Blog", "blog.example.org", settings=settings)
