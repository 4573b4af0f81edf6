"""Who is the client: trusted hops only, IPv6 by household."""

from typing import Any

import pytest

from threadkit.http.client_address import ClientAddresses

ADDRESSES = ClientAddresses(["127.0.0.1", "10.0.0.0/8", "::1"], b"key")


def seen(peer: str | None, **headers: str) -> str:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {"client": (peer, 1) if peer else None, "headers": raw}
    return str(ADDRESSES.of(scope))


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),
        ("127.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "6.6.6.6, 198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "6.6.6.6, 198.51.100.1, 10.1.2.3", "198.51.100.1"),
        ("127.0.0.1", "10.0.0.1, 10.0.0.2", "10.0.0.1"),
        ("127.0.0.1", "2001:db8::7", "2001:db8::7"),
        ("127.0.0.1", "[2001:db8::7]:443", "2001:db8::7"),
        ("127.0.0.1", "198.51.100.1:5555", "198.51.100.1"),
        ("127.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "unknown", "127.0.0.1"),
        ("127.0.0.1", "198.51.100.1, garbage", "127.0.0.1"),
        ("127.0.0.1", "", "127.0.0.1"),
    ],
)
def test_the_right_most_hop_that_is_not_ours_counts(peer: str, forwarded: str, expected: str) -> None:
    assert seen(peer, x_forwarded_for=forwarded) == expected


def test_x_real_ip_of_a_trusted_proxy_counts_when_there_is_nothing_better() -> None:
    assert seen("127.0.0.1", x_real_ip="198.51.100.4") == "198.51.100.4"
    assert seen("203.0.113.9", x_real_ip="198.51.100.4") == "203.0.113.9"


def test_no_peer_is_this_machine_and_never_unknown() -> None:
    assert seen(None) == "127.0.0.1"


def test_one_household_is_one_client_and_two_keys_hash_differently() -> None:
    def hashed(text: str, key: bytes = b"key") -> str:
        addresses = ClientAddresses([], key)
        return addresses.hashed(addresses.of({"client": (text, 1), "headers": []}))

    assert hashed("2001:db8::1") == hashed("2001:db8::ffff")
    assert hashed("2001:db8::1") != hashed("2001:db8:0:1::1")
    assert hashed("192.0.2.1") != hashed("192.0.2.2")
    assert hashed("192.0.2.1") != hashed("192.0.2.1", b"other")
