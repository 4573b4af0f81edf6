"""One client of a cluster is shared by everybody: what goes wrong for one must not reach those who wait for another."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from redis.asyncio.cluster import ClusterNode
from redis.exceptions import ConnectionError as StoreConnectionError

from tests.integration.topologies.nodes import on_cluster
from tests.integration.topologies.servers import Cluster, Server, free_ports
from tests.wait import until
from threadkit.settings import StoreTuning
from threadkit.storage.client import Store, parse_url

pytestmark = on_cluster
LIST = "waited-for"


@pytest.fixture
async def client(topology: Cluster) -> AsyncIterator[Any]:
    store = Store(parse_url(topology.url), StoreTuning(command_timeout_s=10))
    await store.redis.initialize()
    yield store.redis
    await store.close()


@contextlib.asynccontextmanager
async def somebody_waits(client: Any, topology: Cluster) -> AsyncIterator[None]:
    """Another one's command is under way all the time, and is answered."""
    waiting = asyncio.create_task(client.blpop([LIST], timeout=8))
    home = topology.home_of(LIST)
    await until(lambda: home.ask("INFO", "clients")["blocked_clients"] == 1, "the one who waits")
    yield
    home.ask("RPUSH", LIST, "here")
    assert await waiting == (LIST, "here")


async def nobody_answers(client: Any) -> None:
    """A command to a dead node, after which the client wants to know the layout anew."""
    (port,) = free_ports(1)
    with pytest.raises(StoreConnectionError):
        await client.execute_command("PING", target_nodes=ClusterNode("127.0.0.1", port))


async def test_slots_that_moved_break_nobody_elses_line(client: Any, topology: Cluster) -> None:
    home = topology.home_of("a key")
    strangers = [node for node in client.get_primaries() if node.port != home.port]
    async with somebody_waits(client, topology):
        for _ in range(12):  # every fifth makes the library look at the layout again
            assert await client.execute_command("GET", "a key", target_nodes=strangers[0]) is None


async def test_who_gives_up_while_the_layout_is_learnt_breaks_nobody_elses_line(client: Any, topology: Cluster) -> None:
    async with somebody_waits(client, topology):
        for turns in range(1, 12):
            await nobody_answers(client)
            asking = asyncio.create_task(client.get("a key"))
            for _ in range(turns):
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait([asking])
    assert await client.get("a key") is None


async def test_a_pipeline_that_finds_a_node_dead_makes_the_client_look_where_its_keys_are_now(
    client: Any, topology: Cluster
) -> None:
    """As after a failover: the node that it knows for these slots is not there, and another one is."""
    slot = int(topology.servers[0].ask("CLUSTER KEYSLOT", "a key"))
    (port,) = free_ports(1)
    options = client.nodes_manager.connection_kwargs
    client.nodes_manager.slots_cache[slot] = [ClusterNode("127.0.0.1", port, "primary", **options)]

    async def is_answered() -> bool:
        async with client.pipeline() as pipe:
            pipe.get("a key")
            try:
                return bool(await pipe.execute() == [None])
            except StoreConnectionError:
                return False

    assert not await is_answered()
    await until(is_answered, "the pipeline to find the way", seconds=3)


async def test_who_waits_for_one_shard_takes_no_place_from_those_of_another(topology: Cluster) -> None:
    store = Store(parse_url(topology.url), StoreTuning(connections=4, wait_for_connection_s=0.1, command_timeout_s=30))
    hanging = topology.home_of("a key")
    elsewhere = next(key for key in map(str, range(100)) if topology.home_of(key) is not hanging)
    try:
        await store.redis.get("a key")
        hanging.ask("CLIENT PAUSE", 60_000, "WRITE")
        waiting = [asyncio.create_task(store.redis.set("a key", number)) for number in range(40)]
        async with store.redis.pipeline(transaction=False) as pipe:
            pipe.get(elsewhere)
            assert await pipe.execute() == [None]
        assert await store.redis.get(elsewhere) is None
        assert not any(task.done() for task in waiting)
        hanging.ask("CLIENT UNPAUSE")
        assert await asyncio.gather(*waiting) == [True] * 40
        await store.redis.delete("a key")
    finally:
        hanging.ask("CLIENT UNPAUSE")
        await store.close()


BOTH = "return {redis.call('INCR', KEYS[1]), redis.call('SETNX', KEYS[2], 'new')}"


def refused(server: Server) -> int:
    """How often a node has said that keys are missing."""
    return int(server.ask("INFO", "errorstats").get("errorstat_TRYAGAIN", {"count": 0})["count"])


@pytest.mark.prove
async def test_a_script_over_half_moved_keys_waits_for_the_rest_and_runs_once(client: Any, topology: Cluster) -> None:
    """A new key is missing on both sides while a slot is under way, so the script can run on neither."""
    slot = int(topology.servers[0].ask("CLUSTER KEYSLOT", "{site}"))
    home = topology.home_of("{site}")
    away = next(server for server in topology.servers if server is not home)
    await client.mset({"{site}:count": 0, "{site}:other": "here"})
    move = begin_to_move(topology, slot, home, away, "{site}:other")
    waiting = [
        asyncio.create_task(client.execute_command("EVAL", BOTH, 2, "{site}:count", f"{{site}}:new:{number}"))
        for number in range(20)
    ]
    assert await client.get("{site}:count") == "0", "what has not moved is read where it is"
    assert await client.get("{site}:other") == "here", "and what has, where that is"
    async with client.pipeline() as pipe:
        pipe.get("{site}:count")
        pipe.get("{site}:other")
        assert await pipe.execute() == ["0", "here"]
    before = refused(home)
    await until(lambda: refused(home) > before + 20 * len(waiting), "more tries than the library makes")
    assert not any(task.done() for task in waiting)
    move()
    assert sorted(await asyncio.gather(*waiting)) == [[number, 1] for number in range(1, 21)]
    await client.delete("{site}:count", "{site}:other", *(f"{{site}}:new:{number}" for number in range(20)))


def begin_to_move(topology: Cluster, slot: int, source: Server, target: Server, *first: str) -> Callable[[], None]:
    """Move some keys of a slot; what is returned moves the others and closes it."""
    source_id, target_id = source.ask("CLUSTER MYID"), target.ask("CLUSTER MYID")
    target.ask("CLUSTER SETSLOT", slot, "IMPORTING", source_id)
    source.ask("CLUSTER SETSLOT", slot, "MIGRATING", target_id)
    source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *first)

    def finish() -> None:
        for key in source.ask("CLUSTER GETKEYSINSLOT", slot, 100):
            source.ask("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)
        for server in (target, source, *topology.servers):
            server.ask("CLUSTER SETSLOT", slot, "NODE", target_id)

    return finish
