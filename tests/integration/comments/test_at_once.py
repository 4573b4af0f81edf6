"""Answers that the server's protocol writes by itself: the same as the ordinary ones, whatever comes along with them."""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator
from urllib.parse import quote

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import URL, write
from tests.integration.comments.test_reading import get, warm
from tests.integration.live.ears import LiveServer, serving
from tests.people import create
from threadkit.app import Application
from threadkit.comments.fast_lane import FastLane
from threadkit.sites.model import NewSite

QUERY = f"/v1/comments?page_url={quote(URL, safe='')}&sort=top"


class Wire:
    """A connection on which every byte is our own."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, data: str) -> None:
        self._writer.write(data.encode())

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        async with asyncio.timeout(10):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
            status, *lines = head.strip().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines)
            body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        return int(status.split()[1]), headers, body

    async def is_closed(self) -> bool:
        async with asyncio.timeout(10):
            return await self._reader.read(1) == b""


@contextlib.asynccontextmanager
async def wire(port: int) -> AsyncIterator[Wire]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()


def asking(site: NewSite, *headers: str, method: str = "GET", version: str = "1.1", target: str = QUERY) -> str:
    lines = [f"{method} {target} HTTP/{version}", "Host: here", f"ProjectId: {site.site.api_key_public}", *headers]
    return "\r\n".join(lines) + "\r\n\r\n"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each request that could be answered at once was."""
    found: list[bool] = []
    original = FastLane.at_once

    def spy(self: FastLane, scope: object, query: bytes) -> tuple[bytes, bytes, bytes] | None:
        answer = original(self, scope, query)
        found.append(answer is not None)
        return answer

    monkeypatch.setattr(FastLane, "at_once", spy)
    return found


@pytest.fixture
async def server(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> AsyncIterator[LiveServer]:
    ada = await create(http, new_site, "ada")
    await write(ada, "hello **there** " * 100)
    async with serving(app) as running:
        await warm(app, http, new_site)
        yield running


async def test_it_says_what_the_ordinary_way_says(
    server: LiveServer, new_site: NewSite, http: httpx.AsyncClient, at_once: list[bool]
) -> None:
    async with wire(server.port) as line:
        for headers in (
            [],
            ["Origin: https://blog.example.org"],
            ["Accept-Encoding: gzip"],
            ["X-Forwarded-Proto: https"],
            ["X-Request-Id: my-own-request-id"],
        ):
            at_once.clear()
            line.send(asking(new_site, *headers))
            status, given, body = await line.answer()
            assert at_once == [True]
            line.send(asking(new_site, *headers, "Authorization: Bearer nobody"))
            ordinary_status, ordinary, ordinary_body = await line.answer()
            assert at_once == [True, False]
            assert (status, body) == (ordinary_status, ordinary_body) or "Accept-Encoding: gzip" in headers
            for fields in (given, ordinary):
                assert re.fullmatch(r"[A-Za-z0-9_.-]{8,64}", fields.pop("x-request-id"))
                fields.pop("content-length")
                fields.pop("content-encoding", None)
            assert given == ordinary


async def test_a_key_in_the_address_is_as_quick(server: LiveServer, new_site: NewSite, at_once: list[bool]) -> None:
    by_header = asking(new_site)
    by_address = re.sub(
        r"ProjectId: (\S+)\r\n", "", asking(new_site, target=f"{QUERY}&key={new_site.site.api_key_public}")
    )
    async with wire(server.port) as line:
        line.send(by_header)
        expected = (await line.answer())[2]
        line.send(by_address)
        assert (await line.answer())[2] == expected
        line.send(by_address.replace("Host: here", "Host: here\r\nX-Api-Key: tk_pub_of_nobody"))
        assert (await line.answer())[0] == 401
    assert at_once == [True, True, False]


async def test_a_reader_who_has_it_is_told_so(server: LiveServer, new_site: NewSite, at_once: list[bool]) -> None:
    async with wire(server.port) as line:
        line.send(asking(new_site))
        etag = (await line.answer())[1]["etag"]
        line.send(asking(new_site, f"If-None-Match: {etag}"))
        status, headers, body = await line.answer()
        assert (status, body, headers["etag"], at_once) == (304, b"", etag, [True, True])
        assert "content-length" not in headers


async def test_several_at_once_are_answered_in_turn(server: LiveServer, new_site: NewSite) -> None:
    """Sent together: fast, slow, fast. An answer never overtakes another."""
    health = asking(new_site, target="/health")
    async with wire(server.port) as line:
        line.send(
            asking(new_site, "X-Request-Id: number-one") + health + asking(new_site, "X-Request-Id: number-three")
        )
        answers = [await line.answer() for _ in range(3)]
        assert [status for status, _, _ in answers] == [200, 200, 200]
        assert answers[0][1]["x-request-id"] == "number-one"
        assert b"comments" not in answers[1][2]
        assert answers[2][1]["x-request-id"] == "number-three"
        assert answers[0][2] == answers[2][2]


@pytest.mark.parametrize("unusual", ["body", "close", "old", "head", "fragment", "expect", "unknown"])
async def test_what_is_unusual_goes_the_ordinary_way(
    server: LiveServer, new_site: NewSite, at_once: list[bool], unusual: str
) -> None:
    async with wire(server.port) as line:
        if unusual == "body":  # nobody reads it, and the next request is still understood
            line.send(asking(new_site, "Content-Length: 5") + "hello" + asking(new_site))
            answers = [await line.answer(), await line.answer()]
            assert [status for status, _, _ in answers] == [200, 200]
        elif unusual == "close":
            line.send(asking(new_site, "Connection: close"))
            status, headers, _ = await line.answer()
            assert (status, headers["connection"], await line.is_closed()) == (200, "close", True)
        elif unusual == "old":
            line.send(asking(new_site, version="1.0"))
            assert (await line.answer())[0] == 200
            assert await line.is_closed()
        elif unusual == "head":
            line.send(asking(new_site, method="HEAD") + asking(new_site, target="/health"))
            async with asyncio.timeout(10):
                head = await line._reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert (await line.answer())[0] == 200
        elif unusual == "fragment":
            line.send(asking(new_site, target=QUERY + "#here"))
            assert (await line.answer())[0] == 200
        elif unusual == "expect":
            line.send(asking(new_site, "Expect: 100-continue"))
            assert (await line.answer())[0] == 200
        else:
            line.send(asking(new_site, target=QUERY.replace("sort=top", "sort=nonsense")))
            assert (await line.answer())[0] in (400, 422)
        if unusual not in ("body", "unknown"):
            assert at_once == []


async def test_every_answer_is_counted_and_logged(
    server: LiveServer,
    app: Application,
    new_site: NewSite,
    http: httpx.AsyncClient,
    redis: Redis,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def counted() -> float:
        app.metrics.settle()
        labels = {"method": "GET", "route": "/v1/comments", "status": "200"}
        return app.metrics.registry.get_sample_value("threadkit_http_requests_total", labels) or 0

    app.access_log.is_on = True
    before = counted()
    async with wire(server.port) as line:
        for number in range(20):
            line.send(asking(new_site, "User-Agent: Mozilla/5.0 Firefox/130", f"X-Request-Id: request-{number:04}"))
            await line.answer()
        page_id = json.loads((await get(http, new_site, user_agent="curl/8")).content)["page_id"]
    assert counted() == before + 21
    for _ in range(2):
        assert await app.services.tally.flush() is None
    assert await redis.get(f"page:{page_id}:views") == "20"
    app.access_log.flush()
    lines = [json.loads(text) for text in capsys.readouterr().err.splitlines() if '"request-' in text]
    assert [line["request_id"] for line in lines] == [f"request-{number:04}" for number in range(20)]
    assert {(line["method"], line["path"], line["status"], line["site_id"]) for line in lines} == {
        ("GET", "/v1/comments", 200, new_site.site.id)
    }
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", line["timestamp"]) for line in lines)
