"""Three primaries with a replica each, and a network between them that can be divided.

Every node is reached over two wires, one for commands and one for the cluster's bus, and calls from an address of its own. So
a node can be cut off from all others, in both directions and on both wires, with servers of ThreadKit on either side of the
cut, or on both.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import TimeoutError as StoreTimeoutError
from redis.retry import Retry

from tests.faults.wire import Wire, Wires, wires
from tests.folders import quick_folder
from tests.integration.topologies.servers import Cluster, Server, wait_for

NODE_TIMEOUT_S = 2.0
Reach = Literal["reach all", "reach it only", "reach the others"]
_OURS = "127.0.0.1"
"""Where ThreadKit calls from."""


class DividedCluster(Cluster):
    def __init__(self, folder: Path, network: Wires) -> None:
        self._spare = [network.to(0) for _ in range(12)]  # now, or one could get a port that a node is to have
        self._wires: dict[int, Wire] = {}
        self._calls_from: dict[int, str] = {}
        self._bus_of: dict[int, int] = {}
        self._alone: Server | None = None
        super().__init__(folder, replicas=True, patience_ms=int(NODE_TIMEOUT_S * 1000))

    def _announced(self, port: int, bus_port: int) -> tuple[str, ...]:
        for number in (port, bus_port):
            self._wires[number] = self._spare.pop()
            self._wires[number].target = number
        self._bus_of[port] = bus_port
        self._calls_from[port] = f"127.0.9.{len(self._calls_from) + 1}"
        return (
            *("--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", str(self.reached_at(port))),
            *("--cluster-announce-bus-port", str(self.reached_at(bus_port))),
            *("--bind-source-addr", self._calls_from[port]),
        )

    def reached_at(self, port: int) -> int:
        return self._wires[port].port

    def isolate(self, alone: Server, we: Reach) -> None:
        """From all other nodes; from here on ThreadKit reaches it too, only it, or all but it."""
        self._alone = alone
        stores = set(self._calls_from.values())
        for server in self.servers:
            kept_out = stores if server is alone else {self._calls_from[alone.port]}
            if we == ("reach the others" if server is alone else "reach it only"):
                kept_out |= {_OURS}
            for wire in self._wires_to(server):
                wire.cut(*kept_out)

    def mend(self) -> None:
        self._alone = None
        for wire in self._wires.values():
            wire.mend()

    def is_reached_by_us(self, server: Server) -> bool:
        """Over its wire; `server.ask` takes no wire."""
        with Redis(port=self.reached_at(server.port), socket_timeout=1, retry=Retry(NoBackoff(), 0)) as client:
            try:
                return bool(client.ping())
            except StoreTimeoutError:
                return False

    def wait_until_whole(self) -> None:
        wait_for(self.is_whole, "the old primary to follow the new one", seconds=60)

    def _wires_to(self, server: Server) -> tuple[Wire, Wire]:
        return self._wires[server.port], self._wires[self._bus_of[server.port]]

    def _anyone(self) -> Server:
        return next(server for server in self.servers if server is not self._alone)


def is_primary(server: Server) -> bool:
    return bool(server.ask("ROLE")[0] == "master")


def has_majority(server: Server) -> bool:
    return bool(server.ask("CLUSTER INFO")["cluster_state"] == "ok")


def is_listened_to(server: Server) -> bool:
    return bool(server.ask("CLIENT LIST", "TYPE", "PUBSUB"))


@contextlib.contextmanager
def divided_cluster() -> Iterator[DividedCluster]:
    with quick_folder() as folder, wires() as network:
        cluster = DividedCluster(Path(folder), network)
        try:
            cluster.start()
            yield cluster
        finally:
            for server in cluster.servers:
                server.kill()
