"""Hostile texts, names, titles, reports and notes: nothing of it runs on the moderators' page."""

from typing import Any

import httpx
from playwright.async_api import expect

from tests.e2e.moderating import newsroom
from tests.e2e.test_hostile_content import FIRED, WATCH
from tests.integration.server.program import Server

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(2)>',
    "<script>alert(3)</script>",
    "[click](javascript:alert(4))",
    "<details open ontoggle=alert(5)>",
    "{{constructor.constructor('alert(6)')()}}",
    "`</code><iframe srcdoc='<script>parent.alert(7)</script>'>`",
]
POKE = """
for (const one of document.querySelectorAll('main *'))
  for (const name of ['mouseover', 'mouseenter', 'pointerenter', 'toggle', 'error', 'load', 'animationstart'])
    one.dispatchEvent(new Event(name, {bubbles: false}));
"""


async def test_hostile_things_execute_nothing(server: Server, visit: Any, api: httpx.Client) -> None:
    room = newsroom(server, visit, api, moderation_mode="none", screening__words__hold="casino")
    talk = room.talk
    talk.url += "?<script>alert(8)</script>"
    ada, ben, mona, mia = room.author("ada"), room.author("ben"), room.staff("mona"), room.staff("mia")
    for number, text in enumerate(HOSTILE):
        shown = talk.post(f"{text} {number}", ada, title=HOSTILE[0])
        talk.post(f"casino {text} {number}", ada, shown)
        talk.call("POST", f"/v1/comments/{shown}/report", ben, {"reason": "other", "details": text})
        talk.call("POST", f"/v1/moderation/users/{ada.id}/notes", mia, {"text": text})
    talk.call("POST", f"/v1/moderation/ban/{ada.id}", mia, {"hours": 24, "reason": HOSTILE[0]})
    # The lenient page: our policy would hide what our own care lets through.
    desk = await room.desk(mona, bypass_csp=True)
    await desk.page.add_init_script(WATCH)
    # As a broken store would hand it out.
    await desk.page.route("**/v1/moderation/queue?**", _with_hostile_facts)
    left: list[str] = []
    desk.page.on("dialog", lambda dialog: left.append(dialog.message))
    for view, shown in {
        "queue": "article",
        "reports": "article",
        "comments": "article",
        "people": ".person-row",
        f"people/id={ada.id}": ".notes li",
        "log": ".log li",
    }.items():
        await desk.page.goto(f"{desk.url}/mod#/{view}")
        await desk.page.reload()
        await expect(desk.page.locator(shown).first).to_be_visible()
        if view == "queue":
            await desk.page.keyboard.press("j")
            await desk.page.keyboard.press("o")
            await expect(desk.page.locator(".thread li").first).to_be_visible()
        await desk.page.evaluate(POKE)
        assert await desk.page.evaluate(FIRED) == [], view
        assert await desk.page.locator("main :is(script, iframe, object, embed, svg svg, [onerror])").count() == 0
        links = await desk.page.locator("main a").evaluate_all("all => all.map((one) => one.href)")
        assert [link for link in links if not link.startswith(("http://", "https://"))] == []
    assert left == []


async def _with_hostile_facts(route: Any) -> None:
    answer = await route.fetch()
    found = await answer.json()
    for item in found["items"]:
        item["comment"]["n"] = HOSTILE[0]
        item["page_title"] = HOSTILE[1]
        item["page_url"] = "javascript:alert(9)"
        item["reasons"] = [*item["reasons"], *HOSTILE]
        item["claimed_by"] = {"id": "x", "name": HOSTILE[0], "until": "2099-01-01T00:00:00Z"}
    await route.fulfill(response=answer, json=found)


async def test_the_same_things_would_be_noticed(server: Server, visit: Any) -> None:
    """The control: put in as HTML they do run, so silence above means something."""
    visitor = await visit(bypass_csp=True)
    await visitor.page.add_init_script(WATCH)
    await visitor.page.goto(f"{server.url}/mod")
    # Drawing the page takes away what was there before.
    await expect(visitor.page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
    await visitor.page.evaluate(
        "html => { const box = document.createElement('main'); document.body.append(box); box.innerHTML = html }",
        "".join(f"<div>{text}</div>" for text in HOSTILE),
    )
    await visitor.page.wait_for_function("() => fired.length > 2")
