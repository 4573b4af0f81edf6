"""The pages for staff, the set-up page, and what the server says on them: in every language that the comments speak, and
the same in each."""

import re
from pathlib import Path

import pytest

import threadkit
from tests.locales import CATEGORIES, Strings, base, keys_in_order, not_plain, placeholders, strings

HOME = Path(threadkit.__file__).parent
# What the server says itself lies in the slice that says it.
SLICES = ["setup", "sites", "doctor"]
PARTS = ["shell", "mod", "admin", *SLICES]

# Letters that every sentence of a language has.
LETTERS = {
    "ar": r"[\u0600-\u06ff]",
    "ja": r"[\u3040-\u30ff\u4e00-\u9fff]",
    "ru": r"[\u0400-\u04ff]",
    "zh": r"[\u4e00-\u9fff]",
}
# Names only; and words that some languages have from English.
MAY_BE_ENGLISH = {"https.title", "version.well"}
ENGLISH_WORDS = {"Backups", "Name", "Domain", "password", "Password", "E-mail", "Moderation", "Administration"}


def file_of(part: str, lang: str) -> Path:
    if part in SLICES:
        return HOME / part / "locales" / f"{lang}.json"
    return HOME / "web" / "staff" / "locales" / f"{part}.{lang}.json"


def says(part: str, lang: str) -> Strings:
    return strings(file_of(part, lang))


def as_in_english(key: str, lang: str, english: dict[str, str]) -> list[list[str]]:
    """What may be filled in. "Delete this comment?" needs no number, but in Russian `one` is 21 as well."""
    if key not in english:
        return [placeholders(english[f"{base(key)}.other"])]
    own = [] if lang == "ru" and key.endswith(".one") else [placeholders(english[key])]
    return own if base(key) == key else [*own, placeholders(english[f"{base(key)}.other"])]


def test_no_file_is_there_for_a_language_that_the_comments_lack() -> None:
    there = {path.name for part in PARTS for path in file_of(part, "en").parent.iterdir()}
    assert there <= {file_of(part, lang).name for part in PARTS for lang in CATEGORIES}


@pytest.mark.parametrize("lang", CATEGORIES)
@pytest.mark.parametrize("part", PARTS)
def test_a_language_has_the_english_keys_in_their_order_and_all_its_plurals(part: str, lang: str) -> None:
    assert [key for key, _ in says(part, lang)] == keys_in_order(says(part, "en"), lang)


@pytest.mark.parametrize("lang", CATEGORIES)
@pytest.mark.parametrize("part", PARTS)
def test_a_translation_fills_in_what_the_english_sentence_fills_in(part: str, lang: str) -> None:
    english = dict(says(part, "en"))
    wrong = {key: text for key, text in says(part, lang) if placeholders(text) not in as_in_english(key, lang, english)}
    assert wrong == {}


@pytest.mark.parametrize("lang", CATEGORIES)
@pytest.mark.parametrize("part", PARTS)
def test_every_sentence_is_plain_text(part: str, lang: str) -> None:
    assert not_plain(says(part, lang)) == []


@pytest.mark.parametrize("lang", [lang for lang in CATEGORIES if lang != "en"])
@pytest.mark.parametrize("part", SLICES)
def test_nothing_is_left_in_english(part: str, lang: str) -> None:
    english = dict(says(part, "en"))
    left = {
        key: text
        for key, text in says(part, lang)
        if key not in MAY_BE_ENGLISH and (_is_foreign(text, lang) or (text == english[key] not in ENGLISH_WORDS))
    }
    assert left == {}


def _is_foreign(text: str, lang: str) -> bool:
    """Whether the letters are those of another language; what is filled in has its own."""
    own = re.sub(r"\{\w+\}", "", text)
    return lang in LETTERS and text != "SMS" and not re.search(LETTERS[lang], own)
