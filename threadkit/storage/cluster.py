"""A client of a cluster that stays on its feet while nodes come and go and slots move."""

import asyncio
import contextlib
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode, ClusterPipeline
from redis.exceptions import AskError, ClusterError, MovedError, RedisClusterException, RedisError, TryAgainError
from redis.exceptions import ConnectionError as StoreConnectionError
from redis.exceptions import TimeoutError as StoreTimeoutError

from threadkit.storage.guides import guides, sees_it_well
from threadkit.storage.line import Line, Streams, introduced, needs_a_connection, understood

_AWAY = (StoreConnectionError, StoreTimeoutError, ClusterError)
_ELSEWHERE = (AskError, TryAgainError)  # a MovedError is an AskError too
# Every command to a dead node wants it, and all nodes are asked.
_LEARN_EVERY_S = 0.1
_ANSWER_S = 2.0
_SHORTEST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.1

Call = tuple[Sequence[Any], dict[str, Any]]


def is_sharded(channel: str) -> bool:
    """Whether a channel has a hash tag, and so a shard that it stays on. What concerns all servers has none."""
    return "{" in channel


class SteadyCluster(RedisCluster):
    """The library's routing, with our own way to the nodes: one line to each primary, so that who waits for one shard takes
    nothing from the others. The layout is learnt beside the commands, and no command waits for it but the first. The
    library's client asks one node after the other for the layout and believes the first; ours asks all at once, and
    believes one that sees a majority: the others may be cut off, from us or from the rest."""

    def __init__(
        self, nodes: list[ClusterNode], *, timeout_s: float, silent_after_s: float = math.inf, **options: Any
    ) -> None:
        super().__init__(startup_nodes=nodes, dynamic_startup_nodes=False, **options)
        self._seeds = self.nodes_manager.startup_nodes
        self._timeout_s = timeout_s
        self._silent_after_s = silent_after_s
        self._lines: dict[str, Line] = {}
        self._following = 0
        self._closing: set[asyncio.Task[None]] = set()
        self._learning: asyncio.Task[None] | None = None
        self._learned_at: float | None = None
        self._deaf: set[tuple[str, int]] = set()

    @property
    def held_up(self) -> int:
        """How many commands wait for a shard that has given no answer for a moment, or for a slot that is under way."""
        return self._following + sum(line.held_up for line in self._lines.values())

    @property
    def is_quiet(self) -> bool:
        return any(line.is_quiet for line in self._lines.values())

    async def initialize(self, *_: Any, **__: Any) -> RedisCluster:
        """Learn the layout, if it is not known yet. All who want it wait for the same answer, and who gives up takes it
        from nobody else."""
        if self._learned_at is None:
            await self._learn_together()
        elif self._initialize:  # the library wants to know it anew
            self._initialize = False
            self.learn_soon()
        return self

    async def learn(self) -> None:
        """Ask for the layout now, while the commands of others go on with what is known."""
        if self._is_time_to_learn:
            await self._learn_together()

    def learn_soon(self) -> None:
        """The same, without waiting for it."""
        if self._learning is None and self._is_time_to_learn:
            self._begin_to_learn()

    @property
    def _is_time_to_learn(self) -> bool:
        now = asyncio.get_running_loop().time()
        return self._learned_at is None or now - self._learned_at > _LEARN_EVERY_S

    async def _learn_together(self) -> None:
        with self._known_errors():
            await asyncio.shield(self._learning or self._begin_to_learn())

    def _begin_to_learn(self) -> asyncio.Task[None]:
        self._learning = asyncio.create_task(self._learn(), name="cluster layout")
        self._learning.add_done_callback(self._is_learnt)
        return self._learning

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
        for name in [name for name, line in self._lines.items() if name not in manager.nodes_cache and line.is_idle]:
            closing = asyncio.create_task(self._lines.pop(name).close(), name="store line")
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

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
                with self._known_errors():
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
        """What the library calls when it wants to know the layout anew; `end` is for us."""
        self.learn_soon()

    async def end(self) -> None:
        """Close every connection; whoever comes again starts from the beginning."""
        while self._learning is not None:  # the library has been seen to swallow a cancellation
            self._learning.cancel()
            await asyncio.wait({self._learning}, timeout=1)
        self._initialize, self._learned_at = True, None
        lines, self._lines = self._lines, {}
        await asyncio.gather(*(line.close() for line in lines.values()), *self._closing)
        for nodes in ("nodes_cache", "startup_nodes"):
            await self.nodes_manager.aclose(nodes)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        with self._known_errors():
            return await super().execute_command(*args, **options)

    async def _execute_command(self, target_node: ClusterNode, *args: Any, **options: Any) -> Any:
        """The library has found the node that has the key."""
        if needs_a_connection(args, options):
            return await super()._execute_command(target_node, *args, **options)
        (answer,) = await self._asked(target_node, [(args, options)])
        if isinstance(answer, _ELSEWHERE):
            answer = await self._follow(answer, (args, options), target_node)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def ask_all(self, calls: Sequence[Call]) -> list[Any]:
        """Answers and errors, in one round trip to each node."""
        await self.initialize()
        by_node: dict[str, tuple[ClusterNode, list[int]]] = {}
        answers: list[Any] = [None] * len(calls)
        for number, (args, options) in enumerate(calls):
            try:
                with self._known_errors():
                    node = await self._node_for(args, options.pop("target_nodes", None))
                by_node.setdefault(node.name, (node, []))[1].append(number)
            except StoreConnectionError as error:
                answers[number] = error

        async def ask(node: ClusterNode, numbers: list[int]) -> None:
            found = await self._asked(node, [calls[number] for number in numbers])
            for number, answer in zip(numbers, found, strict=True):
                if isinstance(answer, _ELSEWHERE):
                    answer = await self._follow(answer, calls[number], node)
                answers[number] = answer

        await asyncio.gather(*(ask(node, numbers) for node, numbers in by_node.values()))
        return answers

    async def _asked(self, node: ClusterNode, calls: Sequence[Call], *, is_asking: bool = False) -> list[Any]:
        """What one node answers; that it does not is an answer to each."""
        commands = [args for args, _ in calls]
        try:
            found = await self._line_to(node).ask([("ASKING",), *commands] if is_asking else commands)
        except (RedisError, OSError) as error:
            found = [error] * len(commands)
        answers = found[-len(commands) :]
        if any(isinstance(answer, _AWAY) for answer in answers):
            self.learn_soon()
        return [
            answer if isinstance(answer, Exception) else understood(self.response_callbacks, args[0], answer, options)
            for answer, (args, options) in zip(answers, calls, strict=True)
        ]

    async def _follow(self, answer: Any, call: Call, node: ClusterNode) -> Any:
        """The key is elsewhere, or its slot is under way and not all the keys of a script have arrived: nothing has been
        done, so it is asked again for as long as a command may take."""
        loop = asyncio.get_running_loop()
        deadline, pause_s = loop.time() + self._timeout_s, 0.0
        self._following += 1
        try:
            while isinstance(answer, _ELSEWHERE):
                if loop.time() > deadline:
                    return StoreConnectionError(f"The keys did not arrive in time: {answer}")
                await asyncio.sleep(pause_s)
                pause_s = min(max(2 * pause_s, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S)
                there, is_asking = node, False
                if isinstance(answer, MovedError):
                    node = there = await self._moved(answer, node)
                elif isinstance(answer, AskError):
                    there, is_asking = self._node_at(answer.host or node.host, answer.port), True
                (answer,) = await self._asked(there, [call], is_asking=is_asking)
            return answer
        finally:
            self._following -= 1

    async def _moved(self, answer: MovedError, node: ClusterNode) -> ClusterNode:
        """Take note of where a slot is now."""
        there = self._node_at(answer.host or node.host, answer.port)
        answer.host = there.host
        self.nodes_manager.slots_cache.setdefault(answer.slot_id, [])
        await self.nodes_manager.move_slot(answer)
        self.learn_soon()
        return there

    @contextlib.contextmanager
    def _known_errors(self) -> Iterator[None]:
        """A cluster that is away for a moment is a lost connection; the library's own words for it are no RedisError."""
        try:
            yield
        except (ClusterError, RedisClusterException) as error:
            self.learn_soon()
            raise StoreConnectionError(str(error)) from error

    async def _node_for(self, args: Sequence[Any], wanted: Any) -> ClusterNode:
        if wanted is not None:
            (node,) = self._parse_target_nodes(wanted)
            return node
        return self.nodes_manager.get_node_from_slot(await self._determine_slot(*args))

    def _node_at(self, host: str, port: int) -> ClusterNode:
        """Also one that has no slots yet, and so is in no layout."""
        options = self.nodes_manager.connection_kwargs
        return self.get_node(host, port) or ClusterNode(host, port, "primary", **options)

    def _line_to(self, node: ClusterNode) -> Line:
        line = self._lines.get(node.name)
        if line is None:
            line = self._lines[node.name] = Line(
                functools.partial(_connected, node),
                timeout_s=self._timeout_s,
                silent_after_s=self._silent_after_s,
                on_trouble=self.learn_soon,
            )
        return line

    def publish(self, channel: str, message: str, **options: Any) -> Any:  # type: ignore[override]
        if is_sharded(channel):
            return self.spublish(channel, message)
        return super().publish(channel, message, **options)

    def pipeline(self, transaction: Any = None, shard_hint: Any = None) -> ClusterPipeline:
        # The library plans a transaction in a thread with an event loop of its own, where connections get lost.
        if transaction:
            raise NotImplementedError("Use a script: in a cluster nothing else takes several steps at once.")
        return _Pipeline(self)  # type: ignore[abstract]  # the library's own class is so too


async def _connected(node: ClusterNode) -> Streams:
    return await introduced(node.connection_class(**node.connection_kwargs))


class _Pipeline(ClusterPipeline):
    """Commands that travel together; each is routed and answered for itself."""

    def __init__(self, client: SteadyCluster) -> None:
        super().__init__(client)
        self._client = client
        self._calls: list[Call] = []

    def __len__(self) -> int:
        return len(self._calls)

    def execute_command(self, *args: Any, **options: Any) -> ClusterPipeline:
        self._calls.append((args, options))
        return self

    async def execute(self, raise_on_error: bool = True, allow_redirections: bool = True) -> list[Any]:
        calls, self._calls = self._calls, []
        answers = await self._client.ask_all(calls) if calls else []
        if raise_on_error:
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
        return answers

    async def reset(self) -> Any:
        self._calls.clear()
