"""The WebSocket protocol of the server, opened up so that one frame can be written to a thousand sockets.

ASGI would have every socket encode the same message again and wait for it in a task of its own. A server's frames are
not masked, so they are the same for all; here they go straight to the transport, whose buffer is the socket's queue.
"""

import asyncio
import random
from typing import Any

from uvicorn.protocols.websockets.wsproto_impl import WSProtocol
from wsproto.connection import ConnectionState
from wsproto.events import CloseConnection

from threadkit.live.message import restart

EXTENSION = "threadkit.protocol"
MOST_UNSENT_BYTES = 256 * 1024
GOODBYE_S = 5.0


class LiveProtocol(WSProtocol):
    _cut: asyncio.TimerHandle | None = None

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        extensions: Any = self.scope["extensions"]
        extensions[EXTENSION] = {"protocol": self}

    @property
    def is_open(self) -> bool:
        return self.handshake_complete and not self.close_sent and not self.transport.is_closing()

    @property
    def unsent_bytes(self) -> int:
        return self.transport.get_write_buffer_size()

    def write_frame(self, frame: bytes) -> None:
        self.transport.write(frame)

    def end(self, code: int, reason: str) -> None:
        """Say goodbye; whoever does not read it is cut off."""
        if not self.is_open:
            return
        self.close_sent = True
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self.transport.write(self.conn.send(CloseConnection(code=code, reason=reason)))
        self.transport.close()
        self._cut_off_soon()

    # A transport that is closed still waits until the other side has read everything, which may be never. Whatever
    # closed it, it is given some seconds.

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            self._cut_off_soon()

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self._cut_off_soon()

    def shutdown(self) -> None:
        if self.is_open:  # spread over some seconds, or all come back at once
            self.write_frame(restart(random.randrange(500, 10_000)).frame)  # noqa: S311
        super().shutdown()
        self._cut_off_soon()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._cut is not None:
            self._cut.cancel()
        super().connection_lost(exc)

    def handle_close(self, event: Any) -> None:
        if self.conn.state is ConnectionState.OPEN:  # no goodbye of theirs: what they sent is not WebSocket
            self.end(event.code, event.reason or "")
            return
        super().handle_close(event)

    def handle_ping(self, event: Any) -> None:
        if self.unsent_bytes > MOST_UNSENT_BYTES:  # somebody who asks and asks, and reads no answer
            self.end(1013, "too slow")
            return
        super().handle_ping(event)

    def _cut_off_soon(self) -> None:
        if self._cut is None:
            self._cut = self.loop.call_later(GOODBYE_S, self.transport.abort)
