"""A network that is divided: the sentinels and the replica do not reach the primary, and ThreadKit does. THREADKIT_SOAK=1
divides it twenty times. K7.

What the primary confirms while it is alone is thrown away when it comes back as a replica. How long it may go on so is
bounded twice: ThreadKit asks the sentinels all the time and leaves, and the primary itself refuses when it is set so.
"""

import os
import time
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tests.conftest import NOTHING_HELD
from tests.faults.divided import DividedGroup, divided_group
from tests.integration.topologies.load import Load
from tests.people import create
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.storage.client import parse_url
from threadkit.storage.sentinel import ASK_EVERY_S

IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
TIMES = 20 if IS_LONG else 1
# A busy machine may take longer; the long form has it to itself.
LEEWAY_S = 0 if IS_LONG else 20
BACK_WITHIN_S = 10 + LEEWAY_S
MAX_LAG_S = 2
WRITERS = 4

pytestmark = [
    pytest.mark.timeout(1800 if IS_LONG else 240),
    # When its connection breaks, the library's Pub/Sub makes a new one before it says so, and may leave another one to be
    # closed by the collector.
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
async def test_a_primary_that_is_alone_confirms_no_longer_than_it_is_said(
    is_bounded: bool, app: Application, http: httpx.AsyncClient, new_site: NewSite, group: DividedGroup
) -> None:
    if is_bounded:
        group.refuse_without_replica(MAX_LAG_S)
    people = [await create(http, new_site, f"writer-{is_bounded}-{number}") for number in range(WRITERS)]
    for number in range(TIMES):
        load = Load(people, f"https://blog.example.org/{is_bounded}-{number}")
        async with load.running(group.primary, *group.replicas):
            await until(lambda: load.replicated >= 50, "some changes to be replicated", seconds=60)  # noqa: B023
            group.isolate_primary()
            cut_at = time.monotonic()
            await until(lambda: bool(group.successor()), "a replica to be made the primary", seconds=30)
            failed_over_s = time.monotonic() - cut_at
            successor = group.successor()
            assert successor
            await until_it_leads_to(group.wires[successor.port].port, app)
            begun = load.begun
            await until(lambda: load.is_confirmed_since(begun), "a write to be confirmed", seconds=BACK_WITHIN_S)  # noqa: B023
            back_s = time.monotonic() - cut_at
            refused = load.refused
        group.join()
        gone = await load.gone(app, new_site.site.id)
        last_s = max((load.confirmed_at[change] - cut_at for change in gone), default=0.0)
        print(
            f"\nG15: partition {number + 1}, {'bounded' if is_bounded else 'as it comes'}: replaced after {failed_over_s:.1f} s, "
            f"back after {back_s:.1f} s, {refused} refused; {len(gone)} of {len(load.confirmed)} confirmed changes lost, "
            f"the last one confirmed {last_s:.1f} s after the cut"
        )
        assert not [change for change in gone if change < load.replicated]
        assert back_s < BACK_WITHIN_S
        bound_s = failed_over_s + ASK_EVERY_S + 1
        assert last_s < (min(bound_s, MAX_LAG_S + 2) if is_bounded else bound_s) + LEEWAY_S


async def until_it_leads_to(port: int, app: Application) -> None:
    pool = app.services.store.redis.connection_pool
    await until(lambda: pool.master_address[1] == port, "ThreadKit to leave", seconds=BACK_WITHIN_S)
