"""axe finds nothing on the moderators' page, in every view and dialog; and what they look like."""

from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.e2e.moderating import ModDesk, Newsroom, newsroom
from tests.integration.server.program import Server

LONG = "I have read this three times now and still think that the second chart is upside down. " * 20


@pytest.fixture
def room(server: Server, visit: Any, api: httpx.Client) -> Newsroom:
    return newsroom(server, visit, api, screening__words__hold="casino", screening__first_comment__enabled="true")


def fill(room: Newsroom) -> dict[str, Any]:
    """A bit of everything."""
    talk = room.talk
    mona, mia, ada, ben, cleo = *map(room.staff, ("Mona", "Mia")), *map(room.author, ("Ada", "Ben", "Cleo"))
    root = talk.post(
        "Where do these numbers come from? The **source** in the footnote says otherwise.", mona, title="How we count"
    )
    reply = talk.post("From the [yearly report](https://example.org/report), page 12.", mia, root)
    talk.post(
        "Page 12 of which edition? They changed it in spring:\n\n> 4,012 in March\n\nand `4,210` in May.",
        ada,
        root,
        reply,
    )
    talk.post("Win big at the casino tonight https://example.org/win", ben)
    talk.post(LONG, cleo)
    talk.post("Short and to the point.", talk.guest("Gus"))
    rejected = talk.post("You are all wrong", ben)
    talk.call("POST", f"/v1/moderation/reject/{rejected}", mona, {"reason": "Please be kind to each other."})
    talk.call(
        "POST",
        f"/v1/comments/{rejected}/appeal",
        ben,
        {"text": "I was a bit short. May I say it again in other words?"},
    )
    shown = talk.post("Everybody knows that this author is paid by the industry.", ada)
    talk.call("POST", f"/v1/moderation/approve/{shown}", mia, {})
    for somebody, reason, details in ((cleo, "misinformation", "There is no proof at all."), (ben, "harassment", None)):
        talk.call("POST", f"/v1/comments/{shown}/report", somebody, {"reason": reason, "details": details})
    hidden = talk.post("Buy my book instead", ada)
    talk.call("POST", f"/v1/moderation/approve/{hidden}", mia, {})
    talk.call(
        "POST", f"/v1/comments/{hidden}/report", mia, {"reason": "spam", "details": "The same under every article"}
    )
    talk.call("POST", f"/v1/moderation/users/{ben.id}/notes", mona, {"text": "Was warned in October."})
    talk.call("POST", f"/v1/moderation/ban/{cleo.id}", mia, {"hours": 72, "reason": "Insults in spite of two warnings"})
    return {"mona": mona, "mia": mia, "ada": ada, "ben": ben, "cleo": cleo}


async def tour(desk: ModDesk, people: dict[str, Any], name: str) -> None:
    """Everything once; `name` is that of the pictures."""
    await desk.card("Buy my book instead").scroll_into_view_if_needed()
    await expect(desk.card("Buy my book instead").locator(".reporters")).to_contain_text("under every article")
    await desk.is_live()
    await desk.page.evaluate("scrollTo(0, 0)")
    await desk.is_accessible()
    await desk.shot(f"mod-queue-{name}")
    await desk.card("Page 12 of which").focus()
    await desk.page.keyboard.press("o")
    await expect(desk.card("Page 12 of which").locator(".thread li")).to_have_count(3)
    await desk.is_accessible()
    await desk.shot(f"mod-context-{name}", full=False)
    await desk.page.keyboard.press("?")
    await expect(desk.page.get_by_role("dialog")).to_be_visible()
    await desk.is_accessible()
    await desk.shot(f"mod-keys-{name}", full=False)
    await desk.page.keyboard.press("Escape")
    await desk.page.keyboard.press("d")
    await expect(desk.page.get_by_role("dialog")).to_contain_text("Delete this comment?")
    await desk.is_accessible()
    await desk.page.keyboard.press("Escape")
    await desk.page.keyboard.press("x")
    await desk.page.keyboard.press("j")
    await desk.page.keyboard.press("x")
    await expect(desk.page.get_by_text("2 selected")).to_be_visible()
    await desk.is_accessible()
    await desk.shot(f"mod-bulk-{name}", full=False)
    await desk.card("Win big").locator("summary").click()
    await desk.card("Win big").get_by_role("button", name="Reject with a reason").click()
    await desk.is_accessible()
    await desk.page.keyboard.press("Escape")
    for view in ("Reports", "Appeals", "Comments", "People", "Log"):
        await desk.go(view)
        await desk.is_accessible()
        await desk.shot(f"mod-{view.lower()}-{name}")
    await desk.page.goto(f"{desk.url}/mod#/people/id={people['ben'].id}")
    await expect(desk.page.get_by_text("Was warned in October.")).to_be_visible()
    await desk.is_accessible()
    await desk.shot(f"mod-person-{name}")
    await desk.button("Ban …").click()
    await desk.is_accessible()
    await desk.shot(f"mod-ban-{name}", full=False)
    await desk.page.keyboard.press("Escape")
    await desk.button("Delete all comments …").click()
    await desk.is_accessible()
    await desk.page.keyboard.press("Escape")
    await desk.page.goto(f"{desk.url}/mod#/people/id={people['cleo'].id}")
    await expect(desk.page.get_by_text("Insults in spite of two warnings").first).to_be_visible()
    await desk.is_accessible()
    desk.is_silent()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.prove)])
async def test_every_view_and_dialog(room: Newsroom, scheme: str) -> None:
    people = fill(room)
    size = {"width": 1280, "height": 860}
    desk = await room.desk(people["mona"], bypass_csp=True, color_scheme=scheme, viewport=size)
    await tour(desk, people, scheme)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), pytest.param(320, "dark", marks=pytest.mark.prove)])
async def test_every_view_on_a_phone(room: Newsroom, width: int, scheme: str) -> None:
    people = fill(room)
    size = {"width": width, "height": 780}
    desk = await room.desk(
        people["mona"], bypass_csp=True, color_scheme=scheme, viewport=size, is_mobile=True, has_touch=True
    )
    await tour(desk, people, f"phone-{width}")
    for view in ("queue", "reports", "appeals", "comments", "people", "log", f"people/id={people['ben'].id}"):
        await desk.page.goto(f"{desk.url}/mod#/{view}")
        await desk.is_ready()
        assert await desk.fits(), view


async def test_empty_views(room: Newsroom) -> None:
    desk = await room.desk(room.staff("mona"), bypass_csp=True)
    for view, text in {
        "Queue": "Nothing waits for a decision.",
        "Reports": "Nothing is reported.",
        "Appeals": "Nobody asks for another look.",
        "Comments": "No comments found.",
        "People": "Nobody found.",
    }.items():
        await desk.go(view)
        await expect(desk.page.get_by_text(text)).to_be_visible()
        await desk.is_accessible()
    await desk.shot("mod-empty")
    desk.is_silent()
