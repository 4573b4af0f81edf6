"""Run what failed once more, alone; and keep a log of what then passed: three times in a month is a fault to mend.

The log lies beside the results, or where THREADKIT_FLAKY_LOG says, for machines that forget their checkouts.
"""

import datetime
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
LOG = Path(os.environ.get("THREADKIT_FLAKY_LOG", ROOT / "test-artifacts" / "flaky.log"))
MOST = 50  # when more than these fail, it is not by chance
DAYS, TIMES = 30, 3


def main() -> int:
    failed = names()
    if not failed:
        print("No test failed, so it was something else.")
        return 1
    if len(failed) > MOST:
        print(f"{len(failed)} tests failed. So many do not fail by chance.")
        return 1
    print(f"Once more, one at a time, what failed ({len(failed)}):", *failed, sep="\n  ", flush=True)
    status = subprocess.run([sys.executable, "-m", "pytest", "-n", "0", *failed], cwd=ROOT).returncode
    passed = sorted(set(failed) - set(names()))
    note(LOG, passed, commit())
    for test, times in too_often(LOG.read_text(encoding="utf-8").splitlines()):
        print(f"FLAKY: {times} times in {DAYS} days it passed only alone: {test}")
    return status


def names() -> list[str]:
    return sorted(json.loads(FAILED.read_text(encoding="utf-8"))) if FAILED.exists() else []


def commit() -> str:
    words = ("git", "rev-parse", "--short", "HEAD")
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout.strip() or "unknown"


def note(log: Path, passed: list[str], at: str) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as lines:
        for test in passed:
            lines.write(f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d} {at} {test}\n")


def too_often(lines: list[str]) -> list[tuple[str, int]]:
    """What needed a second try again and again lately, the worst first."""
    since = f"{datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=DAYS):%Y-%m-%d}"
    recent = Counter(line.split(" ", 2)[2] for line in lines if line[:10] >= since)
    return [(test, times) for test, times in recent.most_common() if times >= TIMES]


if __name__ == "__main__":
    sys.exit(main())
