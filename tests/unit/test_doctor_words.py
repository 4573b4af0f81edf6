"""The doctor has words for all it finds, finds all that it has words for, and fills in all that they name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, get_args, get_type_hints

import threadkit
from tests.locales import placeholders, strings
from threadkit.doctor.service import OF_A_SITE, OF_THE_SERVER
from threadkit.rebuild.model import What
from threadkit.storage import stamp
from threadkit.storage.checks import Risk

DOCTOR = Path(threadkit.__file__).parent / "doctor"
WORDS = dict(strings(DOCTOR / "locales" / "en.json"))

# Those whose names are put together while the doctor looks.
MADE_UP = {
    *(f"stamp.{why}" for why in re.findall(r'WrongStamp\(\s*"(\w+)"', Path(stamp.__file__).read_text())),
    *(f"persistence.risk_{name}" for name in get_args(get_type_hints(Risk)["name"])),
    *(f"indexes.what_{what}" for what in get_args(What)),
    *(f"sign_in.way_{way}" for way in ("email", "phone", "password", "anonymous")),
}


class Said(NamedTuple):
    """A finding or a sentence as it stands in the code; `facts` is None where they are not written out."""

    key: str
    how: str
    facts: set[str] | None


def said() -> Iterator[Said]:
    for file in sorted((DOCTOR / "checks").glob("*.py")):
        for function in ast.parse(file.read_text(encoding="utf-8")).body:
            text = ast.unparse(function)
            about = re.search(r"here\.about\('(\w+)'\)", text)
            for node in ast.walk(function):
                if isinstance(node, ast.Call):
                    yield from _said_by(node, about[1] if about else "")


def _said_by(call: ast.Call, check: str) -> Iterator[Said]:
    how = ast.unparse(call.func)
    is_finding = how == "tell" or how.startswith("about.")
    if not call.args or not (is_finding or how in ("words", "here.words")):
        return
    given = {keyword.arg for keyword in call.keywords}
    facts = None if None in given else {name for name in given if name}
    chosen = call.args[0]
    for name in [chosen.body, chosen.orelse] if isinstance(chosen, ast.IfExp) else [chosen]:
        if isinstance(name, ast.Constant):
            yield Said(f"{check}.{name.value}" if is_finding else str(name.value), how, facts)


def test_every_check_has_a_title() -> None:
    assert sorted([*OF_THE_SERVER, *OF_A_SITE]) == sorted(
        key.removesuffix(".title") for key in WORDS if key.endswith(".title")
    )


def test_everything_that_is_said_has_words_and_what_is_not_well_has_a_fix() -> None:
    found = list(said())
    assert len(found) > 80
    assert [one for one in found if one.key not in WORDS] == []
    assert [one for one in found if one.how in ("about.bad", "about.warning") and f"{one.key}.fix" not in WORDS] == []
    assert set(WORDS) >= MADE_UP


def test_whatever_a_sentence_names_is_given() -> None:
    for one in said():
        if one.facts is not None:
            assert {*placeholders(WORDS[one.key]), *placeholders(WORDS.get(f"{one.key}.fix", ""))} <= one.facts, one


def test_no_words_are_left_over() -> None:
    used = {one.key for one in said()} | MADE_UP
    own = {key for key in WORDS if not key.startswith("any.") and not key.endswith(".title")}
    assert {key for key in own if key.removesuffix(".fix") not in used} == set()
