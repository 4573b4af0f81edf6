"""Connections to the store, for each of the three ways it can be set up."""

import asyncio
import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import SSLConnection, UnixDomainSocketConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from threadkit.errors import CannotStart
from threadkit.settings import StoreTuning
from threadkit.storage.cluster import SteadyCluster
from threadkit.storage.line import LinedRedis
from threadkit.storage.sentinel import SentinelPool, Sentinels, WatchedRedis
from threadkit.storage.turns import InTurn

Commands: TypeAlias = (
    Any  # Redis | RedisCluster: their stubs disagree on what awaits, so calls are typed where they are made
)

Topology = Literal["standalone", "sentinel", "cluster"]


@dataclass(frozen=True)
class StoreAddress:
    """Where the store is, taken apart from its URL."""

    topology: Topology
    hosts: tuple[tuple[str, int], ...] = ()
    path: str | None = None
    username: str | None = None
    password: str | None = None
    sentinel_username: str | None = None
    sentinel_password: str | None = None
    master: str = "mymaster"
    db: int = 0
    tls: bool = False

    def __str__(self) -> str:
        """For people and logs: without the password."""
        if self.path:
            return self.path
        return ", ".join(f"{host}:{port}" for host, port in self.hosts)


_EXAMPLES = "redis://host:6379/0, rediss://…, unix:///path, redis+sentinel://host:26379,host:26379/name/0 or redis+cluster://host:6379,host:6379"


def parse_url(url: str) -> StoreAddress:
    """Understand a store URL, or say what one looks like."""
    refusal = CannotStart(f"redis_url cannot be understood; it looks like {_EXAMPLES}")
    scheme, separator, rest = url.partition("://")
    base, _, variant = scheme.partition("+")
    if not separator or base not in ("redis", "rediss", "valkey", "valkeys", "unix"):
        raise refusal
    tls = base in ("rediss", "valkeys")
    try:
        if base == "unix":
            parts = urlsplit(url)
            query = parse_qs(parts.query)
            credentials = _credentials(parts.netloc)
            return StoreAddress(
                "standalone", path=unquote(parts.path), db=int(query.get("db", ["0"])[0]), **credentials
            )
        authority, _, path = rest.partition("?")[0].partition("/")
        query = parse_qs(rest.partition("?")[2])
        hosts = tuple(_host(part, 26379 if variant == "sentinel" else 6379) for part in _hosts(authority).split(","))
        credentials = _credentials(authority)
        segments = [segment for segment in path.split("/") if segment]
        if variant == "":
            return StoreAddress("standalone", hosts, db=int(segments[0]) if segments else 0, tls=tls, **credentials)
        if variant == "sentinel":
            return StoreAddress(
                "sentinel",
                hosts,
                master=segments[0] if segments else "mymaster",
                db=int(segments[1]) if len(segments) > 1 else 0,
                sentinel_username=query.get("sentinel_username", [None])[0],
                sentinel_password=query.get("sentinel_password", [None])[0],
                tls=tls,
                **credentials,
            )
        if variant == "cluster":
            return StoreAddress("cluster", hosts, tls=tls, **credentials)
    except ValueError:
        raise refusal from None
    raise refusal


def _hosts(authority: str) -> str:
    return authority.rpartition("@")[2]


def _credentials(authority: str) -> dict[str, Any]:
    user, _, password = authority.rpartition("@")[0].partition(":")
    return {"username": unquote(user) or None, "password": unquote(password) or None}


def _host(text: str, default_port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError(text)
    return parts.hostname, parts.port or default_port


class Store:
    """The clients of one process: short commands together, and connections of their own for those who wait.

    With `refuses_silence`, nobody waits for a store that has not answered for a moment, as people should not. Chores and
    commands wait, and give up later.
    """

    def __init__(self, address: StoreAddress, tuning: StoreTuning, *, refuses_silence: bool = False) -> None:
        self.address = address
        self._tuning = tuning
        self._silent_after_s = tuning.silent_after_s if refuses_silence else math.inf
        self.redis: Commands = self._connect(socket_timeout=tuning.command_timeout_s, connections=tuning.connections)

    @property
    def held_up(self) -> int:
        """How many commands wait for a store, or a part of it, that has given no answer for a moment."""
        return int(getattr(self.redis, "held_up", 0))

    @property
    def is_quiet(self) -> bool:
        """Whether the store, or a part of it, has given no answer for so long that it may be away."""
        return bool(getattr(self.redis, "is_quiet", False))

    def waiting_client(self) -> Commands:
        """A client whose reads may block for as long as they like: Pub/Sub, streams."""
        return self._connect(socket_timeout=None, connections=8)

    async def close(self) -> None:
        await close_client(self.redis)

    async def ping(self) -> bool:
        """Whether the store answers; of a cluster, every node that has a share of the keys."""
        nodes = {"target_nodes": RedisCluster.PRIMARIES} if self.address.topology == "cluster" else {}
        try:
            return bool(await asyncio.wait_for(self.redis.ping(**nodes), self._tuning.command_timeout_s))
        except (RedisError, TimeoutError, OSError):
            return False

    def has_left(self, connection: Any) -> bool:
        """Whether a connection leads to a primary that sentinels have replaced since."""
        pool = None if self.address.topology == "cluster" else self.redis.connection_pool
        return isinstance(pool, SentinelPool) and pool.has_left(connection)

    def _connect(self, *, socket_timeout: float | None, connections: int) -> Commands:
        address, tuning = self.address, self._tuning
        common: dict[str, Any] = {
            "username": address.username,
            "password": address.password,
            "socket_timeout": socket_timeout,
            "socket_connect_timeout": tuning.connect_timeout_s,
            "decode_responses": True,
            "health_check_interval": 15,
            "client_name": "threadkit",
            # A command whose answer was lost may have run. Repeating it is decided by those who know
            # whether it may run twice (LuaScript.repeatable), never by the client library.
            "retry": Retry(NoBackoff(), 0),
        }
        if address.topology == "cluster":
            nodes = [ClusterNode(host, port) for host, port in address.hosts]
            return SteadyCluster(
                nodes,
                ssl=address.tls,
                max_connections=connections,
                timeout_s=socket_timeout or math.inf,
                silent_after_s=math.inf if socket_timeout is None else self._silent_after_s,
                **common,
            )
        pool_options: dict[str, Any] = {"max_connections": connections, "timeout": tuning.wait_for_connection_s}
        if address.topology == "sentinel":
            sentinel_options = {
                "username": address.sentinel_username,
                "password": address.sentinel_password,
                "socket_timeout": tuning.connect_timeout_s,
                "socket_connect_timeout": tuning.connect_timeout_s,
                # One that does not answer is passed over at once: the next one knows the same.
                "retry": Retry(NoBackoff(), 0),
            }
            sentinels = Sentinels(address.hosts, address.master, **sentinel_options)
            pool = SentinelPool(sentinels, db=address.db, ssl=address.tls, **pool_options, **common)
            if socket_timeout is None:
                return Redis(connection_pool=pool)
            return WatchedRedis(pool, timeout_s=socket_timeout, silent_after_s=self._silent_after_s)
        if address.path:
            common |= {"connection_class": UnixDomainSocketConnection, "path": address.path}
        else:
            host, port = address.hosts[0]
            common |= {"host": host, "port": port}
            if address.tls:
                common |= {"connection_class": SSLConnection}
        in_turn = InTurn(db=address.db, **pool_options, **common)
        if socket_timeout is None:
            return Redis(connection_pool=in_turn)
        return LinedRedis(in_turn, timeout_s=socket_timeout, silent_after_s=self._silent_after_s)


async def close_client(client: Commands) -> None:
    """End a client with all its connections; the library leaves a pool open that it did not make itself."""
    if isinstance(client, SteadyCluster):
        await client.end()
        return
    await client.aclose()
    await client.connection_pool.disconnect()
    if isinstance(client.connection_pool, SentinelPool):
        await client.connection_pool.close()
