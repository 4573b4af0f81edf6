"""Telling visitors apart without keeping who they are."""

import hashlib

from threadkit.counters.model import Visitor
from threadkit.http.client_address import ClientAddresses
from threadkit.ids import SiteId
from threadkit.keyring import Keyring

MOST_REMEMBERED = 10_000


class VisitorHashes:
    """A visitor as a member of a month's count: a hash under a key of that month.

    The same person is another member on another site and in another month, so nobody can be followed through the store.
    """

    def __init__(self, addresses: ClientAddresses, keyring: Keyring) -> None:
        self._addresses = addresses
        self._keyring = keyring
        self._month = ""
        self._key = b""
        self._clients: dict[tuple[str | None, bytes, bytes], bytes] = {}

    def member(self, site_id: SiteId, month: str, visitor: Visitor) -> str:
        if month != self._month:
            self._month, self._key = month, self._keyring.derive(f"visitors:{month}")
        peer, forwarded, real, agent = visitor
        said = b"\0".join((site_id.encode(), self._client(peer, forwarded, real), agent))
        return hashlib.blake2b(said, key=self._key, digest_size=8).hexdigest()

    def _client(self, peer: str | None, forwarded: bytes, real: bytes) -> bytes:
        """Who is at the other end, by trusted proxies only: what others claim in headers makes no new visitor."""
        known = self._clients.get((peer, forwarded, real))
        if known is None:
            headers = [(b"x-forwarded-for", forwarded)] if forwarded else []
            headers += [(b"x-real-ip", real)] if real else []
            scope = {"client": (peer, 0) if peer else None, "headers": headers}
            known = self._addresses.hashed(self._addresses.of(scope)).encode()
            if len(self._clients) >= MOST_REMEMBERED:
                self._clients.clear()
            self._clients[peer, forwarded, real] = known
        return known
