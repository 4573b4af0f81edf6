"""What tests of words need to know: the languages, their plural forms, and how to read a file of words."""

import json
import re
from pathlib import Path

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
_PLURAL = re.compile(r"\.(?:zero|one|two|few|many|other)$")

Strings = list[tuple[str, str]]


def strings(file: Path) -> Strings:
    """In the order of the file, and with a key that is there twice still there twice."""
    pairs: Strings = json.loads(file.read_text(encoding="utf-8"), object_pairs_hook=list)
    return pairs


def base(key: str) -> str:
    """The key without its plural form; settings have dots in their names too."""
    return _PLURAL.sub("", key)


def keys_in_order(english: Strings, lang: str) -> list[str]:
    """The English keys, with the plural forms of another language in place of the English ones."""
    keys: list[str] = []
    for key, _ in english:
        if base(key) == key:
            keys.append(key)
        elif key.endswith(".other"):
            keys += [f"{base(key)}.{category}" for category in CATEGORIES[lang]]
    return keys


def placeholders(text: str) -> list[str]:
    return sorted(re.findall(r"\{(.*?)\}", text))


def not_plain(words: Strings) -> Strings:
    return [(key, text) for key, text in words if not text or text != text.strip() or re.search(r"[<>]|&\S+;", text)]
