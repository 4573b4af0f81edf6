"""The language that is chosen, and sentences with facts in them."""

import pytest

from tests.locales import CATEGORIES
from threadkit.words import Locales, Words

SETUP = Locales("threadkit.setup")


@pytest.mark.parametrize(
    ("asked", "lang"),
    [
        ("", "en"),
        ("de", "de"),
        ("DE-at", "de"),
        ("xx, yy;q=0.9", "en"),
        ("xx, fr-CA;q=0.8, de;q=0.9", "de"),
        ("de;q=0, ja;q=0.1", "ja"),
        ("*", "en"),
        ("de;q=much, ;;,", "en"),
        ("pt_BR.UTF-8", "pt"),
        ("C.UTF-8", "en"),
        ("x" * 10_000, "en"),
    ],
)
def test_the_best_language_that_we_have_is_chosen(asked: str, lang: str) -> None:
    assert SETUP.words_for(asked).lang == lang


def test_there_is_every_language_that_the_comments_speak() -> None:
    assert SETUP.languages == set(CATEGORIES)


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "1,234.5 of a, b"),
        ("de", "1.234,5 of a, b"),
        ("fr", "1\u202f234,5 of a, b"),
        ("ru", "1\u00a0234,5 of a, b"),
        ("ja", "1,234.5 of a、b"),
        ("ar", "1,234.5 of \u2066a\u2069، \u2066b\u2069"),
    ],
)
def test_numbers_and_lists_are_set_as_the_language_sets_them(lang: str, said: str) -> None:
    assert Words(lang, {"key": "{number} of {names}"})("key", number=1234.5, names=["a", "b"]) == said


def test_in_arabic_only_what_runs_from_left_to_right_is_set_apart() -> None:
    words = Words("ar", {"key": "({text})"})
    assert words("key", text="*.example.org") == "(\u2066*.example.org\u2069)"
    assert words("key", text="مدونة 1") == "(مدونة 1)"
    assert words("key", text="") == "()"


def test_what_is_filled_in_is_not_filled_in_again() -> None:
    assert Words("en", {"key": "{a} {b}"})("key", a="{b}", b="{a}") == "{b} {a}"
