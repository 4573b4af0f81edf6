"""The table of ASVS items: every item of levels 1 and 2 is in it once, and every test it names exists."""

import ast
import functools
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/security/asvs.md").read_text(encoding="utf-8")
TEST = re.compile(r"`(tests/[\w/]+\.py)::((?:\w+::)?test_\w+)`")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
STATES = ("met", "partly", "not met", "yours", "none")
# How many items of levels 1 and 2 each section of ASVS 5.0.0 has.
SECTIONS = """
1.1:2 1.2:9 1.3:11 1.4:3 1.5:2 2.1:3 2.2:3 2.3:4 2.4:1 3.2:2 3.3:4 3.4:6 3.5:5 3.7:2 4.1:3 4.2:1 4.3:2 4.4:4
5.1:1 5.2:3 5.3:2 5.4:3 6.1:3 6.2:12 6.3:4 6.4:4 6.5:5 6.6:3 6.8:4 7.1:3 7.2:4 7.3:2 7.4:5 7.5:2 7.6:2 8.1:2
8.2:3 8.3:1 8.4:1 9.1:3 9.2:4 10.1:2 10.2:2 10.3:4 10.4:11 10.5:5 10.6:2 10.7:3 11.1:2 11.2:3 11.3:3 11.4:4
11.5:1 11.6:1 12.1:3 12.2:2 12.3:4 13.1:1 13.2:5 13.3:2 13.4:5 14.1:2 14.2:4 14.3:3 15.1:3 15.2:3 15.3:7
16.1:1 16.2:5 16.3:4 16.4:3 16.5:3 17.1:1 17.2:4 17.3:2
"""


class Row(NamedTuple):
    items: list[str]
    level: str
    asked: str
    state: str
    why: str


def rows() -> list[Row]:
    found = []
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if re.match(r"\| \d+\.\d+\.\d+", line):
            items, level, asked, state, why = cells
            found.append(Row(items.split(", "), level, asked, state, why))
    return found


@functools.cache
def names_in(path: str) -> set[str]:
    """As pytest calls them, those of classes with the name of the class in front."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    alone = {node.name for node in tree.body if isinstance(node, _FUNCTIONS)}
    return alone | {
        f"{kind.name}::{node.name}" for kind in classes for node in kind.body if isinstance(node, _FUNCTIONS)
    }


def test_every_item_of_levels_1_and_2_is_there_once() -> None:
    levels = {item: row.level for row in rows() for item in row.items}
    assert sum(len(row.items) for row in rows()) == len(levels) == 253
    assert Counter(levels.values()) == {"1": 70, "2": 183}
    assert Counter(item.rsplit(".", 1)[0] for item in levels) == {
        section: int(number) for section, number in (each.split(":") for each in SECTIONS.split())
    }


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.items[0])
def test_each_has_a_state_and_a_test_or_a_reason(row: Row) -> None:
    assert row.state in STATES
    assert row.asked
    reason = TEST.sub("", row.why).strip(" .:;,()")
    if row.state == "met":
        assert reason or TEST.search(row.why)
    else:
        assert reason, "what is missing, or why it does not matter here"
    for path, name in TEST.findall(row.why):
        assert name in names_in(path), f"{path}::{name}"
    assert row.why.count("::test_") == len(TEST.findall(row.why)), "a name that could not be read"


def test_the_numbers_at_the_top_are_those_of_the_table() -> None:
    counted = Counter(row.state for row in rows() for _ in row.items)
    said = {state: int(number) for state, number in re.findall(r"^\| ([a-z ]+) \| [^|]+ \| (\d+) \|$", TEXT, re.M)}
    assert said == {state: counted[state] for state in STATES}
    print(f"\nG30: {sum(said.values())} items: " + ", ".join(f"{number} {state}" for state, number in said.items()))


def test_what_to_do_first_is_not_met() -> None:
    states = {item: row.state for row in rows() for item in row.items}
    first = TEXT[TEXT.index("**What to do first**") : TEXT.index("## V1 ")]
    named = re.findall(r"\d+\.\d+\.\d+", first)
    assert named
    assert {states[item] for item in named} == {"not met"}
