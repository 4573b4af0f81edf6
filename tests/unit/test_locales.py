"""The embed says the same things in every language, and only things that it is asked to say."""

import json
import re
from pathlib import Path

import pytest

import threadkit

EMBED = Path(threadkit.__file__).parent / "web" / "embed"
SOURCE = "".join(path.read_text(encoding="utf-8") for path in sorted(EMBED.glob("*.js")))

# What Intl.PluralRules can answer for whole numbers.
CATEGORIES = {
    "en": ["one", "other"],
    "de": ["one", "other"],
    "fr": ["one", "many", "other"],
    "es": ["one", "many", "other"],
    "pt": ["one", "many", "other"],
    "it": ["one", "many", "other"],
    "ja": ["other"],
    "zh": ["other"],
    "ar": ["zero", "one", "two", "few", "many", "other"],
    "ru": ["one", "few", "many", "other"],
}
FAMILIES = ["sort_", "role_", "reason_", "told_", "tool_", "field_", "note_", "error_", "why_", "go_"]
FAMILY_BY_ENDING = "_placeholder"


def strings(lang: str) -> list[tuple[str, str]]:
    """In the order of the file, and with a key that is there twice still there twice."""
    text = (EMBED / "locales" / f"{lang}.json").read_text(encoding="utf-8")
    pairs: list[tuple[str, str]] = json.loads(text, object_pairs_hook=list)
    return pairs


def base(key: str) -> str:
    return key.partition(".")[0]


def placeholders(text: str) -> list[str]:
    return sorted(re.findall(r"\{(.*?)\}", text))


ENGLISH = strings("en")
ENGLISH_KEYS = {base(key) for key, _ in ENGLISH}


def keys_in_order(lang: str) -> list[str]:
    """The English keys, with the plural forms of another language in place of the English ones."""
    keys: list[str] = []
    for key, _ in ENGLISH:
        if "." not in key:
            keys.append(key)
        elif key.endswith(".other"):
            keys += [f"{base(key)}.{category}" for category in CATEGORIES[lang]]
    return keys


def test_every_language_that_is_there_is_checked() -> None:
    assert {path.stem for path in (EMBED / "locales").iterdir()} == set(CATEGORIES)


@pytest.mark.parametrize("lang", CATEGORIES)
def test_a_language_has_the_english_keys_in_their_order_and_all_its_plurals(lang: str) -> None:
    assert [key for key, _ in strings(lang)] == keys_in_order(lang)


@pytest.mark.parametrize("lang", CATEGORIES)
def test_a_translation_fills_in_what_the_english_sentence_fills_in(lang: str) -> None:
    english = {base(key): placeholders(text) for key, text in ENGLISH}
    wrong = {key: text for key, text in strings(lang) if placeholders(text) != english[base(key)]}
    assert wrong == {}


@pytest.mark.parametrize("lang", CATEGORIES)
def test_every_sentence_is_plain_text(lang: str) -> None:
    wrong = {
        key: text for key, text in strings(lang) if not text or text != text.strip() or re.search(r"[<>]|&\S+;", text)
    }
    assert wrong == {}


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
