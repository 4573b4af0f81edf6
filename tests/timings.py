"""What the tests cost: the slowest ones, the processor's time by kind, and what grew since the record.

A worker adds up its own time and that of every process below it whenever it begins another file. Beside that it times a
short loop, so that a slow or noisy machine accuses nobody: CPU seconds here are those of the machine that made the record.
`python -m tests.timings` takes what the last whole runs saw for the new record.
"""

import json
import os
import statistics
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stores import KIND

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "tests" / "timings.json"
LAST = ROOT / "test-artifacts" / "timings.json"
SLOWEST = 10
# Below these it may as well be chance.
GROWN_S, GROWN_TIMES = 2.0, 1.5
NEW_FILE_S = 5.0
CALIBRATE_EVERY_S = 20.0


def loop_ms() -> float:
    """What a fixed piece of work takes, in milliseconds of the processor's time: the best of three."""

    def once() -> float:
        started = time.process_time()
        total = 0
        for number in range(200_000):
            total += number * number % 7
        return (time.process_time() - started) * 1000

    return min(once() for _ in range(3))


class Meter:
    """Seconds of the processor that this process and all below it take, also those that end."""

    def __init__(self) -> None:
        self._own, self._ended, self._branches = self._look()

    def read(self) -> float:
        """Since the last reading. A branch loses what its processes took when they end and nobody waits for them, so each
        counts for itself, and none backwards; what we waited for is in the sum of those that ended."""
        own, ended, branches = self._look()
        gone = sum(took for branch, took in self._branches.items() if branch not in branches)
        spent = own - self._own + max(0.0, ended - self._ended - gone)
        spent += sum(max(0.0, took - self._branches.get(branch, 0.0)) for branch, took in branches.items())
        self._own, self._ended, self._branches = own, ended, branches
        return spent

    def _look(self) -> tuple[float, float, dict[int, float]]:
        """What this process took, what children of it took that ended, and each living child with all below it."""
        times, parents, took = os.times(), {}, {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:  # it ended
                continue
            process = int(stat.parent.name)
            parents[process] = int(fields[1])
            took[process] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        branches: dict[int, float] = defaultdict(float)
        for process, seconds in took.items():
            branch = process
            while branch and parents.get(branch, 0) != os.getpid():
                branch = parents.get(branch, 0)
            if branch:
                branches[branch] += seconds
        return times.user + times.system, times.children_user + times.children_system, branches


class Costs:
    """In each process that runs tests: seconds by file."""

    def __init__(self) -> None:
        self.files: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self.loops_ms = [loop_ms()]
        self._file, self._meter, self._clock = "", Meter(), time.monotonic()
        self._next_loop = time.monotonic() + CALIBRATE_EVERY_S

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        file = item.nodeid.partition("::")[0]
        if file != self._file:
            self._turn_to(file)
        return (yield)

    def _turn_to(self, file: str) -> None:
        spent = self.files[self._file]
        spent[0] += self._meter.read()
        spent[1] += time.monotonic() - self._clock
        if time.monotonic() > self._next_loop:
            self.loops_ms.append(loop_ms())
            self._next_loop = time.monotonic() + CALIBRATE_EVERY_S
        self._file, self._clock = file, time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._turn_to("")
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["costs"] = self.as_json()

    def as_json(self) -> dict[str, Any]:
        return {"files": dict(self.files), "loops_ms": self.loops_ms}


class Summary:
    """In the process that is looked at: everybody's costs, beside the record and the budget."""

    def __init__(self, own: Costs | None) -> None:
        self._own = own
        self._cpu_s: dict[str, float] = defaultdict(float)
        self._clock_s: dict[str, float] = defaultdict(float)
        self._loops_ms: list[float] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._add(getattr(node, "workeroutput", {}).get("costs"))

    def _add(self, costs: dict[str, Any] | None) -> None:
        if costs:
            self._loops_ms += costs["loops_ms"]
            for file, (cpu_s, clock_s) in costs["files"].items():
                self._cpu_s[file] += cpu_s
                self._clock_s[file] += clock_s

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._own:
            self._add(self._own.as_json())
        if not self._cpu_s:
            return
        record = read(RECORD)
        loop = statistics.median(self._loops_ms)
        as_recorded = record.get("loop_ms", loop) / loop
        files = {file: seconds * as_recorded for file, seconds in self._cpu_s.items()}
        say = terminalreporter.write_line
        terminalreporter.write_sep("-", "what it took")
        for seconds, test in slowest(terminalreporter):
            say(f"{seconds:7.2f} s  {test}")
        say("")
        for kind, seconds in sorted(by_kind(files).items(), key=lambda found: -found[1]):
            say(f"{seconds:7.1f} CPU s  {kind}")
        total = sum(files.values())
        say(
            f"{total:7.1f} CPU s in all (a loop took {loop:.1f} ms here, {record.get('loop_ms', loop):.1f} ms for the record)"
        )
        tier = whole_tier(terminalreporter.config)
        if tier is None:
            return
        seen = {
            file: {"cpu_s": round(seconds, 2), "s": round(self._clock_s[file], 2)}
            for file, seconds in sorted(files.items())
        }
        write(LAST, {**read(LAST), "loop_ms": round(record.get("loop_ms", loop), 2), tier: seen})
        known = {file: row["cpu_s"] for file, row in record.get(tier, {}).items()}
        is_over = tier == "test" and total > budget()
        if is_over:
            terminalreporter.write_line(
                f"OVER BUDGET: {total:.0f} CPU s, the budget in pyproject.toml is {budget():.0f}", red=True, bold=True
            )
        for line in grown(files, known) if known else ():
            terminalreporter.write_line(line, red=is_over, yellow=not is_over)


def slowest(terminalreporter: pytest.TerminalReporter) -> list[tuple[float, str]]:
    took: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                took[report.nodeid] += report.duration
    return sorted(((seconds, test) for test, seconds in took.items()), reverse=True)[:SLOWEST]


def by_kind(files: dict[str, float]) -> dict[str, float]:
    kinds: dict[str, float] = defaultdict(float)
    for file, seconds in files.items():
        kinds[kind_of(file)] += seconds
    return kinds


def kind_of(file: str) -> str:
    """`unit`, `e2e`, or a slice of `integration`; what belongs to no file is collecting and importing."""
    parts = Path(file).parts[1:-1]
    return "/".join(parts[:2]) if parts else "collecting, and the rest"


def grown(files: dict[str, float], before: dict[str, float]) -> list[str]:
    """Sentences about files that take clearly more than the record says, most first."""
    rows = []
    for file, seconds in files.items():
        known = before.get(file)
        if known is None and seconds >= NEW_FILE_S:
            rows.append((seconds, f"{seconds:7.1f} CPU s  {file or 'collecting'} is new"))
        elif known is not None and seconds - known >= GROWN_S and seconds >= known * GROWN_TIMES:
            rows.append((seconds - known, f"{seconds:7.1f} CPU s  {file or 'collecting'} took {known:.1f} before"))
    return [line for _, line in sorted(rows, reverse=True)]


def budget() -> float:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return float(tomllib.load(file)["tool"]["threadkit"]["test_budget_cpu_s"])


def read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text())) if path.exists() else {}


def write(path: Path, record: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    lines = json.dumps(record, indent=1).replace(",\n   ", ", ").replace("{\n   ", "{").replace("\n  }", "}")
    path.write_text(lines + "\n")


def expected_s(tier: str) -> dict[str, float]:
    """How long each file of a tier takes by the clock, as the record says."""
    return {file: row["s"] for file, row in read(RECORD).get(tier, {}).items()}


def whole_tier(config: pytest.Config) -> str | None:
    """`test` or `prove` when all of it runs, on the ordinary store; None for a part of either."""
    options = config.option
    if options.keyword or options.markexpr or config.getoption("lf", False) or options.collectonly or KIND != "valkey":
        return None
    if options.prove is None:
        return "test" if config.args_source is not pytest.Config.ArgsSource.ARGS else None
    return "prove" if options.prove == "all" else None


def main() -> None:
    """Take what the last whole runs saw for the record."""
    record = {**read(RECORD), **read(LAST)}
    write(RECORD, record)
    for tier in ("test", "prove"):
        files = record.get(tier, {})
        print(f"{tier}: {sum(row['cpu_s'] for row in files.values()):.0f} CPU s in {len(files)} files")


if __name__ == "__main__":
    main()
