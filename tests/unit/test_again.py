"""What failed beside the others and passes alone is written down, and named when it happens too often."""

import datetime
from pathlib import Path

import pytest

from tests import again
from tests.again import note, too_often

TODAY = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"


def test_three_times_in_a_month_is_too_often(tmp_path: Path) -> None:
    log = tmp_path / "results" / "flaky.log"
    for passed in (["tests/a.py::test_a[x y]", "tests/a.py::test_b"], ["tests/a.py::test_a[x y]"]):
        note(log, passed, "abc1234")
    old = [f"2020-01-0{day} abc1234 tests/a.py::test_b" for day in range(1, 9)]
    lines = log.read_text().splitlines()
    assert too_often(old + lines) == []
    note(log, ["tests/a.py::test_a[x y]"], "abc1234")
    assert too_often(old + log.read_text().splitlines()) == [("tests/a.py::test_a[x y]", 3)]
    assert log.read_text().startswith(f"{TODAY} abc1234 tests/a.py::test_a[x y]\n")


@pytest.mark.parametrize("failed", [[], [f"tests/a.py::test_{number}" for number in range(51)]])
def test_what_did_not_fail_by_chance_is_not_tried_again(monkeypatch: pytest.MonkeyPatch, failed: list[str]) -> None:
    monkeypatch.setattr(again, "names", lambda: failed)
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("nothing is run"))
    assert again.main() == 1
