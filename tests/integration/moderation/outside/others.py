"""Those who are asked, all played by one server of ours over real HTTP: good by default, and able to misbehave."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

VERIFY, MODERATIONS, HOOK = "/siteverify", "/openai/v1/moderations", "/hook"
CHECK, SPAM, HAM = "/akismet/comment-check", "/akismet/submit-spam", "/akismet/submit-ham"
ELSEWHERE = "/elsewhere"

ALL_IS_WELL: dict[str, Any] = {
    VERIFY: {"success": True, "error-codes": [], "hostname": "comments.test"},
    MODERATIONS: {"results": [{"flagged": False, "categories": {}, "category_scores": {}}]},
    HOOK: {"verdict": "pass"},
    CHECK: "false",
    SPAM: "Thanks for making the web a better place.",
    HAM: "Thanks for making the web a better place.",
    ELSEWHERE: {"verdict": "pass"},
}


@dataclass
class Call:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Others:
    """`answers` and `lies` are by path; a lie is one of slow, drip, hangup, 500, garbage, huge, redirect."""

    port: int = 0
    answers: dict[str, Any] = field(default_factory=lambda: dict(ALL_IS_WELL))
    headers: dict[str, str] = field(default_factory=dict)
    lies: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def paths(self) -> list[str]:
        return [call.path for call in self.calls]

    def close(self) -> None:
        """From now on nobody listens."""
        assert self.server
        self.server.close()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            call = await _read(reader)
            self.calls.append(call)
            await self._answer(call.path, writer)
        writer.close()

    async def _answer(self, path: str, writer: asyncio.StreamWriter) -> None:
        answer, lie = self.answers[path], self.lies.get(path)
        content = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        status, more = "200 OK", dict(self.headers)
        match lie:
            case "slow":
                await self.gate.wait()
            case "hangup":
                return
            case "500":
                status = "500 Internal Server Error"
            case "garbage":
                content = b'{"success": <!doctype html>'
            case "huge":
                content = b" " * 2_000_000 + content
            case "redirect":
                status, more = "307 Temporary Redirect", {"location": f"{self.url}{ELSEWHERE}"}
        more |= {"content-length": str(len(content)), "connection": "close"}
        head = "".join(f"{name}: {value}\r\n" for name, value in more.items())
        writer.write(f"HTTP/1.1 {status}\r\n{head}\r\n".encode())
        if lie == "drip":
            writer.write(content[:1])
            await writer.drain()
            await self.gate.wait()
            content = content[1:]
        writer.write(content)
        await writer.drain()


async def _read(reader: asyncio.StreamReader) -> Call:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Call(first.split()[1], headers, body)


@contextlib.asynccontextmanager
async def serving(tls: ssl.SSLContext | None = None) -> AsyncIterator[Others]:
    others = Others()
    others.server = await asyncio.start_server(others.handle, "127.0.0.1", 0, ssl=tls)
    others.port = others.server.sockets[0].getsockname()[1]
    try:
        yield others
    finally:
        others.gate.set()
        others.server.close()
