"""The list of tests that cannot run on a cluster or behind Sentinel names tests that exist."""

from pathlib import Path

import pytest

from tests.left_out import LEFT_OUT

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("entry", sorted({entry for entries in LEFT_OUT.values() for entry in entries}))
def test_what_is_left_out_exists(entry: str) -> None:
    path, _, test = entry.partition("::")
    assert (TESTS / path).exists()
    assert not test or f"def {test}(" in (TESTS / path).read_text(encoding="utf-8")
