"""Requests that are far more than a request: closed after little of them, while everybody else's are answered."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import pytest

from tests.integration.live.ears import LiveServer, serving
from threadkit.app import Application
from threadkit.server.protocol import AT_ONCE, MOST_HEADERS, MOST_IN_A_ROW
from threadkit.sites.model import NewSite

FLOOD_BYTES = 20_000_000


@pytest.fixture
async def live(app: Application) -> AsyncIterator[LiveServer]:
    async with serving(app) as server:
        yield server


@pytest.fixture
def posting(new_site: NewSite) -> bytes:
    return (
        b"POST /v1/comments/preview HTTP/1.1\r\nhost: x\r\nprojectid: %b\r\ncontent-type: application/json\r\n"
        % new_site.site.api_key_public.encode()
    )


class Caller:
    """A connection, and how much the server took from it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.sent_bytes = 0

    @classmethod
    @contextlib.asynccontextmanager
    async def of(cls, server: LiveServer) -> AsyncIterator["Caller"]:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            yield cls(reader, writer)
        finally:
            writer.transport.abort()

    async def flood(self, unit: bytes) -> None:
        """Send it again and again until the server has had enough."""
        piece = unit * (65_536 // len(unit))
        with contextlib.suppress(ConnectionError):
            while self.sent_bytes < FLOOD_BYTES and not self.writer.is_closing():
                self.writer.write(piece)
                async with asyncio.timeout(5):
                    await self.writer.drain()
                self.sent_bytes += len(piece)

    async def answers(self) -> bytes:
        """Everything until the connection is over."""
        said = b""
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(5):
                while data := await self.reader.read(65_536):
                    said += data
        return said


async def test_a_body_in_tiny_chunks_is_given_up_after_a_few_kilobytes(live: LiveServer, posting: bytes) -> None:
    async with Caller.of(live) as caller:
        caller.writer.write(posting + b"transfer-encoding: chunked\r\n\r\n" + b'1\r\n"\r\n')
        await asyncio.gather(caller.flood(b"1\r\nx\r\n"), said := asyncio.ensure_future(caller.answers()))
        assert (await said).startswith(b"HTTP/1.1 413 ")
        assert caller.sent_bytes < FLOOD_BYTES
    assert live.meter("threadkit_floods_total") == 1


async def test_a_body_in_chunks_as_programs_make_them_is_taken(live: LiveServer, posting: bytes) -> None:
    body = json.dumps({"content": "x" * 9000}).encode()
    pieces = [body[at : at + 64] for at in range(0, len(body), 64)]
    async with Caller.of(live) as caller:
        caller.writer.write(posting + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n")
        caller.writer.write(b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n")
        assert (await caller.answers()).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("length", [b"transfer-encoding: chunked", b"content-length: 1000000000"])
async def test_a_body_that_was_answered_with_413_is_not_taken_to_its_end(
    live: LiveServer, posting: bytes, length: bytes
) -> None:
    async with Caller.of(live) as caller:
        caller.writer.write(posting + length + b"\r\n\r\n")
        chunk = b"x" * 16_384
        unit = b"4000\r\n%b\r\n" % chunk if b"chunked" in length else chunk
        await asyncio.gather(caller.flood(unit), said := asyncio.ensure_future(caller.answers()))
        assert (await said).count(b"HTTP/1.1 ") == 1
        assert (await said).startswith(b"HTTP/1.1 413 ")
        assert b'"code":"too_large"' in await said or b"content-length: 0" in await said
        assert caller.sent_bytes < FLOOD_BYTES
    assert live.meter("threadkit_floods_total") == 0, "somebody who pasted a novel is no attacker"


async def test_more_headers_than_anybody_has_are_refused(live: LiveServer) -> None:
    for number, status in ((MOST_HEADERS, b"200"), (MOST_HEADERS + 1, b"431"), (10_000, b"431")):
        async with Caller.of(live) as caller:
            headers = b"connection: close\r\n" + b"a: b\r\n" * (number - 1)
            caller.writer.write(b"GET /version HTTP/1.1\r\n" + headers + b"\r\n")
            assert (await caller.answers()).startswith(b"HTTP/1.1 " + status), number


async def test_requests_in_one_go_are_all_answered_in_order(live: LiveServer) -> None:
    """More bytes than are taken at a time, but no more requests than may wait."""
    filler = b"x-filler: %b\r\n" % (b"x" * 500)
    requests = [
        b"GET /version HTTP/1.1\r\nhost: x\r\nx-request-id: number-%02d\r\n%b%b\r\n"
        % (place, filler, b"connection: close\r\n" if place == MOST_IN_A_ROW - 1 else b"")
        for place in range(MOST_IN_A_ROW)
    ]
    assert len(b"".join(requests)) > 3 * AT_ONCE
    async with Caller.of(live) as caller:
        caller.writer.write(b"".join(requests))
        said = await caller.answers()
    assert [int(part[:2]) for part in said.split(b"x-request-id: number-")[1:]] == [*range(MOST_IN_A_ROW)]


@pytest.mark.parametrize("path", ["/version", "/v1/comments?key=KEY&page_url=https://blog.example.org/a"])
async def test_more_requests_in_one_go_than_anybody_sends_are_cut_off(
    live: LiveServer, new_site: NewSite, path: str
) -> None:
    """Also those that are answered at once."""
    path = path.replace("KEY", new_site.site.api_key_public)
    async with Caller.of(live) as caller:
        flood = caller.flood(f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        await asyncio.gather(flood, asyncio.ensure_future(caller.answers()))
        assert caller.sent_bytes < FLOOD_BYTES
    assert live.meter("threadkit_floods_total") == 1
