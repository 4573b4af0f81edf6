"""Two moderators in two browsers: the whole story of the queue, live."""

from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.e2e.moderating import Newsroom, newsroom
from tests.integration.server.program import Server
from tests.wait import until


@pytest.fixture
def room(server: Server, visit: Any, api: httpx.Client) -> Newsroom:
    return newsroom(server, visit, api)


async def test_two_moderators_share_a_queue(room: Newsroom) -> None:
    ada = room.author("ada")
    for text in ("The first one", "The second one", "The third one"):
        room.talk.post(text, ada)
    mona, mia = room.staff("mona"), room.staff("mia")
    left = await room.desk(mona)
    await until(lambda: room.claimed_by(mia) == [mona.name], "the first one to claim something")
    right = await room.desk(mia)
    for desk in (left, right):
        await expect(desk.cards).to_have_count(3)
        await desk.is_live()

    # Who looks at what is seen by the other, and whoever comes later begins with what is free.
    await expect(right.card("The first one")).to_contain_text(f"{mona.name} is on this one")
    await expect(left.card("The second one")).to_contain_text(f"{mia.name} is on this one")
    await left.shot("mod-claimed", full=False)
    for _ in range(3):
        await left.page.keyboard.press("j")
    await expect(right.card("The third one")).to_contain_text(f"{mona.name} is on this one")
    await expect(right.card("The first one").locator(".claim")).to_be_hidden()

    # What one decides leaves the other's, who is told.
    await left.do("The third one", "Approve").click()
    await expect(left.card("The third one")).to_have_count(0)
    await expect(right.cards).to_have_count(2)
    await expect(right.toast(f"{mona.name} approved the comment by")).to_be_visible()
    await expect(right.page.locator("a[data-view=queue] .badge")).to_have_text("2")

    # Taken back, it is there again for both.
    await left.toast("Approved").get_by_role("button", name="Undo").click()
    for desk in (left, right):
        await expect(desk.cards).to_have_count(3)
    await expect(left.card("The third one")).to_be_focused()

    # What is new comes by itself.
    room.talk.post("Fresh", room.author("ben"))
    # Who goes elsewhere is on nothing any more.
    await right.go("Log")
    await expect(left.card("The second one").locator(".claim")).to_be_hidden()
    await right.go("Queue")
    for desk in (left, right):
        await expect(desk.card("Fresh")).to_be_visible()
        await expect(desk.page.locator("a[data-view=queue] .badge")).to_have_text("4")
        desk.is_silent()


async def test_nobody_decides_the_same_item_twice(room: Newsroom) -> None:
    ada = room.author("ada")
    comment = room.talk.post("Only once", ada)
    room.talk.post("Another", ada)
    mona, mia = room.staff("mona"), room.staff("mia")
    desk = await room.desk(mona)
    await expect(desk.cards).to_have_count(2)
    # Somebody else decides while the decision is on its way.
    await desk.page.route("**/v1/moderation/approve/**", _decide_first(room, mia, comment))
    await desk.do("Only once", "Approve").click()
    await expect(desk.toast("Somebody else was quicker with this one")).to_be_visible()
    await expect(desk.card("Only once")).to_have_count(0)
    log = room.talk.call("GET", "/v1/moderation/log", mona)["entries"]
    assert [entry["action"] for entry in log if entry.get("comment_id") == comment] == ["reject"]
    desk.is_silent("409")


def _decide_first(room: Newsroom, who: Any, comment: str) -> Any:
    async def first(route: Any) -> None:
        room.talk.call("POST", f"/v1/moderation/reject/{comment}", who, {})
        await route.continue_()

    return first


async def test_a_text_that_changed_meanwhile_is_shown_and_not_decided(room: Newsroom) -> None:
    ada = room.author("ada")
    comment = room.talk.post("Harmless", ada)
    desk = await room.desk(room.staff("mona"))
    await expect(desk.card("Harmless")).to_be_visible()
    room.talk.call("PUT", f"/v1/comments/{comment}", ada, {"content": "Not harmless any more"})
    await desk.do("Harmless", "Approve").click()
    await expect(desk.card("Not harmless any more")).to_contain_text("The author has changed the text meanwhile")
    await expect(desk.card("Not harmless any more")).to_be_focused()
    await desk.do("Not harmless any more", "Reject").click()
    await expect(desk.page.get_by_text("Nothing waits for a decision.")).to_be_visible()
    desk.is_silent("409")


async def test_without_a_stream_the_page_looks_by_itself(room: Newsroom) -> None:
    desk = await room.desk(room.staff("mona"))
    await desk.page.route("**/v1/moderation/events", lambda route: route.abort())
    await desk.page.reload()
    await expect(desk.page.locator(".live")).to_have_text("Not live: looking every few seconds")
    room.talk.post("Found by looking", room.author("ada"))
    await expect(desk.card("Found by looking")).to_be_visible(timeout=30_000)


async def test_a_lost_stream_comes_back(room: Newsroom) -> None:
    desk = await room.desk(room.staff("mona"))
    await desk.is_live()
    tries: list[str] = []

    async def twice(route: Any) -> None:
        tries.append(route.request.url)
        await (route.abort() if len(tries) < 3 else route.continue_())

    await desk.page.route("**/v1/moderation/events", twice)
    await desk.page.reload()
    await expect(desk.page.locator(".live:not(.on)")).to_be_visible()
    room.talk.post("Meanwhile", room.author("ada"))
    await desk.is_live()
    assert len(tries) == 3
    await expect(desk.card("Meanwhile")).to_be_visible()


async def test_a_failed_call_loses_nothing(room: Newsroom) -> None:
    room.talk.post("Stays", room.author("ada"))
    desk = await room.desk(room.staff("mona"))
    await expect(desk.card("Stays")).to_be_visible()
    await desk.page.route("**/v1/moderation/approve/**", lambda route: route.abort())
    await desk.do("Stays", "Approve").click()
    await expect(desk.card("Stays")).to_contain_text("The server cannot be reached")
    await expect(desk.card("Stays")).to_be_focused()
    await desk.page.unroute("**/v1/moderation/approve/**")
    await desk.do("Stays", "Approve").click()
    await expect(desk.toast("Approved.")).to_be_visible()
    await expect(desk.page.get_by_text("Nothing waits for a decision.")).to_be_visible()
