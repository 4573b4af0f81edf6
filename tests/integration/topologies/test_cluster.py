"""What is special about a cluster: where keys are, and what happens when a node is away."""

import re
import signal

import httpx
import pytest

from tests.integration.comments.test_comments import URL, read, write
from tests.integration.comments.test_votes import vote
from tests.integration.topologies.nodes import all_keys, on_cluster
from tests.integration.topologies.servers import Cluster
from tests.integration.topologies.shards import people_at, site_at
from tests.make import ManualClock
from tests.people import create, guest
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.errors import CannotStart
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.client import parse_url
from threadkit.storage.keys import schema_entries

pytestmark = on_cluster


async def test_the_keys_of_one_site_carry_its_tag_and_share_a_slot(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, topology: Cluster
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    people = {}
    for site in (new_site, other):
        ada = await create(http, site, f"ada-of-{site.site.name}")
        people[ada.id] = ada
        root = await write(ada, "root")
        await write(ada, "reply", under=[str(root["i"])])
        await vote(ada, root["i"], "up")
    visitor = await guest(http, new_site)
    people[visitor.id] = visitor
    slots: dict[str, set[int]] = {}
    for key in (key for keys in await all_keys(topology) for key in keys):
        (entry,) = schema_entries(key)
        tag = re.match(r"\{([^}]+)\}", key)
        if entry.group == "GlobalKeys":
            assert tag is None, key
            continue
        assert tag, key
        owners = {new_site.site.id, other.site.id} if entry.group == "SiteKeys" else people.keys()
        assert tag[1] in owners, key
        slots.setdefault(tag[1], set()).add(topology.servers[0].ask("CLUSTER KEYSLOT", key))
    assert slots.keys() == {new_site.site.id, other.site.id, *people}
    assert [len(found) for found in slots.values()] == [1] * len(slots)


@pytest.mark.prove
async def test_a_dead_node_means_503_and_its_return_is_noticed(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, topology: Cluster
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "before")
    config = app.services.keys.site(new_site.site.id).config()
    slot = int(topology.servers[0].ask("CLUSTER KEYSLOT", config))
    home = topology.servers[min(slot * 3 // 16_384, 2)]
    seen: set[int] = set()

    async def status() -> int:
        answer = await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "after"})
        seen.add(answer.status_code)
        assert answer.status_code == 200 or (answer.status_code == 503 and answer.headers["retry-after"]), answer.text
        return answer.status_code

    home.kill()
    try:

        def is_noticed() -> bool:
            others = [server for server in topology.servers if server is not home]
            return all(server.ask("CLUSTER INFO")["cluster_state"] == "fail" for server in others)

        async def is_refused_as_down() -> bool:
            return await status() == 503 and is_noticed()

        await until(is_refused_as_down, "the cluster to be down", seconds=60)
        assert await status() == 503
        assert not await app.services.store.ping()
    finally:
        home.start()

    async def answers() -> bool:
        return await status() == 200

    await until(answers, "the cluster to take comments again", seconds=60)
    assert (await read(http, new_site))["total"] == 2
    assert seen == {200, 503}
    await until(topology.is_whole, "the cluster to be whole", seconds=60)
    await until(lambda: app.services.listener.is_listening, "the listener", seconds=60)


async def test_one_careless_node_is_enough_to_refuse_the_cluster(
    topology: Cluster, settings: Settings, keyring: Keyring
) -> None:
    for option, careless, careful in (
        ("appendfsync", "everysec", "always"),
        ("maxmemory-policy", "allkeys-lru", "noeviction"),
    ):
        for server in topology.servers[:2]:  # only one of them can be the node that a client asks by default
            server.ask("CONFIG SET", option, careless)
            try:
                application = create_app(settings, parse_url(topology.url), keyring)
                with pytest.raises(CannotStart, match=careless):
                    async with application.lifespan():
                        pass
            finally:
                await application.services.stop()
                server.ask("CONFIG SET", option, careful)


async def test_a_site_needs_no_shard_but_its_own_and_its_peoples(
    app: Application, http: httpx.AsyncClient, topology: Cluster, clock: ManualClock
) -> None:
    """Which site a key opens lies anywhere; a server that has asked once can do without."""
    ill, well = topology.servers[:2]
    while True:
        site = await site_at(topology, app, well, "here")
        if topology.home_of(app.services.keys.shared.api_key(site.site.api_key_public)) is ill:
            break
    (ada,) = await people_at(topology, app, http, well, site, count=1)
    await write(ada, "before")
    clock.advance(seconds=60)  # what a server remembers is looked at again
    ill.send_signal(signal.SIGSTOP)
    try:
        answer = await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "meanwhile"})
    finally:
        ill.send_signal(signal.SIGCONT)
    assert answer.status_code == 200, answer.text
