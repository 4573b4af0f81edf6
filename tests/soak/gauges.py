"""What is looked at while it runs: memory, files and tasks of the server, and what lies in its store."""

import contextlib
import statistics
from dataclasses import dataclass
from pathlib import Path

import httpx
import redis

from tests.integration.server.program import Server


@dataclass(frozen=True)
class Reading:
    memory_mb: float
    files: int
    tasks: int
    keys: int
    """Without those that go by themselves, and without the records of comments that were written meanwhile: of a
    comment that was deleted its place stays."""


@dataclass(frozen=True)
class Verdict:
    name: str
    early: float
    late: float
    most: float
    """How much of a difference is no leak."""

    @property
    def holds(self) -> bool:
        return self.late - self.early <= self.most


class Gauges:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._store = redis.Redis(unix_socket_path=str(server.folder / "store.sock"))
        self.readings: list[Reading] = []

    def read(self, *, posted: int) -> Reading:
        workers = _family(self._server.process.pid)
        metrics = httpx.get(f"{self._server.url}/metrics", timeout=30).text
        tasks = metrics.partition("\nthreadkit_tasks ")[2].split()[0]
        keyspace = self._store.info("keyspace").get("db0", {"keys": 0, "expires": 0})
        reading = Reading(
            memory_mb=sum(_memory_mb(pid) for pid in workers),
            files=sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in workers),
            tasks=int(float(tasks)),
            keys=keyspace["keys"] - keyspace["expires"] - posted,
        )
        self.readings.append(reading)
        return reading

    def verdicts(self, *, most_mb: float) -> list[Verdict]:
        """The last quarter beside the second: what a server needs once it has by then."""
        quarter = max(1, len(self.readings) // 4)
        early, late = self.readings[quarter : 2 * quarter], self.readings[-quarter:]

        def verdict(name: str, most: float) -> Verdict:
            before, after = (statistics.median(getattr(one, name) for one in part) for part in (early, late))
            return Verdict(name, before, after, most)

        # People come and go while it is looked, so some are always under way.
        return [verdict("memory_mb", most_mb), verdict("files", 20), verdict("tasks", 40), verdict("keys", 60)]


def _memory_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _family(parent: int) -> list[int]:
    """A process and those it has started, without the store."""
    found = [parent]
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            said = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            if int(said["PPid"]) == parent:
                found.append(int(status.parent.name))
    return [pid for pid in found if "valkey" not in Path(f"/proc/{pid}/comm").read_text()]
