"""One primary of a cluster, and the channels that are heard from it."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Collection
from typing import NamedTuple, Protocol

from redis.asyncio.cluster import ClusterNode
from redis.crc import key_slot
from redis.exceptions import AskError, ClusterDownError, RedisError, TryAgainError
from redis.exceptions import ConnectionError as StoreConnectionError

from threadkit.storage.cluster import is_sharded

_ASK_EVERY_S = 2.0
_SILENT_S = 6.0  # a node that answers no ping for this long is gone, whatever the connection says; another may be there
_CONNECT_S = 5.0
_NOT_HERE = (AskError, ClusterDownError, TryAgainError)  # a MovedError is an AskError too

EVERYWHERE = -1

Address = tuple[str, int]


def slot_of(channel: str) -> int:
    """`EVERYWHERE` for what concerns all servers: it is published for all nodes, and may be heard at any."""
    return int(key_slot(channel.encode())) if is_sharded(channel) else EVERYWHERE


def address_of(node: ClusterNode) -> Address:
    return node.host, int(node.port)


class Keeper(Protocol):
    """Whoever keeps shards, and is told what becomes of them."""

    def hear(self, channel: str, message: str) -> None: ...
    def is_heard(self, channels: Collection[str]) -> None: ...
    def is_unheard(self, channels: Collection[str]) -> None: ...


class _Question(NamedTuple):
    """What the node has not answered yet: one answer for each channel, or one refusal for all."""

    command: str
    channels: frozenset[str]
    unanswered: set[str]


class Shard:
    """One connection, made once: a library that makes it anew by itself would hide that messages were missed."""

    def __init__(self, node: ClusterNode, keeper: Keeper) -> None:
        self.address = address_of(node)
        self.channels: dict[int, set[str]] = {}  # by slot: those that were asked for and not lost since
        self.is_up = self.is_left = False
        self.hears_everybody = False  # what is published for all nodes
        self.is_tried = asyncio.Event()
        self._keeper = keeper
        # How long reading may take is our own business here, and so is how long making the connection may.
        self._connection = node.connection_class(**node.connection_kwargs | {"socket_timeout": None})
        self._questions: deque[_Question] = deque()
        self._sending: set[asyncio.Task[None]] = set()

    def ask_for(self, slot: int, channels: Collection[str]) -> None:
        """Ask for channels of one slot; the node refuses a question about several."""
        self.channels.setdefault(slot, set()).update(channels)
        self._ask("subscribe" if slot == EVERYWHERE else "ssubscribe", channels)

    def leave(self, slot: int, channels: Collection[str]) -> None:
        if left := self._forget(slot, channels):
            self._ask("unsubscribe" if slot == EVERYWHERE else "sunsubscribe", left)

    async def listen(self, when_up: Callable[[], None]) -> None:
        """Goes on until the connection is lost, and raises why."""
        try:
            try:
                async with asyncio.timeout(_CONNECT_S):
                    await self._connection.connect()  # type: ignore[no-untyped-call]
                self.is_up = True
            finally:
                self.is_tried.set()
            when_up()
            await self._receive()
        finally:
            self.is_up = self.hears_everybody = False
            for sending in self._sending:
                sending.cancel()
            with contextlib.suppress(RedisError, OSError):
                await self._connection.disconnect(nowait=True)

    async def _receive(self) -> None:
        loop = asyncio.get_running_loop()
        heard_at = loop.time()
        while not self.is_left:
            try:
                answer = await self._connection.read_response(
                    timeout=_ASK_EVERY_S, disconnect_on_error=False, push_request=True
                )
            except _NOT_HERE as error:
                self._take_refusal(error)
                continue
            if answer is not None:
                heard_at = loop.time()
                if isinstance(answer, list) and len(answer) >= 3:
                    self._take(*answer[:3])
            elif loop.time() - heard_at > _SILENT_S:
                raise TimeoutError("no sign of life")
            else:
                self._send("PING")

    def _take(self, kind: str, channel: str, message: str) -> None:
        if kind in ("smessage", "message"):
            self._keeper.hear(channel, message)
            return
        question = self._questions[0] if self._questions else None
        if question is not None and question.command == kind and channel in question.unanswered:
            question.unanswered.discard(channel)
            if not question.unanswered:
                self._questions.popleft()
                if kind in ("ssubscribe", "subscribe"):
                    self.hears_everybody |= kind == "subscribe"
                    # Whatever was left meanwhile is not heard, or will be when it is asked for once more.
                    self._keeper.is_heard(question.channels & self.channels.get(slot_of(channel), set()))
        elif kind == "sunsubscribe":  # not asked for: the slot is elsewhere now
            self._lose({channel})
        elif kind in ("ssubscribe", "subscribe"):
            raise StoreConnectionError("an answer to no question")

    def _take_refusal(self, error: Exception) -> None:
        if not self._questions:
            raise error
        question = self._questions.popleft()
        if question.command == "ssubscribe":
            self._lose(question.channels)

    def _lose(self, channels: Collection[str]) -> None:
        if lost := self._forget(slot_of(next(iter(channels))), channels):
            self._keeper.is_unheard(lost)

    def _forget(self, slot: int, channels: Collection[str]) -> set[str]:
        """Says which of them were here."""
        here = self.channels.get(slot, set())
        gone = here.intersection(channels)
        here -= gone
        if not here:
            self.channels.pop(slot, None)
        return gone

    def _ask(self, command: str, channels: Collection[str]) -> None:
        self._questions.append(_Question(command, frozenset(channels), set(channels)))
        self._send(command.upper(), *channels)

    def _send(self, *words: str) -> None:
        """Tasks begin in the order in which they are made, and write before they wait: so the answers come in order."""
        sending = asyncio.create_task(self._write(*words))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)

    async def _write(self, *words: str) -> None:
        if self._connection.is_connected:  # or the library would make it anew
            with contextlib.suppress(RedisError, OSError):  # who reads notices
                await self._connection.send_command(*words, check_health=False)
