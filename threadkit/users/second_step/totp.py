"""One-time codes by the clock, RFC 6238. No I/O here."""

import base64
import hmac
import io
import secrets
from urllib.parse import quote, urlencode

STEP_MS = 30_000
DIGITS = 6
_SECRET_BYTES = 20


def new_secret() -> str:
    """As programs on phones take it: base32 without padding."""
    return base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode().rstrip("=")


def code_at(secret: bytes, step: int, *, digits: int = DIGITS) -> str:
    """RFC 4226, 5.3."""
    mac = hmac.digest(secret, step.to_bytes(8), "sha1")
    offset = mac[-1] & 0x0F
    number = int.from_bytes(mac[offset : offset + 4]) & 0x7FFF_FFFF
    return f"{number % 10**digits:0{digits}d}"


def matching_step(secret: str, code: str, *, now_ms: int) -> int | None:
    """The step this code belongs to: the present one, or one beside it for clocks that are a little off."""
    raw, now = base64.b32decode(secret), now_ms // STEP_MS
    found = None
    for step in (now - 1, now, now + 1):
        if hmac.compare_digest(code_at(raw, step).encode(), code.encode()):
            found = step
    return found


def otpauth_url(secret: str, *, issuer: str, account: str) -> str:
    label = quote(f"{issuer.replace(':', ' ')}:{account}", safe="")
    return f"otpauth://totp/{label}?{urlencode({'secret': secret, 'issuer': issuer}, quote_via=quote)}"


def qr_svg(text: str) -> str:
    import segno  # seldom needed

    drawn = io.BytesIO()
    # Dark on white whatever the page's colours are: cameras want it so.
    segno.make_qr(text).save(drawn, kind="svg", dark="#000", light="#fff", omitsize=True, xmldecl=False, nl=False)
    return drawn.getvalue().decode()
