"""The client behind `outbound`: it dials addresses that were checked, not names. Apart, because its library takes a while
to import."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import httpcore2
import httpx2

Resolver = Callable[[str, int], Awaitable[list[str]]]

TROUBLE = (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError)


def checked_client(addresses_of: Resolver, *, headers: Mapping[str, str], timeout_s: float) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=_CheckedTransport(_CheckedBackend(addresses_of)),
        headers=dict(headers),
        timeout=timeout_s,
        follow_redirects=False,
        trust_env=False,
    )


class _CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Dials addresses that were checked, not names."""

    def __init__(self, addresses_of: Resolver) -> None:
        self._addresses_of = addresses_of
        self._sockets = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class has it
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        *others, last = await self._addresses_of(host, port)
        for address in others:
            try:
                return await self._sockets.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._sockets.connect_tcp(last, port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await self._sockets.sleep(seconds)


class _CheckedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, backend: httpcore2.AsyncNetworkBackend) -> None:
        tls = httpx2.create_ssl_context(trust_env=False)
        super().__init__(verify=tls, trust_env=False)
        # The transport has no parameter for the backend; a test notices should this ever stop working.
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls,
            max_connections=50,
            max_keepalive_connections=10,
            keepalive_expiry=5.0,
            network_backend=backend,
        )
