"""A wire between two programs that can be cut, made slow and torn, while neither of them knows of it."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator


class Wire:
    """Passes bytes on to a port of this machine.

    While it is cut nothing moves and nobody hangs up, as if a network dropped every packet: what was said arrives when it
    is mended, and so does who called meanwhile. It can be cut for those only who call from certain addresses.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, target: int) -> None:
        self.target = target
        self.port = 0
        self.delay_s = 0.0
        self._loop = loop
        self._flows = asyncio.Event()
        self._flows.set()
        self._only_from: frozenset[str] = frozenset()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None] | None] = set()  # nobody else holds one whose caller has hung up
        self._server: asyncio.Server | None = None

    def cut(self, *only_from: str) -> None:
        self._only_from = frozenset(only_from)
        self._loop.call_soon_threadsafe(self._flows.clear)

    def mend(self) -> None:
        self._loop.call_soon_threadsafe(self._flows.set)

    def tear(self) -> None:
        """End all connections at once, whatever was under way; who calls again gets through."""
        self._loop.call_soon_threadsafe(self._tear)

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self._flows.set()
        if self._server:
            self._server.close()
        self._tear()

    def _tear(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        caller = writer.get_extra_info("peername")[0]
        ends, task = {writer}, asyncio.current_task()
        self._writers |= ends
        self._tasks.add(task)
        try:
            await self._until_it_flows(caller)
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
            ends.add(back)
            self._writers |= ends
            await asyncio.gather(self._pass(reader, back, caller), self._pass(there, writer, caller, is_answer=True))
        except (OSError, asyncio.CancelledError):  # nobody is there, or the test is over
            pass
        finally:
            self._writers -= ends
            self._tasks.discard(task)
            for end in ends:
                end.transport.abort()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, caller: str, *, is_answer: bool = False
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                if is_answer and self.delay_s:
                    await asyncio.sleep(self.delay_s)
                await self._until_it_flows(caller)
                writer.write(data)
                await writer.drain()
        await self._until_it_flows(caller)
        writer.close()

    async def _until_it_flows(self, caller: str) -> None:
        if not self._only_from or caller in self._only_from:
            await self._flows.wait()


class Wires:
    """Wires in a thread of their own, so that they work while a test waits."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._wires: list[Wire] = []

    def to(self, target: int) -> Wire:
        wire = Wire(self._loop, target)
        asyncio.run_coroutine_threadsafe(wire.open(), self._loop).result(10)
        self._wires.append(wire)
        return wire

    async def close(self) -> None:
        for wire in self._wires:
            await wire.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


@contextlib.contextmanager
def wires() -> Iterator[Wires]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="wires")
    thread.start()
    found = Wires(loop)
    try:
        yield found
    finally:
        asyncio.run_coroutine_threadsafe(found.close(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
