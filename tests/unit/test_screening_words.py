"""Word lists: what an entry finds, what is not one, and that no list makes matching slow."""

import itertools
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkit.moderation.rules import WordsRule
from threadkit.moderation.words import LONGEST_ENDING, MOST_ENTRIES, MOST_WILD, WordList, normal, words_of


def finds(entry: str, text: str) -> bool:
    return WordList([entry]).find(text) is not None


@pytest.mark.parametrize(
    ("entry", "found", "not_found"),
    [
        ("casino", ["Casino!", "my CASINO.", "the ｃａｓｉｎｏ", "cas\u200bino", "c&#97;sino", "**cas**ino", "casino's"], ["casinos"]),
        ("casino*", ["casinos", "casino", "casinoroyale"], ["mycasino"]),
        ("*bet", ["bet", "sportsbet"], ["better"]),
        ("*pill*", ["caterpillar", "pill"], ["pil"]),
        ("v*gra", ["viagra", "v1agra", "vgra"], ["viagras", "aviagra"]),
        ("a*b*c", ["abc", "axxbxxc"], ["acb", "ab c"]),
        ("gambl~", ["gamble", "gambling", "gambl", "gambler"], ["gamblinghouse", "gamb"]),
        ("free money", ["Get FREE, money now", "free\nmoney"], ["free the money", "freemoney"]),
        ("don't", ["Don't!", "don’t"], ["dont"]),
        ("straße", ["STRASSE"], ["strasse2"]),
        ("赌场", ["欢迎来到赌场玩"], ["赌 场"]),
        ("नमस्ते", ["नमस्ते दुनिया"], ["नमस्"]),
    ],
)  # fmt: skip
def test_an_entry_finds_what_it_says(entry: str, found: list[str], not_found: list[str]) -> None:
    assert [text for text in found if not finds(entry, text)] == []
    assert [text for text in not_found if finds(entry, text)] == []


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("*", "needs letters"),
        ("***", "needs letters"),
        ("~", "needs letters"),
        ("!?", "needs letters"),
        ("a*", "at least 2 letters"),
        ("ab~", "at least 3 letters"),
        ("st~em", "at the end of a word"),
        ("wo*rd~", "at the end of a word"),
        ("*a*b*c*d*e*", "at most 4 stars"),
        ("free mon*", "only be used in a single word"),
        ("one two three four five six seven eight nine", "at most 8 words"),
        ("(a+)+$", "no place for regular expressions"),
        ("(.*a){20}", "no place for regular expressions"),
        ("x" * 101, "at most 100 characters"),
    ],
)
def test_an_entry_that_cannot_be_meant_is_refused_with_the_reason(entry: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        WordList([entry])
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"hold": [entry]}, WordsRule)


def test_lists_are_bounded() -> None:
    many = [f"word{number}" for number in range(MOST_ENTRIES + 1)]
    with pytest.raises(ValueError, match="at most 1000 entries"):
        WordList(many)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"refuse": many}, WordsRule)
    with pytest.raises(ValueError, match="at most 100 entries with a star inside"):
        WordList([f"a*b{number}" for number in range(MOST_WILD + 1)])


def test_the_worst_list_on_the_worst_text_takes_a_moment() -> None:
    """Bad input: a list with catastrophic patterns."""
    wild = [f"aa*{'a' * (number % 40)}*a*{'a' * (number // 40)}b" for number in range(MOST_WILD)]
    inside = [f"*{'a' * (2 + number % 40)}b{number}*" for number in range(400)]
    starts = [f"a{number}*" for number in range(200)] + [f"*{number}a" for number in range(200)]
    stems = [f"aaa{number}~" for number in range(100)]
    worst = WordList(wild + inside + starts + stems)
    hostile = " ".join("a" * (1 + number % 60) + str(number) for number in range(600))
    for text in (hostile, "a" * 20_000, "ａ" * 20_000, "*" * 20_000, "a*" * 10_000, "&#97;" * 4_000):
        started = time.thread_time()
        worst.find(text)
        assert time.thread_time() - started < 0.25, text[:20]


def slow_match(pattern: str, word: str) -> bool:
    """What an entry of one word means, by trying everything."""
    if pattern.endswith("~"):
        return word.startswith(pattern[:-1]) and len(word) - len(pattern[:-1]) <= LONGEST_ENDING
    if "*" not in pattern:
        return pattern == word
    first, _, rest = pattern.partition("*")
    return word.startswith(first) and any(slow_match(rest, word[at:]) for at in range(len(first), len(word) + 1))


letters = st.text("abc", min_size=1, max_size=7)
patterns = st.one_of(
    letters,
    st.text("abc", min_size=3, max_size=5).map(lambda stem: stem + "~"),
    st.text("abc*", min_size=2, max_size=8).filter(lambda text: sum(c != "*" for c in text) >= 2 and text.count("*") <= 4),
)  # fmt: skip


@given(st.lists(patterns, min_size=1, max_size=8), st.lists(letters, max_size=8))
def test_a_list_finds_exactly_what_the_slow_obvious_way_finds(entries: list[str], words: list[str]) -> None:
    wanted = any(slow_match(entry, word) for entry, word in itertools.product(entries, words))
    found = WordList(entries).find(" ".join(words))
    assert (found is not None) == wanted
    if found:
        assert found.entry in entries
        # Of a star at both ends only the middle is told.
        assert any(slow_match(found.entry, word) for word in words if found.text in word)


@given(st.lists(letters, min_size=2, max_size=4), st.lists(letters, max_size=12))
def test_a_phrase_is_found_where_its_words_stand_in_a_row(phrase: list[str], words: list[str]) -> None:
    rows = [words[at : at + len(phrase)] for at in range(len(words))]
    assert finds(" ".join(phrase), ", ".join(words)) == (phrase in rows)


@given(st.text(max_size=200))
def test_the_words_of_a_text_are_words_again(text: str) -> None:
    words = words_of(normal(text))
    assert words_of(" ".join(words)) == words
    assert all(word.isprintable() for word in words)
