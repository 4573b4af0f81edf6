"""Reading an ID token: nothing in it counts before its signature and its claims are checked."""

import hmac
import math
import warnings
from typing import Any

from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError, SecurityWarning
from joserfc.jwk import ECKey, JWKRegistry, KeySet, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from threadkit.users.oauth.model import ProviderTrouble

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA", "Ed25519")
LEEWAY_S = 60
LONGEST = 65_536

_REGISTRY = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)


class UnknownSigner(ProviderTrouble):
    """The key that signed the token is not among those we know; the provider may have new ones."""


def read_keys(keys: list[dict[str, Any]]) -> KeySet:
    """The public keys of a provider that can sign; others are passed over."""
    found: list[RSAKey | ECKey | OKPKey] = []
    for data in keys:
        if data.get("use", "sig") != "sig":
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SecurityWarning)
                key = JWKRegistry.import_key(data)
        except (JoseError, ValueError, TypeError):
            continue
        # A shared secret in a public place would let everybody sign.
        if isinstance(key, RSAKey | ECKey | OKPKey):
            found.append(key)
    return KeySet(list(found))


def read_claims(token: str, keys: KeySet) -> dict[str, Any]:
    """The claims of a token signed by one of these keys."""
    if len(token) > LONGEST:
        raise ProviderTrouble("the ID token is too long")
    if not keys:
        raise UnknownSigner("the ID token was signed with an unknown key")
    try:
        with warnings.catch_warnings():
            # The general name EdDSA is on its way out; providers still use it.
            warnings.simplefilter("ignore", SecurityWarning)
            return jwt.decode(token, keys, registry=_REGISTRY).claims
    except InvalidKeyIdError:
        raise UnknownSigner("the ID token was signed with an unknown key") from None
    except (JoseError, ValueError, TypeError, KeyError):
        raise ProviderTrouble("the ID token has no good signature") from None


def check_claims(claims: dict[str, Any], *, issuer: str, client_id: str, nonce: str, now_s: int) -> str:
    """Whether the token is from there, for us, for this sign-in and of now; returns whom it is about."""
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    given_nonce = claims.get("nonce")
    checks = (
        ("iss", claims.get("iss") == issuer),
        ("aud", client_id in audiences),
        ("azp", claims.get("azp", client_id if len(audiences) == 1 else None) == client_id),
        ("exp", _is_time(claims.get("exp")) and claims["exp"] > now_s - LEEWAY_S),
        ("iat", _is_time(claims.get("iat")) and claims["iat"] <= now_s + LEEWAY_S),
        ("nonce", isinstance(given_nonce, str) and hmac.compare_digest(given_nonce.encode(), nonce.encode())),
    )
    for name, is_good in checks:
        if not is_good:
            raise ProviderTrouble(f"the ID token has a wrong {name}")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 1 <= len(subject) <= 255:
        raise ProviderTrouble("the ID token has a wrong sub")
    return subject


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
