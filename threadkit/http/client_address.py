"""Who is at the other end: the real address by trusted proxies only, and in logs and keys only as a keyed hash."""

import hmac
import ipaddress
from collections.abc import Mapping
from typing import Any

MOST_REMEMBERED = 10_000
LONGEST = 200  # of a header that is remembered; the hop that counts stands at its end

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class ClientAddresses:
    def __init__(self, trusted_proxies: list[str], hash_key: bytes) -> None:
        self._trusted = [ipaddress.ip_network(proxy, strict=False) for proxy in trusted_proxies]
        self._hash_key = hash_key
        self._clients: dict[tuple[str | None, bytes], str] = {}

    def of(self, scope: Mapping[str, Any]) -> Address:
        """The right-most address that is not a proxy of ours. Forwarded headers of others are only a claim."""
        peer = self.peer(scope)
        if not self.is_trusted(peer):
            return peer
        forwarded = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
        hops = b",".join(forwarded).decode("latin-1").split(",") if forwarded else []
        for hop in reversed(hops):
            address = _parsed(hop)
            if address is None:
                return peer
            if not self.is_trusted(address):
                return address
            peer = address
        if not hops:
            real = next((value for name, value in scope["headers"] if name == b"x-real-ip"), None)
            return (_parsed(real.decode("latin-1")) if real else None) or peer
        return peer

    def is_trusted(self, address: Address) -> bool:
        return any(address in network for network in self._trusted if network.version == address.version)

    def is_local(self, scope: Mapping[str, Any]) -> bool:
        """Whether the request comes from this machine itself, not through a proxy."""
        forwarded = any(name in (b"x-forwarded-for", b"forwarded", b"x-real-ip") for name, _ in scope["headers"])
        return self.peer(scope).is_loopback and not forwarded

    def client_of(self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> str:
        """The hashed address of whoever asks; hashing the same one again and again would cost more than answering."""
        peer = scope.get("client")
        asked = (peer[0] if peer else None, forwarded(scope, headers))
        client = self._clients.get(asked)
        if client is None:
            if len(self._clients) >= MOST_REMEMBERED:
                self._clients.clear()
            client = self._clients[asked] = self.hashed(self.of(scope))
        return client

    def hashed(self, address: Address) -> str:
        """The address as it may be stored and logged. IPv6 counts by /64, which is one household."""
        household = ipaddress.ip_network((address, 64), strict=False) if address.version == 6 else address
        return hmac.digest(self._hash_key, str(household).encode(), "sha256").hex()[:16]

    def peer(self, scope: Mapping[str, Any]) -> Address:
        client = scope.get("client")
        # No peer means a unix socket: somebody on this machine.
        return (_parsed(client[0]) if client else None) or ipaddress.IPv4Address("127.0.0.1")


def forwarded(scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> bytes:
    """What proxies say about the client, as far as it can tell two clients apart. `headers` has only one of several
    lines of a name."""
    if b"x-forwarded-for" not in headers:
        return headers.get(b"x-real-ip", b"")[-LONGEST:]
    return b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")[-LONGEST:]


def _parsed(text: str) -> Address | None:
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address
