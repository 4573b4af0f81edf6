"""A line to the store that can be cut, and that can lose answers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from threadkit.storage.client import StoreAddress


class Line:
    """Passes bytes on. While `is_cut` it hangs up; while `loses_answers` what was asked is done, and nobody hears."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._writers: set[asyncio.StreamWriter] = set()
        self.is_cut = False
        self.loses_answers = False
        self.lost = 0
        self.port = 0

    @property
    def address(self) -> StoreAddress:
        return StoreAddress("standalone", (("127.0.0.1", self.port),))

    def cut(self) -> None:
        self.is_cut = True
        self.hang_up()

    def hang_up(self) -> None:
        for writer in self._writers:
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            writer.close()
            return
        from_store, to_store = await asyncio.open_unix_connection(self._path)
        ends = {writer, to_store}
        self._writers |= ends
        await asyncio.gather(self._pass(reader, to_store), self._pass_answers(from_store, writer))
        self._writers -= ends

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def _pass_answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                if self.loses_answers:
                    self.lost += 1
                    break
                writer.write(data)
                await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def line_to(path: str) -> AsyncIterator[Line]:
    line = Line(path)
    server = await asyncio.start_server(line.serve, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        server.close()
        line.hang_up()
        await server.wait_closed()
