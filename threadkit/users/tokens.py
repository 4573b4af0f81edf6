"""Access and refresh tokens: HS256 JWTs with one fixed algorithm and a type each."""

import functools
from typing import Any, Literal

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from msgspec import Struct

from threadkit.clock import Clock
from threadkit.ids import SessionId, SiteId, UserId, is_uuid

LEEWAY_S = 60
MOST_REMEMBERED = 4096
STAFF_S = 7 * 86_400
TokenType = Literal["access", "refresh", "staff"]


class Claims(Struct, frozen=True):
    """What a token that we signed says."""

    user_id: UserId
    site_id: SiteId
    session_id: SessionId
    refresh_id: str = ""


class _Signed(Struct, frozen=True):
    """A token whose signature is ours, whether it is still good or not."""

    kind: str
    expires_s: int
    claims: Claims


class Tokens:
    def __init__(self, secret: bytes, *, clock: Clock, access_s: int, refresh_s: int) -> None:
        self._key = OctKey.import_key(secret)
        self._clock = clock
        self._life_s = {"access": access_s, "refresh": refresh_s, "staff": STAFF_S}
        # What is said in a token that we signed does not change; only whether it is still good does.
        self._signed = functools.lru_cache(maxsize=MOST_REMEMBERED)(self._read_signed)

    def issue(self, claims: Claims, kind: TokenType) -> str:
        now = self._clock.now_ms() // 1000
        body: dict[str, Any] = {
            "sub": claims.user_id,
            "site_id": claims.site_id,
            "session_id": claims.session_id,
            "typ": kind,
            "iat": now,
            "exp": now + self._life_s[kind],
        }
        if kind == "refresh":
            body["jti"] = claims.refresh_id
        return jwt.encode({"alg": "HS256"}, body, self._key, algorithms=["HS256"])

    def read(self, token: str, kind: TokenType) -> Claims | None:
        """What the token says, or None for anything that is not exactly ours, of this kind and still good."""
        signed = self._ours(token, kind)
        return None if signed is None or self._is_over(signed) else signed.claims

    def has_expired(self, token: str, kind: TokenType) -> bool:
        """Ours, of this kind, and no longer good."""
        signed = self._ours(token, kind)
        return signed is not None and self._is_over(signed)

    def _ours(self, token: str, kind: TokenType) -> _Signed | None:
        signed = self._signed(token) if len(token) <= 2048 else None
        return signed if signed is not None and signed.kind == kind else None

    def _is_over(self, signed: _Signed) -> bool:
        return self._clock.now_ms() // 1000 > signed.expires_s + LEEWAY_S

    def _read_signed(self, token: str) -> _Signed | None:
        try:
            body = jwt.decode(token, self._key, algorithms=["HS256"]).claims
        except (JoseError, ValueError, TypeError):
            return None
        exp = body.get("exp")
        ids = [str(body.get(name)) for name in ("sub", "site_id", "session_id")]
        if not isinstance(exp, int) or not all(map(is_uuid, ids)):
            return None
        claims = Claims(UserId(ids[0]), SiteId(ids[1]), SessionId(ids[2]), str(body.get("jti", "")))
        return _Signed(str(body.get("typ")), exp, claims)
