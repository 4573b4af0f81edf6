"""The moderators' page has words for all it says, and says all that it has words for."""

import json
import re
from pathlib import Path

import threadkit

STAFF = Path(threadkit.__file__).parent / "web" / "staff"
SOURCE = "".join(path.read_text(encoding="utf-8") for path in sorted((STAFF / "mod").glob("*.js")))


def words(part: str) -> set[str]:
    text = (STAFF / "locales" / f"{part}.en.json").read_text(encoding="utf-8")
    keys = [key for key, _ in json.loads(text, object_pairs_hook=list)]
    assert len(keys) == len(set(keys))
    return {key.partition(".")[0] for key in keys}


def test_everything_that_is_said_has_words() -> None:
    said = set(re.findall(r'\bsay\(\s*"(\w+)"', SOURCE)) | set(re.findall(r'"(done_\w+)"', SOURCE))
    assert len(said) > 50
    assert said - words("mod") - words("shell") == set()
    families = set(re.findall(r"\bsay\(\s*`(\w+_)\$", SOURCE))
    assert [
        family for family in families if not any(key.startswith(family) for key in words("mod") | words("shell"))
    ] == []


def test_no_words_are_left_over() -> None:
    families = *re.findall(r"(?:say|has)\(\s*`(\w+_)\$", SOURCE), "view_", "reports_new", "appeals_new", "error_"
    unused = [key for key in words("mod") if not key.startswith(families) and f'"{key}"' not in SOURCE]
    assert unused == []
