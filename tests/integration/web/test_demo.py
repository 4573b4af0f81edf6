"""The demo: there when it is wanted, with sample threads on an empty store."""

import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.make import ManualClock
from tests.people import create
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore
from threadkit.web.demo_pages import ARTICLES, LOOKS
from threadkit.web.sample import SampleThreads, sample

PAGES = ["/demo", *(f"/demo/{article.name}" for article in ARTICLES)]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, demo=True, public_url="https://comments.example.org")


async def pinned(http: httpx.AsyncClient, site: NewSite) -> list[Any]:
    query = {"page_url": "https://comments.example.org/demo/a-slower-loaf"}
    answer = await http.get("/v1/comments", params=query, headers={"projectid": site.site.api_key_public})
    found: list[Any] = answer.json()["pinned"]
    return found


async def comments(http: httpx.AsyncClient, site: NewSite, page: str) -> list[dict[str, Any]]:
    """All of a page, replies after what they answer."""
    answer = await http.get(
        "/v1/comments",
        params={"page_url": f"https://comments.example.org/demo/{page}", "sort": "old"},
        headers={"projectid": site.site.api_key_public},
    )
    found: list[dict[str, Any]] = []
    waiting = answer.json()["tree"]["c"]
    while waiting:
        comment = waiting.pop(0)
        found.append(comment)
        waiting = comment.get("r", []) + waiting
    return found


@pytest.mark.parametrize("path", PAGES)
async def test_its_pages_show_the_embed_under_a_strict_policy(
    http: httpx.AsyncClient, new_site: NewSite, path: str
) -> None:
    answer = await http.get(path)
    assert answer.status_code == 200
    assert new_site.site.api_key_public in answer.text
    assert f'<link rel="canonical" href="https://comments.example.org{path}">' in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe" not in policy
    assert '<link rel="icon" href="/favicon.svg">' in answer.text
    assert not re.search(r"<style|style=|<script>| on[a-z]+=", answer.text)
    assert "$" not in answer.text
    assert (await http.get("/demo/style.css")).headers["content-type"] == "text/css; charset=utf-8"


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
async def test_an_article_has_the_snippet_once_working_and_once_to_copy(
    http: httpx.AsyncClient, new_site: NewSite, look: Any
) -> None:
    page = (await http.get(f"{PAGES[1]}?look={look.name}")).text
    options = "".join(f' data-{name}="{value}"' for name, value in look.attributes.items())
    snippet = f'data-project="{new_site.site.api_key_public}"{options}'
    assert f'<script async src="/embed.js" {snippet} data-author="lena_brandt"></script>' in page
    shown = f"{snippet}></script>".replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    assert f"&lt;script async src=&quot;https://comments.example.org/embed.js&quot; {shown}" in page
    assert f'data-look="{look.name}"' in page
    assert page.count("aria-current") == 1


async def test_an_unknown_look_or_page_is_no_trouble(http: httpx.AsyncClient, new_site: NewSite) -> None:
    page = await http.get(f"{PAGES[1]}?look=%3Cscript%3E")
    assert 'data-look="auto"' in page.text
    missing = await http.get("/demo/nothing", headers={"accept": "text/html"})
    assert missing.status_code == 404
    assert "text/html" in missing.headers["content-type"]


async def test_without_a_site_there_is_no_demo(http: httpx.AsyncClient) -> None:
    assert (await http.get("/demo")).status_code == 404


@pytest.fixture
async def plain(
    redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring, clock: ManualClock
) -> AsyncIterator[httpx.AsyncClient]:
    application = create_app(replace(settings, demo=False), bundled.address, keyring, clock=clock)
    async with application.lifespan():
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://comments.test") as client:
            yield client


@pytest.mark.parametrize("path", [*PAGES, "/demo/style.css"])
async def test_it_is_not_there_unless_it_is_wanted(plain: httpx.AsyncClient, new_site: NewSite, path: str) -> None:
    assert (await plain.get(path)).status_code == 404


async def test_an_empty_store_gets_the_sample_threads(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    assert await SampleThreads(app.services).fill(new_site.site)
    await app.services.outbox.drain()
    found = {article.name: await comments(http, new_site, article.name) for article in ARTICLES}
    assert {name: len(those) for name, those in found.items()} == Counter(one.page for one in sample().comments)
    loaf = found["a-slower-loaf"]
    assert len({one["n"] for one in loaf}) >= 8
    assert any("<pre><code" in one["h"] for one in loaf)
    assert len(await pinned(http, new_site)) == 1
    assert sum(one["n"] == "[deleted]" for one in loaf) == 1
    assert any(one.get("e") for one in loaf)
    assert max(one["u"] for one in loaf) >= 10
    site = await http.get("/v1/site", headers={"projectid": new_site.site.api_key_public})
    assert list(site.json()["staff"].values()) == ["moderator"]


async def test_it_is_filled_once(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    assert await SampleThreads(app.services).fill(new_site.site)
    before = len(await comments(http, new_site, "one-drawer"))
    assert not await SampleThreads(app.services).fill(new_site.site)
    assert len(await comments(http, new_site, "one-drawer")) == before


async def test_made_up_comments_never_come_among_real_ones(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    author = await create(http, other, "ada")
    posted = await author.call("POST", "/v1/comments", {"page_url": "https://other.example/a", "content": "real"})
    assert posted.status_code == 200
    assert not await SampleThreads(app.services).fill(new_site.site)
    assert await comments(http, new_site, "a-slower-loaf") == []
