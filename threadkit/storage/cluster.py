"""A client of a cluster that stays on its feet while nodes come and go."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode, ClusterPipeline
from redis.exceptions import ClusterError, RedisClusterException
from redis.exceptions import ConnectionError as StoreConnectionError
from redis.exceptions import TimeoutError as StoreTimeoutError

from threadkit.storage.turns import Turns

_AWAY = (StoreConnectionError, StoreTimeoutError, ClusterError)
# Every command to a dead node wants it; and learning makes all connections anew, also those to other nodes.
_LEARN_EVERY_S = 0.1


@contextlib.contextmanager
def _known_errors() -> Iterator[None]:
    """A cluster that is away for a moment is a lost connection. The library's own words for it are no RedisError, and
    a connection that it has closed under somebody who was about to send has no attribute to send with."""
    try:
        yield
    except (ClusterError, RedisClusterException, AttributeError) as error:
        raise StoreConnectionError(str(error)) from error


class SteadyCluster(RedisCluster):
    """The library's cluster client raises when a node's connections are all taken; ours waits its turn. The library's
    closes all connections to all nodes whenever it wants to know the layout anew, or fails to learn it; ours leaves
    those alone that others are waiting on, so that one shard's trouble is not the others'."""

    def __init__(self, nodes: list[ClusterNode], *, turns: int, turn_timeout_s: float, **options: Any) -> None:
        # A pipeline may send a command of its own when slots have moved, hence turns for each; the few more are for
        # the library's own questions.
        super().__init__(startup_nodes=nodes, max_connections=2 * turns + 8, **options)
        self._command_turns = Turns(turns, turn_timeout_s)
        self.pipeline_turns = Turns(turns, turn_timeout_s)
        self._learning = asyncio.Lock()
        self._learned_at: float | None = None

    async def initialize(self, *args: Any, **options: Any) -> RedisCluster:
        if self._is_to_learn:
            async with self._learning:
                if self._is_to_learn:
                    with _known_errors():
                        await self._learn(*args, **options)
        return self

    @property
    def _is_to_learn(self) -> bool:
        now = asyncio.get_running_loop().time()
        return self._initialize and (self._learned_at is None or now - self._learned_at > _LEARN_EVERY_S)

    async def _learn(self, *args: Any, **options: Any) -> None:
        await self.nodes_manager.initialize(*args, **options)
        node = self.nodes_manager.default_node
        if self._learned_at is None:
            await self.commands_parser.initialize(node)
        else:  # commands stay what they are, and the node may be the one that is dead
            self.commands_parser.node = node
        self._learned_at = asyncio.get_running_loop().time()
        self._initialize = False

    async def aclose(self) -> None:
        """What the library calls when slots have moved or nobody has them; `end` is for us."""
        self.learn_again()

    def learn_again(self) -> None:
        """Ask for the layout before the next command."""
        self._initialize = True

    async def end(self) -> None:
        """Close every connection; whoever comes again starts from the beginning."""
        self._initialize, self._learned_at = True, None
        for nodes in ("nodes_cache", "startup_nodes"):
            await self.nodes_manager.aclose(nodes)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        async with self._command_turns.one():
            with _known_errors():
                return await super().execute_command(*args, **options)

    def pipeline(self, transaction: Any = None, shard_hint: Any = None) -> ClusterPipeline:
        # The library plans a transaction in a thread with an event loop of its own, where connections get lost.
        if transaction:
            raise NotImplementedError("Use a script: in a cluster nothing else takes several steps at once.")
        return _Pipeline(self, transaction)  # type: ignore[abstract]  # the library's own class is so too


class _Pipeline(ClusterPipeline):
    async def execute(self, *args: Any, **options: Any) -> list[Any]:
        client = self.cluster_client
        assert isinstance(client, SteadyCluster)  # noqa: S101
        async with client.pipeline_turns.one():
            try:
                with _known_errors():
                    replies = await super().execute(*args, **options)
            except _AWAY:  # where the library learns again after a command, it does not after a pipeline
                client.learn_again()
                raise
            if any(isinstance(reply, _AWAY) for reply in replies):
                client.learn_again()
            return replies
