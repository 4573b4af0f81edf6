"""Characters that have no place in a comment: controls, direction overrides, towers of combining marks."""

import re
import unicodedata

MAX_MARKS = 4

_NEWLINES = re.compile("\r\n?|[\x85\u2028\u2029]")
# Isolates, direction marks and joiners stay: Arabic, Indic scripts and emoji need them. Overrides and embeddings can
# make Latin text read backwards, and noncharacters and lone surrogates cannot be shown or stored at all.
_UNWANTED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ufff9-\ufffb\ufeff\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
    + "]"
)
_JOINERS = frozenset("\u200c\u200d")
# Letters by category, blank by design.
BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
# A character unknown to this Python (a newer emoji) counts as visible.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Me", "Mn", "Zl", "Zp", "Zs"})
_MARKS = frozenset({"Me", "Mn"})


def clean_source(text: str) -> str:
    """The text as it is stored; empty if nothing in it can be seen. Cleaning twice changes nothing more."""
    text = drop_unwanted(_NEWLINES.sub("\n", text))
    text = "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
    return text if is_visible(text) else ""


def drop_unwanted(text: str) -> str:
    """Without characters nobody should send, and with at most four combining marks in a row."""
    text = _UNWANTED.sub("", text)
    if text.isascii():
        return text
    marks = {char for char in set(text) if unicodedata.category(char) in _MARKS}
    return _limit_marks(text, marks) if marks else text


def is_visible(text: str) -> bool:
    return any(
        char not in BLANK_LETTERS and unicodedata.category(char) not in _INVISIBLE for char in dict.fromkeys(text)
    )


def _limit_marks(text: str, marks: set[str]) -> str:
    kept: list[str] = []
    run = 0
    for char in text:
        if char in marks:
            run += 1
            if run > MAX_MARKS:
                continue
        elif char not in _JOINERS:
            # A joiner is invisible, so it does not begin a new tower.
            run = 0
        kept.append(char)
    return "".join(kept)
