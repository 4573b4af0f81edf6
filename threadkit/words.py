"""What the server itself says to people, in their language: JSON files of sentences, one per language, beside a slice."""

import functools
import importlib.resources
import re
import unicodedata
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

RIGHT_TO_LEFT = ("ar", "fa", "he", "ur")
_TAG = re.compile(r"\s*([A-Za-z]{2,8})[^,;]*(?:;\s*q=([0-9.]{1,5}))?\s*")

Fact = str | int | float | Sequence[str]


class Marks(Struct, frozen=True):
    """How a language sets numbers and lists."""

    thousands: str = "."
    decimal: str = ","
    comma: str = ", "
    semicolon: str = "; "


_MARKS = {
    "en": Marks(",", "."),
    "fr": Marks("\u202f", ","),
    "ru": Marks("\u00a0", ","),
    "ja": Marks(",", ".", "、", "；"),
    "zh": Marks(",", ".", "、", "；"),
    "ar": Marks(",", ".", "، ", "؛ "),
}


class Words:
    def __init__(self, lang: str, strings: Mapping[str, str]) -> None:
        self.lang = lang
        self.dir = "rtl" if lang in RIGHT_TO_LEFT else "ltr"
        self._strings = strings
        self._marks = _MARKS.get(lang, Marks())

    def __contains__(self, key: str) -> bool:
        return key in self._strings

    def __call__(self, key: str, **facts: Fact) -> str:
        """A sentence; `{name}` in it is filled in with a number, a text, or a list of texts."""
        return re.sub(r"\{(\w+)\}", lambda found: self._said(facts.get(found[1], "")), self._strings[key])

    def clauses(self, parts: Sequence[str]) -> str:
        """Parts of one sentence that have commas of their own."""
        return self._marks.semicolon.join(parts)

    def _said(self, fact: Fact) -> str:
        if isinstance(fact, str):
            return self._isolated(fact)
        if isinstance(fact, int | float):
            return f"{fact:,}".translate({ord(","): self._marks.thousands, ord("."): self._marks.decimal})
        return self._marks.comma.join(self._isolated(text) for text in fact)

    def _isolated(self, text: str) -> str:
        """In a sentence from right to left, `*.example.org` would lose its head without U+2066 and U+2069 around it."""
        if self.dir == "ltr" or not text or any(unicodedata.bidirectional(one) in ("R", "AL") for one in text):
            return text
        return f"\u2066{text}\u2069"


class Locales:
    """The sentences of one slice, from the folder `locales` of its package."""

    def __init__(self, package: str) -> None:
        self._folder = importlib.resources.files(package).joinpath("locales")
        self._known: dict[str, Words] = {}

    def words_for(self, accept_language: str) -> Words:
        """In the best language that is wanted and that we have; English when there is none."""
        wanted: list[tuple[float, int, str]] = []
        for part in accept_language[:200].split(","):
            if found := _TAG.fullmatch(part):
                wanted.append((-_quality(found[2]), len(wanted), found[1].lower()))
        return self._words(
            next((lang for worst, _, lang in sorted(wanted) if worst < 0 and lang in self.languages), "en")
        )

    @functools.cached_property
    def languages(self) -> frozenset[str]:
        return frozenset(
            file.name.removesuffix(".json") for file in self._folder.iterdir() if file.name.endswith(".json")
        )

    def _words(self, lang: str) -> Words:
        if lang not in self._known:
            self._known[lang] = Words(lang, self._strings("en") | self._strings(lang))
        return self._known[lang]

    def _strings(self, lang: str) -> dict[str, str]:
        return msgspec.json.decode(self._folder.joinpath(f"{lang}.json").read_bytes(), type=dict[str, str])


def _quality(text: str | None) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 0.0
