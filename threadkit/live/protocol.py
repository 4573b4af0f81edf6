"""The WebSocket protocol of the server, opened up so that one frame can be written to a thousand sockets.

ASGI would have every socket encode the same message again and wait for it in a task of its own. A server's frames are
not masked, so they are the same for all; here they go straight to the transport, whose buffer is the socket's queue.
"""

import asyncio
import random
from collections.abc import Generator
from itertools import islice
from typing import Any

from uvicorn.protocols.websockets.wsproto_impl import WSProtocol
from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import CloseConnection, Event

from threadkit.http.intake import Intake
from threadkit.live.message import restart

EXTENSION = "threadkit.protocol"
MOST_UNSENT_BYTES = 256 * 1024
GOODBYE_S = 5.0
FRAMES_A_MESSAGE = 16
FORGOTTEN_S = 4.0
"""How long it takes until as much as is allowed at once is allowed again."""
A_PIECE = 8
"""Frames; one costs some 20 to 40 µs to read."""


class _Frames(WSConnection):
    """wsproto's connection, which reads frames only as they are asked for, asked for few at a time."""

    taken = 0

    def events(self) -> Generator[Event, None, None]:
        self.taken = 0
        for event in islice(super().events(), A_PIECE):
            self.taken += 1
            yield event


class LiveProtocol(WSProtocol):
    _cut: asyncio.TimerHandle | None = None
    _most_frames = 0
    _most_bytes = 0
    _is_flooding = False
    _counted_s = 0.0
    _frames = 0.0
    _bytes = 0.0
    _is_queued = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = self._read = _Frames(ConnectionType.SERVER)
        self._intake: Intake = getattr(self.app, "intake", None) or Intake()

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        extensions: Any = self.scope["extensions"]
        extensions[EXTENSION] = {"protocol": self}
        self.transport.pause_reading()  # what comes before the answer would be kept without an end

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.accept" and not self.transport.is_closing():
            self.transport.resume_reading()

    def allow(self, messages_a_second: int) -> None:
        """Pings, and messages in a few pieces, come on top of messages."""
        self._most_frames = FRAMES_A_MESSAGE * messages_a_second
        self._most_bytes = self.config.ws_max_size * messages_a_second

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
        self._count(received=len(data))
        if not self._is_flooding:
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

    # --- Floods ------------------------------------------------------------------------------------------------------

    def handle_events(self) -> None:
        if not self._is_queued and self.take_piece():
            self._intake.add(self, self.loop)

    def take_piece(self) -> bool:
        if not self.transport.is_closing():
            super().handle_events()
            self._count(frames=self._read.taken)
        self._is_queued = self._read.taken == A_PIECE and not self.transport.is_closing()
        return self._is_queued

    def _count(self, *, frames: int = 0, received: int = 0) -> None:
        """Every frame and every byte, because a ping and an empty piece of a message cost as much as a message."""
        if not self.handshake_complete:
            return
        now_s = self.loop.time()
        part = (now_s - self._counted_s) / FORGOTTEN_S
        self._counted_s = now_s
        self._frames = max(0.0, self._frames - part * self._most_frames) + frames
        self._bytes = max(0.0, self._bytes - part * self._most_bytes) + received
        if not self._is_flooding and (self._frames > self._most_frames or self._bytes > self._most_bytes):
            self._is_flooding = True
            self._intake.throw_out(self.scope, now_s)
            self.end(1008, "too much at once")

    def _cut_off_soon(self) -> None:
        if self._cut is None:
            self._cut = self.loop.call_later(GOODBYE_S, self.transport.abort)
