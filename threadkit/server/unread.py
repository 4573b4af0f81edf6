"""A request that came in one piece and is as plain as most are: where it ends can be seen without reading it.

Under overload most of what a worker does is to say no, and most of what that costs is to read what nobody will answer.
Whoever is wrong about where a request ends takes its body for the next one, so whatever is in the least unusual is left
to the parser.
"""

from typing import NamedTuple

_WRITES = (b"POST ", b"PUT ", b"PATCH ", b"DELETE ")
"""What lies ready for readers is never refused, so their requests are read."""
_UNUSUAL = (b"transfer-encoding", b"\r\nupgrade", b"\r\nexpect", b"\r\n ", b"\r\n\t", b"\0")
_STAYS = b"\r\nconnection: keep-alive\r\n"
_LENGTH = b"\r\ncontent-length: "
_MOST_DIGITS = 7


class Unread(NamedTuple):
    url: bytes
    origin: bytes | None
    request_id: bytes | None


def unread(data: bytes) -> Unread | None:
    """What a refusal needs to know of a request that is a whole one; None when it must be read."""
    end = data.find(b"\r\n\r\n")
    if end < 0 or not data.startswith(_WRITES):
        return None
    head = data[: end + 2].lower()
    if head.count(b"\n") != head.count(b"\r\n") or head.count(b"\r") != head.count(b"\r\n"):
        return None
    if head.count(b"\r\nconnection") != head.count(_STAYS):
        return None
    if any(word in head for word in _UNUSUAL) or len(data) != end + 4 + _body_bytes(head):
        return None
    line = data[: data.find(b"\r\n")].split(b" ")
    if len(line) != 3 or line[2] != b"HTTP/1.1" or not line[1].startswith(b"/"):
        return None
    return Unread(line[1], _value(data, head, b"\r\norigin: "), _value(data, head, b"\r\nx-request-id: "))


def _body_bytes(head: bytes) -> int:
    """-1 when it is not plainly said."""
    count = head.count(b"content-length")
    if count == 0:
        return 0
    at = head.find(_LENGTH)
    if count > 1 or at < 0:
        return -1
    digits = head[at + len(_LENGTH) : head.find(b"\r\n", at + 2)]
    return int(digits) if digits.isdigit() and len(digits) <= _MOST_DIGITS else -1


def _value(data: bytes, head: bytes, name: bytes) -> bytes | None:
    at = head.find(name)
    return data[at + len(name) : data.find(b"\r\n", at + 2)] if at >= 0 else None
