"""The page about performance: bars that say what the figures say, and a model that adds up."""

from pathlib import Path
from xml.etree import ElementTree

from tests.bench import report
from tests.bench.figures import Figure

MACHINE = {"usable_cpus": 2, "processor": "x", "system": "Linux", "python": "3.11", "store": "valkey 9"}
RECORD = {"at": "2026-11-17T00:00:00", "machine": MACHINE, "pace": {"rounds": 5, "seconds": 1.0, "connections": 16}}


def made(row: str, work: str, ours: float, ratio: float, goal: str, *, reached: bool = True) -> Figure:
    return Figure(
        row=row,
        work=work,
        ours=ours,
        floor=ours / ratio,
        unit="requests/s",
        ratio=ratio,
        least_ratio=ratio,
        most_ratio=ratio,
        goal=goal,
        reached=reached,
        notes={"store_cpu_us": 250.0} if row == "post" else {},
    )


FIGURES = [
    made("read", "a page & <more>", 20_000, 1.0, "≥ 0.80"),
    made("post", "post", 400, 0.4, "≥ 0.50", reached=False),
    made("memory", "memory", 80, 1.25, "≤ 1.00", reached=False),
]


def test_bars_are_as_long_as_what_was_reached() -> None:
    bars = [
        float(bar.get("width") or 0)
        for bar in ElementTree.fromstring(report.chart(FIGURES)).iter("{http://www.w3.org/2000/svg}rect")
        if bar.get("class") in ("ok", "no")
    ]
    assert bars == [report.BAR / 2 * 1.25, report.BAR / 2 * 0.8, report.BAR / 2 * 0.8]


def test_the_model_ends_where_the_store_does(tmp_path: Path) -> None:
    capacity = report.Capacity.of(FIGURES)
    assert capacity is not None
    assert capacity.machine(8) == (140_000, 2800)
    assert capacity.machine(64) == (1_260_000, 4000)
    assert capacity.cluster(3, 3, 8) == (480_000, 9600)
    assert capacity.gigabytes(100_000_000) == 800
    report.write(FIGURES, RECORD, tmp_path)
    assert "| 100,000,000 | 800.0 GB | 50 |" in (tmp_path / "performance.md").read_text()
