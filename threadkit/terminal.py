"""Text that others wrote, shown on a terminal: nothing in it may move the cursor, colour lines or turn words around."""

import struct
import unicodedata

_COMMANDS = ("Cc", "Cf", "Cs", "Zl", "Zp")
_JOINERS = "\u200c\u200d"  # some scripts need them, and many emoji


def printable(text: str) -> str:
    """One line, in which whatever a terminal could take for a command is spelled out."""
    if text.isprintable():
        return text
    return "".join(_spelled_out(character) if _is_command(character) else character for character in text)


def printable_lines(text: str) -> str:
    """The same for text with lines of our own."""
    return text if text.isprintable() else "\n".join(printable(line) for line in text.split("\n"))


def printable_json(text: str) -> str:
    """The same for JSON, which goes on saying the same: such characters stand in its strings only."""
    return text if text.isprintable() else "".join(map(_in_json, text))


def _is_command(character: str) -> bool:
    return unicodedata.category(character) in _COMMANDS and character not in _JOINERS


def _in_json(character: str) -> str:
    if character == "\n" or not _is_command(character):
        return character
    return "".join(f"\\u{unit:04x}" for unit in _units(character))


def _units(character: str) -> tuple[int, ...]:
    """As JSON counts: what is beyond the first 65,536 has two."""
    return struct.unpack(">" + "H" * (len(raw := character.encode("utf-16-be")) // 2), raw)


def _spelled_out(character: str) -> str:
    return character.encode("unicode_escape").decode()
