"""SIGKILL at any moment under mixed load: of the server, of a worker, of the store, of all of them. Whatever was
acknowledged is there exactly so afterwards, and no invariant is broken. THREADKIT_SOAK=1 makes it 50 kills of each kind;
the seed is printed, and THREADKIT_SEED repeats one. K1, K2, K3, G1."""

import contextlib
import os
import random
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.crew import Crew
from tests.integration.server.program import Server

KILLS = 50 if os.environ.get("THREADKIT_SOAK") else 2


def children_of(parent: int) -> Iterator[tuple[int, str]]:
    """Processes that a process has started, with their names."""
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            said = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
            if int(said["PPid"]) == parent:
                yield int(status.parent.name), said["Name"].strip()


def kill_server(server: Server) -> None:
    server.kill()


def kill_store(server: Server) -> None:
    for pid, name in children_of(server.process.pid):
        if "valkey" in name or "redis" in name:
            os.kill(pid, signal.SIGKILL)
            return
    raise AssertionError("there is no store")


def kill_worker(server: Server) -> None:
    workers = [pid for pid, name in children_of(server.process.pid) if "valkey" not in name and "redis" not in name]
    os.kill(workers[0], signal.SIGKILL)


def kill_everything(server: Server) -> None:
    for pid, _ in list(children_of(server.process.pid)):
        os.kill(pid, signal.SIGKILL)
    server.kill()


HARMS: dict[str, tuple[Callable[[Server], None], tuple[str, ...]]] = {
    "server": (kill_server, ()),
    "store": (kill_store, ()),
    "worker": (kill_worker, ("--workers", "2")),
    "everything": (kill_everything, ("--workers", "2")),
}


@pytest.mark.timeout(7200 if os.environ.get("THREADKIT_SOAK") else 400)
@pytest.mark.parametrize("victim", HARMS)
async def test_nothing_acknowledged_is_lost_whoever_is_killed(victim: str) -> None:
    harm, flags = HARMS[victim]
    seed = int(os.environ.get("THREADKIT_SEED", random.randrange(1_000_000)))
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="tk-", ignore_cleanup_errors=True) as parent:
        crew = Crew(Path(parent) / "data", random.Random(seed), flags=flags)
        for _ in range(KILLS):
            await crew.live(harm)
        await crew.last_look()
        print(f"{KILLS} kills of the {victim}, {crew.acknowledged} acknowledged writes, none lost")
