"""Stores of several processes, started from the bundled program and ended with the tests."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from tests.folders import quick_folder
from threadkit.storage.bundled import die_with_parent
from threadkit.storage.store_program import find_program

MASTER = "threads"
SLOTS = 16_384


class Server:
    """One process; it can be killed, and started again with what it had."""

    def __init__(self, folder: Path, port: int, *options: str) -> None:
        self.port = port
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir()

    def start(self, *more: str, wait: bool = True) -> None:
        command = [find_program().path, *self._options, *more, "--port", str(self.port), "--bind", "127.0.0.1"]
        self._process = subprocess.Popen(
            [*command, "--dir", str(self._folder), "--logfile", str(self._folder / "log")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )
        if wait:
            wait_for(lambda: bool(self.ask("PING")), f"the server on port {self.port}")

    def send_signal(self, number: int) -> None:
        assert self._process
        self._process.send_signal(number)

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def is_running(self) -> bool:
        return self._process is not None

    @property
    def folder(self) -> Path:
        return self._folder

    def ask(self, *command: str | int) -> Any:
        with Redis(port=self.port, decode_responses=True, socket_timeout=5) as client:
            return client.execute_command(*command)


class Cluster:
    """Three primaries that share the slots; with `replicas` each has one that takes its place."""

    def __init__(self, folder: Path, *, replicas: bool = False, patience_ms: int = 1000) -> None:
        count = 6 if replicas else 3
        ports = free_ports(2 * count)
        self.servers = [
            Server(
                folder / f"node-{number}",
                ports[number],
                *DURABLE,
                *QUICK,
                *("--cluster-enabled", "yes", "--cluster-port", str(ports[number + count])),
                *("--cluster-node-timeout", str(patience_ms)),
                # The default is that all of a cluster stops as soon as a part of it is missing.
                *("--cluster-require-full-coverage", "no" if replicas else "yes"),
                *self._announced(ports[number], ports[number + count]),
            )
            for number in range(count)
        ]
        self._bus_ports = ports[count:]

    def _announced(self, port: int, bus_port: int) -> tuple[str, ...]:
        """Options of a node that is reached elsewhere than where it listens."""
        return ()

    def reached_at(self, port: int) -> int:
        """Where others reach what listens on a port."""
        return port

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{self.reached_at(server.port)}" for server in self.servers)

    @property
    def primaries(self) -> list[Server]:
        """Those that have slots, in the order of these."""
        if len(self.servers) == 3:
            return self.servers
        return sorted(self._slots(), key=lambda server: self._slots()[server])

    def home_of(self, key: str) -> Server:
        """The primary that has a key."""
        slot = int(self._anyone().ask("CLUSTER KEYSLOT", key))
        by_port = {self.reached_at(server.port): server for server in self.servers}
        rows = self._anyone().ask("CLUSTER SLOTS")
        return next(by_port[row[2][1]] for row in rows if row[0] <= slot <= row[1])

    def replica_of(self, primary: Server) -> Server:
        roles = {server: server.ask("ROLE") for server in self.servers if server is not primary}
        port = self.reached_at(primary.port)
        return next(server for server, role in roles.items() if role[0] == "slave" and role[2] == port)

    def start(self) -> None:
        for number, server in enumerate(self.servers):
            server.start()
            server.ask("CLUSTER SET-CONFIG-EPOCH", number + 1)
        for number, server in enumerate(self.servers[:3]):
            server.ask("CLUSTER ADDSLOTSRANGE", number * SLOTS // 3, (number + 1) * SLOTS // 3 - 1)
        for server, bus_port in list(zip(self.servers, self._bus_ports, strict=True))[1:]:
            ports = self.reached_at(server.port), self.reached_at(bus_port)
            self.servers[0].ask("CLUSTER MEET", "127.0.0.1", *ports)
        wait_for(self._all_know_each_other, "the nodes to know each other", seconds=60)
        for server, primary in zip(self.servers[3:], self.servers, strict=False):
            server.ask("CLUSTER REPLICATE", primary.ask("CLUSTER MYID"))
        wait_for(self.is_whole, "the cluster to be whole", seconds=60)

    def is_whole(self) -> bool:
        """All nodes are there and agree, and every primary has its replica, if it ever had one."""
        return (
            self._all_know_each_other()
            and all(server.ask("CLUSTER INFO")["cluster_state"] == "ok" for server in self.servers)
            and all(server.ask("CLUSTER INFO")["cluster_size"] == "3" for server in self.servers)
            and all(is_linked(server) for server in self.servers if server not in self.primaries)
            and len({tuple(sorted(server.ask("CLUSTER NODES"))) for server in self.servers}) == 1
            and not any("fail" in node["flags"] for node in self.servers[0].ask("CLUSTER NODES").values())
        )

    def _all_know_each_other(self) -> bool:
        count = str(len(self.servers))
        return all(server.ask("CLUSTER INFO")["cluster_known_nodes"] == count for server in self.servers)

    def _anyone(self) -> Server:
        return next(server for server in self.servers if server.is_running)

    def _slots(self) -> dict[Server, tuple[int, int]]:
        by_port = {self.reached_at(server.port): server for server in self.servers}
        return {by_port[row[2][1]]: (row[0], row[1]) for row in self._anyone().ask("CLUSTER SLOTS")}


class SentinelGroup:
    """A primary, its replica, and the sentinels that watch both."""

    def __init__(self, folder: Path, *, sentinels: int = 1, patience_ms: int = 1000) -> None:
        first, second, *ports = free_ports(2 + sentinels)
        self.primary = Server(folder / "first", first, *DURABLE, *QUICK)
        self.replica = Server(folder / "second", second, *DURABLE, *QUICK, "--replicaof", "127.0.0.1", str(first))
        self.sentinels = []
        for number, port in enumerate(ports):
            config = folder / f"sentinel-{number}.conf"
            config.write_text(
                f"sentinel monitor {MASTER} 127.0.0.1 {first} {sentinels // 2 + 1}\n"
                f"sentinel down-after-milliseconds {MASTER} {patience_ms}\n"
                f"sentinel failover-timeout {MASTER} 2000\n"
            )
            self.sentinels.append(Server(folder / f"sentinel-{number}", port, str(config), "--sentinel"))
        self.servers = [self.primary, self.replica, *self.sentinels]

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://{hosts}/{MASTER}/0"

    @property
    def primaries(self) -> list[Server]:
        return [self.primary]

    def start(self) -> None:
        self.primary.start()
        self.replica.start()
        # A sentinel asks the primary for its replicas when it starts, and then not for ten seconds.
        wait_for(lambda: is_linked(self.replica), "the replica's link")
        wait_for(lambda: self.primary.ask("INFO", "replication")["connected_slaves"] == 1, "the replica")
        for sentinel in self.sentinels:
            sentinel.start()
        wait_for(self.is_watched, "the sentinels to see the replica and each other", seconds=60)

    def is_watched(self) -> bool:
        """Whether every sentinel knows the primary, a replica that is well, and the other sentinels."""
        for sentinel in self.sentinels:
            (replica,) = sentinel.ask("SENTINEL", "REPLICAS", MASTER)
            primary = sentinel.ask("SENTINEL", "MASTER", MASTER)
            knows = int(primary["port"]), int(primary["num-other-sentinels"]), replica["flags"]
            if knows != (self.primary.port, len(self.sentinels) - 1, "slave") or not is_linked(self.replica):
                return False
        return True

    def bring_back(self) -> None:
        """The replica has taken over and the old primary is dead: start that one, as the replica it now is."""
        self.primary, self.replica = self.replica, self.primary
        self.replica.start()
        wait_for(self.is_watched, "the old primary to follow the new one", seconds=60)


Topology = Cluster | SentinelGroup

QUICK = ("--repl-diskless-sync-delay", "0")
DURABLE = (
    *("--appendonly", "yes", "--appendfsync", "always", "--save", ""),
    *("--maxmemory-policy", "noeviction", "--enable-debug-command", "no"),
)


@contextlib.contextmanager
def running(kind: type[Cluster] | type[SentinelGroup], **options: Any) -> Iterator[Any]:
    with quick_folder() as folder:
        topology = kind(Path(folder), **options)
        try:
            topology.start()
            yield topology
        finally:
            for server in topology.servers:
                server.kill()


def is_linked(replica: Server) -> bool:
    return bool(replica.ask("INFO", "replication").get("master_link_status") == "up")


def has_all_of(replica: Server, primary: Server) -> bool:
    """Whether a replica has whatever its primary had confirmed when this was asked.

    WAIT cannot tell: it speaks of what its own connection has written.
    """
    confirmed = int(primary.ask("INFO", "replication")["master_repl_offset"])
    received = replica.ask("INFO", "replication")
    return received.get("master_link_status") == "up" and int(received["slave_repl_offset"]) >= confirmed


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, all different."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def wait_for(condition: Callable[[], bool], what: str, *, seconds: float = 15) -> None:
    """As tests.wait.until, for fixtures that outlive the event loop of a test."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(RedisError, KeyError, ValueError, OSError):
            if condition():
                return
        assert time.monotonic() < deadline, f"waited {seconds} s in vain for {what}"
        time.sleep(0.01)
