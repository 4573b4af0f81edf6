"""Every identifier is made or digested here, so that tests can replace the making and no raw input enters a key."""

import hashlib
import os
import re
import secrets
import string
import threading
import uuid
from typing import NewType

from threadkit.clock import SystemClock

SiteId = NewType("SiteId", str)
PageId = NewType("PageId", str)
CommentId = NewType("CommentId", str)
UserId = NewType("UserId", str)
SessionId = NewType("SessionId", str)

PUBLIC_KEY_PREFIX = "tk_pub_"
SECRET_KEY_PREFIX = "tk_sec_"  # noqa: S105 - a prefix, not a secret
API_KEY_PATTERN = re.compile(r"tk_(pub|sec)_[0-9A-Za-z_-]{8,64}\Z")

_ALPHABET = string.digits + string.ascii_lowercase
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class _Ticks:
    """Milliseconds that never repeat or fall within one process, so that ids made here sort by their making."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = (0, 0)

    def next(self) -> tuple[int, int]:
        with self._lock:
            now = _clock.now_ms()
            ms, count = self._last
            self._last = (now, 0) if now > ms else (ms, count + 1) if count < 0xFFF else (ms + 1, 0)
            return self._last


_clock = SystemClock()
_ticks = _Ticks()


def new_uuid() -> str:
    """A uuid v7: time-ordered, 62 random bits."""
    ms, count = _ticks.next()
    random = int.from_bytes(os.urandom(8)) & ((1 << 62) - 1)
    return str(uuid.UUID(int=(ms << 80) | (0x7 << 76) | (count << 64) | (0b10 << 62) | random))


def uuid_ms(value: str) -> int:
    """When a uuid v7 was made, in milliseconds."""
    return uuid.UUID(value).int >> 80


def is_uuid(value: str) -> bool:
    return _UUID.fullmatch(value) is not None


def random_text(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def new_public_key() -> str:
    return PUBLIC_KEY_PREFIX + random_text(32)


def new_secret_key() -> str:
    return SECRET_KEY_PREFIX + random_text(40)


def digest(text: str) -> str:
    """What is stored in place of a secret that has enough randomness of its own."""
    return hashlib.sha256(text.encode()).hexdigest()


def key_name(api_key: str) -> str:
    """The form in which an API key may stand in the store: public as it is, secret only as a digest."""
    return api_key if api_key.startswith(PUBLIC_KEY_PREFIX) else SECRET_KEY_PREFIX + digest(api_key)[:40]
