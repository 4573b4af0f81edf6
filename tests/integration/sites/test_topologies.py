"""A site is deleted on a cluster, where its keys and its people's are on different nodes, and behind Sentinel."""

import httpx
from redis.asyncio import Redis

from tests.integration.sites.test_site_deletion import Lived, both, delete, dump, finish, traces
from tests.integration.topologies.conftest import app, cluster, http, sentinel, topology
from tests.integration.topologies.nodes import on_both
from tests.integration.topologies.servers import Topology
from tests.make import ManualClock
from threadkit.app import Application
from threadkit.sites.roles import Role

__all__ = ["app", "both", "cluster", "http", "sentinel", "topology"]
pytestmark = on_both


async def test_nothing_of_a_deleted_site_is_left_on_any_node(
    app: Application,
    http: httpx.AsyncClient,
    clock: ManualClock,
    topology: Topology,
    both: tuple[Lived, Lived],
) -> None:
    goes, stays = both
    ada = goes.people["ada"].id
    before = await app.services.roles.staff(stays.site.site.id)
    answer = await delete(http, goes.site)
    assert answer.status_code == 202, answer.text
    await finish(app, http, clock, answer.json()["id"])
    found: dict[str, bytes] = {}
    for server in topology.primaries:
        async with Redis(port=server.port, decode_responses=True) as node:
            found |= await dump(node)
    assert traces(found, goes) == []
    text = repr(found)
    assert [one for one in sorted(stays.ids) if one not in text] == []
    assert await app.services.roles.staff(stays.site.site.id) == before
    assert (ada, Role.OWNER) in before
    for person in stays.people.values():
        assert (await person.call("GET", "/v1/users/me")).status_code == 200
    report = await app.services.rebuild.run(is_check=True)
    assert (report.is_clean, report.tallies) == (True, [])
