"""One connection on which the commands of all tasks travel together.

The library takes a connection out of a pool for every command, writes, and waits for the answer: its bookkeeping costs
several times what the command does. Here whatever is asked in one turn of the event loop goes out in one write, and
answers, which the store gives in order, find the one who asked. What needs a connection of its own (Pub/Sub, commands
that block, transactions) still gets one from the pool.

There is one line to a single store, and one to each primary of a cluster. One that has been silent for a while is not
waited for: all who ask are refused at once, while the line goes on asking for a sign of life.
"""

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import hiredis
from redis._parsers.base import BaseParser
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.client import Pipeline
from redis.client import EMPTY_RESPONSE, NEVER_DECODE
from redis.exceptions import ConnectionError as StoreConnectionError
from redis.exceptions import DataError, InvalidResponse, ReadOnlyError, RedisError
from redis.exceptions import TimeoutError as StoreTimeoutError

Command = Sequence[Any]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
READ_BYTES = 65_536
IDLE_S = 15.0  # a connection that was silent for longer may be gone without a word, and is replaced
TICK_S = 0.05
QUIET_S = 2 * TICK_S
SIGN_OF_LIFE_S = 0.5  # how long one question for it waits before the next

_OWN_CONNECTION = frozenset(
    (
        *("AUTH", "CLIENT", "DISCARD", "EXEC", "HELLO", "MONITOR", "MULTI", "QUIT", "RESET", "SELECT", "SHUTDOWN"),
        *("PSUBSCRIBE", "SSUBSCRIBE", "SUBSCRIBE", "UNWATCH", "WATCH", "WAIT", "WAITAOF", "XREAD", "XREADGROUP"),
        *("BLMOVE", "BLMPOP", "BLPOP", "BRPOP", "BRPOPLPUSH", "BZMPOP", "BZPOPMAX", "BZPOPMIN"),
    )
)
"""Commands that block, or change what later ones on the same connection mean."""

_MORE = object()


class StoreSilent(StoreConnectionError):
    """The store, or this part of it, does not answer. What was asked before may have been done."""


class _Asked:
    """Commands of one caller, until all their answers are there."""

    __slots__ = ("answers", "at_s", "count", "future", "packed")

    def __init__(self, packed: list[bytes], at_s: float, future: "asyncio.Future[list[Any]]") -> None:
        self.packed = packed
        self.count = len(packed)
        self.at_s = at_s
        self.future = future
        self.answers: list[Any] = []


class Line:
    def __init__(
        self,
        connect: Callable[[], Awaitable[Streams]],
        *,
        timeout_s: float,
        silent_after_s: float = math.inf,
        on_trouble: Callable[[], None] = lambda: None,
    ) -> None:
        """`connect` gives a connection that has introduced itself, and on which nothing has been asked yet. `on_trouble`
        is called when the line is or stays silent, and when it leads to a replica."""
        self._connect = connect
        self._timeout_s = timeout_s
        self._silent_after_s = silent_after_s
        self._on_trouble = on_trouble
        self._connection: asyncio.StreamWriter | None = None
        self._opening: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._calling: asyncio.Task[None] | None = None
        self._unsent: deque[_Asked] = deque()
        self._sent: deque[_Asked] = deque()
        self._is_due = False
        self._watch: asyncio.TimerHandle | None = None
        self._heard_s = 0.0
        # Both are counted in turns of our own loop: when that was held up, the answers may be there and only not read yet.
        self._ticked_s = self._quiet_s = 0.0
        self.is_silent = False
        self.is_held = False
        """Whether all who ask are refused for now, because what they change would be lost."""

    @property
    def is_idle(self) -> bool:
        return not self._sent and not self._unsent and not self.is_silent

    @property
    def held_up(self) -> int:
        """How many wait for a store that has given no answer for a moment."""
        return sum(not asked.future.done() for asked in (*self._sent, *self._unsent)) if self._quiet_s else 0

    @property
    def is_quiet(self) -> bool:
        """Whether readers had better take what they had before than wait."""
        return self.is_silent or self._quiet_s >= QUIET_S

    async def ask(self, commands: Sequence[Command]) -> list[Any]:
        """The answers, errors among them as they are. Whoever stops waiting disturbs nobody."""
        if self.is_silent or self.is_held:
            raise StoreSilent("The store does not answer." if self.is_silent else "The primary is being replaced.")
        return await self._ask(commands)

    async def _ask(self, commands: Sequence[Command]) -> list[Any]:
        loop = asyncio.get_running_loop()
        asked = _Asked([_packed(command) for command in commands], self._ticked_s, loop.create_future())
        self._unsent.append(asked)
        if not self._is_due:
            self._is_due = True
            loop.call_soon(self._send)
        if self._watch is None:
            self._watch = loop.call_later(TICK_S, self._look)
        return await asked.future

    def start_anew(self) -> None:
        """Leave the connection for another one, because it leads where nobody should write any more."""
        self._stop_opening()
        self._break(StoreConnectionError("Another node of the store has taken over."))

    async def close(self) -> None:
        self.is_silent = False
        tasks = [task for task in (self._opening, self._reading, self._calling) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._break(StoreConnectionError("The connection to the store was closed."), also_unsent=True)

    def _send(self) -> None:
        self._is_due = False
        if not self._sent and asyncio.get_running_loop().time() - self._heard_s > IDLE_S:
            self._hang_up()
        if self._connection is None:
            if self._opening is None:
                self._opening = asyncio.create_task(self._open(), name="store line")
            return
        parts: list[bytes] = []
        while self._unsent:
            asked = self._unsent.popleft()
            if asked.future.done():  # nobody waits for it any more, so it need not be done
                continue
            parts += asked.packed
            self._sent.append(asked)
        if parts:
            self._connection.write(b"".join(parts))

    async def _open(self) -> None:
        try:
            stream, connection = await self._connect()
        except (RedisError, OSError) as error:
            if self._opening is asyncio.current_task():
                self._opening = None
                self._break(error, also_unsent=True)
            return
        if (
            self._opening is not asyncio.current_task()
        ):  # given up meanwhile; the library has swallowed the cancellation
            connection.transport.abort()
            return
        self._opening = None
        self._connection = connection
        self._heard_s = asyncio.get_running_loop().time()
        self._reading = asyncio.create_task(self._read(stream, connection), name="store line")
        self._send()

    async def _read(self, stream: asyncio.StreamReader, connection: asyncio.StreamWriter) -> None:
        """Hand out answers until the connection ends."""
        loop = asyncio.get_running_loop()
        reader = hiredis.Reader(
            protocolError=InvalidResponse,
            replyError=BaseParser.parse_error,
            encoding="utf-8",
            errors="strict",
            notEnoughData=_MORE,
        )
        error: Exception = StoreConnectionError("The store closed the connection.")
        try:
            while data := await stream.read(READ_BYTES):
                reader.feed(data)
                self._heard_s = loop.time()
                self._quiet_s, self.is_silent = 0.0, False
                while (answer := reader.gets()) is not _MORE:
                    self._give(answer)
        except (OSError, RedisError, UnicodeDecodeError) as trouble:
            error = StoreConnectionError(f"The connection to the store broke: {trouble}")
        if self._connection is connection:
            self._break(error)

    def _give(self, answer: Any) -> None:
        if isinstance(answer, hiredis.PushNotification):  # nobody asked
            return
        if isinstance(answer, ReadOnlyError):
            self._on_trouble()
        asked = self._sent[0]
        asked.answers.append(answer)
        if len(asked.answers) == asked.count:
            self._sent.popleft()
            if not asked.future.done():
                asked.future.set_result(asked.answers)

    def _look(self) -> None:
        self._watch = None
        if not self._sent and not self._unsent:
            self._quiet_s = 0.0
            return
        self._ticked_s += TICK_S
        self._quiet_s += TICK_S
        if self._quiet_s >= self._silent_after_s and not self.is_silent:
            self._fall_silent()
        waiting = self._sent or self._unsent
        if waiting and self._ticked_s - waiting[0].at_s >= self._timeout_s:
            # Later answers cannot overtake it, so nobody gets one on this connection.
            self._stop_opening()
            self._break(StoreTimeoutError("The store took too long to answer."), also_unsent=not self._sent)
        if self._sent or self._unsent:
            self._watch = asyncio.get_running_loop().call_later(TICK_S, self._look)

    def _fall_silent(self) -> None:
        """Tell all who wait, and go on listening: the answers may come, and then it is not silent any more."""
        self.is_silent = True
        for asked in (*self._sent, *self._unsent):
            if not asked.future.done():
                asked.future.set_exception(StoreSilent("The store took too long to answer."))
        if self._calling is None or self._calling.done():
            self._calling = asyncio.create_task(self._call(), name="store line")

    async def _call(self) -> None:
        while self.is_silent:
            self._on_trouble()
            with contextlib.suppress(RedisError, OSError, TimeoutError):
                async with asyncio.timeout(SIGN_OF_LIFE_S):
                    await self._ask([("PING",)])
            await asyncio.sleep(TICK_S)

    def _break(self, error: Exception, *, also_unsent: bool = False) -> None:
        """Tell everybody whose answer is lost; what was not sent yet goes over the next connection."""
        self._hang_up()
        lost, self._sent = self._sent, deque()
        if also_unsent:
            lost += self._unsent
            self._unsent.clear()
        for asked in lost:
            if not asked.future.done():
                asked.future.set_exception(_copy(error))
        if self._unsent and not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._send)

    def _stop_opening(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            self._opening = None

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.transport.abort()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


class LinedRedis(Redis):
    """The library's client, with its commands on one line."""

    def __init__(
        self,
        pool: ConnectionPool,
        *,
        timeout_s: float,
        silent_after_s: float = math.inf,
        on_trouble: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(connection_pool=pool)
        self.line = Line(self._introduced, timeout_s=timeout_s, silent_after_s=silent_after_s, on_trouble=on_trouble)

    @property
    def held_up(self) -> int:
        return self.line.held_up

    @property
    def is_quiet(self) -> bool:
        return self.line.is_quiet

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        if needs_a_connection(args, options):
            return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        (answer,) = await self.line.ask([args])
        if isinstance(answer, Exception):
            raise answer
        return understood(self.response_callbacks, args[0], answer, options)

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:
        if transaction:
            return super().pipeline(transaction=True, shard_hint=shard_hint)
        return _LinedPipeline(self.line, self.connection_pool, self.response_callbacks, shard_hint)

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        await self.line.close()
        await super().aclose(close_connection_pool)

    async def _introduced(self) -> Streams:
        return await introduced(self.connection_pool.make_connection())  # type: ignore[no-untyped-call]


class _LinedPipeline(Pipeline):
    def __init__(self, line: Line, pool: ConnectionPool, callbacks: Any, shard_hint: str | None) -> None:
        super().__init__(pool, callbacks, False, shard_hint)
        self._line = line

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        stack = self.command_stack
        if not stack or self.watching or self.scripts or self.explicit_transaction:
            return await super().execute(raise_on_error)
        try:
            answers = await self._line.ask([args for args, _ in stack])
            if raise_on_error:
                self.raise_first_error(stack, answers)
            return [
                answer
                if isinstance(answer, Exception)
                else understood(self.response_callbacks, args[0], answer, options)
                for answer, (args, options) in zip(answers, stack, strict=True)
            ]
        finally:
            await self.reset()  # type: ignore[no-untyped-call]


async def introduced(connection: Any) -> Streams:
    """The library knows how to connect, encrypt and sign in; what comes after that is ours."""
    connection.health_check_interval = 0  # a store whose disk is full answers what is read, but no ping
    await connection.connect()
    streams = connection._reader, connection._writer  # noqa: SLF001
    connection._reader = connection._writer = None  # noqa: SLF001
    return streams


def needs_a_connection(args: Sequence[Any], options: Any) -> bool:
    """Whether a command cannot share one with others."""
    return args[0] in _OWN_CONNECTION or NEVER_DECODE in options or EMPTY_RESPONSE in options


def _packed(command: Command) -> bytes:
    name = command[0]
    words = (*name.split(), *command[1:]) if " " in name else tuple(command)
    try:
        packed: bytes = hiredis.pack_command(words)
    except TypeError as error:
        raise DataError(f"{name}: {error}") from None
    return packed


def understood(callbacks: Any, name: Any, answer: Any, options: Any) -> Any:
    """An answer in the shape that the library promises for the command."""
    callback = callbacks.get(name)
    if callback is None:
        return answer
    options.pop("keys", None)  # meant for the library's own cache
    return callback(answer, **options)


def _copy(error: Exception) -> Exception:
    """One for each who is told, or their tracebacks would grow together."""
    return type(error)(*error.args)
