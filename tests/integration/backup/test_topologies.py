"""Backups of a cluster and behind Sentinel: many servers, one moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from redis import Redis as SyncRedis
from redis.asyncio import Redis

from tests.integration.backup import stores
from tests.integration.comments.test_comments import write
from tests.integration.comments.test_votes import vote
from tests.integration.moderation.test_people import abroad
from tests.integration.topologies.conftest import cluster, sentinel, topology
from tests.integration.topologies.nodes import on_both, on_cluster
from tests.integration.topologies.servers import Topology
from tests.people import Person, create
from threadkit.app import Application, create_app
from threadkit.backup.file import read_header
from threadkit.backup.folder import BackupFolder
from threadkit.backup.model import BackupFailed
from threadkit.backup.restoring import RestoreService
from threadkit.backup.service import BackupService
from threadkit.keyring import Keyring
from threadkit.services import Services, build
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore
from threadkit.storage.client import Store, StoreAddress, parse_url

__all__ = ["cluster", "sentinel", "topology"]


@asynccontextmanager
async def serving(address: StoreAddress, settings: Settings, keyring: Keyring) -> AsyncIterator[Application]:
    application = create_app(settings, address, keyring)
    async with application.lifespan():
        yield application


@asynccontextmanager
async def opened(address: StoreAddress, settings: Settings, keyring: Keyring) -> AsyncIterator[Services]:
    services = build(settings, keyring, Store(address, settings.store))
    try:
        yield services
    finally:
        await services.store.close()


def lasting_state(topology: Topology) -> stores.State:
    """What passes may have passed."""
    found: stores.State = {}
    for server in topology.primaries:
        with SyncRedis(port=server.port) as node:
            found |= {key: kept for key, kept in stores.state(node).items() if kept[1] == -1}
    return found


def backup_of(services: Services) -> BackupService:
    return BackupService(
        store=services.store,
        keys=services.keys,
        clock=services.clock,
        fingerprint=services.keyring.fingerprint,
    )


def restore_of(services: Services) -> RestoreService:
    return RestoreService(
        store=services.store,
        keys=services.keys,
        clock=services.clock,
        fingerprint=services.keyring.fingerprint,
    )


async def populated(app: Application) -> list[Person]:
    """Three sites, which lie on different servers of a cluster, with a thread each."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    http = httpx.AsyncClient(transport=transport, base_url="http://comments.test")
    people = []
    for number in range(3):
        site = await app.services.sites.create(f"Site {number}", f"s{number}.example.org")
        ada, eve = await create(http, site, f"ada{number}"), await create(http, site, f"eve{number}")
        root = str((await write(ada, "root"))["i"])
        await write(eve, "reply", under=[root])
        await vote(eve, root, "up")
        people.append(ada)
    return people


async def go_on_writing(person: Person, until: asyncio.Event) -> int:
    number = 0
    while not until.is_set():
        number += 1
        await write(person, f"comment {number} of {person.name}")
    return number


@on_both
async def test_a_backup_under_load_comes_back_whole(
    topology: Topology, settings: Settings, keyring: Keyring, tmp_path: Path
) -> None:
    address = parse_url(topology.url)
    async with serving(address, settings, keyring) as app:
        people = await populated(app)
        enough = asyncio.Event()
        writing = [asyncio.create_task(go_on_writing(person, enough)) for person in people]
        made = await backup_of(app.services).create(BackupFolder(tmp_path))
        enough.set()
        assert min(await asyncio.gather(*writing)) > 1, "nobody wrote meanwhile"
        with pytest.raises(BackupFailed, match="A ThreadKit server is running"):
            await restore_of(app.services).fill(made.path, new_secret=False, on_progress=lambda *_: None)
    assert made.header is not None
    assert made.header.is_one_moment
    for server in topology.primaries:
        server.ask("FLUSHALL")
    async with opened(address, settings, keyring) as services:
        restore = restore_of(services)
        await restore.fill(made.path, new_secret=False, on_progress=lambda *_: None)
        await restore.finish()
        checked = await services.rebuild.run(is_check=True)
        assert checked.tallies == []
        assert checked.comments == made.header.number_of("comment:{comment_id}") >= 6
    async with serving(address, settings, keyring) as app:
        assert len(await app.services.site_queries.all()) == 3


@on_both
async def test_what_stands_still_comes_back_to_the_byte(
    topology: Topology, settings: Settings, keyring: Keyring, tmp_path: Path
) -> None:
    address = parse_url(topology.url)
    async with serving(address, settings, keyring) as app:
        await populated(app)
    async with opened(address, settings, keyring) as services:
        before = lasting_state(topology)
        made = await backup_of(services).create(BackupFolder(tmp_path))
        with pytest.raises(BackupFailed, match="holds data already"):
            await restore_of(services).fill(made.path, new_secret=False, on_progress=lambda *_: None)
        for server in topology.primaries:
            server.ask("FLUSHALL")
        restore = restore_of(services)
        await restore.fill(made.path, new_secret=False, on_progress=lambda *_: None)
        await restore.finish()
        assert lasting_state(topology) == before


@on_cluster
async def test_a_clusters_backup_fits_a_single_store_but_not_the_other_way_round(
    topology: Topology, bundled: BundledStore, redis: Redis, settings: Settings, keyring: Keyring, tmp_path: Path
) -> None:
    async with serving(parse_url(topology.url), settings, keyring) as app:
        ada, *others = await populated(app)
        for other in others:
            (item,) = (await other.call("GET", "/v1/users/me/comments")).json()["comments"]
            opened_site = await app.services.site_queries.opened_by(other.key)
            assert opened_site is not None
            there = await abroad(app, other.http, ada, NewSite(opened_site.site, ""))
            await vote(there, item["comment"]["i"], "up")
        made = await backup_of(app.services).create(BackupFolder(tmp_path / "cluster"))
    async with opened(bundled.address, settings, keyring) as services:
        restore = restore_of(services)
        await restore.fill(made.path, new_secret=False, on_progress=lambda *_: None)
        await restore.finish()
        checked = await services.rebuild.run(is_check=True)
        assert (checked.tallies, checked.comments) == ([], 6)
        single = await backup_of(services).create(BackupFolder(tmp_path / "single"))
    for server in topology.primaries:
        server.ask("FLUSHALL")
    async with opened(parse_url(topology.url), settings, keyring) as services:
        with pytest.raises(BackupFailed, match="cannot be put back into a cluster"):
            await restore_of(services).fill(single.path, new_secret=False, on_progress=lambda *_: None)
    assert not read_header(single.path).is_tagged
