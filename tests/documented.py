"""A cluster, read and written by tests under the names that keys have in the documents.

There a key begins with the tag of its site, person or client. Tests that look into the store know keys as they are
documented and stand on a single server; here the tag is found out on the way in and taken off on the way out.
"""

import fnmatch
import re
from collections.abc import AsyncIterator
from typing import Any

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.client import PubSub
from redis.asyncio.cluster import ClusterNode, ClusterPipeline

from threadkit.storage.cluster import is_sharded
from threadkit.storage.keys import SCHEMA, Entry

_TAG = re.compile(r"^\{[^}]+\}")
_AS_DOCUMENTED = {"ssubscribe": "subscribe", "sunsubscribe": "unsubscribe", "smessage": "message"}
_OWNER = {"SiteKeys": "site_id", "UserKeys": "user_id", "ClientKeys": "client"}


class DocumentedCluster(RedisCluster):
    def __init__(self, *hosts: tuple[str, int]) -> None:
        super().__init__(startup_nodes=[ClusterNode(*host) for host in hosts], decode_responses=True)
        self.hosts = hosts

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        return await super().execute_command(*await self.as_stored(args), **options)

    def pipeline(self, transaction: Any = None, shard_hint: Any = None) -> ClusterPipeline:
        return _Pipeline(self)  # type: ignore[abstract]  # the library's own class is so too

    async def delete(self, *names: Any) -> int:
        return await self._of_each("DEL", names)

    async def unlink(self, *names: Any) -> int:
        return await self._of_each("UNLINK", names)

    async def exists(self, *names: Any) -> int:
        return await self._of_each("EXISTS", names)

    async def _of_each(self, command: str, names: tuple[Any, ...]) -> int:
        async with self.pipeline() as pipe:
            for name in names:
                pipe.execute_command(command, name)
            return sum(await pipe.execute())

    async def scan_iter(  # type: ignore[override]
        self, match: Any = None, count: int | None = None, _type: str | None = None, **options: Any
    ) -> AsyncIterator[str]:
        async for stored in super().scan_iter(count=count or 1000, _type=_type, **options):
            name = _TAG.sub("", str(stored))
            if match is None or fnmatch.fnmatchcase(name, str(match)):
                yield name

    async def keys(self, pattern: Any = "*", **options: Any) -> list[str]:  # type: ignore[override]
        return [name async for name in self.scan_iter(pattern, **options)]

    async def client_kill_filter(self, *args: Any, **options: Any) -> Any:
        return await super().client_kill_filter(*args, **options, target_nodes=self.ALL_NODES)

    def pubsub(self, *args: Any, **options: Any) -> "_Ear":  # type: ignore[override]
        return _Ear(self)

    async def all_stored(self) -> dict[str, list[str]]:
        """Every key there is, by its documented name."""
        found: dict[str, list[str]] = {}
        async for stored in super().scan_iter(count=1000):
            found.setdefault(_TAG.sub("", str(stored)), []).append(str(stored))
        return found

    async def as_stored(self, words: tuple[Any, ...], known: dict[str, list[str]] | None = None) -> list[Any]:
        """A command about the keys that have these names."""
        # Elsewhere the first word is a key, or no name of ours and stays as it is.
        keys = slice(3, 3 + int(words[2])) if words[0] in ("EVAL", "EVALSHA") else slice(1, 2)
        result = list(words)
        result[keys] = [await self.stored(name, known) for name in words[keys]]
        if words[0] == "PUBLISH" and is_sharded(result[1]):
            result[0] = "SPUBLISH"
        return result

    async def stored(self, name: Any, known: dict[str, list[str]] | None = None) -> Any:
        """The key that has a documented name. If there is none yet, it is that of the only site there is."""
        found = _entry_of(name) if isinstance(name, str) and not _TAG.match(name) else None
        if found is None or found.group == "GlobalKeys":
            return name
        owner = (found.parts(name) or {}).get(_OWNER[found.group])
        if owner is not None:
            return f"{{{owner}}}{name}"
        known = known or await self.all_stored()
        stored = known.get(name)
        if not stored and found.group == "UserKeys":
            stored = [f"{tag}{name}" for tag in _tags_beside(found, name, known)]
        elif not stored:
            sites = await super().execute_command("ZRANGE", "sites:index", 0, -1)
            stored = [f"{{{site_id}}}{name}" for site_id in sites] or [name]
        assert len(stored) == 1, f"{name} could be any of {stored}"
        return stored[0]


class _Pipeline(ClusterPipeline):
    async def execute(self, *args: Any, **options: Any) -> list[Any]:
        client = self.cluster_client
        assert isinstance(client, DocumentedCluster)
        known = await client.all_stored()
        for command in self._execution_strategy._command_queue:  # type: ignore[attr-defined]
            command.args = tuple(await client.as_stored(command.args, known))
        return await super().execute(*args, **options)


class _Ear(PubSub):
    """At the node that has the channel; what it says there of shards is called as on a single server."""

    def __init__(self, cluster: DocumentedCluster) -> None:
        self._cluster = cluster
        host, port = cluster.hosts[0]
        self._node = Redis(host=host, port=port, decode_responses=True)
        super().__init__(self._node.connection_pool)

    async def subscribe(self, *channels: Any, **handlers: Any) -> None:
        (channel,) = [await self._cluster.stored(channel) for channel in channels]
        await self._cluster.initialize()
        home = self._cluster.get_node_from_key(channel)
        assert home is not None
        self._node.connection_pool.connection_kwargs.update(host=home.host, port=home.port)
        await super().ssubscribe(channel, **handlers)

    async def handle_message(self, response: Any, ignore_subscribe_messages: bool = False) -> Any:
        message = await super().handle_message(response, ignore_subscribe_messages)  # type: ignore[no-untyped-call]
        return message and message | {"type": _AS_DOCUMENTED.get(message["type"], message["type"])}

    async def aclose(self) -> None:
        await super().aclose()  # type: ignore[no-untyped-call]
        await self._node.aclose()
        await self._node.connection_pool.disconnect()


def _tags_beside(entry: Entry, name: str, known: dict[str, list[str]]) -> set[str]:
    """Whose keys speak of the same session, comment or the like."""
    ids = set((entry.parts(name) or {}).values())
    return {
        tag[0]
        for other, stored in known.items()
        if any(one in other for one in ids)
        for tag in map(_TAG.match, stored)
        if tag and (beside := _entry_of(other)) and beside.group == entry.group
    }


def _entry_of(name: str) -> Entry | None:
    """As schema_entries, for channels too: of several the one with most fixed text."""
    found = [one for one in SCHEMA if one.matches(name)]
    return max(found, key=lambda one: len(re.sub(r"\{\w+\}", "", one.pattern)), default=None)
