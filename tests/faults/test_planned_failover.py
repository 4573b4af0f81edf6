"""An operator asks the sentinels for another primary, while every node is well. THREADKIT_SOAK=1 does it ten times each.

The old primary takes changes until the sentinels tell it to follow the new one, eight seconds and more after that has
taken over, and then throws away what it took. So ThreadKit must be gone before.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tests.conftest import NOTHING_HELD
from tests.faults.divided import DividedGroup, divided_group
from tests.integration.topologies.load import Load
from tests.integration.topologies.servers import MASTER
from tests.people import create
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.storage.client import parse_url

IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
TIMES = 10 if IS_LONG else 1
# A busy machine may take longer; the long form has it to itself.
LEEWAY_S = 0 if IS_LONG else 10
GAP_S = 3 + LEEWAY_S
LOST_FOR_S = 1.2
WRITERS = 4

pytestmark = [
    pytest.mark.prove,
    pytest.mark.timeout(900 if IS_LONG else 240),
    # Who is given up in the very moment in which a connection comes about leaves it to be closed by the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def group() -> Iterator[DividedGroup]:
    with divided_group() as found:
        yield found


@pytest.fixture
async def app(group: DividedGroup, settings: Settings, keyring: Keyring) -> AsyncIterator[Application]:
    application = create_app(settings, parse_url(group.url), keyring)
    async with application.lifespan():
        yield application


@pytest.fixture
async def new_site(app: Application) -> NewSite:
    settings = SiteSettings(auth=AuthSettings(anonymous=True), screening=NOTHING_HELD)
    return await app.services.sites.create("Blog", "blog.example.org", settings=settings)


@pytest.mark.parametrize("is_bounded", [False, True], ids=["as it comes", "min-replicas-to-write"])
async def test_a_planned_failover_takes_nothing_that_was_confirmed(
    is_bounded: bool, app: Application, http: httpx.AsyncClient, new_site: NewSite, group: DividedGroup
) -> None:
    if is_bounded:
        group.refuse_without_replica(10)
    people = [await create(http, new_site, f"writer-{is_bounded}-{number}") for number in range(WRITERS)]
    for number in range(TIMES):
        load = Load(people, f"https://blog.example.org/{is_bounded}-{number}")
        async with load.running(group.primary, *group.replicas):
            await until(lambda: load.replicated >= 50, "some changes to be replicated", seconds=60)  # noqa: B023
            group.sentinels[number % 3].ask("SENTINEL", "FAILOVER", MASTER)
            asked_at = time.monotonic()
            await until(lambda: bool(group.successor()), "a replica to be made the primary", seconds=30)
            failed_over_s = time.monotonic() - asked_at
            await asyncio.to_thread(group.join)  # until the old primary follows, and all it took alone is gone
            begun = load.begun
            await until(lambda: load.is_confirmed_since(begun), "a write to be confirmed", seconds=30)  # noqa: B023
        gap_s = load.longest_pause_s(asked_at)
        gone = await load.gone(app, new_site.site.id)
        last_s = max((load.confirmed_at[change] - asked_at for change in gone), default=0.0)
        print(
            f"\nG3: planned failover {number + 1}, {'bounded' if is_bounded else 'as it comes'}: replaced after "
            f"{failed_over_s:.1f} s, {gap_s:.1f} s without a confirmation, {load.refused} refused; {len(gone)} of "
            f"{len(load.confirmed)} confirmed changes lost, the last one confirmed {last_s:.1f} s after it was asked for"
        )
        assert not [change for change in gone if change < load.replicated]
        assert last_s < LOST_FOR_S
        assert not gone or not is_bounded
        assert gap_s < GAP_S
