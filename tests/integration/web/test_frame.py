"""The page for `mode="iframe"`, and what our own origin may."""

import re
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.make import ManualClock
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.live.protocol import EXTENSION
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore
from threadkit.web.assets import packaged

OWN = "https://comments.example.org:8443"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, public_url=OWN, allow_localhost_origin=False)


async def frame(http: httpx.AsyncClient, site: NewSite, **query: str) -> httpx.Response:
    return await http.get("/embed/frame", params={"project": site.site.api_key_public} | query)


async def test_it_holds_the_element_with_what_was_asked(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await frame(http, new_site, **{"page-id": "a-1"}, url="https://blog.example.org/a?b=1&c=2", lang="de")
    key = new_site.site.api_key_public
    element = f'<thread-kit project="{key}" page-id="a-1" url="https://blog.example.org/a?b=1&amp;c=2" lang="de">'
    assert element in answer.text
    assert '<html lang="de">' in answer.text
    assert '<script async src="/embed.js"></script>' in answer.text
    assert packaged()["frame.js"].path in answer.text


async def test_nothing_else_gets_into_it(http: httpx.AsyncClient, new_site: NewSite) -> None:
    hostile = '"><script>alert(1)</script>'
    answer = await frame(http, new_site, title=hostile, lang=hostile, onload="x", sso="token", mode="iframe")
    assert "<script>alert" not in answer.text
    assert not re.search(r"onload|sso=|mode=", answer.text)
    assert '<html lang="en">' in answer.text


async def test_its_policy_allows_what_it_needs_and_names_who_may_frame_it(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    await app.services.sites.change(new_site.site.id, settings={"allowed_origins": ["*.partner.example"]})
    answer = await frame(http, new_site)
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self' wss://comments.example.org:8443",
        "img-src": "'self' https: data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'self' http://blog.example.org:* http://*.blog.example.org:* "
        "http://partner.example:* http://*.partner.example:*",
    }
    assert "x-frame-options" not in answer.headers
    assert not re.search(r"<style|style=|<script>| on\w+=", answer.text)


@pytest.mark.parametrize(
    ("key", "status"), [("", 401), ("tk_pub_nobody_has_this", 401), ("tk_sec_nobody_has_this", 400)]
)
async def test_without_a_public_key_there_is_no_frame(http: httpx.AsyncClient, key: str, status: int) -> None:
    answer = await http.get("/embed/frame", params={"project": key}, headers={"accept": "text/html"})
    assert answer.status_code == status
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"


async def test_a_secret_key_opens_no_frame(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await http.get("/embed/frame", params={"project": new_site.secret_key})
    assert answer.json()["code"] == "only_public_key"


@pytest.mark.parametrize("headers", [{"origin": OWN}, {"referer": f"{OWN}/embed/frame?project=x"}])
@pytest.mark.parametrize("path", ["/v1/site", "/v1/comments?page_url=https://blog.example.org/a"])
async def test_our_own_pages_may_speak_for_every_site(
    http: httpx.AsyncClient, new_site: NewSite, path: str, headers: dict[str, str]
) -> None:
    headers = {"projectid": new_site.site.api_key_public} | headers
    for _ in range(2):  # the second time from the fast lane
        answer = await http.get(path, headers=headers)
        assert answer.status_code == 200
        assert answer.headers.get("access-control-allow-origin") == headers.get("origin")


@pytest.mark.parametrize(
    "origin",
    [
        "http://comments.example.org:8443",
        "https://comments.example.org",
        "https://comments.example.org:8444",
        "https://evil.comments.example.org:8443",
        "https://comments.example.org.evil.example:8443",
        "https://user@comments.example.org:8443",
        "comments.example.org:8443",
        "http://localhost:8080",
        "http://comments.test",
        "null",
    ],
)
async def test_nothing_that_only_looks_like_us_may(http: httpx.AsyncClient, new_site: NewSite, origin: str) -> None:
    for path in ("/v1/site", "/v1/comments?page_url=https://blog.example.org/a"):
        answer = await http.get(path, headers={"projectid": new_site.site.api_key_public, "origin": origin})
        assert answer.status_code == 403, path


@pytest.mark.parametrize("page", ["https://comments.example.org/embed/frame", "https://evil.example/embed/frame"])
async def test_a_referer_must_be_our_own_too(http: httpx.AsyncClient, new_site: NewSite, page: str) -> None:
    answer = await http.get("/v1/site", headers={"projectid": new_site.site.api_key_public, "referer": page})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("origin", "is_let_in"),
    [(OWN, True), ("https://comments.example.org", False), ("http://localhost:8443", False), ("null", False)],
)
async def test_sockets_follow_the_same_rule(app: Application, new_site: NewSite, origin: str, is_let_in: bool) -> None:
    assert await handshake(app, new_site, origin) is is_let_in


async def handshake(app: Application, site: NewSite, origin: str) -> bool:
    """Whether the server's first word is to accept."""

    class Told(Exception):
        pass

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        raise Told(message["type"])

    scope: Any = {
        "type": "websocket",
        "path": "/ws",
        "query_string": f"project_id={site.site.api_key_public}".encode(),
        "headers": [(b"origin", origin.encode())],
        "client": ("127.0.0.1", 1),
        "extensions": {"websocket.http.response": {}, EXTENSION: {"protocol": SimpleNamespace(allow=lambda _: None)}},
        "subprotocols": [],
        "state": {},
    }
    with pytest.raises(Told) as told:
        await app(scope, receive, send)
    return str(told.value) == "websocket.accept"


@pytest.fixture
async def on_localhost(
    redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring, clock: ManualClock
) -> AsyncIterator[httpx.AsyncClient]:
    """A server nobody gave a public address, and which does not trust other pages of its machine."""
    application = create_app(replace(settings, public_url=None, port=8080), bundled.address, keyring, clock=clock)
    async with application.lifespan():
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8080") as client:
            yield client


async def test_another_port_of_the_same_machine_is_not_us(on_localhost: httpx.AsyncClient, new_site: NewSite) -> None:
    statuses = {
        origin: (
            await on_localhost.get("/v1/site", headers={"projectid": new_site.site.api_key_public, "origin": origin})
        ).status_code
        for origin in ("http://localhost:8080", "http://localhost:3000", "http://localhost")
    }
    assert statuses == {"http://localhost:8080": 200, "http://localhost:3000": 403, "http://localhost": 403}


@pytest.mark.parametrize(
    ("theme", "scheme"), [("dark", "dark"), ("light", "light"), ("auto", "light dark"), ('"><x', "light dark")]
)
async def test_the_canvas_of_a_frame_follows_its_theme(
    http: httpx.AsyncClient, new_site: NewSite, theme: str, scheme: str
) -> None:
    asked = {"project": new_site.site.api_key_public, "theme": theme}
    page = await http.get("/embed/frame", params=asked)
    assert f'<meta name="color-scheme" content="{scheme}">' in page.text
