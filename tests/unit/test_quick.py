"""What `make quick` chooses."""

import pytest

from tests import quick


def test_a_changed_slice_brings_its_own_tests_and_those_that_import_it() -> None:
    chosen = quick.tests_of(["threadkit/votes/service.py", "threadkit/scoring.py"])
    assert "tests/integration/comments/test_votes.py" in chosen, "it imports the formula"
    assert "tests/integration/sending/test_mail.py" not in chosen


def test_a_changed_helper_brings_whoever_uses_it_however_far() -> None:
    chosen = quick.tests_of(["tests/integration/comments/agreement.py"])
    assert "tests/integration/comments/test_crowd.py" in chosen
    assert "tests/integration/staff/test_staff.py" not in chosen
    assert quick.tests_of(["README.md"]) == []


def test_what_does_not_fit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "expected_s", lambda _: {"a": 30.0, "b": 1.0, "c": 25.0})
    assert quick.fitting(["a", "b", "c"]) == (["b", "c"], ["a"])
