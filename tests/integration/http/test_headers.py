"""The headers that protect browsers, on every route and every error, as they go over the wire. G25."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.integration.authorisation.routes import ROUTES, SOMEBODY
from tests.integration.live.ears import LiveServer, serving
from tests.people import create
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

ENDLESS = {"/v1/events", "/v1/moderation/events"}
LEAVES = {("DELETE", "/v1/users/me"), ("DELETE", "/v1/users/me/sessions"), ("POST", "/v1/auth/logout")}
RAW = {
    "no request at all": b"GARBAGE\r\n\r\n",
    "a method nobody knows": b"BREW /v1/site HTTP/1.1\r\nhost: x\r\n\r\n",
    "a bad length": b"POST /v1/comments HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
    "two lengths": b"POST /v1/comments HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    "a huge header": b"GET /v1/site HTTP/1.1\r\nhost: x\r\nx-a: " + b"a" * 200_000 + b"\r\n\r\n",
    "a bad path": b"GET /v1/%ff%fe/\x01 HTTP/1.1\r\nhost: x\r\n\r\n",
    "a bad chunk": b"POST /v1/comments HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
}


@pytest.fixture
async def live(app: Application) -> AsyncIterator[LiveServer]:
    async with serving(app) as server:
        yield server


@pytest.fixture
async def web(live: LiveServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}", timeout=30) as client:
        yield client


def missing(answer: httpx.Response, *, is_https: bool = True) -> list[str]:
    """What an answer lacks."""
    headers = answer.headers
    wrong = []
    if headers.get("x-content-type-options") != "nosniff":
        wrong.append("nosniff")
    if headers.get("referrer-policy") not in ("no-referrer", "same-origin"):
        wrong.append("referrer-policy")
    if "default-src 'none'" not in headers.get("content-security-policy", ""):
        wrong.append("content-security-policy")
    if "server" in headers or "x-powered-by" in headers:
        wrong.append("who we are")
    if is_https and "max-age=31536000" not in headers.get("strict-transport-security", ""):
        wrong.append("hsts")
    if answer.status_code >= 400 and "no-store" not in headers.get("cache-control", ""):
        wrong.append("no-store")
    kind = headers.get("content-type", "")
    if answer.content and (not kind or (kind.startswith("text/") and "charset=" not in kind)):
        wrong.append(f"content-type {kind}")
    return wrong


async def test_every_route_has_them_whoever_asks_and_whatever_for(
    app: Application, web: httpx.AsyncClient, new_site: NewSite
) -> None:
    owner = await create(web, new_site, "owner")
    await app.services.roles.grant(new_site.site.id, UserId(owner.id), Role.OWNER)
    public = {"projectid": new_site.site.api_key_public, "x-forwarded-proto": "https"}
    callers = [
        {"x-forwarded-proto": "https"},
        public,
        public | {"authorization": f"Bearer {owner.token}"},
        public | {"origin": "https://evil.example"},
        public | {"authorization": "Bearer nonsense"},
    ]
    wrong, statuses = [], Counter[int]()
    for method, template in sorted(ROUTES):
        path = template.replace("{path}", "x").replace("{name}", "x.svg").replace("{provider}", "google")
        path = path.replace("{kind}", "public").replace("{", "").replace("}", "").replace("comment_id", SOMEBODY)
        for number, headers in enumerate(callers):
            if (template in ENDLESS or (method, template) in LEAVES or "rotate" in template) and number in (1, 2):
                continue
            bodies: list[bytes | None] = [None] if method in ("GET", "DELETE") else [b"{}"]
            if method not in ("GET", "DELETE") and number == 2:
                bodies += [b"{nonsense", b"x" * 70_000]
            for body in bodies:
                known = headers | ({"content-type": "application/json"} if body else {})
                answer = await web.request(method, path, content=body, headers=known)
                statuses[answer.status_code] += 1
                wrong += [f"{method} {path} {answer.status_code}: {lack}" for lack in missing(answer)]
    for method, path in (("GET", "/nowhere"), ("PATCH", "/health"), ("HEAD", "/v1/site")):
        answer = await web.request(method, path, headers={"x-forwarded-proto": "https"})
        wrong += [f"{method} {path} {answer.status_code}: {lack}" for lack in missing(answer)]
    assert sorted(set(wrong)) == []
    assert {200, 400, 401, 403, 404, 413, 422} <= set(statuses)
    total = sum(statuses.values())
    print(f"\nG25: {len(ROUTES)} routes, {total} answers with {len(statuses)} statuses, every header on all of them")


@pytest.mark.parametrize("what", RAW)
async def test_what_is_hardly_a_request_gets_them_too(live: LiveServer, what: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
    writer.write(RAW[what])
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
    writer.close()
    first, *lines = head.decode().strip().split("\r\n")
    headers = [(line.split(": ", 1)[0], line.split(": ", 1)[1]) for line in lines]
    answer = httpx.Response(int(first.split(" ")[1]), headers=headers)
    assert answer.status_code in (400, 401, 404, 405, 408, 413, 414, 431, 501), first
    assert missing(answer, is_https=False) == []
