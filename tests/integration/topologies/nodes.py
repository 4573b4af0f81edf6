"""Looking at a store of several nodes, and at several workers on it."""

import pytest
from redis.asyncio import Redis

from tests.integration.topologies.servers import Topology
from tests.integration.users.test_profiles import everything
from tests.wait import until
from threadkit.app import Application
from threadkit.sites.model import NewSite

on_cluster = pytest.mark.parametrize("topology", ["cluster"], indirect=True)
on_sentinel = pytest.mark.parametrize("topology", ["sentinel"], indirect=True)
on_both = pytest.mark.parametrize("topology", ["cluster", "sentinel"], indirect=True)


async def all_keys(topology: Topology) -> list[list[str]]:
    """The keys of each primary."""
    found = []
    for server in topology.primaries:
        async with Redis(port=server.port, decode_responses=True) as node:
            found.append([str(key) async for key in node.scan_iter(count=1000)])
    return found


async def all_text(topology: Topology) -> str:
    """Every key and value on every primary."""
    parts = []
    for server in topology.primaries:
        async with Redis(port=server.port, decode_responses=True) as node:
            parts.append(await everything(node))
    return "\n".join(parts)


async def hears_of_changes(listening: Application, changing: Application, site: NewSite) -> None:
    """What one worker changes, another one hears, though it has it in its memory."""
    await until(lambda: listening.services.listener.is_listening, "the listener")
    key = site.site.api_key_public
    opened = await listening.services.site_queries.opened_by(key)
    assert opened is not None
    assert not opened.site.settings.posting_disabled
    await changing.services.sites.change(site.site.id, settings={"posting_disabled": True})

    async def is_seen() -> bool:
        found = await listening.services.site_queries.opened_by(key)
        return found is not None and found.site.settings.posting_disabled

    await until(is_seen, "the other worker to hear of the change")
