"""One connection on which the commands of all tasks travel together.

The library takes a connection out of a pool for every command, writes, and waits for the answer: its bookkeeping costs
several times what the command does. Here whatever is asked in one turn of the event loop goes out in one write, and
answers, which the store gives in order, find the one who asked. What needs a connection of its own (Pub/Sub, commands
that block, transactions) still gets one from the pool.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import hiredis
from redis._parsers.base import BaseParser
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.client import Pipeline
from redis.client import EMPTY_RESPONSE, NEVER_DECODE
from redis.exceptions import ConnectionError as StoreConnectionError
from redis.exceptions import DataError, InvalidResponse, RedisError
from redis.exceptions import TimeoutError as StoreTimeoutError

Command = Sequence[Any]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
READ_BYTES = 65_536
IDLE_S = 15.0  # a connection that was silent for longer may be gone without a word, and is replaced

_OWN_CONNECTION = frozenset(
    (
        *("AUTH", "CLIENT", "DISCARD", "EXEC", "HELLO", "MONITOR", "MULTI", "QUIT", "RESET", "SELECT", "SHUTDOWN"),
        *("PSUBSCRIBE", "SSUBSCRIBE", "SUBSCRIBE", "UNWATCH", "WATCH", "WAIT", "WAITAOF", "XREAD", "XREADGROUP"),
        *("BLMOVE", "BLMPOP", "BLPOP", "BRPOP", "BRPOPLPUSH", "BZMPOP", "BZPOPMAX", "BZPOPMIN"),
    )
)
"""Commands that block, or change what later ones on the same connection mean."""

_MORE = object()


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
    def __init__(self, connect: Callable[[], Awaitable[Streams]], *, timeout_s: float) -> None:
        """`connect` gives a connection that has introduced itself, and on which nothing has been asked yet."""
        self._connect = connect
        self._timeout_s = timeout_s
        self._connection: asyncio.StreamWriter | None = None
        self._opening: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._unsent: deque[_Asked] = deque()
        self._sent: deque[_Asked] = deque()
        self._is_due = False
        self._watch: asyncio.TimerHandle | None = None
        self._heard_s = 0.0

    async def ask(self, commands: Sequence[Command]) -> list[Any]:
        """The answers, errors among them as they are. Whoever stops waiting disturbs nobody."""
        loop = asyncio.get_running_loop()
        asked = _Asked([_packed(command) for command in commands], loop.time(), loop.create_future())
        self._unsent.append(asked)
        if not self._is_due:
            self._is_due = True
            loop.call_soon(self._send)
        if self._watch is None:
            self._watch = loop.call_later(self._timeout_s, self._look_at_the_oldest)
        return await asked.future

    async def close(self) -> None:
        tasks = [task for task in (self._opening, self._reading) if task is not None]
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
            self._opening = None
            self._break(error, also_unsent=True)
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
                while (answer := reader.gets()) is not _MORE:
                    self._give(answer)
        except (OSError, RedisError, UnicodeDecodeError) as trouble:
            error = StoreConnectionError(f"The connection to the store broke: {trouble}")
        if self._connection is connection:
            self._break(error)

    def _give(self, answer: Any) -> None:
        if isinstance(answer, hiredis.PushNotification):  # nobody asked
            return
        asked = self._sent[0]
        asked.answers.append(answer)
        if len(asked.answers) == asked.count:
            self._sent.popleft()
            if not asked.future.done():
                asked.future.set_result(asked.answers)

    def _look_at_the_oldest(self) -> None:
        self._watch = None
        waiting = self._sent or self._unsent
        if not waiting:
            return
        loop = asyncio.get_running_loop()
        left_s = waiting[0].at_s + self._timeout_s - loop.time()
        if left_s <= 0:
            # Later answers cannot overtake it, so nobody gets one on this connection.
            if self._opening is not None:
                self._opening.cancel()
                self._opening = None
            self._break(StoreTimeoutError("The store took too long to answer."), also_unsent=not self._sent)
            left_s = self._timeout_s
        if self._sent or self._unsent:
            self._watch = loop.call_later(left_s, self._look_at_the_oldest)

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

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.transport.abort()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


class LinedRedis(Redis):
    """The library's client, with its commands on one line."""

    def __init__(self, pool: ConnectionPool, *, timeout_s: float) -> None:
        super().__init__(connection_pool=pool)
        self.line = Line(self._introduced, timeout_s=timeout_s)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        if args[0] in _OWN_CONNECTION or NEVER_DECODE in options or EMPTY_RESPONSE in options:
            return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        (answer,) = await self.line.ask([args])
        if isinstance(answer, Exception):
            raise answer
        return _understood(self.response_callbacks, args[0], answer, options)

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:
        if transaction:
            return super().pipeline(transaction=True, shard_hint=shard_hint)
        return _LinedPipeline(self.line, self.connection_pool, self.response_callbacks, shard_hint)

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        await self.line.close()
        await super().aclose(close_connection_pool)

    async def _introduced(self) -> Streams:
        """The library knows how to connect, encrypt and sign in; what comes after that is ours."""
        connection: Any = self.connection_pool.make_connection()  # type: ignore[no-untyped-call]
        await connection.connect()
        streams = connection._reader, connection._writer  # noqa: SLF001
        connection._reader = connection._writer = None  # noqa: SLF001
        return streams


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
                else _understood(self.response_callbacks, args[0], answer, options)
                for answer, (args, options) in zip(answers, stack, strict=True)
            ]
        finally:
            await self.reset()  # type: ignore[no-untyped-call]


def _packed(command: Command) -> bytes:
    name = command[0]
    words = (*name.split(), *command[1:]) if " " in name else tuple(command)
    try:
        packed: bytes = hiredis.pack_command(words)
    except TypeError as error:
        raise DataError(f"{name}: {error}") from None
    return packed


def _understood(callbacks: Any, name: Any, answer: Any, options: Any) -> Any:
    """An answer in the shape that the library promises for the command."""
    callback = callbacks.get(name)
    if callback is None:
        return answer
    options.pop("keys", None)  # meant for the library's own cache
    return callback(answer, **options)


def _copy(error: Exception) -> Exception:
    """One for each who is told, or their tracebacks would grow together."""
    return type(error)(*error.args)
