"""`make bench`: measures, prints the table, and writes `bench/latest.json`."""

import argparse
import os
import platform
import sys
import time
import traceback
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Column, Table

from tests.bench import report
from tests.bench.figures import Figure
from tests.bench.rows import ONLY_WHEN_ASKED, ROWS
from tests.bench.stage import Pace, Stage
from threadkit.storage.store_program import find_program

LATEST = Path(__file__).parents[2] / "bench" / "latest.json"
_LIBRARIES = ("threadkit", "litestar", "uvicorn", "uvloop", "httptools", "redis", "hiredis", "msgspec")

# In a file or a pipe there is room for the whole table.
out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 160)


def main() -> int:
    asked = _arguments()
    pace = Pace(
        rounds=asked.rounds or (6 if asked.quick else 9),
        seconds=asked.seconds or (0.5 if asked.quick else 1.0),
        connections=asked.connections,
        is_quick=asked.quick,
        sockets=asked.sockets or (200 if asked.quick else 1000),
    )
    figures: list[Figure] = []
    failed: list[str] = []
    stage = Stage(pace)
    try:
        for name in asked.rows:
            out.print(f"measuring: {name} …")
            try:
                figures += ROWS[name](stage)
            except Exception:
                failed.append(name)
                traceback.print_exc()
    finally:
        stage.close()
    _print(figures)
    record = _write(asked.json, figures, failed, pace)
    if asked.report:
        report.write(figures, record)
    missed = [figure for figure in figures if not figure.reached]
    if failed:
        out.print(f"Could not be measured: {', '.join(failed)}")
    return 1 if failed or (asked.strict and missed) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer, shorter rounds on smaller data")
    parser.add_argument("--only", metavar="ROWS", help=f"of {','.join(ROWS)}")
    parser.add_argument("--million", action="store_true", help="also with 1,000,000 comments; takes minutes and 4 GB")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a goal is missed")
    parser.add_argument("--rounds", type=int, help="rounds of each side")
    parser.add_argument("--seconds", type=float, help="seconds of each round")
    parser.add_argument("--connections", type=int, default=16, help="connections of the load generator")
    parser.add_argument("--sockets", type=int, help="sockets on the live page")
    parser.add_argument("--report", action="store_true", help="also write docs/performance.md with its charts")
    parser.add_argument("--json", type=Path, default=LATEST, metavar="FILE", help="where the figures are written")
    asked = parser.parse_args()
    if asked.only:
        asked.rows = [name.strip() for name in asked.only.split(",")]
    else:
        asked.rows = [name for name in ROWS if name not in ONLY_WHEN_ASKED or (name == "million" and asked.million)]
    if unknown := [name for name in asked.rows if name not in ROWS]:
        parser.error(f"there is no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    if (asked.rounds is not None and asked.rounds < 1) or (asked.seconds is not None and asked.seconds <= 0):
        parser.error("rounds and seconds must be more than 0")
    if asked.sockets is not None and not 0 < asked.sockets <= 10_000:
        parser.error("sockets must be from 1 to 10000")
    return asked


def _print(figures: list[Figure]) -> None:
    table = Table(
        Column("work", no_wrap=True),
        "ours",
        "floor",
        "",
        "ratio",
        "spread",
        "goal",
        "reached?",
        box=None,
        pad_edge=False,
    )
    for column in (1, 2, 4, 6):
        table.columns[column].justify = "right"
    for figure in figures:
        table.add_row(
            figure.work,
            _number(figure.ours),
            _number(figure.floor),
            figure.unit,
            f"{figure.ratio:.2f}",
            f"{figure.least_ratio:.2f}–{figure.most_ratio:.2f}",
            figure.goal,
            "yes" if figure.reached else "NO",
        )
    out.print(table)
    for figure in figures:
        if figure.notes:
            notes = " · ".join(f"{name} {_number(value)}" for name, value in figure.notes.items())
            out.print(f"  {figure.work}: {notes}", style="dim")


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def _write(path: Path, figures: list[Figure], failed: list[str], pace: Pace) -> dict[str, Any]:
    program = find_program()
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cpus": os.cpu_count(),
            "usable_cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "processor": platform.machine(),
            "system": f"{platform.system()} {platform.release()}",
            "load_average": os.getloadavg()[0],
            "python": platform.python_version(),
            "store": f"{program.kind} {program.version}",
            "libraries": {name: version(name) for name in _LIBRARIES},
        },
        "pace": {
            "rounds": pace.rounds,
            "seconds": pace.seconds,
            "connections": pace.connections,
            "sockets": pace.sockets,
            "quick": pace.is_quick,
        },
        "figures": figures,
        "failed": failed,
    }
    path.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
    return record


if __name__ == "__main__":
    started = time.monotonic()
    code = main()
    out.print(f"It took {time.monotonic() - started:.0f} s.", style="dim")
    sys.exit(code)
