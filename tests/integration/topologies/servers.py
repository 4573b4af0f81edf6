"""Stores of several processes, started from the bundled program and ended with the tests."""

import contextlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from threadkit.storage.bundled import die_with_parent, find_program

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

    def start(self) -> None:
        command = [find_program().path, *self._options, "--port", str(self.port), "--bind", "127.0.0.1"]
        self._process = subprocess.Popen(
            [*command, "--dir", str(self._folder), "--logfile", str(self._folder / "log")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )
        wait_for(lambda: bool(self.ask("PING")), f"the server on port {self.port}")

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def ask(self, *command: str | int) -> Any:
        with Redis(port=self.port, decode_responses=True, socket_timeout=5) as client:
            return client.execute_command(*command)


class Cluster:
    """Three primaries that share the slots."""

    def __init__(self, folder: Path) -> None:
        ports = free_ports(6)
        self.servers = [
            Server(
                folder / f"node-{number}",
                ports[number],
                *_DURABLE,
                *(
                    "--cluster-enabled",
                    "yes",
                    "--cluster-node-timeout",
                    "1000",
                    "--cluster-port",
                    str(ports[number + 3]),
                ),
            )
            for number in range(3)
        ]
        self._bus_ports = ports[3:]

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{server.port}" for server in self.servers)

    @property
    def primaries(self) -> list[Server]:
        return self.servers

    def start(self) -> None:
        for number, server in enumerate(self.servers):
            server.start()
            server.ask("CLUSTER SET-CONFIG-EPOCH", number + 1)
            server.ask("CLUSTER ADDSLOTSRANGE", number * SLOTS // 3, (number + 1) * SLOTS // 3 - 1)
        for server, bus_port in list(zip(self.servers, self._bus_ports, strict=True))[1:]:
            self.servers[0].ask("CLUSTER MEET", "127.0.0.1", server.port, bus_port)
        wait_for(self.is_whole, "the cluster to be whole")

    def is_whole(self) -> bool:
        answers = [server.ask("CLUSTER INFO") for server in self.servers]
        return all(
            info["cluster_state"] == "ok" and info["cluster_known_nodes"] == "3" and info["cluster_size"] == "3"
            for info in answers
        )


class SentinelGroup:
    """A primary, its replica, and the sentinel that watches both."""

    def __init__(self, folder: Path) -> None:
        first, second, sentinel = free_ports(3)
        quick = ("--repl-diskless-sync-delay", "0")
        self.primary = Server(folder / "first", first, *_DURABLE, *quick)
        self.replica = Server(folder / "second", second, *_DURABLE, *quick, "--replicaof", "127.0.0.1", str(first))
        config = folder / "sentinel.conf"
        config.write_text(
            f"sentinel monitor {MASTER} 127.0.0.1 {first} 1\n"
            f"sentinel down-after-milliseconds {MASTER} 1000\n"
            f"sentinel failover-timeout {MASTER} 2000\n"
        )
        self.sentinel = Server(folder / "sentinel", sentinel, str(config), "--sentinel")
        self.servers = [self.primary, self.replica, self.sentinel]

    @property
    def url(self) -> str:
        return f"redis+sentinel://127.0.0.1:{self.sentinel.port}/{MASTER}/0"

    @property
    def primaries(self) -> list[Server]:
        return [self.primary]

    def start(self) -> None:
        self.primary.start()
        self.replica.start()
        # The sentinel asks the primary for its replicas when it starts, and then not for ten seconds.
        wait_for(lambda: self.replica.ask("INFO", "replication")["master_link_status"] == "up", "the replica's link")
        wait_for(lambda: self.primary.ask("INFO", "replication")["connected_slaves"] == 1, "the replica")
        self.sentinel.start()
        wait_for(lambda: len(self.sentinel.ask("SENTINEL", "REPLICAS", MASTER)) == 1, "the sentinel to see the replica")

    def everything_is_copied(self) -> bool:
        """Whether the replica has all that the primary has confirmed."""
        return bool(self.primary.ask("WAIT", 1, 1000) == 1)


Topology = Cluster | SentinelGroup

_DURABLE = (
    *("--appendonly", "yes", "--appendfsync", "always", "--save", ""),
    *("--maxmemory-policy", "noeviction", "--enable-debug-command", "no"),
)


@contextlib.contextmanager
def running(kind: type[Cluster] | type[SentinelGroup]) -> Iterator[Any]:
    with tempfile.TemporaryDirectory(prefix="tk-", ignore_cleanup_errors=True) as folder:
        topology = kind(Path(folder))
        try:
            topology.start()
            yield topology
        finally:
            for server in topology.servers:
                server.kill()


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
        with contextlib.suppress(RedisError, KeyError):
            if condition():
                return
        assert time.monotonic() < deadline, f"waited {seconds} s in vain for {what}"
        time.sleep(0.01)
