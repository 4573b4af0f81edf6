"""A connection to one server of the store that also hears which keys change."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import hiredis
from redis._parsers.base import BaseParser
from redis.asyncio.connection import Connection, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import ConnectionError as StoreConnectionError
from redis.exceptions import InvalidResponse, ResponseError

from threadkit.backup.model import BackupFailed
from threadkit.storage.client import Store

BATCH = 500
_READ = 1 << 18
_MORE = object()
_PATIENCE_S = 60.0


class Node:
    """Answers come in order, and the news of a change before any later answer: that is how the store's protocol 3
    works, and what a backup relies on."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._stream: asyncio.StreamReader = connection._reader  # noqa: SLF001
        self._writer: asyncio.StreamWriter = connection._writer  # noqa: SLF001
        self._reader = hiredis.Reader(
            protocolError=InvalidResponse, replyError=BaseParser.parse_error, notEnoughData=_MORE
        )
        self.changed: set[bytes] = set()

    async def ask(self, *commands: Sequence[Any]) -> list[Any]:
        """The answers; the first refusal is raised."""
        self._writer.write(b"".join(hiredis.pack_command(tuple(command)) for command in commands))
        await self._writer.drain()
        answers: list[Any] = []
        while len(answers) < len(commands):
            answer = self._reader.gets()
            if answer is _MORE:
                async with asyncio.timeout(_PATIENCE_S):
                    data = await self._stream.read(_READ)
                if not data:
                    raise StoreConnectionError("The store closed the connection.")
                self._reader.feed(data)
            elif isinstance(answer, hiredis.PushNotification):
                self._hear(list(answer))
            else:
                answers.append(answer)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    async def listen_for_changes(self, prefix: str) -> bool:
        """Whether the store tells; some hosted ones do not."""
        try:
            await self.ask(("CLIENT", "TRACKING", "ON", "BCAST", *(("PREFIX", prefix) if prefix else ())))
        except ResponseError:
            return False
        return True

    def take_changed(self) -> list[bytes]:
        """What changed until now; from here on it is heard again."""
        changed = list(self.changed)
        self.changed.clear()
        return changed

    async def close(self) -> None:
        await self._connection.disconnect(nowait=True)

    def _hear(self, news: list[Any]) -> None:
        if news[0] != b"invalidate":
            return
        if news[1] is None:
            raise BackupFailed("The store was emptied while the backup was made.")
        self.changed.update(news[1])


@contextlib.asynccontextmanager
async def open_nodes(store: Store) -> AsyncIterator[list[Node]]:
    """A connection to every server that has a share of the keys."""
    async with contextlib.AsyncExitStack() as stack:
        nodes = []
        for where in await _places(store):
            node = Node(await _connected(store, where))
            stack.push_async_callback(node.close)
            nodes.append(node)
        yield nodes


async def _places(store: Store) -> list[dict[str, Any]]:
    address = store.address
    if address.topology == "cluster":
        await store.redis.initialize()
        return [{"host": node.host, "port": node.port} for node in store.redis.get_primaries()]
    if address.topology == "sentinel":
        host, port = await store.redis.connection_pool.get_master_address()
        return [{"host": host, "port": port, "db": address.db}]
    if address.path:
        return [{"path": address.path, "db": address.db}]
    host, port = address.hosts[0]
    return [{"host": host, "port": port, "db": address.db}]


async def _connected(store: Store, where: dict[str, Any]) -> Any:
    """The library knows how to connect, encrypt and sign in; what comes after that is ours."""
    address = store.address
    kind: Any = UnixDomainSocketConnection if "path" in where else SSLConnection if address.tls else Connection
    connection = kind(
        **where,
        username=address.username,
        password=address.password,
        protocol=3,
        client_name="threadkit-backup",
        socket_connect_timeout=10,
    )
    await connection.connect()
    return connection


async def all_keys(nodes: Sequence[Node], prefix: str) -> AsyncIterator[list[bytes]]:
    """Every key that begins so, batch by batch."""
    match = ("MATCH", f"{prefix}*") if prefix else ()
    for node in nodes:
        cursor: bytes | None = None
        while cursor != b"0":
            ((cursor, found),) = await node.ask(("SCAN", cursor or b"0", *match, "COUNT", str(BATCH)))
            yield found


async def anybody_listens(nodes: Sequence[Node], channel: str) -> bool:
    """Every server does, on the channel for changes of sites, from its start to its end."""
    for node in nodes:
        (answer,) = await node.ask(("PUBSUB", "NUMSUB", channel))
        # A map in one protocol and a list in the other.
        if any(answer.values() if isinstance(answer, dict) else answer[1::2]):
            return True
    return False
