"""Writing without JavaScript: the plain form, what it accepts, and what it does with what it does not."""

import asyncio
from urllib.parse import urlencode

import httpx
import pytest

from tests.integration.render.reading import URL, Browser, Node, authors
from tests.make import ManualClock
from tests.people import create
from threadkit.app import Application
from threadkit.sites.model import NewSite


async def total(http: httpx.AsyncClient, site: NewSite, url: str = URL) -> int:
    answer = await http.get("/v1/comments", params={"page_url": url}, headers={"projectid": site.site.api_key_public})
    return int(answer.json()["total"])


async def test_a_guest_writes_and_lands_at_the_new_comment(browser: Browser) -> None:
    page = await browser.open()
    page = await browser.send(page, name="Grace  Hopper", content="Hello,\r\n**world**\r\n\r\n> quoted")
    comment = page.one("li", class_="tk-comment")
    assert browser.url.endswith(f"#{comment.attrs['id']}")
    assert authors(page) == ["Grace Hopper"]
    assert comment.one("strong").text == "world"
    assert comment.one("blockquote").text.strip() == "quoted"
    assert page.one("textarea").text.strip() == ""


async def test_a_guest_answers_somebody(http: httpx.AsyncClient, new_site: NewSite, browser: Browser) -> None:
    page = await browser.send(await browser.open(), name="Ada", content="A question")
    page = await browser.go(page.one("a", **{"aria-label": "Reply to Ada"}).attrs["href"])
    assert page.one("h2", id="tk-form-heading").text == "Reply to Ada"
    page = await browser.send(page, name="", content="An answer", status=400)
    assert page.one("h2", id="tk-form-heading").text == "Reply to Ada", "a refusal forgets nothing"
    page = await browser.send(page, name="Bob", content="An answer")
    question = page.one("ol", class_="tk-thread").all("li")[0]
    assert authors(question) == ["Ada", "Bob"]
    assert browser.url.endswith(f"#{question.one('ol').one('li').attrs['id']}")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"name": "Ada", "content": "  \n "}, "A comment needs some text."),
        ({"name": " ", "content": "hi"}, "Please write your name."),
        ({"name": "Αdmin", "content": "hi"}, "Username must not mix letters of different alphabets in one word"),
        ({"name": "adm1n", "content": "hi"}, "Username is kept for those who run the site"),
        ({"name": "Ada", "content": "x" * 10_001}, "The comment exceeds maximum length of 10000 characters"),
        ({"name": "Ada", "content": "&" * 9000}, "This comment has too many special characters, such as & and <."),
    ],
)
async def test_a_refused_post_says_why_and_keeps_the_text(
    http: httpx.AsyncClient, new_site: NewSite, browser: Browser, given: dict[str, str], sentence: str
) -> None:
    page = await browser.send(await browser.open(), status=400, **given)
    assert page.one("p", role="alert").text == sentence
    assert page.one("input", name="name").attrs["value"] == given["name"]
    assert page.one("textarea").text.removeprefix("\n") == given["content"]
    assert browser.answer.headers["cache-control"] == "no-store"
    assert await total(http, new_site) == 0


async def test_what_was_refused_is_shown_as_text_only(browser: Browser) -> None:
    evil = "</textarea><script>alert(1)</script>"
    page = await browser.send(
        await browser.open(), name='"><script>alert(1)</script>', content="\n" + evil, token="", status=400
    )
    assert page.one("textarea").text == f"\n\n{evil}"
    assert page.one("input", name="name").attrs["value"] == '"><script>alert(1)</script>'


async def test_a_held_comment_is_acknowledged_and_not_shown(
    app: Application, new_site: NewSite, browser: Browser
) -> None:
    await app.services.sites.change(new_site.site.id, settings={"moderation_mode": "pre"})
    page = await browser.send(await browser.open(), name="Ada", content="Am I there?")
    assert page.one("p", role="status").text == "Thank you. Your comment waits for a moderator."
    assert browser.url.endswith(f"#{page.one('p', role='status').attrs['id']}")
    assert "Am I there?" not in page.text


async def test_the_trap_is_hidden_and_does_what_the_site_says(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, browser: Browser
) -> None:
    page = await browser.open()
    trap = next(node for node in page.one("form").all("p") if node.all("input", name="website"))
    assert "hidden" in trap.attrs

    async def fall_for_it(page: Node, status: int = 200) -> Node:
        return await browser.send(page, name="Bot", content="Buy!", website="https://spam.example", status=status)

    page = await fall_for_it(page)
    assert page.one("p", role="status").text == "Thank you. Your comment waits for a moderator."
    await app.services.sites.change(new_site.site.id, settings={"screening.honeypot.action": "refuse"})
    page = await fall_for_it(await browser.open(), status=403)
    assert "program" in page.one("p", role="alert").text
    assert await total(http, new_site) == 0
    await app.services.sites.change(new_site.site.id, settings={"screening.honeypot.enabled": False})
    assert authors(await fall_for_it(await browser.open())) == ["Bot"]


async def test_a_form_that_is_sent_too_fast_waits_where_the_site_says_so(
    app: Application, new_site: NewSite, browser: Browser, clock: ManualClock
) -> None:
    await app.services.sites.change(
        new_site.site.id, settings={"screening.too_fast.enabled": True, "screening.too_fast.seconds": 5}
    )
    page = await browser.open()
    clock.advance(seconds=4)
    held = await browser.send(page, name="Bot", content="Buy!")
    assert held.one("p", role="status").text == "Thank you. Your comment waits for a moderator."
    page = await browser.open()
    clock.advance(seconds=5)
    assert authors(await browser.send(page, name="Ada", content="I have read it.")) == ["Ada"]


async def test_a_form_is_good_for_its_own_page_and_site_only(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, browser: Browser
) -> None:
    def token_of(page: object) -> str:
        return page.one("input", name="token").attrs["value"]  # type: ignore[attr-defined, no-any-return]

    other_page = token_of(await browser.open(page_url="https://blog.example.org/other"))
    other = await app.services.sites.create("Other", "other.example", settings=new_site.site.settings)
    other_site = token_of(await Browser(http, other).open())
    good = token_of(await browser.open())
    made, _, mark = good.rpartition(".")
    changed = f"{made[:-1]}{'0' if made[-1] != '0' else '1'}.{mark}"
    for token in ("", "x", "..", "ü.ü.ü", other_page, other_site, changed):
        page = await browser.send(await browser.open(), name="Ada", content="kept", token=token, status=400)
        assert page.one("p", role="alert").text.startswith("This form was open for too long.")
    assert await total(http, new_site) == 0
    # The answer has a good token, so sending it once more is enough.
    assert authors(await browser.send(page)) == ["Ada"]


async def test_a_form_that_was_open_for_a_day_is_renewed(browser: Browser, clock: ManualClock) -> None:
    page = await browser.open()
    clock.advance(seconds=86_399)
    assert authors(await browser.send(page, name="Ada", content="just in time")) == ["Ada"]
    clock.advance(seconds=2)
    page = await browser.send(page, name="Ada", content="too late", status=400)
    page = await browser.send(page)
    assert "too late" in page.one("section").text


async def test_sending_a_form_twice_makes_one_comment(
    http: httpx.AsyncClient, new_site: NewSite, browser: Browser
) -> None:
    page = await browser.open()
    senders = [Browser(http, new_site) for _ in range(5)]
    for sender in senders:
        sender.url = browser.url
    pages = await asyncio.gather(*(sender.send(page, name="Ada", content="double click") for sender in senders))
    assert await total(http, new_site) == 1
    assert len({sender.url for sender in senders}) == 1
    assert all(authors(landed) == ["Ada"] for landed in pages)
    await browser.send(await browser.open(), name="Ada", content="double click")
    assert await total(http, new_site) == 2, "another form is another comment"


async def test_where_guests_may_not_write_there_is_no_form(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, browser: Browser
) -> None:
    page = await browser.open()
    refusals = {
        "auth.anonymous": (False, 401),
        "require_verification": (True, 403),
        "turnstile.enabled": (True, 403),
        "posting_disabled": (True, 403),
    }
    for name, (value, status) in refusals.items():
        before = {"auth.anonymous": True, "require_verification": False, "turnstile.enabled": False}
        await app.services.sites.change(new_site.site.id, settings=before | {name: value})
        assert not (await browser.open()).all("form"), name
        refused = await browser.send(page, name="Ada", content="hi", status=status)
        assert not refused.all("form")
        assert refused.one("p", role="status").text
    assert "Comments are closed." in (await browser.open()).text
    assert await total(http, new_site) == 0


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://comments.test", 303),
        ("https://blog.example.org", 303),
        ("", 303),
        ("https://evil.example", 403),
        ("null", 403),
        ("https://comments.test.evil.example", 403),
    ],
)
async def test_only_our_page_and_the_sites_own_pages_may_send_the_form(
    http: httpx.AsyncClient, new_site: NewSite, browser: Browser, origin: str, status: int
) -> None:
    page = await browser.open()
    form = {"name": "Ada", "content": "hi", "token": page.one("input", name="token").attrs["value"]}
    answer = await http.post(
        "/v1/render",
        params={"key": browser.key, "page_url": URL},
        data=form,
        headers={"origin": origin} if origin else {},
    )
    assert answer.status_code == status, answer.text
    assert await total(http, new_site) == (1 if status == 303 else 0)


async def test_a_session_is_of_no_use_here(http: httpx.AsyncClient, new_site: NewSite, browser: Browser) -> None:
    """Whoever sends a form is a guest: there is nothing of theirs that another page could use."""
    ada = await create(http, new_site, "ada")
    page = await browser.open()
    form = {"name": "Eve", "content": "hi", "token": page.one("input", name="token").attrs["value"]}
    headers = {"authorization": f"Bearer {ada.token}", "projectid": browser.key}
    answer = await http.post("/v1/render", params={"page_url": URL}, data=form, headers=headers)
    assert answer.status_code == 303
    assert authors(await browser.open()) == ["Eve"]


async def test_the_longest_comment_fits_in_any_script(browser: Browser) -> None:
    text = "𐍈" * 10_000
    page = await browser.send(await browser.open(), name="Wulfila", content=text)
    assert text in page.one("div", class_="tk-text").text


async def test_what_is_no_form_is_refused(http: httpx.AsyncClient, browser: Browser) -> None:
    async def refusal(content: bytes, kind: str) -> tuple[int, str]:
        address = "/v1/render?" + urlencode({"key": browser.key, "page_url": URL})
        answer = await http.post(address, content=content, headers={"content-type": kind})
        return answer.status_code, answer.json()["code"]

    form = "application/x-www-form-urlencoded"
    assert await refusal(b"{}", "application/json") == (400, "invalid_parameter")
    assert await refusal(b"--x", "multipart/form-data; boundary=x") == (400, "invalid_parameter")
    assert await refusal(b"name=%ff", form) == (400, "invalid")
    assert await refusal(b"\xff", form) == (400, "invalid")
    assert await refusal(b"&".join(b"a=1" for _ in range(30)), form) == (400, "invalid")
    assert await refusal(b"a=" + b"x" * 200_000, form) == (413, "body_too_large")
