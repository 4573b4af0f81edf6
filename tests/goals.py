"""The goals of docs/proof.md in a run of tests: whatever a test prints as `G7: …` is said once more at the end."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROOF = ROOT / "docs" / "proof.md"
_SEEN = re.compile(r"^G(\d+): (.+)$", re.MULTILINE)
_ROW = re.compile(r"^\| (?:G(\d+)|–) \|.*$", re.MULTILINE)
_TEST = re.compile(r"\btests/[\w/.]*\w")


def goals() -> list[int]:
    return sorted({int(row[1]) for row in _ROW.finditer(PROOF.read_text(encoding="utf-8")) if row[1]})


def proofs() -> list[str]:
    """Every test that a row of the table names."""
    rows = _ROW.finditer(PROOF.read_text(encoding="utf-8"))
    return sorted({path for row in rows for path in _TEST.findall(row[0])})


def seen(reports: Iterable[pytest.TestReport]) -> list[tuple[int, str]]:
    """What passing tests printed, or what they share when it was taken down, by goal."""
    found = {
        (int(goal), sentence)
        for report in reports
        if report.when != "setup"
        for goal, sentence in _SEEN.findall(report.capstdout)
    }
    return sorted(found)


def seconds(reports: Iterable[pytest.TestReport]) -> float:
    """What the proofs among these tests took, one after the other."""
    named = tuple(proofs())
    return sum(report.duration for report in reports if report.nodeid.startswith(named))


def summary(terminalreporter: pytest.TerminalReporter) -> None:
    passed = terminalreporter.stats.get("passed", [])
    failed = {report.nodeid for report in terminalreporter.stats.get("failed", ())}
    around = [report for report in terminalreporter.stats.get("", ()) if report.nodeid not in failed]
    if lines := seen(passed + around):
        terminalreporter.write_sep("-", "what was seen of the goals in docs/proof.md")
        for goal, sentence in lines:
            terminalreporter.write_line(f"G{goal}: {sentence}")
        terminalreporter.write_line(f"{seconds(passed):.0f} s of proofs, if they ran one after the other")
