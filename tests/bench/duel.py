"""Our server against a bare one: the same load on each in turns, in requests a second and in CPU time a request.

Requests a second are what the goals speak of. CPU time says the same in another way, and hardly changes when the
machine has other things to do; where the two disagree much, the machine was busy.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.client import Sent
from tests.bench.figures import Figure, at_least, figure, in_turns
from tests.bench.stage import Running, Stage


@dataclass
class Side:
    """One of the two, and what is sent to it."""

    server: Running
    sent: list[bytes]
    status: int = 200
    etag: str | None = None
    after: Callable[[], None] = lambda: None
    """Done after each round, outside its time."""
    runs: list[Sent] = field(default_factory=list)
    cpu_s: float = 0.0
    answered: int = 0

    def run(self, stage: Stage, seconds: float) -> float:
        before = cpu_seconds(self.server.pid)
        run = stage.client.run(self.server.port, self.sent, seconds=seconds, status=self.status, etag=self.etag)
        self.cpu_s += cpu_seconds(self.server.pid) - before
        self.answered += run.answered
        self.runs.append(run)
        self.after()
        return run.per_second

    @property
    def cpu_us(self) -> float:
        return self.cpu_s / self.answered * 1e6


def duel(
    stage: Stage, row: str, work: str, ours: Side, floor: Side, *, goal: float, notes: Mapping[str, float] | None = None
) -> Figure:
    pace = stage.pace
    for side in (ours, floor):  # warm up
        side.run(stage, pace.seconds)
        side.runs, side.cpu_s, side.answered = [], 0.0, 0
    rounds = in_turns(pace.rounds, lambda: ours.run(stage, pace.seconds), lambda: floor.run(stage, pace.seconds))
    found = {"p99_ms": max(run.p99_ms for run in ours.runs), **(notes or {})}
    if ours.cpu_us and floor.cpu_us:
        found |= {"cpu_us": ours.cpu_us, "floor_cpu_us": floor.cpu_us, "cpu_ratio": floor.cpu_us / ours.cpu_us}
    if ours.etag is not None:
        found["etag_was_old"] = sum(run.changed for run in ours.runs)
    return figure(row, work, rounds, unit="requests/s", judge=at_least, goal=goal, notes=found)


def cpu_seconds(pid: int) -> float:
    """What a process has used so far; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
