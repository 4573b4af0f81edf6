"""The embed says the same things in every language, and only things that it is asked to say."""

import re
from pathlib import Path

import pytest

import threadkit
from tests.locales import CATEGORIES, Strings, base, keys_in_order, not_plain, placeholders, strings

EMBED = Path(threadkit.__file__).parent / "web" / "embed"
SOURCE = "".join(path.read_text(encoding="utf-8") for path in sorted(EMBED.glob("*.js")))

FAMILIES = ["sort_", "role_", "reason_", "told_", "tool_", "field_", "note_", "error_", "why_", "go_"]
FAMILY_BY_ENDING = "_placeholder"


def in_language(lang: str) -> Strings:
    return strings(EMBED / "locales" / f"{lang}.json")


ENGLISH = in_language("en")
ENGLISH_KEYS = {base(key) for key, _ in ENGLISH}


def test_every_language_that_is_there_is_checked() -> None:
    assert {path.stem for path in (EMBED / "locales").iterdir()} == set(CATEGORIES)


@pytest.mark.parametrize("lang", CATEGORIES)
def test_a_language_has_the_english_keys_in_their_order_and_all_its_plurals(lang: str) -> None:
    assert [key for key, _ in in_language(lang)] == keys_in_order(ENGLISH, lang)


@pytest.mark.parametrize("lang", CATEGORIES)
def test_a_translation_fills_in_what_the_english_sentence_fills_in(lang: str) -> None:
    english = {base(key): placeholders(text) for key, text in ENGLISH}
    wrong = {key: text for key, text in in_language(lang) if placeholders(text) != english[base(key)]}
    assert wrong == {}


@pytest.mark.parametrize("lang", CATEGORIES)
def test_every_sentence_is_plain_text(lang: str) -> None:
    assert not_plain(in_language(lang)) == []


def test_whatever_is_said_has_words() -> None:
    asked = set(re.findall(r'words\.say\(\s*"(\w+)"', SOURCE))
    assert {"reply", "comments", "error_429"} <= asked
    assert asked - ENGLISH_KEYS == set()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_of_keys_is_asked_for_and_has_members(family: str) -> None:
    assert f"`{family}${{" in SOURCE
    assert [key for key in ENGLISH_KEYS if key.startswith(family)] != []


def test_no_words_are_left_over() -> None:
    literal = set(re.findall(r'"(\w+)"', SOURCE))
    of_a_family = {key for key in ENGLISH_KEYS if key.startswith(tuple(FAMILIES)) or key.endswith(FAMILY_BY_ENDING)}
    assert ENGLISH_KEYS - literal - of_a_family == set()
