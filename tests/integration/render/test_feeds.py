"""RSS and Atom: valid whatever people write, with stable ids, and cheap to ask for again."""

from datetime import datetime
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import atoma
import feedparser
import httpx
import podcastparser
import pytest
from redis.asyncio import Redis

from tests.integration.render.reading import URL, Browser
from tests.make import ManualClock
from tests.people import Person, create, guest, post
from threadkit.app import Application
from threadkit.sites.model import NewSite

ATOM = "{http://www.w3.org/2005/Atom}"
CREATOR = "{http://purl.org/dc/elements/1.1/}creator"


class AsHtml(HTMLParser):
    """What a reader shows that takes a text for HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


class Reader:
    """A feed reader."""

    def __init__(self, http: httpx.AsyncClient, site: NewSite) -> None:
        self.http = http
        self.key = site.site.api_key_public

    async def get(self, kind: str, **params: str) -> httpx.Response:
        answer = await self.http.get(f"/v1/feed.{kind}", params={"key": self.key} | params)
        assert answer.status_code == 200, answer.text
        return answer

    async def rss(self, **params: str) -> ElementTree.Element:
        answer = await self.get("rss", **params)
        assert answer.headers["content-type"] == "application/rss+xml; charset=utf-8"
        root = ElementTree.fromstring(answer.content)
        assert (root.tag, root.attrib) == ("rss", {"version": "2.0"})
        (channel,) = root
        for name in ("title", "link", "description", "lastBuildDate"):
            assert text(channel, name)
        for item in channel.findall("item"):
            for name in ("title", "link", "guid", "pubDate", "description", CREATOR):
                assert text(item, name), name
            parsedate_to_datetime(text(item, "pubDate"))
        guids = [text(item, "guid") for item in channel.findall("item")]
        assert len(set(guids)) == len(guids)
        return channel

    async def atom(self, **params: str) -> ElementTree.Element:
        answer = await self.get("atom", **params)
        assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
        root = ElementTree.fromstring(answer.content)
        assert root.tag == f"{ATOM}feed"
        for part in (root, *root.findall(f"{ATOM}entry")):
            for name in ("id", "title", "updated"):
                assert text(part, f"{ATOM}{name}"), name
            datetime.fromisoformat(text(part, f"{ATOM}updated"))
        for entry in root.findall(f"{ATOM}entry"):
            assert text(entry, f"{ATOM}author/{ATOM}name")
            content = entry.find(f"{ATOM}content")
            assert content is not None
            assert content.attrib == {"type": "html"}
        return root


@pytest.fixture
def reader(http: httpx.AsyncClient, new_site: NewSite) -> Reader:
    return Reader(http, new_site)


def text(parent: ElementTree.Element, path: str) -> str:
    found = parent.find(path)
    assert found is not None, path
    return found.text or ""


def titles(channel: ElementTree.Element) -> list[str]:
    return [text(item, "title") for item in channel.findall("item")]


def link(parent: ElementTree.Element, rel: str) -> str:
    return next(found.attrib["href"] for found in parent.findall(f"{ATOM}link") if found.attrib["rel"] == rel)


async def write(person: Person, content: str, url: str = URL, **more: Any) -> str:
    answer = await person.call("POST", "/v1/comments", {"page_url": url, "content": content} | more)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["comment"]["i"])


async def test_a_page_has_its_feed(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, reader: Reader, clock: ManualClock
) -> None:
    ada, bob = await create(http, new_site, "Ada"), await create(http, new_site, "Bob")
    first = await write(ada, "**One** & only", title="On engines")
    clock.advance(seconds=60)
    second = await write(bob, "Two", parent_path=[first])
    clock.advance(seconds=60)
    await write(ada, "elsewhere", "https://blog.example.org/other")
    await bob.call("PUT", f"/v1/comments/{second}", {"content": "Two, edited"})

    channel = await reader.rss(page_url=URL)
    assert text(channel, "title") == "Comments on On engines"
    assert text(channel, "link") == URL
    assert titles(channel) == ["Bob on On engines", "Ada on On engines"]
    item = channel.findall("item")[1]
    assert text(item, "description").strip() == "<p><strong>One</strong> &amp; only</p>"
    assert text(item, "link") == f"{URL}#comment-{first}"
    assert text(item, "guid") == f"urn:uuid:{first}"
    assert text(item, CREATOR) == "Ada"
    assert text(item, "pubDate") == "Sat, 06 Dec 2025 05:46:40 GMT"

    feed = await reader.atom(page_url=URL)
    newest = feed.findall(f"{ATOM}entry")[0]
    assert text(newest, f"{ATOM}id") == f"urn:uuid:{second}"
    assert text(newest, f"{ATOM}published") == "2025-12-06T05:47:40Z"
    assert text(newest, f"{ATOM}updated") == text(feed, f"{ATOM}updated") == "2025-12-06T05:48:40Z"
    assert link(newest, "alternate") == f"{URL}#comment-{second}"
    assert "Two, edited" in text(newest, f"{ATOM}content")
    # The address a feed gives for itself leads to the same feed.
    for kind, parsed in (("rss", channel), ("atom", feed)):
        own = link(parsed, "self")
        base = app.services.settings.base_url
        assert own.startswith(f"{base}/v1/feed.{kind}?key={reader.key}")
        assert (await http.get(own.removeprefix(base))).content == (await reader.get(kind, page_url=URL)).content


async def test_a_site_has_one_feed_of_all_its_pages(
    http: httpx.AsyncClient, new_site: NewSite, reader: Reader, clock: ManualClock
) -> None:
    ada = await create(http, new_site, "Ada")
    for number in range(60):
        clock.advance(seconds=1)
        await write(ada, f"number {number}", f"https://blog.example.org/{number % 3}", title=f"Page {number % 3}")
    channel = await reader.rss()
    assert text(channel, "title") == "Comments on Blog"
    assert text(channel, "link") == "https://blog.example.org/"
    assert titles(channel) == [f"Ada on Page {number % 3}" for number in range(59, 9, -1)]
    assert len((await reader.atom()).findall(f"{ATOM}entry")) == 50


async def test_an_empty_feed_is_valid(reader: Reader) -> None:
    for params in ({}, {"page_url": URL}):
        assert titles(await reader.rss(**params)) == []
        assert (await reader.atom(**params)).findall(f"{ATOM}entry") == []


async def test_only_what_everybody_sees_is_in_a_feed(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, reader: Reader, redis: Redis, clock: ManualClock
) -> None:
    keys = app.services.keys.site(new_site.site.id)
    ada, shadow = await create(http, new_site, "Ada"), await create(http, new_site, "shadow")
    await redis.sadd(keys.shadowbanned(), shadow.id)
    kept = await write(ada, "kept")
    parent = await write(ada, "will be rejected")
    child = await write(ada, "under it", parent_path=[parent])
    gone = await write(ada, "will be deleted")
    answered = await write(ada, "deleted, but answered")
    answer = await write(ada, "the answer", parent_path=[answered])
    await write(shadow, "shadowed")
    await ada.call("DELETE", f"/v1/comments/{gone}")
    await ada.call("DELETE", f"/v1/comments/{answered}")
    await redis.hset(keys.comment(parent), "status", "rejected")
    await app.services.sites.change(new_site.site.id, settings={"moderation_mode": "pre"})
    for number in range(120):  # more of them than are looked at in one go
        clock.advance(seconds=1)
        await write(ada, f"held {number}")
    for params in ({}, {"page_url": URL}):
        found = [text(item, "guid").removeprefix("urn:uuid:") for item in (await reader.rss(**params)).findall("item")]
        assert set(found) == {kept, answer}
        assert child not in found


HOSTILE = [
    "<script>alert(1)</script>",
    "]]><evil/>",
    "&undefined; &amp; <![CDATA[",
    "bell \x07 null \x00 escape \x1b[31m",
    "\ufffe\uffff 😀 \u202eevil",
    "\u2028\u2029\x85",
]


async def test_a_feed_is_valid_whatever_people_write(
    http: httpx.AsyncClient, new_site: NewSite, reader: Reader, redis: Redis, app: Application, clock: ManualClock
) -> None:
    """As it came over the wire, and as an old import or another program may have left it in the store."""
    keys = app.services.keys.site(new_site.site.id)
    for number, evil in enumerate(HOSTILE):
        clock.advance(seconds=1)
        sent = f"x {evil}".replace("\x00", "")
        draft = {"page_url": f"{URL}/{number}", "content": sent, "author_name": sent, "title": sent}
        for url in (URL, f"{URL}/{number}"):
            answer = await post(http, new_site, "/v1/comments", draft | {"page_url": url})
            assert answer.status_code == 200, answer.text
    assert len(titles(await reader.rss())) == 2 * len(HOSTILE)
    for number, evil in enumerate(HOSTILE):
        page = (await http.get(f"/v1/comments?page_url={URL}/{number}", headers={"projectid": reader.key})).json()
        await redis.hset(keys.page(page["page_id"]), "title", evil)
        stored: dict[Any, Any] = {"author_name": evil, "content_html": f"<p>{evil}</p>"}
        await redis.hset(keys.comment(page["tree"]["c"][0]["i"]), mapping=stored)
        for params in ({}, {"page_url": f"{URL}/{number}"}):
            for kind in ("rss", "atom"):
                body = (await reader.get(kind, **params)).text
                assert "<script" not in body
                assert "<evil" not in body
            assert await reader.rss(**params) is not None
            assert await reader.atom(**params) is not None


async def test_pages_that_are_no_web_addresses_are_linked_to_ours(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, reader: Reader, browser: Browser
) -> None:
    ada = await create(http, new_site, "Ada")
    for url in ("javascript:alert(1)", "article-42"):
        written = await write(ada, "hi", url)
        item = (await reader.rss(page_url=url)).findall("item")[0]
        base = app.services.settings.base_url
        assert text(item, "link").startswith(f"{base}/v1/render?")
        page = await browser.go(text(item, "link").removeprefix(base))
        assert page.one("li", id=f"comment-{written}")
        assert text(item, "link").endswith(f"#comment-{written}")
        assert text(await reader.rss(page_url=url), "link").startswith(f"{base}/v1/render?")


@pytest.mark.parametrize("kind", ["rss", "atom"])
async def test_a_feed_is_sent_again_only_when_it_changed(
    http: httpx.AsyncClient, new_site: NewSite, reader: Reader, clock: ManualClock, kind: str
) -> None:
    ada = await create(http, new_site, "Ada")
    await write(ada, "one")
    clock.advance(seconds=60)
    newest = await write(ada, "two")
    first = await reader.get(kind)
    assert first.headers["last-modified"] == "Sat, 06 Dec 2025 05:47:40 GMT"
    assert first.headers["cache-control"] == "public, max-age=60"

    async def status(headers: dict[str, str]) -> int:
        answer = await http.get(f"/v1/feed.{kind}", params={"key": reader.key}, headers=headers)
        assert answer.status_code == 200 or answer.content == b""
        return answer.status_code

    by_tag = {"if-none-match": first.headers["etag"]}
    by_time = {"if-modified-since": first.headers["last-modified"]}
    assert await status(by_tag) == await status(by_time) == await status(by_tag | by_time) == 304
    assert await status({"if-none-match": '"another"'} | by_time) == 200
    await ada.call("POST", f"/v1/comments/{newest}/vote", {"direction": "up"})
    assert await status(by_tag) == 304, "votes are not in it"
    # Gone: the newest that is left is older, and still that is news.
    await ada.call("DELETE", f"/v1/comments/{newest}")
    assert await status(by_tag) == await status(by_time) == 200


async def test_a_feed_by_header_is_nobody_elses(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await http.get("/v1/feed.rss", headers={"projectid": new_site.site.api_key_public})
    assert answer.headers["cache-control"] == "private, max-age=60"
    head = await http.head("/v1/feed.rss", headers={"projectid": new_site.site.api_key_public})
    assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", answer.headers["etag"])


async def test_sites_do_not_see_each_others_comments(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, reader: Reader
) -> None:
    other = await app.services.sites.create("Other", "other.example", settings=new_site.site.settings)
    await post(http, other, "/v1/comments", {"page_url": URL, "content": "theirs", "author_name": "x"})
    for params in ({}, {"page_url": URL}):
        assert titles(await reader.rss(**params)) == []
    assert len(titles(await Reader(http, other).rss(page_url=URL))) == 1


async def test_the_rendered_page_names_its_feeds(browser: Browser, reader: Reader) -> None:
    page = await browser.open()
    for kind in ("rss", "atom"):
        named = page.one("link", rel="alternate", type=f"application/{kind}+xml")
        answer = await browser.http.get(httpx.URL(browser.url).join(named.attrs["href"]))
        assert answer.content == (await reader.get(kind, page_url=URL)).content
        assert named.attrs["href"] in [node.attrs["href"] for node in page.one("p", class_="tk-feeds").all("a")]


async def test_a_guest_is_called_what_they_called_themselves(
    http: httpx.AsyncClient, new_site: NewSite, browser: Browser, reader: Reader
) -> None:
    """Contract 2.6: the prefix that keeps guests apart is not for people."""
    draft = {"page_url": URL, "content": "hello"}
    for name in ("Ada", "rue-de-la_paix", None):
        answer = await (await guest(http, new_site, name)).call("POST", "/v1/comments", draft)
        assert answer.json()["comment"]["n"].startswith("__anon-")
    names = ["ada", "rue-de-la_paix", "Guest"]
    page = await browser.open()
    assert sorted(node.text for node in page.all("span", itemprop="name")) == sorted(names)
    assert "__anon" not in page.text
    for channel in (await reader.rss(), await reader.atom()):
        assert b"__anon" not in ElementTree.tostring(channel)
    assert sorted(text(item, CREATOR) for item in (await reader.rss()).findall("item")) == sorted(names)


async def test_links_follow_a_page_that_moved(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, reader: Reader
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "hi")
    moved = f"{URL}/moved"
    await app.services.pages.move(new_site.site, URL, moved)
    for params in ({}, {"page_url": URL}, {"page_url": moved}):
        assert text(await reader.rss(**params), "item/link").startswith(f"{moved}#")


TAKEN_FOR_MARKUP = [
    "<b>bold</b>",
    "<img src=x onerror=alert(1)>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;b&#62;",
    "&ltb&gt",
    "]]><script>",
    "AT&T <3 C++",
]


@pytest.mark.parametrize("name", TAKEN_FOR_MARKUP)
async def test_names_and_titles_stay_text_for_feed_readers_that_take_them_for_html(
    http: httpx.AsyncClient, new_site: NewSite, reader: Reader, redis: Redis, app: Application, name: str
) -> None:
    draft = {"page_url": URL, "content": "hello", "author_name": name, "title": name}
    assert (await post(http, new_site, "/v1/comments", draft)).status_code == 200
    page = (await http.get(f"/v1/comments?page_url={URL}", headers={"projectid": reader.key})).json()
    await redis.hset(app.services.keys.site(new_site.site.id).page(page["page_id"]), "title", name)
    rss, atom = (await reader.get("rss")).content, (await reader.get("atom")).content
    read = [
        *(feedparser.parse(body).entries[0].title for body in (rss, atom)),
        *(feedparser.parse(body).entries[0].author for body in (rss, atom)),
        atoma.parse_rss_bytes(rss).items[0].title,
        atoma.parse_atom_bytes(atom).entries[0].title.value,
        podcastparser.parse(URL, BytesIO(rss))["episodes"][0]["title"],
    ]
    for text_read in read:
        shown = AsHtml(text_read)
        assert shown.tags == [], text_read
        assert shown.text == text_read, "it says the same as text and as HTML"
