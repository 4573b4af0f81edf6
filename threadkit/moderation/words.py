"""Word lists without regular expressions: every entry is one of a few plain shapes, so no list can make matching slow.

`casino` is a whole word, `free money` these words in a row, `casino*`, `*bet` and `v*gra` stand for any letters in the
place of the star, `gambl~` is a stem with an ending of up to four letters. Case, width and invisible characters do not
matter. In scripts that are written without spaces an entry is found anywhere.
"""

import functools
import html
import re
import unicodedata
from collections.abc import Iterable, Sequence

from msgspec import Struct

MOST_ENTRIES = 1_000
LONGEST_ENTRY = 100
MOST_WILD = 100
MOST_STARS = 4
MOST_PARTS = 8
LONGEST_TEXT = 20_000
LONGEST_WORD = 100
LONGEST_ENDING = 4
LEAST_LETTERS = 2
LEAST_STEM = 3

_ASCII_WORD = re.compile(r"[a-z0-9A-Z]+")

# Thai, Lao, Khmer, Burmese, kana, and the ideographs: nothing between the words.
_UNSPACED = (
    ("\u0e00", "\u0eff"),
    ("\u1000", "\u109f"),
    ("\u1780", "\u17ff"),
    ("\u3040", "\u30ff"),
    ("\u3400", "\u4dbf"),
    ("\u4e00", "\u9fff"),
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0003ffff"),
)


class Found(Struct, frozen=True):
    """An entry of a list, and what it was found as."""

    entry: str
    text: str


def normal(text: str) -> str:
    """One form for what looks alike: entities read, compatible forms folded, case and invisible characters gone."""
    text = unicodedata.normalize("NFKC", html.unescape(text[:LONGEST_TEXT]))[:LONGEST_TEXT].casefold()
    if text.isascii():
        return text
    hidden = {char for char in set(text) if unicodedata.category(char) == "Cf"}
    return "".join(char for char in text if char not in hidden) if hidden else text


def words_of(text: str) -> list[str]:
    """The words of a text in its normal form; marks belong to their letters, everything else separates."""
    if text.isascii():
        return [word[:LONGEST_WORD] for word in _ASCII_WORD.findall(text)]
    kept = {char for char in set(text) if char.isalnum() or unicodedata.category(char)[0] == "M"}
    return [word[:LONGEST_WORD] for word in "".join(char if char in kept else " " for char in text).split()]


def is_unspaced(text: str) -> bool:
    """Whether some of it is in a script that has no spaces between words."""
    return not text.isascii() and any(first <= char <= last for char in set(text) for first, last in _UNSPACED)


class WordList:
    """Entries made ready to be looked for. Raises ValueError with the reason for an entry that cannot be meant."""

    def __init__(self, entries: Sequence[str]) -> None:
        if len(entries) > MOST_ENTRIES:
            raise ValueError(f"a list has at most {MOST_ENTRIES} entries")
        self._exact: dict[str, str] = {}
        self._stems: dict[str, str] = {}
        self._starts: dict[str, str] = {}
        self._ends: dict[str, str] = {}
        self._inside: dict[str, str] = {}
        self._phrases: dict[str, str] = {}
        self._wild: list[tuple[list[str], str]] = []
        for entry in entries:
            self._add(entry)
        if len(self._wild) > MOST_WILD:
            raise ValueError(f"a list has at most {MOST_WILD} entries with a star inside a word")
        self._start_lengths = sorted({len(start) for start in self._starts})
        self._end_lengths = sorted({len(end) for end in self._ends})

    def find(self, text: str) -> Found | None:
        """The first entry found in a text, or None."""
        plain = normal(text)
        # Marks that Markdown takes away may stand in the middle of a word.
        bare = plain.translate(_MARKUP)
        for form in (plain,) if bare == plain else (plain, bare):
            if found := self._find(words_of(form)):
                return found
        return None

    def _add(self, entry: str) -> None:
        parts = _parts_of(entry)
        if len(parts) > 1:
            if any("*" in part or "~" in part for part in parts):
                raise ValueError(f"{entry!r}: * and ~ can only be used in a single word")
            self._phrases[" ".join(parts)] = entry
            return
        (part,) = parts
        if "~" in part:
            self._stems[_stem_of(part, entry)] = entry
        elif "*" in part:
            self._add_wild(part, entry)
        elif is_unspaced(part):
            self._inside[part] = entry
        else:
            self._exact[part] = entry

    def _add_wild(self, part: str, entry: str) -> None:
        pieces = part.split("*")
        if len(pieces) - 1 > MOST_STARS:
            raise ValueError(f"{entry!r}: at most {MOST_STARS} stars")
        if sum(map(len, pieces)) < LEAST_LETTERS:
            raise ValueError(f"{entry!r}: beside the star there must be at least {LEAST_LETTERS} letters")
        match [piece for piece in pieces if piece], part[0] == "*", part[-1] == "*":
            case [piece], False, True:
                self._starts[piece] = entry
            case [piece], True, False:
                self._ends[piece] = entry
            case [piece], True, True:
                self._inside[piece] = entry
            case _:
                self._wild.append((pieces, entry))

    def _find(self, words: list[str]) -> Found | None:
        distinct = dict.fromkeys(words)
        for word in distinct:
            if entry := self._by_word(word):
                return Found(entry, word)
        joined = "\n".join(distinct)
        for piece, entry in self._inside.items():
            if piece in joined:
                return Found(entry, piece)
        sentence = f" {' '.join(words)} "
        for phrase, entry in self._phrases.items():
            if f" {phrase} " in sentence:
                return Found(entry, phrase)
        for pieces, entry in self._wild:
            for word in distinct:
                if _fits(word, pieces):
                    return Found(entry, word)
        return None

    def _by_word(self, word: str) -> str | None:
        if entry := self._exact.get(word):
            return entry
        if self._stems:
            for ending in range(min(LONGEST_ENDING, len(word) - 1) + 1):
                if entry := self._stems.get(word[: len(word) - ending]):
                    return entry
        for length in self._start_lengths:
            if entry := self._starts.get(word[:length]):
                return entry
        for length in self._end_lengths:
            if length <= len(word) and (entry := self._ends.get(word[-length:])):
                return entry
        return None


@functools.lru_cache(maxsize=256)
def word_list(entries: tuple[str, ...]) -> WordList:
    """A list made ready once, however often its site is read."""
    return WordList(entries)


def check_entries(entries: Iterable[str]) -> None:
    """Raises ValueError when a list cannot be meant."""
    word_list(tuple(entries))


_MARKUP = str.maketrans("", "", "*_~`\\")
_OF_REGEXES = frozenset("()[]{}|^$\\")


def _parts_of(entry: str) -> list[str]:
    if len(entry) > LONGEST_ENTRY:
        raise ValueError(f"an entry has at most {LONGEST_ENTRY} characters")
    if any(char in _OF_REGEXES for char in entry):
        raise ValueError(f"{entry!r}: this is no place for regular expressions; * stands for any letters")
    text = normal(entry)
    kept = {char for char in set(text) if char.isalnum() or char in "*~" or unicodedata.category(char)[0] == "M"}
    parts = "".join(char if char in kept else " " for char in text).split()
    if not parts or not any(char not in "*~" for part in parts for char in part):
        raise ValueError(f"{entry!r}: an entry needs letters or digits")
    if len(parts) > MOST_PARTS:
        raise ValueError(f"{entry!r}: at most {MOST_PARTS} words in a row")
    return parts


def _stem_of(part: str, entry: str) -> str:
    stem = part.removesuffix("~")
    if "~" in stem or "*" in stem:
        raise ValueError(f"{entry!r}: ~ stands at the end of a word, and without a star")
    if len(stem) < LEAST_STEM:
        raise ValueError(f"{entry!r}: a stem has at least {LEAST_STEM} letters")
    return stem


def _fits(word: str, pieces: list[str]) -> bool:
    """Whether a word is these pieces with anything between them. The first place that fits is always good enough."""
    first, *between, last = pieces
    if len(word) < len(first) + len(last) or not word.startswith(first) or not word.endswith(last):
        return False
    at, end = len(first), len(word) - len(last)
    for piece in between:
        at = word.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True
