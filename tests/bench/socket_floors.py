"""Floors for live pages: servers that hold sockets and send each of them what they are told to."""

import asyncio
import base64
import os
from typing import Any

from tests.bench.crowd import CONTROL, frame_end
from threadkit.live.protocol import EXTENSION

HELLO = '{"jsonrpc":"2.0","method":"presence","params":{}}'


def loop_of_sends(needs: dict[str, Any]) -> Any:
    """A bare app: for every number that comes through the control socket, one message to all others, one by one."""
    texts = [base64.b64decode(text).decode() for text in needs["texts"]]
    sends: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        await receive()
        if ours := scope["extensions"].get(EXTENSION):
            ours["protocol"].allow(1_000_000)
        await send({"type": "websocket.accept"})
        if scope["path"] == CONTROL:
            await command(receive)
        else:
            await hold(receive, send)

    async def hold(receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.send", "text": HELLO})
        sends.append(send)
        while (await receive())["type"] != "websocket.disconnect":
            pass
        sends.remove(send)

    async def command(receive: Any) -> None:
        while (event := await receive())["type"] != "websocket.disconnect":
            text = texts[int(event["text"])]
            for send in sends:
                await send({"type": "websocket.send", "text": text})

    return app


class _Raw(asyncio.Protocol):
    """Neither HTTP nor WebSocket, only bytes at the right time."""

    frames: list[bytes]
    members: list[int]
    hello = bytes((0x81, len(HELLO))) + HELLO.encode()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._is_control = False
        self._is_open = False
        self._fd: int | None = None
        self._data = b""

    def data_received(self, data: bytes) -> None:
        if not self._is_open:
            self._is_open = True
            self._is_control = data.startswith(b"GET " + CONTROL.encode())
            self._transport.write(
                b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n"
            )
        elif not self._is_control:
            self._transport.write(self.hello)
            self._fd = self._transport.get_extra_info("socket").fileno()
            self.members.append(self._fd)
        else:
            self._data += data
            self._obey()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._fd is not None:
            self.members.remove(self._fd)

    def _obey(self) -> None:
        # The frames of the control socket are two bytes, a mask of zeros, and four digits.
        while len(self._data) >= 10:
            frame = self.frames[int(self._data[6:10])]
            self._data = self._data[10:]
            for member in self.members:
                os.write(member, frame)


async def serve_raw(port: int, needs: dict[str, Any]) -> None:
    """No server at all: one system call per receipt. Shows how fast the crowd itself can be."""
    _Raw.frames = [base64.b64decode(frame) for frame in needs["frames"]]
    _Raw.members = []
    server = await asyncio.get_running_loop().create_server(_Raw, "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


def text_in(frame: bytes) -> bytes:
    """The payload of a server's frame."""
    assert frame_end(frame, 0) == len(frame)
    return frame[2 if frame[1] < 126 else 4 if frame[1] == 126 else 10 :]
