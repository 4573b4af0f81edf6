"""What failed beside the others is what runs again, and nothing else does."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = """
import pathlib
import pytest

TRIES = pathlib.Path(__file__).with_suffix(".tries")


@pytest.mark.xdist_group("some")
@pytest.mark.parametrize("where", ["in@group"])
def test_fails_at_first(where):
    TRIES.write_text(TRIES.read_text() + "x" if TRIES.exists() else "x")
    assert len(TRIES.read_text()) > 1


@pytest.mark.xdist_group("some")
def test_passes():
    pass
"""


def pytest_of(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    flags = ("-c", "pytest.ini", "-p", "tests.again", *words)
    env = {"PYTHONPATH": str(ROOT), "PATH": ""}
    return subprocess.run([sys.executable, "-m", "pytest", *flags], cwd=folder, env=env, capture_output=True, text=True)


def test_what_failed_in_a_group_is_all_that_runs_again(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_some.py").write_text(TESTS)
    first = pytest_of(tmp_path, "-n", "2", "--dist", "loadgroup")
    assert "1 failed, 1 passed" in first.stdout, first.stdout + first.stderr
    second = pytest_of(tmp_path, "-n", "0", "--last-failed", "--last-failed-no-failures", "none")
    assert "1 passed in" in second.stdout, second.stdout + second.stderr
