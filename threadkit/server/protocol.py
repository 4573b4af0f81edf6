"""The HTTP protocol of the server, with the fast lane in front of it.

A reader's answer that lies ready is written while the request is still being parsed: no task, no ASGI messages, no
header checked anew. Whatever is not quite that goes through uvicorn as ever.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from threadkit.comments.fast_lane import PATH

_ASKED = PATH.encode() + b"?"


class _Answered:
    """Stands where uvicorn keeps the request at work, and says that there is none."""

    response_complete = True
    message_event = asyncio.Event()


_ANSWERED: Any = _Answered()


class ReadersProtocol(HttpToolsProtocol):
    _dated: tuple[Any, bytes] = (None, b"")  # what the server puts on every answer, and how it is written

    def on_headers_complete(self) -> None:
        if not (self.url.startswith(_ASKED) and self._may_be_answered() and self._answer()):
            super().on_headers_complete()

    def _may_be_answered(self) -> bool:
        return (
            (self.cycle is None or self.cycle.response_complete)
            and self.parser.get_method() == b"GET"
            and self.parser.get_http_version() == "1.1"
            and self.parser.should_keep_alive()
            and not self.parser.should_upgrade()
            and not self.expect_100_continue
            and not self.flow.write_paused
            and not self.root_path
            and b"#" not in self.url
        )

    def _answer(self) -> bool:
        lane = getattr(self.app, "fast_lane", None)
        if lane is None:  # wrapped, as uvicorn does at its most talkative log level
            return False
        self.scope["method"] = "GET"
        self.scope["path"] = PATH
        answer = lane.at_once(self.scope, self.url[len(_ASKED) :])
        if answer is None:
            return False
        defaults = self.server_state.default_headers
        if ReadersProtocol._dated[0] is not defaults:
            ReadersProtocol._dated = defaults, b"".join(b"%b: %b\r\n" % header for header in defaults)
        self.transport.writelines((answer[0], ReadersProtocol._dated[1], *answer[1:]))
        self.cycle = _ANSWERED
        self.on_response_complete()
        return True
