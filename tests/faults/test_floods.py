"""Floods on one worker: how long other visitors wait meanwhile, when the flooders are gone, and what it costs in memory."""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.flooder import PATIENT, REQUESTS, SOCKETS
from tests.folders import quick_folder
from tests.integration.server.program import Server, environment, serving

PUBLIC = "tk_pub_floodflood"
QUIET_S = 1.5
FLOOD_S = 3.5
PAUSE_S = 0.005
MOST_P99_MS = 50.0
GONE_S = 3.0
"""Seen by the flooder, who has one process for all sockets; the goal is one second."""
MOST_GROWN_MB = 64.0
PATHS = ("/v1/comments?page_url=https://blog.example.org/a", "/v1/site")
"""One that the fast lane answers, and one that goes through the whole house."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with quick_folder() as folder, serving(Path(folder) / "d", env=environment(PROJECT_ID_PUBLIC=PUBLIC)) as found:
        yield found


@dataclass
class Waits:
    """How long one visitor after the other waited for an answer."""

    seconds: list[float]

    @property
    def p50_ms(self) -> float:
        return self._at(0.5)

    @property
    def p99_ms(self) -> float:
        return self._at(0.99)

    @property
    def worst_ms(self) -> float:
        return self._at(1)

    def _at(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1000


async def visit(server: Server, seconds: float) -> Waits:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    requests = [f"GET {path} HTTP/1.1\r\nhost: x\r\nprojectid: {PUBLIC}\r\n\r\n".encode() for path in PATHS]
    waits, until_s = Waits([]), time.monotonic() + seconds
    try:
        while time.monotonic() < until_s:
            for request in requests:
                began_s = time.perf_counter()
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200"), head
                length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                await reader.readexactly(int(length.partition(b":")[2]))
                waits.seconds.append(time.perf_counter() - began_s)
                await asyncio.sleep(PAUSE_S)
    finally:
        writer.close()
    return waits


def memory_mb(server: Server) -> float:
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


ONE, OF_ONE_ADDRESS, OF_MANY = (1, 1), (50, 1), (200, 200)
FLOODS = [
    *((kind, crowd) for kind in SOCKETS for crowd in (ONE, OF_ONE_ADDRESS, OF_MANY)),
    *((kind, OF_MANY) for kind in PATIENT),
    *((kind, crowd) for kind in REQUESTS for crowd in (OF_ONE_ADDRESS, OF_MANY)),
]


@pytest.mark.prove
@pytest.mark.parametrize(("kind", "crowd"), FLOODS)
async def test_a_flood_keeps_nobody_else_waiting(server: Server, kind: str, crowd: tuple[int, int]) -> None:
    sockets, addresses = crowd
    network = f"127.0.{1 + FLOODS.index((kind, crowd))}"  # because flooders stay out for a while
    await visit(server, 0.5)
    quiet = await visit(server, QUIET_S)
    before_mb = memory_mb(server)
    flooder = await asyncio.create_subprocess_exec(
        "nice", "-n", "10", sys.executable, "-m", "tests.faults.flooder",
        *map(str, (server.port, PUBLIC, kind, sockets, addresses, network, FLOOD_S)),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert flooder.stdout is not None
    assert await flooder.stdout.readline() == b"started\n"
    flooded = await visit(server, FLOOD_S)
    said = json.loads(await flooder.stdout.read())
    assert await flooder.wait() == 0
    grown_mb = memory_mb(server) - before_mb
    print(
        f"\nG33: {kind}, {sockets} sockets of {addresses}: others waited {flooded.p50_ms:.1f} ms, p99 {flooded.p99_ms:.1f}, "
        f"worst {flooded.worst_ms:.1f} (quiet {quiet.p50_ms:.1f}, {quiet.p99_ms:.1f}, {quiet.worst_ms:.1f}; "
        f"{len(flooded.seconds)} requests); {said['thrown_out']} thrown out after {said['longest_stay_s']} s at most, "
        f"{said['refused']} refused, {said['sent_mb']} MB sent, memory +{grown_mb:.0f} MB"
    )
    assert flooded.p99_ms <= max(MOST_P99_MS, 2 * quiet.p99_ms)
    assert grown_mb <= MOST_GROWN_MB
    if kind in PATIENT:
        assert not said["thrown_out"]
    else:
        assert said["thrown_out"]
        assert said["longest_stay_s"] <= GONE_S
