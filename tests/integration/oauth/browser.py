"""A browser, as far as signing in at a provider goes: it keeps its own cookies and follows when told to."""

import json
import re
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from threadkit.sites.model import Site

PAGE = "https://blog.example.org/a/post?draft=1"


@dataclass
class Browser:
    http: httpx.AsyncClient
    site: Site
    cookies: dict[str, str] = field(default_factory=dict)
    last_set: list[str] = field(default_factory=list)

    async def open(self, url: str, **headers: str) -> httpx.Response:
        if self.cookies:
            headers["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        response = await self.http.get(url, headers=headers)
        self.http.cookies.clear()
        self.last_set = response.headers.get_list("set-cookie")
        for text in self.last_set:
            for name, morsel in SimpleCookie(text).items():
                if morsel["max-age"] == "0":
                    self.cookies.pop(name, None)
                else:
                    self.cookies[name] = morsel.value
        return response

    async def start(self, provider: str, *, referer: str = PAGE) -> httpx.Response:
        return await self.open(f"/auth/{provider}?project_id={self.site.api_key_public}", referer=referer)

    async def at_provider(self, started: httpx.Response) -> str:
        """Where the provider sends us once the person said yes."""
        assert started.status_code == 307, started.text
        async with httpx.AsyncClient() as outside:
            response = await outside.get(started.headers["location"])
        assert response.status_code == 302, response.text
        return response.headers["location"]

    async def sign_in(self, provider: str, *, referer: str = PAGE) -> httpx.Response:
        back = await self.at_provider(await self.start(provider, referer=referer))
        return await self.open(path_of(back))


def path_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


def query_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


def outcome_of(page: httpx.Response) -> dict[str, Any]:
    """What the page's script will read: `message`, `target`, `close_after_ms`."""
    assert page.status_code == 200, page.text
    assert page.headers["content-type"].startswith("text/html")
    found = re.search(r'<script type="application/json" id="outcome">(.*?)</script>', page.text, re.DOTALL)
    assert found, page.text
    outcome: dict[str, Any] = json.loads(found[1])
    return outcome


def message_of(page: httpx.Response) -> dict[str, Any]:
    message: dict[str, Any] = outcome_of(page)["message"]
    return message


def succeeded(page: httpx.Response) -> dict[str, Any]:
    message = message_of(page)
    assert message["type"] == "threadkit:oauth:success", message
    return message


def failed(page: httpx.Response) -> str:
    message = message_of(page)
    assert message["type"] == "threadkit:oauth:error", message
    assert set(message) == {"type", "error"}
    return str(message["error"])
