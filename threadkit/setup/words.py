"""What the set-up page says, in the language the browser asks for."""

import functools
import importlib.resources
import re
from collections.abc import Mapping

import msgspec

RIGHT_TO_LEFT = ("ar", "fa", "he", "ur")
_TAG = re.compile(r"\s*([A-Za-z]{2,8})[^,;]*(?:;\s*q=([0-9.]{1,5}))?\s*")


class SetupWords:
    def __init__(self, lang: str, strings: Mapping[str, str]) -> None:
        self.lang = lang
        self.dir = "rtl" if lang in RIGHT_TO_LEFT else "ltr"
        self._strings = strings

    def __call__(self, key: str, **facts: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: facts.get(found[1], ""), self._strings[key])


def words_for(accept_language: str) -> SetupWords:
    """The best of those we have; English when none is wanted that we have."""
    wanted: list[tuple[float, int, str]] = []
    for part in accept_language[:200].split(","):
        if found := _TAG.fullmatch(part):
            wanted.append((-_quality(found[2]), len(wanted), found[1].lower()))
    lang = next((lang for quality, _, lang in sorted(wanted) if quality < 0 and lang in languages()), "en")
    return SetupWords(lang, _strings("en") | _strings(lang))


@functools.cache
def languages() -> frozenset[str]:
    return frozenset(file.name.removesuffix(".json") for file in _folder().iterdir() if file.name.endswith(".json"))


def _quality(text: str | None) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 0.0


@functools.cache
def _strings(lang: str) -> dict[str, str]:
    return msgspec.json.decode(_folder().joinpath(f"{lang}.json").read_bytes(), type=dict[str, str])


def _folder() -> importlib.resources.abc.Traversable:
    return importlib.resources.files("threadkit.setup").joinpath("locales")
