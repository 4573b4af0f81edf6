"""Live pages on a cluster and behind Sentinel."""

import dataclasses

import httpx
import pytest

from tests.integration.comments.test_comments import write
from tests.integration.comments.test_votes import vote
from tests.integration.live.ears import serving
from tests.integration.live.test_events import page_of
from tests.integration.topologies.nodes import on_both
from tests.integration.topologies.servers import SentinelGroup, Topology
from tests.make import ManualClock
from tests.people import create
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.ids import new_uuid
from threadkit.keyring import Keyring
from threadkit.live import hub
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage import lua
from threadkit.storage.client import parse_url

pytestmark = on_both


async def test_readers_of_two_workers_see_each_other_and_what_is_written(
    app: Application, other: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    page_id, _ = await page_of(http, new_site)
    for application in (app, other):
        await until(lambda: application.services.listener.is_listening, "the listener")  # noqa: B023
    async with (
        serving(app) as here,
        serving(other) as there,
        here.ear(ada.key, ada.token) as adas,
        there.ear(bob.key, bob.token) as bobs,
    ):
        await adas.subscribe(page_id)
        assert {user["id"] for user in (await bobs.subscribe(page_id))["users"]} == {ada.id, bob.id}
        assert (await adas.hear_of("user_joined"))["user"]["id"] == bob.id
        root = await write(ada, "the first")
        await vote(bob, root["i"], "up")
        for ear in (adas, bobs):
            assert (await ear.hear_of("new_comment"))["comment"]["i"] == root["i"]
            assert (await ear.hear_of("vote_update"))["upvotes"] == 1
        await bobs.say("typing", page_id=page_id)
        assert (await adas.hear_of("typing"))["user"]["id"] == bob.id
        await bobs.say("unsubscribe", page_id=page_id)
        assert (await adas.hear_of("user_left"))["user_id"] == bob.id


async def test_an_event_that_was_lost_on_its_way_is_noticed_at_a_heartbeat(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that dies takes events along which it had not passed on, and our own connection stays."""
    monkeypatch.setattr(hub, "BEAT_EVERY_S", 0.2)
    monkeypatch.setattr(hub, "CHANGES_EVERY_S", 0.1)
    ada = await create(http, new_site, "ada")
    await write(ada, "the first")
    page_id, _ = await page_of(http, new_site)
    await until(lambda: app.services.listener.is_listening, "the listener")
    async with serving(app) as here, here.ear(ada.key) as ear:
        await ear.subscribe(page_id)
        await write(ada, "heard")
        await ear.hear_of("new_comment")
        await app.services.store.redis.hincrby(app.services.keys.site(new_site.site.id).page(page_id), "version", 1)
        assert await ear.hear_of("resync") == {"page_id": page_id}
        await write(ada, "heard too")
        await ear.hear_of("new_comment")
        (room,) = app.services.hub._rooms.values()
        beaten = room.beat_at
        await until(lambda: room.beat_at > beaten + 0.5, "more heartbeats")
        await ear.nothing_but("viewers")  # and nothing is wrong any more


async def test_what_a_worker_of_an_older_version_publishes_is_noticed_at_a_heartbeat(
    app: Application,
    topology: Topology,
    settings: Settings,
    keyring: Keyring,
    clock: ManualClock,
    http: httpx.AsyncClient,
    new_site: NewSite,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before channels of a cluster were sharded, scripts published for all nodes. While both kinds of workers run, they do
    not hear each other."""
    monkeypatch.setattr(hub, "BEAT_EVERY_S", 0.2)
    monkeypatch.setattr(hub, "CHANGES_EVERY_S", 0.1)
    with monkeypatch.context() as before:
        before.setattr(lua, "RedisCluster", type(None))
        older = create_app(settings, parse_url(topology.url), keyring, clock=clock)
    ada = await create(http, new_site, "ada")
    await write(ada, "the first")
    page_id, _ = await page_of(http, new_site)
    await until(lambda: app.services.listener.is_listening, "the listener")
    transport = httpx.ASGITransport(older)
    async with (
        older.lifespan(),
        httpx.AsyncClient(transport=transport, base_url="http://older") as there,
        serving(app) as here,
        here.ear(ada.key) as ear,
    ):
        await ear.subscribe(page_id)
        await write(dataclasses.replace(ada, http=there), "from there")
        is_heard = isinstance(topology, SentinelGroup)
        await ear.hear_of("new_comment" if is_heard else "resync")


async def test_readers_look_again_when_a_replica_took_over_that_had_not_received_the_newest(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a cluster our own connection may be to another node, and stays: only the page's version tells."""
    ada = await create(http, new_site, "ada")
    await write(ada, "the first")
    page_id, _ = await page_of(http, new_site)
    page = app.services.keys.site(new_site.site.id).page(page_id)
    await until(lambda: app.services.listener.is_listening, "the listener")
    async with serving(app) as here, here.ear(ada.key) as ear:
        await ear.subscribe(page_id)
        for text in ("kept", "lost", "lost too"):
            await write(ada, text)
            await ear.hear_of("new_comment")
        await app.services.store.redis.hincrby(page, "version", -2)
        await write(ada, "written after the loss")
        assert (await ear.hear())[0] == "resync"
        await ear.hear_of("new_comment")
        await ear.nothing_but("viewers")

        monkeypatch.setattr(hub, "BEAT_EVERY_S", 0.2)
        monkeypatch.setattr(hub, "CHANGES_EVERY_S", 0.1)
        await app.services.store.redis.hincrby(page, "version", -1)
        assert await ear.hear_of("resync") == {"page_id": page_id}
        (room,) = app.services.hub._rooms.values()
        beaten = room.beat_at
        await until(lambda: room.beat_at > beaten + 0.5, "more heartbeats")
        await ear.nothing_but("viewers")


async def test_a_page_whose_list_is_broken_does_not_silence_the_sites_other_pages(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "the first")
    page_id, _ = await page_of(http, new_site)
    broken, redis = app.services.keys.site(new_site.site.id).viewers(page_id), app.services.store.redis
    await redis.set(broken, "of another kind")
    healthy = new_uuid()
    async with serving(app) as here, here.ear(ada.key) as ear:
        for page in (page_id, healthy):
            await ear.subscribe(page)
        assert await ear.hear_of("viewers", seconds=5) == {"page_id": healthy, "viewers": 1}
    await redis.delete(broken)
