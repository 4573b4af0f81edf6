"""`GET /v1/render`: a thread that can be read without JavaScript, by people and by search engines."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.render.reading import URL, Browser, Node, authors, items, parsed
from tests.make import ManualClock
from tests.people import Person, create, post
from threadkit.app import Application
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

CORPORA = Path(__file__).parents[3].parent / "shared" / "data" / "hostile"
A_FEW = [
    "<script>alert(1)</script>",
    "</textarea></title></style></script><img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)\" x=\"",
    "' onmouseover='alert(1)' x='",
    "&lt;script&gt; &amp; &quot;",
    "--><svg/onload=alert(1)>",
    "]]><!--",
    "\u202eevil\u202c \ufffe \x08 \x00 ok",
    "[a](javascript:alert(1)) <https://a.example/\"onclick=x>",
    "{{7*7}} ${7*7} <%= 7*7 %>",
]  # fmt: skip


async def write(person: Person, content: str, *, under: str | None = None, **more: Any) -> str:
    body = {"page_url": URL, "content": content, "parent_path": [under] if under else None} | more
    answer = await person.call("POST", "/v1/comments", body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["comment"]["i"])


async def moderator(app: Application, http: httpx.AsyncClient, site: NewSite) -> Person:
    person = await create(http, site, "mod")
    await app.services.roles.grant(site.site.id, person.id, Role.MODERATOR)  # type: ignore[arg-type]
    return person


def place_of(page: Node, comment_id: str) -> Node:
    return page.one("li", id=f"comment-{comment_id}")


async def test_a_thread_reads_as_a_page(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, browser: Browser, clock: ManualClock
) -> None:
    ada, bob = await create(http, new_site, "Ada Lovelace"), await create(http, new_site, "bob")
    root = await write(ada, "**First** of all", title="On engines")
    clock.advance(seconds=60)
    reply = await write(bob, "A reply", under=root)
    await ada.call("POST", f"/v1/comments/{reply}/vote", {"direction": "up"})
    clock.advance(seconds=60)
    await bob.call("PUT", f"/v1/comments/{reply}", {"content": "A better reply"})

    page = await browser.open()
    assert page.one("html").attrs["lang"] == "en"
    assert page.one("title").text == "Comments on On engines"
    assert page.one("h1").one("a").attrs["href"] == URL
    assert page.one("h2", id="tk-heading").text == "2 comments"
    first = place_of(page, root)
    assert first.all("strong")[0].text == "First"
    assert authors(first) == ["Ada Lovelace", "bob"]
    answered = first.one("ol").one("li", id=f"comment-{reply}")
    assert "A better reply" in answered.text
    assert "1 upvote" in answered.text
    edited = answered.one("time", itemprop="dateModified")
    assert (edited.text, edited.attrs["datetime"]) == ("edited", "2025-12-06T05:48:40Z")
    written = first.all("time")[0]
    assert written.attrs["datetime"] == "2025-12-06T05:46:40Z"
    assert written.text == "6 December 2025, 05:46 UTC"
    assert first.all("a", href=f"#comment-{root}")
    assert not page.all("script")


async def test_search_engines_find_who_wrote_what(http: httpx.AsyncClient, new_site: NewSite, browser: Browser) -> None:
    ada, bob = await create(http, new_site, "Ada"), await create(http, new_site, "Bob & Co")
    root = await write(ada, "A <question>", title="On engines")
    reply = await write(bob, "An answer", under=root)
    await write(ada, "Thanks", under=reply)
    await bob.call("POST", f"/v1/comments/{root}/vote", {"direction": "up"})

    (thread,) = items(await browser.open(sort="old"))
    assert (thread["@type"], thread["name"], thread["url"]) == ("WebPage", "On engines", URL)
    assert thread["commentCount"] == "3"
    (question,) = thread["comment"]
    assert question["@type"] == "Comment"
    assert question["author"] == [{"@type": "Person", "name": "Ada"}]
    assert question["text"] == "A <question>"
    assert question["url"] == f"{URL}#comment-{root}"
    assert question["datePublished"] == "2025-12-06T05:46:40Z"
    assert question["upvoteCount"] == "1"
    (answer,) = question["comment"]
    assert answer["author"] == [{"@type": "Person", "name": "Bob & Co"}]
    (thanks,) = answer["comment"]
    assert (thanks["author"][0]["name"], thanks["text"]) == ("Ada", "Thanks")


async def test_pinned_threads_stand_first_and_deleted_ones_leave_their_place(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, browser: Browser, clock: ManualClock
) -> None:
    ada, mod = await create(http, new_site, "ada"), await moderator(app, http, new_site)
    rules = await write(mod, "The rules")
    clock.advance(seconds=1)
    gone = await write(ada, "I regret this")
    await write(mod, "Why?", under=gone)
    await mod.call("POST", f"/v1/comments/{rules}/pin", {})
    await ada.call("DELETE", f"/v1/comments/{gone}")

    page = await browser.open(sort="new")
    first, second = page.one("ol", class_="tk-thread").children
    assert isinstance(first, Node)
    assert isinstance(second, Node)
    assert first.attrs["id"] == f"comment-{rules}"
    assert first.one("strong", class_="tk-mark").text == "Pinned"
    assert second.attrs["id"] == f"comment-{gone}"
    assert "This comment was deleted." in second.text
    assert "regret" not in page.text
    assert "itemprop" not in second.attrs
    assert authors(second) == ["mod"]


async def test_a_page_without_comments_says_so(browser: Browser) -> None:
    page = await browser.open()
    assert page.one("h2", id="tk-heading").text == "No comments yet"
    assert page.one("p", class_="tk-empty")
    assert not page.all("ol")


async def test_many_threads_come_in_pages_that_hold_each_of_them_once(
    http: httpx.AsyncClient, new_site: NewSite, browser: Browser, clock: ManualClock
) -> None:
    ada = await create(http, new_site, "ada")
    written = []
    for number in range(120):
        clock.advance(seconds=1)
        written.append(await write(ada, f"number {number}"))
    page = await browser.open(sort="new")
    assert page.one("h2", id="tk-heading").text == "120 comments"
    shown = [node.attrs["id"] for node in page.all("li", class_="tk-comment")]
    assert len(shown) == 50
    for _ in range(2):
        following = page.one("a", rel="next")
        assert page.one("link", rel="next").attrs["href"] == following.attrs["href"]
        page = await browser.go(following.attrs["href"])
        shown += [node.attrs["id"] for node in page.all("li", class_="tk-comment")]
    assert not page.all("a", rel="next")
    assert shown == [f"comment-{comment_id}" for comment_id in reversed(written)]
    page = await browser.go(page.one("p", class_="tk-paging").one("a").attrs["href"])
    assert page.all("li", class_="tk-comment")[0].attrs["id"] == shown[0]


async def test_replies_that_are_left_out_are_one_link_away(
    http: httpx.AsyncClient, new_site: NewSite, browser: Browser, clock: ManualClock
) -> None:
    ada = await create(http, new_site, "ada")
    root = await write(ada, "root")
    for number in range(25):
        clock.advance(seconds=1)
        await write(ada, f"reply {number}", under=root)
    page = await browser.open(sort="old")
    more = page.one("p", class_="tk-more").one("a")
    assert more.text == "5 more replies"
    page = await browser.go(more.attrs["href"])
    replies = place_of(page, root).one("ol")
    assert [node.text.strip() for node in replies.all("div", class_="tk-text")] == [f"reply {n}" for n in range(20, 25)]


async def test_deep_threads_go_on_elsewhere(http: httpx.AsyncClient, new_site: NewSite, browser: Browser) -> None:
    ada = await create(http, new_site, "ada")
    at, chain = await write(ada, "level 0"), 30
    for level in range(1, chain):
        at = await write(ada, f"level {level}", under=at)
    seen: set[str] = set()
    page = await browser.open()
    for _ in range(chain):
        seen |= {node.text.strip() for node in page.all("div", class_="tk-text")}
        if not page.all("p", class_="tk-more"):
            break
        page = await browser.go(page.one("p", class_="tk-more").one("a").attrs["href"])
    assert seen == {f"level {level}" for level in range(chain)}


async def test_a_fragment_is_the_section_alone_with_whole_addresses(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, browser: Browser
) -> None:
    root = await write(await create(http, new_site, "ada"), "hi")
    answer = await http.get("/v1/render", params={"key": browser.key, "page_url": URL, "fragment": "1"})
    html = answer.text
    assert html.startswith("<section ")
    assert html.rstrip().endswith("</section>")
    page = parsed(html)
    assert not page.all("style")
    base = app.services.settings.base_url
    for node in page.walk():
        address = node.attrs.get("action") or node.attrs.get("href") or "#"
        assert address.startswith(("#", URL, f"{base}/v1/")), address
    assert page.one("form").attrs["action"].startswith(f"{base}/v1/render?")
    assert place_of(page, root)


async def test_a_server_may_ask_with_its_header_and_gets_the_public_key_into_the_links(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    for key in (new_site.site.api_key_public, new_site.secret_key):
        answer = await http.get("/v1/render", params={"page_url": URL}, headers={"projectid": key})
        assert answer.status_code == 200
        assert new_site.secret_key not in answer.text
        assert f"key={new_site.site.api_key_public}" in parsed(answer.text).one("form").attrs["action"]


async def test_nothing_that_people_write_becomes_markup(
    http: httpx.AsyncClient, new_site: NewSite, browser: Browser, clock: ManualClock
) -> None:
    """Every name, title and text we know to be hostile; the parser refuses whatever is not ours."""
    hostile = list(A_FEW)
    for name in ("naughty-strings", "xss-payloads", "dompurify-payloads"):
        if (CORPORA / f"{name}.json").exists():
            corpus = [str(entry) for entry in json.loads((CORPORA / f"{name}.json").read_text())]
            hostile += corpus[:: max(1, len(corpus) // 30)]
    written = 0
    for text in hostile:
        clock.advance(seconds=1)
        name = text[:200]
        body = {"page_url": URL, "content": text, "author_name": name, "title": text[:500]}
        answer = await post(http, new_site, "/v1/comments", body)
        assert answer.status_code in (200, 400, 422), answer.text
        if answer.status_code == 200:
            written += 1
            own = {"page_url": f"{URL}?{written}", "content": text, "author_name": name, "title": text[:500]}
            assert (await post(http, new_site, "/v1/comments", own)).status_code == 200
            page = await browser.open(page_url=own["page_url"])
            assert page.one("h1").text.startswith("Comments on ")
            assert len(items(page)[0]["comment"]) == 1
    assert written >= len(A_FEW) - 1
    shown, page = 0, await browser.open(sort="old")
    while True:
        shown += len(page.all("li", class_="tk-comment"))
        following = page.all("a", rel="next")
        if not following:
            break
        page = await browser.go(following[0].attrs["href"])
    assert shown == written


@pytest.mark.parametrize(
    "page_url", ["javascript:alert(1)", "data:text/html,x", "//evil.example/x", "just a name", "/p"]
)
async def test_only_web_addresses_become_links(
    http: httpx.AsyncClient, new_site: NewSite, browser: Browser, page_url: str
) -> None:
    await write(await create(http, new_site, "ada"), "hi", page_url=page_url)
    page = await browser.open(page_url=page_url)
    assert page.one("h1").text == "Comments on this page"
    assert not page.one("h1").all("a")
    assert "url" not in items(page)[0]
    assert "url" not in items(page)[0]["comment"][0]


async def test_links_to_other_sites_pages_do_not_lend_them_our_name(http: httpx.AsyncClient, browser: Browser) -> None:
    page = await browser.open(page_url="https://spam.example/buy")
    assert page.one("h1").text == "Comments on spam.example/buy"
    assert page.one("h1").one("a").attrs["rel"] == "nofollow ugc noopener"


async def test_the_policy_allows_our_style_our_form_and_the_sites_own_frames(
    app: Application, new_site: NewSite, browser: Browser
) -> None:
    origins = ["https://Other.example:8443", "*.partner.example", "bücher.example", "x; script-src *", "*", "10.0.0.7"]
    # Nobody can set all of these any more; a record from before may hold them.
    site = new_site.site
    await app.services.sites._save(replace(site, settings=replace(site.settings, allowed_origins=origins)), {})
    page = await browser.open()
    headers = browser.answer.headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    style = hashlib.sha256(page.one("style").text.encode()).digest()
    assert policy["default-src"] == "'none'"
    assert policy["style-src"] == f"'sha256-{base64.b64encode(style).decode()}'"
    assert policy["form-action"] == "'self'"
    assert "script-src" not in policy
    frames = policy["frame-ancestors"].split()
    assert set(frames) == {
        "'self'",
        "http://blog.example.org:*",
        "http://*.blog.example.org:*",
        "http://other.example:*",
        "http://partner.example:*",
        "http://*.partner.example:*",
        "http://xn--bcher-kva.example:*",
        "http://10.0.0.7:*",
        "http://localhost:*",
        "http://*.localhost:*",
        "http://127.0.0.1:*",
    }
    assert headers["referrer-policy"] == "same-origin"


async def test_the_address_takes_the_public_key_and_no_other(
    http: httpx.AsyncClient, new_site: NewSite, browser: Browser
) -> None:
    async def code(**params: str) -> tuple[int, str]:
        answer = await http.get("/v1/render", params={"page_url": URL} | params)
        return answer.status_code, answer.json()["code"]

    assert await code() == (401, "missing_api_key")
    assert await code(key="tk_pub_0000000000000000") == (401, "invalid_api_key")
    assert await code(key="nonsense") == (400, "only_public_key")
    assert await code(key=new_site.secret_key) == (400, "only_public_key")
    # Elsewhere an address opens nothing.
    answer = await http.get("/v1/counts", params={"url": URL, "key": browser.key})
    assert answer.status_code == 401


async def test_a_link_may_stand_anywhere_but_scripts_of_other_pages_read_nothing(
    http: httpx.AsyncClient, browser: Browser
) -> None:
    params = {"key": browser.key, "page_url": URL}
    linked = await http.get("/v1/render", params=params, headers={"referer": "https://search.example/"})
    assert linked.status_code == 200
    read = await http.get("/v1/render", params=params, headers={"origin": "https://evil.example"})
    assert (read.status_code, read.json()["code"]) == (403, "origin_not_allowed")


async def test_a_browser_is_told_what_is_wrong_in_a_page(browser: Browser) -> None:
    page = await browser.open(page_url="", status=400)
    assert page.one("p", role="alert").text == "Say which page: page_url or page_id."
    page = await browser.open(sort="random", status=400)
    assert "sort" in page.one("p", role="alert").text
    page = await browser.open(cursor="<nonsense>", status=400)
    assert "cursor" in page.one("p", role="alert").text
    page = await browser.open(under="x", status=400)
    page = await browser.open(under="01a1e1d5-9217-7000-be42-7b27b41a2a52", status=404)
    assert page.one("p", role="alert").text == "Comment not found"


async def test_what_has_not_changed_is_not_sent_again(
    http: httpx.AsyncClient, new_site: NewSite, browser: Browser, clock: ManualClock
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "one")
    params = {"key": browser.key, "page_url": URL}
    first = await http.get("/v1/render", params=params)
    again = await http.get("/v1/render", params=params, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    clock.advance(seconds=2)
    await write(ada, "two")
    after = await http.get("/v1/render", params=params, headers={"if-none-match": first.headers["etag"]})
    assert after.status_code == 200
    assert "two" in after.text


async def test_hidden_comments_change_no_byte(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, browser: Browser, redis: Redis, clock: ManualClock
) -> None:
    """T1: held and shadowed comments leave no trace, neither in pages nor in feeds."""
    site_id = new_site.site.id
    await write(await create(http, new_site, "ada"), "seen by all")
    shadow = await create(http, new_site, "shadow")
    await redis.sadd(app.services.keys.site(site_id).shadowbanned(), shadow.id)
    public = [
        f"/v1/{name}?key={browser.key}{page}"
        for name in ("render", "feed.rss", "feed.atom")
        for page in ("", f"&page_url={URL}")
        if name != "render" or page
    ]

    async def everything() -> list[tuple[bytes, str]]:
        found = []
        await app.services.sites.change(site_id, settings={"auth.anonymous": False})
        for address in public:
            answer = await http.get(address)
            assert answer.status_code == 200
            found.append((answer.content, answer.headers["etag"]))
        return found

    before = await everything()
    clock.advance(seconds=5)
    await write(shadow, "shadowed words")
    await app.services.sites.change(site_id, settings={"auth.anonymous": True, "moderation_mode": "pre"})
    held = await post(http, new_site, "/v1/comments", {"page_url": URL, "content": "held words", "author_name": "x"})
    assert held.json()["comment"]["s"] == "pending"
    assert await everything() == before


async def test_a_page_can_be_named_by_its_id(http: httpx.AsyncClient, new_site: NewSite, browser: Browser) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "by its own id", page_id="article-42")
    assert authors(await browser.open(page_url="", page_id="article-42")) == ["ada"]
    await write(ada, "by address")
    page_id = (await ada.call("GET", f"/v1/comments?page_url={URL}")).json()["page_id"]
    assert "by address" in (await browser.open(page_url="", page_id=page_id)).text


async def test_votes_are_shown_only_where_the_site_shows_them(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, browser: Browser
) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    root = await write(ada, "hi")
    await write(ada, "ho")
    await bob.call("POST", f"/v1/comments/{root}/vote", {"direction": "down"})
    assert "1 downvote" in (await browser.open()).text
    for changes in ({"voting": "off"}, {"voting": "on", "display.show_vote_counts": False}):
        await app.services.sites.change(new_site.site.id, settings=changes)
        page = await browser.open()
        assert "vote" not in page.text.partition("</style>")[2] + page.one("section").text
    assert [node.text for node in page.one("nav").all("li")] == ["Best", "Newest", "Oldest", "Hot", "Controversial"]
