"""`make prove`: what is slow by nature, and every proof that docs/proof.md names, in its short form; then which goals nothing
was seen of. With `3/7` only the third of seven parts of what is slow; the proofs that are quick are in `make test`."""

import os
import subprocess
import sys
import time

import pytest

from tests.goals import ROOT, goals, seen

PACE = (sys.executable, "-m", "tests.bench", "--quick", "--only", "pace", "--json", "/dev/null")


class Reports:
    """What pytest and all its workers say of each test."""

    def __init__(self) -> None:
        self._all: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._all.append(report)

    @property
    def passed(self) -> list[pytest.TestReport]:
        """Of tests in which nothing failed: what one printed before it failed is no proof."""
        failed = {report.nodeid for report in self._all if report.failed}
        return [report for report in self._all if report.nodeid not in failed]


def main(words: list[str]) -> int:
    part = words[0] if words and "/" in words[0] and words[0].replace("/", "").isdigit() else None
    started = time.monotonic()
    reports = Reports()
    rest = words[1:] if part else words
    os.environ["THREADKIT_PROVE"] = "1"
    status = int(pytest.main([f"--prove={part or 'all'}", "-n", "auto", "-q", *rest], plugins=[reports]))
    if part:
        return status
    print("\nG4, which wants the machine for itself:", flush=True)
    paced = subprocess.run(PACE, cwd=ROOT)
    found = {goal for goal, _ in seen(reports.passed)} | ({4} if paced.returncode == 0 else set())
    unseen = sorted(set(goals()) - found)
    took_minutes = (time.monotonic() - started) / 60
    print(f"{len(goals()) - len(unseen)} of {len(goals())} goals in {took_minutes:.1f} minutes")
    if unseen:
        print("Nothing was seen of " + ", ".join(f"G{goal}" for goal in unseen))
    return status or bool(unseen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
