"""Refusing without reading: never wrong about where a request ends."""

from typing import Any

import httptools
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from threadkit.server.unread import Unread, unread

PLAIN = (
    b"POST /v1/comments/1/vote?a=b HTTP/1.1\r\nHost: x\r\nOrigin: https://Blog.example\r\nX-Request-Id: Abc\r\n"
    b"Content-Type: application/json\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\nbody"
)


def test_a_plain_request_tells_what_its_refusal_needs() -> None:
    assert unread(PLAIN) == Unread(b"/v1/comments/1/vote?a=b", b"https://Blog.example", b"Abc")
    assert unread(b"DELETE /x HTTP/1.1\r\nhost: x\r\n\r\n") == Unread(b"/x", None, None)


@pytest.mark.parametrize(
    "data",
    [
        PLAIN[:-1],
        PLAIN + b"P",
        PLAIN + PLAIN,
        PLAIN[:40],
        PLAIN.replace(b"POST", b"GET"),
        PLAIN.replace(b"POST", b"HEAD"),
        PLAIN.replace(b"HTTP/1.1", b"HTTP/1.0"),
        PLAIN.replace(b"Content-Length: 4", b"Content-Length: 4\r\nContent-Length: 4"),
        PLAIN.replace(b"Content-Length: 4", b"Content-Length: 4\r\nTransfer-Encoding: chunked"),
        PLAIN.replace(b"Content-Length: 4", b"Content-Length : 4"),
        PLAIN.replace(b"Content-Length: 4", b"Content-Length: +4"),
        PLAIN.replace(b"Content-Length: 4", b"Content-Length: 4, 4"),
        PLAIN.replace(b"Content-Length: 4", b"Content-Length:\r\n 4"),
        PLAIN.replace(b"\r\nHost", b"\nHost"),
        PLAIN.replace(b"Host: x", b"Host: x\rfoo"),
        PLAIN.replace(b"keep-alive", b"close"),
        PLAIN.replace(b"keep-alive", b"upgrade"),
        PLAIN.replace(b"Host: x", b"Expect: 100-continue"),
        PLAIN.replace(b"Host: x", b"Upgrade: websocket"),
        PLAIN.replace(b"/v1", b"http://x/v1"),
        b"",
    ],
)
def test_whatever_is_in_the_least_unusual_is_read(data: bytes) -> None:
    assert unread(data) is None


class Heard:
    """What the parser makes of it."""

    def __init__(self) -> None:
        self.begun = self.done = 0
        self.body = b""

    def on_message_begin(self) -> None:
        self.begun += 1

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.done += 1


names = st.sampled_from(
    [
        b"Host",
        b"content-length",
        b"Content-Length",
        b"transfer-encoding",
        b"connection",
        b"x-a",
        b"expect",
        b"content-length ",
    ]
)
values = st.sampled_from(
    [b"0", b"4", b"04", b"5", b" 4", b"4 ", b"chunked", b"close", b"keep-alive", b"\t4", b"x\r\n y", b"\n", b"0x4", b""]
)
joins = st.sampled_from([b": ", b":", b" : ", b":  "])
ends = st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r"])
headers = st.lists(st.tuples(names, joins, values, ends).map(b"".join), max_size=4).map(b"".join)
starts = st.sampled_from(
    [b"POST / HTTP/1.1\r\n", b"PUT /a HTTP/1.1\r\n", b"POST / HTTP/1.1\n", b"POST  / HTTP/1.1\r\n"]
)
bodies = st.sampled_from([b"", b"body", b"body5", b"4\r\nbody\r\n0\r\n\r\n", b"\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"])
requests = st.tuples(starts, headers, st.sampled_from([b"\r\n", b"\n"]), bodies).map(b"".join)


@given(requests)
@example(PLAIN)
def test_whoever_is_not_read_would_have_been_one_whole_request(data: bytes) -> None:
    if unread(data) is None:
        return
    heard: Any = Heard()
    parser = httptools.HttpRequestParser(heard)
    try:
        parser.feed_data(data)
    except httptools.HttpParserError:
        return  # refused as unreadable
    assert (heard.begun, heard.done) == (1, 1), data
    assert parser.should_keep_alive()
