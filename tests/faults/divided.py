"""A primary, two replicas and three sentinels, with a network between them that can be divided.

Nodes are reached over wires. Nodes and sentinels call from an address of their own, so the wire to the primary can be cut
for them while servers of ThreadKit still reach it.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.faults.wire import Wires, wires
from tests.folders import quick_folder
from tests.integration.topologies.servers import DURABLE, MASTER, QUICK, Server, free_ports, is_linked, wait_for

STORES = "127.0.0.9"
"""Where nodes and sentinels call from."""
_CALLS_FROM = ("--bind-source-addr", STORES)
_PATIENCE_MS = 2000


class DividedGroup:
    def __init__(self, folder: Path, network: Wires) -> None:
        ports = free_ports(6)
        self.wires = {port: network.to(port) for port in ports[:3]}
        first = str(self.wires[ports[0]].port)
        self.nodes = [Server(folder / f"node-{port}", port, *self._options(port)) for port in ports[:1]]
        for port in ports[1:3]:
            options = (*self._options(port), "--replicaof", "127.0.0.1", first)
            self.nodes.append(Server(folder / f"node-{port}", port, *options))
        self.primary = self.nodes[0]
        self.sentinels = []
        for port in ports[3:]:
            config = folder / f"sentinel-{port}.conf"
            config.write_text(
                f"sentinel monitor {MASTER} 127.0.0.1 {first} 2\n"
                f"sentinel down-after-milliseconds {MASTER} {_PATIENCE_MS}\n"
                f"sentinel failover-timeout {MASTER} 4000\n"
                "sentinel announce-ip 127.0.0.1\n"
            )
            self.sentinels.append(Server(folder / f"sentinel-{port}", port, str(config), "--sentinel", *_CALLS_FROM))

    def _options(self, port: int) -> tuple[str, ...]:
        announced = ("--replica-announce-ip", "127.0.0.1", "--replica-announce-port", str(self.wires[port].port))
        return (*DURABLE, *QUICK, *announced, *_CALLS_FROM)

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://{hosts}/{MASTER}/0"

    @property
    def replicas(self) -> list[Server]:
        return [node for node in self.nodes if node is not self.primary]

    def start(self) -> None:
        for node in self.nodes:
            node.start()
        wait_for(lambda: self.primary.ask("INFO", "replication")["connected_slaves"] == 2, "the replicas", seconds=60)
        for sentinel in self.sentinels:
            sentinel.start()
        wait_for(self.is_whole, "the sentinels to see everybody", seconds=60)

    def refuse_without_replica(self, max_lag_s: int) -> None:
        for node in self.nodes:
            node.ask("CONFIG", "SET", "min-replicas-max-lag", max_lag_s)
            node.ask("CONFIG", "SET", "min-replicas-to-write", 1)

    def isolate_primary(self) -> None:
        """From sentinels and replicas; who else knows its address still reaches it."""
        self.wires[self.primary.port].cut(STORES)

    def successor(self) -> Server | None:
        """The replica that has been made the primary."""
        return next((replica for replica in self.replicas if replica.ask("ROLE")[0] == "master"), None)

    def join(self) -> None:
        """The network is whole again: the old primary becomes what the others think it is."""
        self.wires[self.primary.port].mend()
        successor = self.successor()
        assert successor
        self.primary = successor
        wait_for(self.is_whole, "the old primary to follow the new one", seconds=60)

    def is_whole(self) -> bool:
        """Whether every sentinel knows the primary, two replicas that are well, and the other sentinels."""
        for sentinel in self.sentinels:
            replicas = [replica["flags"] for replica in sentinel.ask("SENTINEL", "REPLICAS", MASTER)]
            primary = sentinel.ask("SENTINEL", "MASTER", MASTER)
            knows = int(primary["port"]), int(primary["num-other-sentinels"]), primary["flags"], replicas
            if knows != (self.wires[self.primary.port].port, 2, "master", ["slave", "slave"]):
                return False
        return all(is_linked(replica) for replica in self.replicas)


@contextlib.contextmanager
def divided_group() -> Iterator[DividedGroup]:
    with quick_folder() as folder, wires() as network:
        group = DividedGroup(Path(folder), network)
        try:
            group.start()
            yield group
        finally:
            for server in [*group.nodes, *group.sentinels]:
                server.kill()
