"""SIGKILL at any moment under mixed load: of the server, of a worker, of the store, of all of them. Whatever was
acknowledged is there exactly so afterwards, what was refused is not, and no invariant is broken. THREADKIT_SOAK=1 makes it
50 kills of each kind (or THREADKIT_KILLS) and about 1,000 writes before each; the seed is printed, and THREADKIT_SEED
repeats one. K1, K2, K3, G1."""

import contextlib
import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from tests.faults.crew import BUSY, Crew, Pace
from tests.folders import disk_folder
from tests.integration.server.program import Server

IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
KILLS = int(os.environ.get("THREADKIT_KILLS", 50 if IS_LONG else 1))


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
    with redis.Redis(unix_socket_path=str(server.folder / "store.sock")) as store:
        os.kill(store.info("server")["process_id"], signal.SIGKILL)


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


@pytest.mark.timeout(7200 if IS_LONG else 400)
@pytest.mark.parametrize("victim", HARMS)
async def test_nothing_acknowledged_is_lost_whoever_is_killed(victim: str) -> None:
    harm, flags = HARMS[victim]
    seed = int(os.environ.get("THREADKIT_SEED", random.randrange(1_000_000)))
    print(f"seed {seed}")
    with disk_folder() as parent:
        crew = Crew(Path(parent) / "data", random.Random(seed), flags=flags, pace=BUSY if IS_LONG else Pace())
        for _ in range(KILLS):
            await crew.live(harm)
        await crew.last_look()
    print(
        f"G1: {KILLS} kills ({victim}), {crew.acknowledged:,} acknowledged writes and {crew.refused:,} refused ones "
        f"looked at {crew.looked_at:,} times: 0 lost, 0 altered, 0 doubled"
    )


async def test_what_is_lost_altered_or_doubled_does_not_escape_the_look() -> None:
    with disk_folder() as parent:
        crew = Crew(Path(parent) / "data", random.Random(1), pace=Pace(writers=2, least=120))
        await crew.live(kill_server)
        async with crew.serving() as (_, http), crew.store() as store:
            await crew.look(http, older=None)
            writer = max(crew.writers, key=lambda one: len(one.recent))
            lost, altered, rejected, *_ = writer.recent
            listed = f"user:{writer.id}:{writer.place.site_id}:comments"
            (voted, *_) = (i for i, ways in writer.votes.items() if ways != {None})
            await store.delete(f"comment:{lost}", f"vote:{writer.id}:{voted}")
            await store.hset(f"comment:{altered}", "content", "something else")
            await store.hset(f"comment:{rejected}", "status", "pending")
            await store.hset("comment:double", mapping={"status": "approved", "content": "writer 1 says 1"})
            await store.zadd(listed, {"double": 9e12})
            _, wrong = await writer.look(store, older=None)
            assert sorted(sentence.split()[1] for sentence in wrong) == sorted(
                [lost, altered, rejected, "double", "vote"]
            )
