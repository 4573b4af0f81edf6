"""Screening where it matters: between a text that was sent and the page."""

import httpx
import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import URL, outline, read, write
from tests.integration.moderation.test_decisions import decide, queued, staff
from tests.integration.render.reading import Browser
from tests.make import ManualClock
from tests.people import create
from threadkit.app import Application
from threadkit.moderation.model import Attempt, Verdict
from threadkit.moderation.outside.model import Visitor
from threadkit.moderation.rules import ScreeningRules, WordsRule
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings


async def blog(app: Application, *, hold: tuple[str, ...] = (), refuse: tuple[str, ...] = ()) -> NewSite:
    """A site as an owner gets it, with some words of theirs."""
    settings = SiteSettings(
        auth=AuthSettings(anonymous=True), screening=ScreeningRules(words=WordsRule(hold=hold, refuse=refuse))
    )
    return await app.services.sites.create("Blog", "blog.example.org", settings=settings)


async def test_a_comment_with_a_listed_word_waits_with_its_reason(
    app: Application, http: httpx.AsyncClient, redis: Redis
) -> None:
    site = await blog(app, hold=("casino",), refuse=("pills*",))
    ada, mo = await create(http, site, "ada"), await staff(app, http, site)
    held = await write(ada, "come to my Casino tonight")
    assert held["s"] == "pending"
    assert outline(await read(http, site)) == []
    (item,) = (await mo.call("GET", "/v1/moderation/queue")).json()["items"]
    assert "casino" in item["reasons"][0].lower()
    refused = await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "cheap pillsbox"})
    assert (refused.status_code, refused.json()["code"]) == (403, "content_rejected")
    await decide(mo, "approve", held["i"])
    assert outline(await read(http, site)) == ["come to my Casino tonight"]
    assert await disagreements(redis) == []


async def test_an_edit_is_screened_like_a_post_and_hidden_before_it_changes(
    app: Application, http: httpx.AsyncClient, redis: Redis
) -> None:
    site = await blog(app, hold=("casino",), refuse=("pills",))
    ada, mo = await create(http, site, "ada"), await staff(app, http, site)
    comment = await write(ada, "harmless")
    refused = await ada.call("PUT", f"/v1/comments/{comment['i']}", {"content": "pills"})
    assert refused.status_code == 403
    assert outline(await read(http, site)) == ["harmless"]
    edited = await ada.call("PUT", f"/v1/comments/{comment['i']}", {"content": "casino"})
    assert (edited.status_code, edited.json()["s"]) == (200, "pending")
    assert outline(await read(http, site)) == []
    assert await queued(mo) == [comment["i"]]
    assert await disagreements(redis) == []


async def test_the_same_text_again_waits_but_the_same_request_does_not(
    app: Application, http: httpx.AsyncClient, clock: ManualClock
) -> None:
    site = await blog(app)
    ada = await create(http, site, "ada")
    headers = {"projectid": ada.key, "authorization": f"Bearer {ada.token}", "idempotency-key": "once"}
    body = {"page_url": URL, "content": "a text that is worth reading only once"}
    first, again = [(await http.post("/v1/comments", json=body, headers=headers)).json()["comment"] for _ in range(2)]
    assert first == again
    assert (await write(ada, body["content"]))["s"] == "pending"
    clock.advance(seconds=601)
    assert "s" not in await write(ada, body["content"])


async def test_a_newcomers_link_waits_and_the_staffs_do_not(app: Application, http: httpx.AsyncClient) -> None:
    site = await blog(app)
    ada, mo = await create(http, site, "ada"), await staff(app, http, site)
    assert (await write(ada, "look at https://example.org"))["s"] == "pending"
    assert "s" not in await write(mo, "look at https://example.org")


async def test_the_filter_learns_from_clicks_and_then_holds_by_itself(
    app: Application, http: httpx.AsyncClient, clock: ManualClock
) -> None:
    site = await blog(app)
    mo = await staff(app, http, site)
    await app.services.sites.change(site.site.id, settings={"moderation_mode": "pre"})
    good, bad = await create(http, site, "good"), await create(http, site, "bad")
    for number in range(60):
        clock.advance(seconds=700)
        await decide(
            mo, "approve", (await write(good, f"the garden article number {number} helped me grow roses"))["i"]
        )
        await decide(mo, "spam", (await write(bad, f"win bitcoin bonus number {number} at lucky jackpot"))["i"])
    await app.services.outbox.drain()
    await app.services.sites.change(site.site.id, settings={"moderation_mode": "none"})
    clock.advance(seconds=700)
    ada = await create(http, site, "ada")
    assert (await write(ada, "lucky bitcoin jackpot bonus, win now"))["s"] == "pending"
    assert "s" not in await write(ada, "my roses grow well since I read the garden article")


async def test_a_comment_that_stands_is_confirmed_though_its_text_cannot_be_remembered(
    app: Application, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await blog(app)
    ada = await create(http, site, "ada")

    async def away(*_: object) -> None:
        raise RedisConnectionError("the store went away right after the write")

    monkeypatch.setattr(app.services.screener, "after_post", away)
    await write(ada, "hi")
    assert outline(await read(http, site)) == ["hi"]


async def test_the_screens_know_of_every_text_where_it_came_from(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[bool, Visitor, bool]] = []
    screen = app.services.screener.screen

    async def watched(attempt: Attempt, visitor: Visitor) -> Verdict:
        seen.append((attempt.is_edit, visitor, bool(attempt.client)))
        return await screen(attempt, visitor)

    monkeypatch.setattr(app.services.screener, "screen", watched)
    http.headers["user-agent"] = "Browser/1.0"
    ada = await create(http, new_site, "ada")
    comment = await write(ada, "one")
    await ada.call("PUT", f"/v1/comments/{comment['i']}", {"content": "two"})
    await ada.call("PATCH", f"/v1/comments/{comment['i']}", {"text": "three"})
    browser = Browser(http, new_site)
    await browser.send(await browser.open(), name="Guest", content="four")
    visitor = Visitor(address="127.0.0.1", user_agent="Browser/1.0")
    assert seen == [(is_edit, visitor, True) for is_edit in (False, True, True, False)]


async def test_json_clients_can_have_a_trap_and_say_how_long_their_form_was_open(
    app: Application, http: httpx.AsyncClient
) -> None:
    site = await blog(app)
    headers = {"projectid": site.site.api_key_public, "idempotency-key": "once"}

    async def send(text: str, **form: object) -> dict[str, object]:
        body = {"page_url": URL, "content": text, "author_name": "Guest"} | form
        answer = await http.post("/v1/comments", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        comment: dict[str, object] = answer.json()["comment"]
        return comment

    assert "s" not in await send("nothing said")
    assert "s" not in await send("a person", website="", form_age_ms=9000)
    assert (await send("a filled trap", website="https://spam.example"))["s"] == "pending"
    hasty = await send("in no time", form_age_ms=300)
    assert hasty["s"] == "pending"
    assert await send("in no time", form_age_ms=9000) == hasty, "the same request again, though later"
    for wrong in (-1, "soon", 10**12):
        body = {"page_url": URL, "content": "hi", "author_name": "Guest", "form_age_ms": wrong}
        assert (await http.post("/v1/comments", json=body, headers=headers)).status_code == 422
