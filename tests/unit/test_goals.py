"""What tests print of the goals is found again in their reports."""

import pytest

from tests.goals import goals, proofs, seconds, seen


def report(nodeid: str, printed: str, *, when: str = "call", duration: float = 1.0) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid,
        location=(nodeid, 0, ""),
        keywords={},
        outcome="passed",
        longrepr=None,
        when=when,  # type: ignore[arg-type]
        sections=[("Captured stdout call", printed)],
        duration=duration,
    )


def test_lines_of_goals_are_found_once_and_in_order() -> None:
    reports = [
        report("tests/a.py::test_a", "seed 3\nG10: ten\nG9: nine\n"),
        report("tests/a.py::test_b", "G10: ten\nno G1: here"),
        report("tests/a.py::test_b", "G2: two", when="teardown"),
        report("tests/a.py::test_c", "G3: three", when="setup"),
    ]
    assert seen(reports) == [(2, "two"), (9, "nine"), (10, "ten")]


def test_what_proofs_take_is_added_up() -> None:
    assert goals() == list(range(1, 34))
    assert "tests/faults/test_kills.py" in proofs()
    reports = [
        report("tests/faults/test_kills.py::test_a", "", duration=2),
        report("tests/unit/test_keys.py::test_b", ""),
    ]
    assert seconds(reports) == 2
