"""A cluster whose network is divided: one primary does not reach the other nodes, and ThreadKit reaches all of them, or only
that one. THREADKIT_SOAK=1 divides it twenty times each. K7.

What the primary confirms while it is alone is thrown away when it comes back as a replica. It has no majority, so it refuses
soon after the node timeout; about then a replica takes over, and ThreadKit must find that one.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator

import httpx
import pytest

from tests.faults.divided_cluster import (
    NODE_TIMEOUT_S,
    DividedCluster,
    Reach,
    divided_cluster,
    has_majority,
    is_listened_to,
    is_primary,
)
from tests.integration.server.program import environment, run
from tests.integration.topologies.load import Load
from tests.integration.topologies.servers import Server
from tests.integration.topologies.shards import everybody_at, people_at, site_at
from tests.integration.topologies.test_failover import scene
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.ids import UserId
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.storage.client import parse_url

IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
TIMES = 20 if IS_LONG else 1
# A busy machine may take longer; the long form has it to itself.
LEEWAY_S = 0 if IS_LONG else 20
BACK_WITHIN_S = 10 + LEEWAY_S
EVENTS_WITHIN_S = 10 + LEEWAY_S
# A node is asked for a sign of life when it has given none for half the timeout, and then has all of it.
ALONE_WITHIN_S = 1.5 * NODE_TIMEOUT_S + 1 + LEEWAY_S
ANSWERED_WITHIN_S = 5 + LEEWAY_S
WRITERS = 4
# One command of each may take longer than anybody waits for a store.
REFUSED_ELSEWHERE = 0 if IS_LONG else WRITERS

pytestmark = [
    pytest.mark.timeout(1800 if IS_LONG else 240),
    # Who is given up in the very moment in which a connection comes about leaves it to be closed by the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[DividedCluster]:
    with divided_cluster() as found:
        yield found


@pytest.fixture
async def app(cluster: DividedCluster, settings: Settings, keyring: Keyring) -> AsyncIterator[Application]:
    cluster.wait_until_whole()
    application = create_app(settings, parse_url(cluster.url), keyring)
    async with application.lifespan():
        try:
            yield application
        finally:
            cluster.mend()


@pytest.mark.parametrize("we", ["reach all", "reach the others"])
async def test_a_primary_without_a_majority_is_left_and_other_shards_go_on(
    we: Reach, app: Application, http: httpx.AsyncClient, cluster: DividedCluster
) -> None:
    for number in range(TIMES):
        alone, living = await two_primaries(app, cluster)
        replica = cluster.replica_of(alone)
        site, people = await everybody_at(cluster, app, http, alone, f"alone-{number}", count=WRITERS)
        other_site, others = await everybody_at(cluster, app, http, living, f"living-{number}", count=WRITERS)
        async with (
            scene(app, http, site, people, number) as here,
            scene(app, http, other_site, others, number) as elsewhere,
        ):
            async with (
                elsewhere.load.running(living, cluster.replica_of(living)),
                here.load.running(alone, replica),
            ):
                load = here.load
                await until(lambda: load.replicated >= 50, "some changes to be replicated", seconds=60)  # noqa: B023
                cluster.isolate(alone, we)
                cut_at = time.monotonic()
                failed_over_s, stopped_s = await failover(alone, replica)
                begun = load.begun
                await until(lambda: load.is_confirmed_since(begun), "a confirmed write", seconds=BACK_WITHIN_S)  # noqa: B023
                back_s = time.monotonic() - cut_at
                await here.until_events()
                await elsewhere.until_events()
                events_s = time.monotonic() - cut_at
                assert is_primary(alone)
                assert await asyncio.to_thread(cluster.is_reached_by_us, alone) is (we == "reach all")
                refused, confirmed = load.refused, len(load.confirmed)
                cluster.mend()
                await asyncio.to_thread(cluster.wait_until_whole)
            await here.until_reader_sees_it_all()
            await elsewhere.until_reader_sees_it_all()
        gone = await load.gone(app, site.site.id)
        last_s = max((load.confirmed_at[change] - cut_at for change in gone), default=0.0)
        pause_s = elsewhere.load.longest_pause_s(cut_at)
        print(
            f"\nG15: partition {number + 1} of a cluster, we {we}: replaced after {failed_over_s:.1f} s, refuses after "
            f"{stopped_s:.1f} s, back after {back_s:.1f} s, events after {events_s:.1f} s, {refused} refused; {len(gone)} of {confirmed} confirmed changes lost, the last one "
            f"confirmed {last_s:.1f} s after the cut; elsewhere nobody waited longer than {elsewhere.load.slowest_s:.2f} s "
            f"and {pause_s:.2f} s passed without a confirmation"
        )
        assert not is_primary(alone)
        assert gone or we == "reach the others", "it was never alone"
        assert not [change for change in gone if change < load.replicated]
        assert stopped_s < ALONE_WITHIN_S
        assert last_s < stopped_s + ANSWERED_WITHIN_S
        assert back_s < BACK_WITHIN_S
        assert events_s < EVENTS_WITHIN_S
        assert elsewhere.load.refused <= REFUSED_ELSEWHERE
        assert await elsewhere.load.gone(app, other_site.site.id) == []
        await is_clean(app)
    if IS_LONG:
        await asyncio.to_thread(ask_the_doctor, cluster)


async def test_who_is_shut_in_with_a_primary_without_a_majority_is_told_so(
    app: Application, http: httpx.AsyncClient, cluster: DividedCluster
) -> None:
    gaps: list[float] = []
    app.services.listener.on_gap(lambda: gaps.append(time.monotonic()))
    for number in range(TIMES):
        alone, beyond = await two_primaries(app, cluster)
        replica = cluster.replica_of(alone)
        site, people = await everybody_at(cluster, app, http, alone, f"inside-{number}", count=WRITERS)
        other_site, others = await everybody_at(cluster, app, http, beyond, f"beyond-{number}", count=1)
        load = Load(people, f"https://{site.site.domain}/{number}")
        elsewhere = Load(others, f"https://{other_site.site.domain}/{number}")
        async with elsewhere.running(beyond, cluster.replica_of(beyond)), load.running(alone, replica):
            await until(lambda: load.replicated >= 50, "some changes to be replicated", seconds=60)  # noqa: B023
            cluster.isolate(alone, "reach it only")
            cut_at = time.monotonic()
            _, stopped_s = await failover(alone, replica)
            refused, confirmed = load.refused, len(load.confirmed)
            enough = refused + 10 * WRITERS
            await until(lambda: load.refused >= enough, "all writes to be refused", seconds=BACK_WITHIN_S)  # noqa: B023
            assert len(load.confirmed) <= confirmed + WRITERS  # answers that were under way
            assert elsewhere.refused > 0
            assert await asyncio.to_thread(cluster.is_reached_by_us, alone)
            assert not await asyncio.to_thread(cluster.is_reached_by_us, replica)
            assert (await http.get("/readyz")).status_code == 503
            assert (await http.get("/version")).status_code == 200
            cluster.mend()
            mended_at = time.monotonic()
            begun, begun_elsewhere = load.begun, elsewhere.begun
            await until(
                lambda: load.is_confirmed_since(begun) and elsewhere.is_confirmed_since(begun_elsewhere),  # noqa: B023
                "a confirmed write on both shards",
                seconds=BACK_WITHIN_S,
            )
            back_s = time.monotonic() - mended_at
            # What others said meanwhile was not heard.
            await until(lambda: gaps[-1:] > [mended_at], "the gap to be noticed", seconds=EVENTS_WITHIN_S)  # noqa: B023
            await asyncio.to_thread(cluster.wait_until_whole)
        await until(lambda: app.services.listener.is_listening, "the listener", seconds=EVENTS_WITHIN_S)
        gone = await load.gone(app, site.site.id)
        last_s = max((load.confirmed_at[change] - cut_at for change in gone), default=0.0)
        slowest_s = max(load.slowest_s, elsewhere.slowest_s)
        print(
            f"\nG15: shut in {number + 1} with a primary: it refuses after {stopped_s:.1f} s; {len(gone)} of {len(load.confirmed)} confirmed changes lost, the last one "
            f"confirmed {last_s:.1f} s after the cut; {load.refused} refused, and {elsewhere.refused} beyond the cut; nobody "
            f"waited longer than {slowest_s:.1f} s for an answer; well {back_s:.1f} s after the cut was mended"
        )
        assert not is_primary(alone)
        assert gone, "it was never alone"
        assert not [change for change in gone if change < load.replicated]
        assert stopped_s < ALONE_WITHIN_S
        assert last_s < stopped_s + ANSWERED_WITHIN_S
        assert slowest_s < ANSWERED_WITHIN_S
        assert await elsewhere.gone(app, other_site.site.id) == []
        await is_clean(app)
    if IS_LONG:
        await asyncio.to_thread(ask_the_doctor, cluster)


async def test_of_what_is_lost_only_the_totals_of_people_elsewhere_know(
    app: Application, http: httpx.AsyncClient, cluster: DividedCluster
) -> None:
    """How much somebody ever wrote is with the person and not with the site."""
    alone, living = cluster.primaries[:2]
    replica = cluster.replica_of(alone)
    site = await site_at(cluster, app, alone, "visited")
    visitors = await people_at(cluster, app, http, living, site, count=WRITERS)
    load = Load(visitors, f"https://{site.site.domain}/")
    async with load.running(alone, replica):
        await until(lambda: load.replicated >= 50, "some changes to be replicated", seconds=60)
        cluster.isolate(alone, "reach all")
        await failover(alone, replica)
        begun = load.begun
        await until(lambda: load.is_confirmed_since(begun), "a confirmed write", seconds=BACK_WITHIN_S)
        cluster.mend()
        await asyncio.to_thread(cluster.wait_until_whole)
    assert await load.gone(app, site.site.id)
    await is_clean(app)
    there = await app.services.store.redis.zcard(app.services.keys.site(site.site.id).comments())
    profiles = [await app.services.user_queries.by_id(UserId(visitor.id)) for visitor in visitors]
    assert sum(profile.total_comments for profile in profiles if profile) > there


async def two_primaries(app: Application, cluster: DividedCluster) -> tuple[Server, Server]:
    """One to be cut off, and another one; ThreadKit hears events from both."""
    await until(lambda: app.services.listener.hears_all, "the listener", seconds=EVENTS_WITHIN_S)
    one, other, _ = cluster.primaries
    assert is_listened_to(one)
    assert is_listened_to(other)
    return one, other


async def failover(alone: Server, replica: Server) -> tuple[float, float]:
    """How long it took until the replica was the primary, and until the old one refused."""
    started = time.monotonic()

    async def after_s(condition: Callable[[], bool], what: str) -> float:
        await until(lambda: asyncio.to_thread(condition), what, seconds=30)
        return time.monotonic() - started

    replaced = after_s(lambda: is_primary(replica), "the replica to be made the primary")
    stopped = after_s(lambda: not has_majority(alone), "the old primary to refuse")
    replaced_s, stopped_s = await asyncio.gather(replaced, stopped)
    return replaced_s, stopped_s


async def is_clean(app: Application) -> None:
    await app.services.outbox.drain()
    assert (await app.services.deep_doctor.run()).found == []


def ask_the_doctor(cluster: DividedCluster) -> None:
    done = run("doctor", "--deep", "--json", env=environment(REDIS_URL=cluster.url))
    assert done.returncode == 0, done.stdout[:4000] + done.stderr
