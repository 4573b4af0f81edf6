"""The embed's rows of `make bench`: there without a browser too, and honest about it."""

import sys
from typing import cast

import pytest

from tests.bench.rows import ROWS
from tests.bench.stage import Stage


def test_without_chromium_the_size_is_measured_and_the_rest_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    # The package has the row's function under the module's name.
    monkeypatch.setattr(sys.modules["tests.bench.rows.embed"], "CHROMIUM", None)
    size, *others = ROWS["embed"](cast(Stage, None))
    assert 0 < size.ours <= size.floor == 25_000
    assert len(others) == 2
    for figure in others:
        assert figure.work.endswith("not measured, there is no Chromium")
        assert figure.goal == "–"
