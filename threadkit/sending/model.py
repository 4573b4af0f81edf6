"""What is sent to people, and the two ways in which sending goes wrong. No I/O here."""

import re
import unicodedata
from collections.abc import Awaitable, Callable

from msgspec import Struct

OnFailed = Callable[[], Awaitable[None]]


class Mail(Struct, frozen=True):
    """A mail to one person, as plain text and as HTML."""

    to: str
    subject: str
    text: str
    html: str


class Sms(Struct, frozen=True):
    """A text message to one number, written like +15550001234."""

    to: str
    text: str


class Unsendable(Exception):
    """This message can never leave as it is; another try would not help.

    The text of this error and the next goes to the log, so it names no recipient and quotes no message. `code` is what
    the mail server answered, if it was that.
    """

    code: int | None = None


class Undelivered(Exception):
    """This message did not leave this time; another try may help."""

    code: int | None = None


def fits_a_header(character: str) -> bool:
    """No control character, no lone surrogate, no separator that some program takes for the end of a line."""
    return unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"}


def checked_header(name: str, value: str) -> str:
    """The value, if it can only ever be one header: no line ends, no control characters, no encoded words.

    Encoded words (=?utf-8?q?...?=) are refused because a reader decodes them, line ends included, after we looked.
    """
    if not all(map(fits_a_header, value)):
        raise Unsendable(f"{name}: line ends and control characters are not allowed")
    if "=?" in value:
        raise Unsendable(f"{name}: encoded words are not allowed")
    return value


_ADDRESS = re.compile(r"([^@\s])[^@\s]*@([^@\s]+)")
_NUMBER = re.compile(r"\+\d+(\d\d)")


def masked(recipient: str) -> str:
    """A recipient as the log may show it: a…@example.org or …34."""
    if address := _ADDRESS.fullmatch(recipient):
        return f"{address[1]}…@{address[2]}"
    if number := _NUMBER.fullmatch(recipient):
        return f"…{number[1]}"
    return "…"
