"""One-time codes by the clock: the vectors of RFC 6238, and which codes count when."""

import base64
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from threadkit.users.second_step import totp

RFC_SECRET = b"12345678901234567890"
NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "94287082"),
        (1_111_111_109, "07081804"),
        (1_111_111_111, "14050471"),
        (1_234_567_890, "89005924"),
        (2_000_000_000, "69279037"),
        (20_000_000_000, "65353130"),
    ],
)
def test_the_vectors_of_the_rfc(seconds: int, code: str) -> None:
    assert totp.code_at(RFC_SECRET, seconds * 1000 // totp.STEP_MS, digits=8) == code
    assert totp.code_at(RFC_SECRET, seconds * 1000 // totp.STEP_MS) == code[2:]


@pytest.mark.parametrize(("steps_off", "counts"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_clock_may_be_one_step_off(steps_off: int, counts: bool) -> None:
    secret = totp.new_secret()
    now = NOW_MS // totp.STEP_MS
    code = totp.code_at(base64.b32decode(secret), now + steps_off)
    assert totp.matching_step(secret, code, now_ms=NOW_MS) == (now + steps_off if counts else None)


@pytest.mark.parametrize("typed", ["", "12345", "1234567", "abcdef", "١٢٣٤٥٦", "é" * 6])
def test_what_is_no_code_is_no_match(typed: str) -> None:
    assert totp.matching_step(totp.new_secret(), typed, now_ms=NOW_MS) is None


def test_a_secret_has_160_bits_and_needs_no_padding() -> None:
    assert len(base64.b32decode(totp.new_secret())) == 20
    assert totp.new_secret() != totp.new_secret()


def test_the_address_for_the_phone_names_server_and_account() -> None:
    url = totp.otpauth_url("ABC", issuer="Tom & Jo: blog", account="mona+x@example.org")
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc) == ("otpauth", "totp")
    assert unquote(parts.path) == "/Tom & Jo  blog:mona+x@example.org"
    assert parse_qs(parts.query) == {"secret": ["ABC"], "issuer": ["Tom & Jo: blog"]}


def test_the_picture_is_an_svg_without_scripts() -> None:
    svg = totp.qr_svg("otpauth://totp/x?secret=ABC")
    assert svg.startswith("<svg")
    assert "<script" not in svg
