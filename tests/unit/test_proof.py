"""What is said to be proved names all goals, and commands that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROOF, README = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/proof.md", "README.md"))


def test_every_goal_has_its_row_and_they_stand_in_order() -> None:
    goals = [int(number) for number in re.findall(r"^\| G(\d+) \|", PROOF, re.MULTILINE)]
    assert goals == sorted(goals)
    assert set(goals) == set(range(1, 34))


def test_every_test_that_is_named_is_there() -> None:
    named = {path for text in (PROOF, README) for path in re.findall(r"\btests/[\w/.]*\w", text)}
    assert len(named) > 30
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
