"""Where everything is in a cluster: whom the client asks, whom it believes, and how long others wait for it."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ConnectionError as StoreConnectionError
from redis.exceptions import RedisError

from tests.faults.wire import wires
from tests.integration.topologies.nodes import on_cluster
from tests.integration.topologies.servers import SLOTS, Cluster, Server, free_ports, wait_for
from tests.wait import until
from threadkit.settings import StoreTuning
from threadkit.storage.client import Store, parse_url


@contextlib.asynccontextmanager
async def client_of(*ports: int, timeout_s: float) -> AsyncIterator[Any]:
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    tuning = StoreTuning(command_timeout_s=timeout_s, connect_timeout_s=timeout_s)
    store = Store(parse_url(f"redis+cluster://{hosts}"), tuning)
    try:
        yield store.redis
    finally:
        await store.close()


@contextlib.contextmanager
def silent_port() -> Iterator[int]:
    """Somebody who takes calls and says nothing."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(100)
        yield silent.getsockname()[1]


async def learn_again(client: Any) -> None:
    before = client.nodes_manager._epoch

    async def is_learnt() -> bool:
        await client.learn()
        return bool(client.nodes_manager._epoch > before)

    await until(is_learnt, "the layout")


@on_cluster
async def test_who_does_not_answer_keeps_nobody_from_learning(topology: Cluster) -> None:
    with silent_port() as first, silent_port() as second:
        async with client_of(first, topology.servers[0].port, second, timeout_s=10) as client:
            for _ in range(5):
                async with asyncio.timeout(5):
                    await learn_again(client)
            assert await client.get("a key") is None


@contextlib.contextmanager
def lonely_primary(folder: Path) -> Iterator[Server]:
    """It knows of two others that share the slots with it, and does not reach them."""
    ports = free_ports(6)
    options = ("--cluster-enabled", "yes", "--cluster-port", str(ports[3]), "--cluster-node-timeout", "200")
    server = Server(folder / "lonely", ports[0], *options)
    rows = [
        f"{'0' * 40} 127.0.0.1:{ports[0]}@{ports[3]} myself,master - 0 0 1 connected 0-5460",
        f"{'1' * 40} 127.0.0.1:{ports[1]}@{ports[4]} master - 0 0 2 connected 5461-10922",
        f"{'2' * 40} 127.0.0.1:{ports[2]}@{ports[5]} master - 0 0 3 connected 10923-16383",
        "vars currentEpoch 3 lastVoteEpoch 0\n",
    ]
    (server.folder / "nodes.conf").write_text("\n".join(rows))
    server.start()
    try:
        yield server
    finally:
        server.kill()


@on_cluster
async def test_a_node_that_sees_no_majority_is_not_believed(topology: Cluster, tmp_path: Path) -> None:
    with lonely_primary(tmp_path) as lonely:
        assert lonely.ask("CLUSTER INFO")["cluster_state"] == "fail"
        assert len(lonely.ask("CLUSTER SLOTS")) == 3
        for _ in range(10):
            async with client_of(lonely.port, topology.servers[0].port, timeout_s=2) as client:
                await learn_again(client)
                assert {node.port for node in client.get_primaries()} == {node.port for node in topology.servers}


async def test_who_reaches_only_such_a_node_believes_it(tmp_path: Path) -> None:
    with lonely_primary(tmp_path) as lonely, silent_port() as silent:
        async with client_of(lonely.port, silent, timeout_s=10) as client:
            async with asyncio.timeout(5):
                await learn_again(client)
            assert lonely.port in {node.port for node in client.get_primaries()}
            with pytest.raises(StoreConnectionError, match="cluster is down"):
                await client.get("b")  # one of its own


async def test_where_nobody_answers_all_are_told_at_once() -> None:
    with silent_port() as port:
        async with client_of(port, timeout_s=0.5) as client:
            asking = [asyncio.create_task(client.get(f"key {number}")) for number in range(20)]
            async with asyncio.timeout(5):  # one after the other it would take ten
                answers = await asyncio.gather(*asking, return_exceptions=True)
    assert {type(answer) for answer in answers} == {StoreConnectionError}


@contextlib.contextmanager
def cluster_of_one(folder: Path) -> Iterator[Server]:
    port, bus_port = free_ports(2)
    server = Server(folder, port, "--cluster-enabled", "yes", "--cluster-port", str(bus_port))
    server.start()
    try:
        server.ask("CLUSTER ADDSLOTSRANGE", 0, SLOTS - 1)
        wait_for(lambda: server.ask("CLUSTER INFO")["cluster_state"] == "ok", "the cluster")
        yield server
    finally:
        server.kill()


async def test_where_all_nodes_have_moved_the_address_in_the_url_still_leads_there(tmp_path: Path) -> None:
    with wires() as network, cluster_of_one(tmp_path / "old") as old, cluster_of_one(tmp_path / "new") as new:
        name = network.to(old.port)
        async with client_of(name.port, timeout_s=2) as client:
            old.ask("CONFIG SET", "cluster-announce-ip", "127.0.0.1")
            new.ask("CONFIG SET", "cluster-announce-ip", "127.0.0.1")
            await learn_again(client)
            assert [node.port for node in client.get_primaries()] == [old.port]
            name.target = new.port
            name.tear()
            old.kill()

            async def is_answered() -> bool:
                try:
                    return bool(await client.get("a key") is None)
                except RedisError:
                    return False

            await until(is_answered, "the way to the new nodes")
            assert [node.port for node in client.get_primaries()] == [new.port]
