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

from threadkit.storage.guides import guides, sees_it_well
from threadkit.storage.turns import Turns

_AWAY = (StoreConnectionError, StoreTimeoutError, ClusterError)
# Every command to a dead node wants it; and learning makes all connections anew, also those to other nodes.
_LEARN_EVERY_S = 0.1
_ANSWER_S = 2.0


def is_sharded(channel: str) -> bool:
    """Whether a channel has a hash tag, and so a shard that it stays on. What concerns all servers has none."""
    return "{" in channel


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
    those alone that others are waiting on, so that one shard's trouble is not the others'. The library's asks one node
    after the other for the layout and believes the first; ours asks all at once, and believes one that sees a majority:
    the others may be cut off, from us or from the rest."""

    def __init__(self, nodes: list[ClusterNode], *, turns: int, turn_timeout_s: float, **options: Any) -> None:
        # A pipeline may send a command of its own when slots have moved, hence turns for each; the few more are for
        # the library's own questions.
        super().__init__(startup_nodes=nodes, dynamic_startup_nodes=False, max_connections=2 * turns + 8, **options)
        self._seeds = self.nodes_manager.startup_nodes
        self._command_turns = Turns(turns, turn_timeout_s)
        self.pipeline_turns = Turns(turns, turn_timeout_s)
        self._learning: asyncio.Task[None] | None = None
        self._learned_at: float | None = None
        self._deaf: set[tuple[str, int]] = set()

    async def initialize(self, *_: Any, **__: Any) -> RedisCluster:
        """Learn the layout, if it is time to. All who want it wait for the same answer, and who gives up takes it from
        nobody else."""
        if self._initialize and self._is_time_to_learn:
            await self._learn_together()
        return self

    async def learn(self) -> None:
        """Ask for the layout now, while the commands of others go on with what is known."""
        if self._is_time_to_learn:
            await self._learn_together()

    @property
    def _is_time_to_learn(self) -> bool:
        now = asyncio.get_running_loop().time()
        return self._learned_at is None or now - self._learned_at > _LEARN_EVERY_S

    async def _learn_together(self) -> None:
        if self._learning is None:
            self._learning = asyncio.create_task(self._learn(), name="cluster layout")
            self._learning.add_done_callback(self._is_learnt)
        with _known_errors():
            await asyncio.shield(self._learning)

    async def _learn(self) -> None:
        manager = self.nodes_manager
        believed = await guides((self._seeds | manager.nodes_cache).values())
        manager.startup_nodes = {node.name: node for node in believed}
        try:
            await manager.initialize()
        finally:
            manager.startup_nodes = self._seeds
        if self._learned_at is None:
            await self.commands_parser.initialize(believed[0])
        else:  # commands stay what they are
            self.commands_parser.node = believed[0]
        self._learned_at = asyncio.get_running_loop().time()
        self._initialize = False

    def _is_learnt(self, learning: asyncio.Task[None]) -> None:
        self._learning = None
        if not learning.cancelled():
            learning.exception()  # or asyncio would complain where nobody waits for it any more

    async def was_cut_off(self, host: str, port: int) -> bool:
        """Whether a node has been replaced because the others do not reach it, though we may; or belongs to them again:
        what was published meanwhile, it has not heard."""
        node, address = self.get_node(host, port), (host, port)
        try:
            async with asyncio.timeout(_ANSWER_S):
                with _known_errors():
                    if node is not None and await sees_it_well(node):
                        was_deaf = address in self._deaf
                        self._deaf.discard(address)
                        return was_deaf
            self._deaf.add(address)
        except (StoreConnectionError, StoreTimeoutError, TimeoutError):
            pass  # one that is merely slow has missed nothing; the others know whether it is more than that
        await self.learn()
        if self.get_node(host, port) is not None:
            return False
        self._deaf.discard(address)
        return True

    def is_deaf(self, host: str, port: int) -> bool:
        """Whether a node that we may still reach did not reach the others when it was last asked."""
        return (host, port) in self._deaf

    async def aclose(self) -> None:
        """What the library calls when slots have moved or nobody has them; `end` is for us."""
        self.learn_again()

    def learn_again(self) -> None:
        """Ask for the layout before the next command."""
        self._initialize = True

    async def end(self) -> None:
        """Close every connection; whoever comes again starts from the beginning."""
        while self._learning is not None:  # the library has been seen to swallow a cancellation
            self._learning.cancel()
            await asyncio.wait({self._learning}, timeout=1)
        self._initialize, self._learned_at = True, None
        for nodes in ("nodes_cache", "startup_nodes"):
            await self.nodes_manager.aclose(nodes)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        async with self._command_turns.one():
            with _known_errors():
                return await super().execute_command(*args, **options)

    def publish(self, channel: str, message: str, **options: Any) -> Any:  # type: ignore[override]
        if is_sharded(channel):
            return self.spublish(channel, message)
        return super().publish(channel, message, **options)

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
