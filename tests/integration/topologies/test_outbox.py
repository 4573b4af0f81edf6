"""The whole way of an outbox entry on a cluster and behind Sentinel: put off, given up, put back, done."""

import signal

import httpx
import pytest
from msgspec.structs import replace

from tests.integration.outbox.entries import Flaky, add, numbers
from tests.integration.topologies.nodes import on_both
from tests.integration.topologies.servers import Cluster, Topology
from tests.integration.topologies.shards import site_at
from tests.make import ManualClock
from tests.people import create
from threadkit.app import create_app
from threadkit.keyring import Keyring
from threadkit.outbox.model import State
from threadkit.settings import Settings
from threadkit.storage.client import parse_url


@on_both
async def test_an_entry_is_put_off_given_up_put_back_and_done(
    topology: Topology, settings: Settings, keyring: Keyring, clock: ManualClock
) -> None:
    app = create_app(replace(settings, outbox="worker"), parse_url(topology.url), keyring, clock=clock)
    transport = httpx.ASGITransport(app)
    async with app.lifespan(), httpx.AsyncClient(transport=transport, base_url="http://t") as http:
        services = app.services
        store, outbox = services.store.redis, services.outbox
        site = await services.sites.create("Blog", "blog.example.org")
        await services.sites.create("Other", "other.example")
        ada = await create(http, site, "ada")
        bell = Flaky(failures=6)
        outbox.handlers.on("rang", "bell", bell)
        place = services.keys.site(site.site.id).outbox()
        entry = await add(store, site, "rang", key=place)
        for _ in range(3):
            await add(store, site, "karma", key=place, user_id=ada.id, change=1)

        async def state() -> State:
            return (await services.outbox_queries.states([site.site.id]))[0]

        await outbox.drain()
        assert ((await state()).waiting, (await state()).retrying) == (0, 1)
        assert await numbers(http, ada) == (3, 0)
        for _ in range(5):
            clock.advance(seconds=1000)
            await outbox.drain()
        assert ((await state()).retrying, (await state()).dead) == (0, 1)
        assert (await services.outbox_queries.sum()).dead == 1
        await services.dead_letters.put_back(await services.dead_letters.all([site.site.id]))
        await outbox.drain()
        assert bell.done == [entry]
        assert ((await state()).waiting, (await state()).retrying, (await state()).dead) == (0, 0, 0)


@pytest.mark.parametrize("topology", ["cluster"], indirect=True)
async def test_a_shard_that_hangs_keeps_nothing_of_the_others_waiting(
    topology: Cluster, settings: Settings, keyring: Keyring, clock: ManualClock
) -> None:
    """The one with the list of all sites, and a site of its own where something waits too."""
    app = create_app(replace(settings, outbox="worker"), parse_url(topology.url), keyring, clock=clock)
    async with app.lifespan():
        services, store = app.services, app.services.store.redis
        ill = topology.home_of(services.keys.shared.sites())
        well = next(server for server in topology.servers if server is not ill)
        here, elsewhere = await site_at(topology, app, ill, "here"), await site_at(topology, app, well, "elsewhere")
        for site in (here, elsewhere):
            await add(store, site, "karma", key=services.keys.site(site.site.id).outbox(), user_id="nobody", change=1)
        assert set(await services.outbox_queries.sites_with_work(clock.now_ms())) == {here.site.id, elsewhere.site.id}
        ill.send_signal(signal.SIGSTOP)
        try:
            assert await services.outbox_queries.sites_with_work(clock.now_ms()) == [elsewhere.site.id]
        finally:
            ill.send_signal(signal.SIGCONT)
