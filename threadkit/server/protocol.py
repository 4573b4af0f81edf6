"""The HTTP protocol of the server, with the fast lane in front of it.

A reader's answer that lies ready is written while the request is still being parsed: no task, no ASGI messages, no
header checked anew. Whatever is not quite that goes through uvicorn as ever.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from threadkit.comments.fast_lane import PATH
from threadkit.http.intake import Intake
from threadkit.http.manners import DEFAULTS, SECURITY

_ASKED = PATH.encode() + b"?"
_UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\n"
_LAST = b"connection: close\r\n"
_MANNERS = b"".join(b"%b: %b\r\n" % header for header in (*SECURITY, *DEFAULTS))
LONGEST_HEAD = 65_536
MOST_HEADERS = 100
MOST_IN_A_ROW = 32
"""Requests that were all there before the first was answered."""
MOST_OF_CHUNKS = 8192
"""What the marks of chunks may take in a body, besides what they hold."""
AT_ONCE = 4096
"""What is read without waiting for a turn."""
A_PIECE = 1024
LEAVE_S = 1.0
LAST_WORD_S = 0.5


class _TooMany(Exception):
    """Headers, or requests in a row."""


class _TwoHosts(Exception):
    """A proxy and we may each believe another one."""


class _Flow(FlowControl):
    """Reads nothing while something that came waits for its turn."""

    is_behind = False

    def resume_reading(self) -> None:
        if not self.is_behind:
            super().resume_reading()


class _Answered:
    """Stands where uvicorn keeps the request at work, and says that there is none."""

    response_complete = True
    response_started = True
    message_event = asyncio.Event()


_ANSWERED: Any = _Answered()


class _Waiting:
    """A request that waits for its turn."""

    __slots__ = ("_app", "_cycle", "_protocol")

    def __init__(self, protocol: "ReadersProtocol", cycle: RequestResponseCycle, app: Any) -> None:
        self._protocol = protocol
        self._cycle = cycle
        self._app = app

    @property
    def has_left(self) -> bool:
        return self._cycle.disconnected

    def start(self) -> None:
        self._protocol.start(self._cycle, self._app)

    def refuse(self) -> None:
        if not self._cycle.disconnected:
            self._protocol.refuse(self._cycle)


class ReadersProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with four things it does not have: the fast lane, a queue, an end to the patience with slow
    senders, and a goodbye that no request falls victim to."""

    _dated: tuple[Any, bytes] = (None, b"")  # what the server puts on every answer, and how it is written
    _since: float | None = None  # since when a request has been coming in
    _is_head = True
    _sent = 0  # of the head, or of the body, in bytes
    _held = 0  # of the body, without the marks of chunks
    _has_host = False
    _in_a_row = 0  # requests since nothing waited
    _is_given_up = False
    _watch: asyncio.TimerHandle | None = None
    _is_leaving = False
    _is_upgraded = False

    # --- Slow and endless senders ------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow: _Flow = _Flow(transport)
        self._intake: Intake = getattr(self.app, "intake", None) or Intake()
        self._left = bytearray()
        self._since = self.loop.time()
        if self._intake.is_out({"client": self.client, "headers": ()}, self._since):
            transport.abort()
        else:
            self._watch = self.loop.call_later(self._intake.head_s, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        self._left.clear()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        """A handshake costs as much as a request, so a crowd of them takes turns too."""
        self._is_upgraded = True  # from here on the connection is somebody else's
        self._stop_watching()
        self.flow.pause_reading()
        self._intake.add(self, self.loop)

    def _upgrade(self) -> None:
        if self.transport.is_closing():
            return
        if self._intake.is_out(self.scope, self.loop.time()):
            self._write_status(b"429 Too Many Requests")
            self.transport.close()
        else:
            super().handle_websocket_upgrade()

    def data_received(self, data: bytes) -> None:
        if not self._left:
            if not self.pipeline:
                self._in_a_row = 0
            if len(data) <= AT_ONCE:
                self._take(data)
                return
            self.flow.is_behind = True
            self.flow.pause_reading()
            self._intake.add(self, self.loop)
        self._left += data

    def take_piece(self) -> bool:
        if self._is_upgraded:
            self._upgrade()
            return False
        piece = bytes(self._left[:A_PIECE])
        del self._left[:A_PIECE]
        if not self.transport.is_closing():
            self._take(piece)
        if self._is_upgraded or self.transport.is_closing():
            self._left.clear()
        elif not self._left and not self._is_given_up:
            self.flow.is_behind = False
            if not self.pipeline:
                self.flow.resume_reading()
        return bool(self._left)

    def _take(self, data: bytes) -> None:
        super().data_received(data)
        if self._since is None or self._is_upgraded:
            if self._is_forgotten():
                self.timeout_keep_alive_task = self.loop.call_later(
                    self.timeout_keep_alive, self.timeout_keep_alive_handler
                )
            return
        self._sent += len(data)
        if self._is_head:
            if self._sent > LONGEST_HEAD:
                self._give_up(b"431 Request Header Fields Too Large")
        elif self._sent > self._intake.longest_body:
            self._give_up(b"413 Content Too Large")
        elif self._sent - self._held > AT_ONCE + MOST_OF_CHUNKS:
            self._throw_out(b"413 Content Too Large")

    def _throw_out(self, status: bytes) -> None:
        self._intake.throw_out(self.scope, self.loop.time())
        self._refuse(status)

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) >= MOST_HEADERS:
            raise _TooMany
        name = name.lower()
        if name == b"host":
            if self._has_host:
                raise _TwoHosts
            self._has_host = True
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        self._held += len(body)
        super().on_body(body)

    def _is_forgotten(self) -> bool:
        """Empty lines begin no request, but uvicorn takes them for a sign of life and would wait for ever."""
        return (
            self._since is None
            and not self._is_upgraded
            and self.timeout_keep_alive_task is None
            and self._is_idle()
            and not self.transport.is_closing()
        )

    def on_message_begin(self) -> None:
        self._since, self._has_host = self.loop.time(), False
        super().on_message_begin()

    def on_message_complete(self) -> None:
        self._since, self._is_head, self._sent = None, True, 0
        super().on_message_complete()

    def _look(self) -> None:
        """One timer for a connection, not one for each request."""
        patience_s = self._intake.head_s if self._is_head else self._intake.body_s
        left_s = patience_s if self._since is None else self._since + patience_s - self.loop.time()
        if left_s > 0:
            self._watch = self.loop.call_later(left_s, self._look)
        elif not self.transport.is_closing():
            self._refuse(b"408 Request Timeout")

    def _refuse(self, status: bytes) -> None:
        self._write_refusal(status)
        self.transport.close()

    def _give_up(self, status: bytes) -> None:
        """The rest of what they send is not taken, but they get a moment to read why: many would not find an answer any
        more on a connection that was closed while they were sending."""
        self._write_refusal(status)
        self._is_given_up = self.flow.is_behind = True
        self._left.clear()
        self.flow.pause_reading()
        self.transport.write_eof()
        self.loop.call_later(LAST_WORD_S, self.transport.abort)

    def _write_refusal(self, status: bytes) -> None:
        if self._is_head and self._is_idle():
            self._write_status(status)
        elif not self._is_head and not self.pipeline and not self.cycle.response_started:
            self._write_status(status)
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def send_400_response(self, msg: str) -> None:
        """What cannot be read gets no further than here, and is answered with the same headers as everything else."""
        if len(self.headers or ()) >= MOST_HEADERS or self._in_a_row > MOST_IN_A_ROW:
            self._throw_out(b"431 Request Header Fields Too Large")
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self._write_status(b"400 Bad Request")
        self.transport.close()

    def _write_status(self, status: bytes) -> None:
        self.transport.write(b"HTTP/1.1 %b\r\n%bcontent-length: 0\r\n%b\r\n" % (status, _MANNERS, _LAST))

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    # --- Leaving -----------------------------------------------------------------------------------------------------

    def shutdown(self) -> None:
        """Somebody may be sending on an idle connection right now. So it stays open for a moment, and whatever comes is
        answered with the word that it was the last."""
        self._is_leaving = True
        if self._is_idle():
            self.loop.call_later(LEAVE_S, self._leave)
        else:
            super().shutdown()

    def _leave(self) -> None:
        if self._is_idle():
            self.transport.close()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    # --- The fast lane -----------------------------------------------------------------------------------------------

    def on_headers_complete(self) -> None:
        self._is_head, self._sent, self._held = False, 0, 0
        self._in_a_row += 1
        if self._in_a_row > MOST_IN_A_ROW:
            raise _TooMany
        if not (self._may_be_answered() and self._answer()):
            super().on_headers_complete()
            if self._is_leaving and self.cycle is not None:
                self.cycle.keep_alive = False

    def _may_be_answered(self) -> bool:
        return (
            self._is_idle()
            and not self._is_leaving
            and self.parser.get_http_version() == "1.1"
            and self.parser.should_keep_alive()
            and not self.parser.should_upgrade()
            and not self.expect_100_continue
            and not self.flow.write_paused
            and not self.root_path
        )

    def _answer(self) -> bool:
        if not self.url.startswith(_ASKED) or self.parser.get_method() != b"GET" or b"#" in self.url:
            return False
        lane = getattr(self.app, "fast_lane", None)
        if lane is None:  # wrapped, as uvicorn does at its most talkative log level
            return False
        self.scope["method"] = "GET"
        self.scope["path"] = PATH
        answer = lane.at_once(self.scope, self.url[len(_ASKED) :])
        if answer is None:
            return False
        self._write(*answer)
        self.cycle = _ANSWERED
        self.on_response_complete()
        return True

    def _write(self, status_line: bytes, *rest: bytes) -> None:
        defaults = self.server_state.default_headers
        if ReadersProtocol._dated[0] is not defaults:
            ReadersProtocol._dated = defaults, b"".join(b"%b: %b\r\n" % header for header in defaults)
        self.transport.writelines((status_line, ReadersProtocol._dated[1], *rest))

    # --- The queue ---------------------------------------------------------------------------------------------------

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Where uvicorn begins to work on a request, be it new or one that stood behind another."""
        admission = getattr(app, "admission", None)
        if admission is None:
            self.start(cycle, app)
        else:
            admission.let_in(_Waiting(self, cycle, app), cycle.scope, self.loop.call_later)

    def start(self, cycle: RequestResponseCycle, app: Any) -> None:
        super()._start_asgi_task(cycle, app)

    def refuse(self, cycle: RequestResponseCycle) -> None:
        head, body = self.app.admission.refusal(cycle.scope)
        cycle.response_complete = True  # so that what is still to come of its body is dropped
        self._write(_UNAVAILABLE, head, b"\r\n" if cycle.keep_alive else _LAST + b"\r\n", body)
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()
