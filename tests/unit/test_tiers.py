"""The parts of `make prove` are the same at every run, and together they are the whole."""

import pytest

from tests import tiers
from tests.tiers import part_of

FILES = [f"tests/faults/test_{name}.py" for name in "abcdefghijklmnop"]


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "expected_s", lambda _: {FILES[0]: 100.0, FILES[1]: 90.0})


def test_all_parts_together_have_every_file_once() -> None:
    parts = [part_of(FILES, f"{number}/7") for number in range(1, 8)]
    assert sorted(file for part in parts for file in part) == FILES
    assert parts == [part_of(FILES, f"{number}/7") for number in range(1, 8)]


def test_what_takes_long_is_alone() -> None:
    assert part_of(FILES, "1/7") == {FILES[0]}
    assert part_of(FILES, "2/7") == {FILES[1]}


@pytest.mark.parametrize("wanted", ["0/7", "8/7", "7", "x/7", "1/"])
def test_a_part_that_is_none_is_refused(wanted: str) -> None:
    with pytest.raises(pytest.UsageError, match="such as 3/7"):
        part_of(FILES, wanted)
