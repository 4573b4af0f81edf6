"""A WebSocket client without manners: it sends what it likes, and reads only when told to."""

import asyncio
import base64
import json
import os
import socket
import struct
from typing import Any

TEXT, BINARY, CLOSE, PING, PONG = 0x1, 0x2, 0x8, 0x9, 0xA


def frame(payload: bytes, *, opcode: int = TEXT, final: bool = True, masked: bool = True, reserved: int = 0) -> bytes:
    head = bytes(((0x80 if final else 0) | reserved | opcode,))
    bit = 0x80 if masked else 0
    length = len(payload)
    if length < 126:
        head += bytes((bit | length,))
    elif length < 65_536:
        head += struct.pack("!BH", bit | 126, length)
    else:
        head += struct.pack("!BQ", bit | 127, length)
    return head + b"\0\0\0\0" + payload if masked else head + payload  # a mask of zeros changes nothing


def call(method: str, **params: Any) -> bytes:
    return frame(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())


class RawSocket:
    """After the handshake nothing is read or answered by itself, pings least of all."""

    def __init__(self, sock: socket.socket, head: str) -> None:
        self.sock = sock
        self.head = head
        self._loop = asyncio.get_running_loop()
        self._buffer = b""

    @classmethod
    async def open(cls, port: int, key: str, *, receive_bytes: int | None = None, headers: str = "") -> "RawSocket":
        loop = asyncio.get_running_loop()
        sock = socket.socket()
        sock.setblocking(False)
        if receive_bytes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        await loop.sock_connect(sock, ("127.0.0.1", port))
        await loop.sock_sendall(
            sock,
            (
                f"GET /ws?project_id={key} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\nSec-WebSocket-Version: 13\r\n"
                f"{headers}\r\n"
            ).encode(),
        )
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = await asyncio.wait_for(loop.sock_recv(sock, 1), 10)
            assert byte, head
            head += byte
        return cls(sock, head.decode())

    async def __aenter__(self) -> "RawSocket":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.sock.close()

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self.sock, data)

    async def read(self, *, seconds: float = 10) -> tuple[int, bytes]:
        """The next frame; (0, b"") when the connection is over."""
        async with asyncio.timeout(seconds):
            while True:
                found = self._frame()
                if found is not None:
                    return found
                try:
                    data = await self._loop.sock_recv(self.sock, 65_536)
                except ConnectionError:
                    return 0, b""
                if not data:
                    return 0, b""
                self._buffer += data

    async def read_all(self, *, seconds: float = 10) -> list[tuple[int, bytes]]:
        """Every frame until the connection is over."""
        found = []
        while (one := await self.read(seconds=seconds))[0]:
            found.append(one)
        return found

    async def close_code(self, *, seconds: float = 10) -> int | None:
        """Read to the end; the code of the close frame, or None without one."""
        code = None
        for opcode, payload in await self.read_all(seconds=seconds):
            if opcode == CLOSE:
                code = struct.unpack("!H", payload[:2])[0]
        return code

    def _frame(self) -> tuple[int, bytes] | None:
        if len(self._buffer) < 2:
            return None
        length, start = self._buffer[1] & 0x7F, 2
        for mark, size in ((126, 2), (127, 8)):
            if length == mark:
                length, start = int.from_bytes(self._buffer[2 : 2 + size]), 2 + size
                break
        if len(self._buffer) < start + length:
            return None
        found = self._buffer[0] & 0x0F, self._buffer[start : start + length]
        self._buffer = self._buffer[start + length :]
        return found
