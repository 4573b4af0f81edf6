"""Recovery codes: ten on paper, each good once. No I/O here."""

import hmac
import secrets
from collections.abc import Sequence

from threadkit.ids import UserId

HOW_MANY = 10
# Without letters and digits that look alike on paper.
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_HALF = 5


def new_codes() -> list[str]:
    """Ten characters each, almost 50 bits."""
    return [f"{_part()}-{_part()}" for _ in range(HOW_MANY)]


def digest_of(code: str, *, user_id: UserId, key: bytes) -> str:
    """What is stored. However somebody types it: case, spaces and the dash do not matter."""
    typed = "".join(character for character in code.lower() if character.isalnum())
    return hmac.digest(key, f"{user_id}:{typed}".encode(), "sha256").hex()


def digests_of(codes: Sequence[str], *, user_id: UserId, key: bytes) -> list[str]:
    return [digest_of(code, user_id=user_id, key=key) for code in codes]


def _part() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_HALF))
