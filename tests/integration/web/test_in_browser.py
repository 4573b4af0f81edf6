"""The small scripts in a real browser, on a page of another origin."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser import CHROMIUM, browsing, listening
from tests.integration.moderation.outside.others import Others, serving
from tests.people import create
from tests.wait import until
from threadkit.app import Application
from threadkit.sites.model import NewSite

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")

PAGE = "https://blog.example.org/a"
ONLY_US = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
COUNTED = """<!doctype html><html lang="en"><title>counts</title><link rel="canonical" href="https://blog.example.org/a">
<p data-threadkit-count></p>
<p data-threadkit-count="https://blog.example.org/a" data-one="{n} comment" data-many="{n} comments"></p>
<p data-threadkit-count="https://blog.example.org/empty" data-one="{n} comment" data-many="{n} comments"></p>
<p data-threadkit-count data-threadkit-page-id="own-id">before</p>
<p data-threadkit-count="http://[broken">kept</p>
<script>
addEventListener("load", async () => {
  await ThreadKit.counts.refresh();
  const body = JSON.stringify([...document.querySelectorAll("p")].map((one) => one.textContent));
  fetch("/said", { method: "POST", body });
});
</script>
<script src="%s/count.js" data-project="%s"></script>"""
NOTHING_TO_COUNT = """<!doctype html><title>nothing</title><script src="%s/count.js" data-project="%s"></script>
<script>ThreadKit.counts.refresh().then(() => fetch("/said", { method: "POST", body: '"calm"' }))</script>"""
FRAMING = """<!doctype html><title>frame</title><script>
addEventListener("message", (event) =>
  fetch("/said", { method: "POST", body: JSON.stringify([event.origin, event.data]) }));
</script><iframe src="%s/embed/frame?project=%s&url=https://blog.example.org/a"></iframe>"""


@pytest.fixture
async def server(app: Application) -> AsyncIterator[str]:
    async with listening(app) as url:
        yield url


@pytest.fixture
async def others() -> AsyncIterator[Others]:
    """The site with the page."""
    async with serving() as running:
        running.headers["content-type"] = "text/html"
        running.answers |= {"/said": "", "/favicon.ico": ""}
        yield running


async def said(others: Others, page: str, folder: Path) -> tuple[Any, str]:
    """What a page told its server first, and what the browser's console says."""
    others.answers["/page"] = page
    async with browsing(f"{others.url}/page", ONLY_US, folder) as console:
        await until(lambda: "/said" in others.paths(), "the page to tell", seconds=45)
    return next(call.json for call in others.calls if call.path == "/said"), console.read_text(errors="replace")


async def test_counts_are_filled_in_on_a_page_elsewhere(
    server: str, others: Others, http: httpx.AsyncClient, new_site: NewSite, tmp_path: Path
) -> None:
    author = await create(http, new_site, "ada")
    for page in ({"page_url": PAGE}, {"page_url": PAGE, "page_id": "own-id"}):
        answer = await author.call("POST", "/v1/comments", page | {"content": f"about {page}"})
        assert answer.status_code == 200, answer.text
    shown, _ = await said(others, COUNTED % (server, new_site.site.api_key_public), tmp_path)
    assert shown == ["1", "1 comment", "0 comments", "1", "kept"]


async def test_a_page_without_places_for_counts_is_left_alone(
    server: str, others: Others, new_site: NewSite, tmp_path: Path
) -> None:
    told, console = await said(others, NOTHING_TO_COUNT % (server, new_site.site.api_key_public), tmp_path)
    assert told == "calm"
    assert "Uncaught" not in console


async def test_a_frame_tells_the_page_around_it_how_high_it_is(
    server: str, others: Others, new_site: NewSite, tmp_path: Path
) -> None:
    told, console = await said(others, FRAMING % (server, new_site.site.api_key_public), tmp_path)
    assert told[0] == server
    assert told[1]["type"] == "threadkit:height"
    assert isinstance(told[1]["height"], int)
    assert "Content Security Policy" not in console
