"""The one way out: HTTP to other people's servers, never to our own network.

A name is resolved once, every address it has is checked, and a checked address is dialled, so that a name cannot point
elsewhere between the check and the call. Redirects are not followed, answers have a limit, and all of it a deadline.
"""

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from threadkit import __version__

if TYPE_CHECKING:
    import httpx2

TIMEOUT_S = 5.0
LOOK_UP_S = 2.0
MOST_BYTES = 1_000_000

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Awaitable[list[str]]]
T = TypeVar("T")

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# All of IPv6 that the internet has. What lies elsewhere was given up (::127.0.0.1, fec0::1), and Python takes it for global.
_UNICAST = ipaddress.ip_network("2000::/3")


class OutboundFailed(Exception):
    """No usable answer. The reason is short, and never holds anything of the request but the host."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class OutboundRefused(OutboundFailed):
    """We do not call there."""


class Answer(Struct, frozen=True):
    status: int
    body: bytes
    headers: Mapping[str, str] = {}

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def json(self, kind: type[T], *, strict: bool = True) -> T:
        try:
            return msgspec.json.decode(self.body, type=kind, strict=strict)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            # What was wrong would quote the answer, and that may hold a secret.
            raise OutboundFailed("the answer is not the JSON we expect") from None


class Outbound:
    """`trusted_hosts` are those the server's owner has named in the settings: they may be in a private network."""

    def __init__(
        self,
        *,
        allow_insecure_loopback: bool = False,
        trusted_hosts: Collection[str] = (),
        timeout_s: float = TIMEOUT_S,
        most_bytes: int = MOST_BYTES,
        resolve: Resolver | None = None,
    ) -> None:
        self._allow_loopback = allow_insecure_loopback
        self._trusted = frozenset(host.lower() for host in trusted_hosts)
        self._timeout_s = timeout_s
        self._most_bytes = most_bytes
        self._resolve = resolve or _resolve
        self._made: httpx2.AsyncClient | None = None

    async def get(self, url: str, *, bearer: str | None = None, timeout_s: float | None = None) -> Answer:
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        return await self._send("GET", url, headers=headers, timeout_s=timeout_s)

    async def post_form(
        self,
        url: str,
        form: Mapping[str, str],
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        return await self._send("POST", url, headers=headers or {}, form=form, timeout_s=timeout_s)

    async def post_json(
        self,
        url: str,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        """`body` is encoded already, because some receivers check a signature of its very bytes."""
        more = {**(headers or {}), "Content-Type": "application/json"}
        return await self._send("POST", url, headers=more, body=body, timeout_s=timeout_s)

    async def close(self) -> None:
        if self._made is not None:
            await self._made.aclose()

    async def _send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        form: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        from threadkit.http.dialling import TROUBLE  # takes a while to import, and many servers never call anybody

        self._check_url(url)
        try:
            # The client's own timeout is per step; a server that drips must not hold us for longer either.
            async with (
                asyncio.timeout(timeout_s or self._timeout_s),
                self._client.stream(method, url, headers=dict(headers), data=form, content=body) as response,
            ):
                return Answer(response.status_code, await self._body(response), response.headers)
        except TimeoutError:
            raise OutboundFailed("no answer in time") from None
        except TROUBLE as error:
            raise OutboundFailed(f"no answer: {type(error).__name__}") from None

    async def refuse_inside(self, url: str) -> None:
        """Raises OutboundRefused for an address that would never be called. A host that is not known yet is let pass."""
        self._check_url(url)
        parts = urlsplit(url)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_UP_S):
                try:
                    await self._checked_addresses(parts.hostname or "", parts.port or 443)
                except OutboundRefused:
                    raise
                except OutboundFailed:
                    return

    async def _body(self, response: "httpx2.Response") -> bytes:
        # A small compressed answer can be a large one; we asked for none, so none is taken.
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise OutboundFailed("the answer is compressed")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > self._most_bytes:
                raise OutboundFailed("the answer is too large")
        return bytes(body)

    @property
    def _client(self) -> "httpx2.AsyncClient":
        # Reading the certificates of the system takes a while, and many servers never call anybody.
        if self._made is None:
            from threadkit.http.dialling import checked_client

            headers = {
                "User-Agent": f"ThreadKit/{__version__}",
                "Accept": "application/json",
                "Accept-Encoding": "identity",
            }
            self._made = checked_client(self._checked_addresses, headers=headers, timeout_s=self._timeout_s)
        return self._made

    def _check_url(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            raise OutboundRefused("not a web address") from None
        if not host or parts.username is not None or parts.scheme not in ("http", "https"):
            raise OutboundRefused("not a web address")
        if parts.scheme == "http" and not (self._allow_loopback and is_loopback(url)):
            raise OutboundRefused("not https")

    async def _checked_addresses(self, host: str, port: int) -> list[str]:
        try:
            found = await self._resolve(host, port)
        except OSError:
            raise OutboundFailed("the host is not known") from None
        if not found:
            raise OutboundFailed("the host is not known")
        for text in found:
            if not self._may_dial(host, ipaddress.ip_address(text)):
                raise OutboundRefused("the host is in a network we do not call")
        return found

    def _may_dial(self, host: str, address: Address) -> bool:
        address = _embedded(address)
        if address.is_loopback:
            return self._allow_loopback
        if address.is_multicast or address.is_unspecified or address.is_link_local:
            return False
        is_public = address.is_global and (address.version == 4 or address in _UNICAST)
        return is_public or (host.lower() in self._trusted and address.is_private)


def is_loopback(url: str) -> bool:
    """Whether an address names this very machine."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or host.endswith(".localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, if it does."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        return address.ipv4_mapped or address.sixtofour or address
    return address


async def _resolve(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
