"""Working through the queue: by keyboard, several at once, and with one hand on a phone."""

import time
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.e2e.moderating import ModDesk, Newsroom, newsroom
from tests.integration.server.program import Server
from tests.wait import until

TEN_S = 20.0


@pytest.fixture
def room(server: Server, visit: Any, api: httpx.Client) -> Newsroom:
    return newsroom(server, visit, api)


def statuses(room: Newsroom, by: Any) -> dict[str, str]:
    """What became of every comment, by its text."""
    found = room.talk.call("GET", f"/v1/admin/sites/{room.site_id}/comments", by)["comments"]
    return {item["comment"]["t"]: item["comment"].get("s", "approved") for item in found}


async def test_ten_items_in_under_a_minute_without_a_mouse(room: Newsroom) -> None:
    ada, mona = room.author("ada"), room.staff("mona")
    texts = [f"Number {number:02}" for number in range(12)]
    for text in texts:
        room.talk.post(text, ada)
    desk = await room.desk(mona)
    await expect(desk.cards).to_have_count(12)
    await desk.page.keyboard.press("j")
    await expect(desk.card("Number 00")).to_be_focused()
    began = time.monotonic()
    for number, key in enumerate("arsarsaras"):
        await desk.page.keyboard.press(key)
        # People read here; the next one has the focus already.
        await expect(desk.card(f"Number {number + 1:02}")).to_be_focused()
    await expect(desk.toast("Marked as spam.")).to_be_visible()
    waited = time.monotonic() - began
    assert waited < TEN_S, f"{waited:.1f} s of waiting for ten decisions"
    await expect(desk.cards).to_have_count(2)
    wanted = {"a": "approved", "r": "rejected", "s": "rejected"}
    expected = dict(zip(texts, [*(wanted[key] for key in "arsarsaras"), "pending", "pending"], strict=True))
    await until(lambda: statuses(room, mona) == expected, "the last decision to arrive")
    desk.is_silent()


async def test_all_keys(room: Newsroom) -> None:
    ada, mona = room.author("ada"), room.staff("mona")
    for text in ("One", "Two", "Three", "Four"):
        room.talk.post(text, ada)
    desk = await room.desk(mona)
    keyboard = desk.page.keyboard
    await expect(desk.cards).to_have_count(4)
    for key, focused in (("j", "One"), ("j", "Two"), ("j", "Three"), ("k", "Two")):
        await keyboard.press(key)
        await expect(desk.card(focused)).to_be_focused()
    outline = await desk.card("Two").evaluate("one => getComputedStyle(one).outlineStyle")
    assert outline == "solid"
    # Deleting asks, and no is an answer.
    await keyboard.press("d")
    await expect(desk.page.get_by_role("dialog")).to_contain_text("Delete this comment?")
    await keyboard.press("Escape")
    await expect(desk.card("Two")).to_be_focused()
    await keyboard.press("d")
    await desk.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(desk.card("Two")).to_have_count(0)
    await expect(desk.card("Three")).to_be_focused()
    await expect(desk.toast("Deleted.")).to_be_visible()
    # Undo, twice: the newest first.
    await keyboard.press("a")
    await expect(desk.toast("Approved.")).to_be_visible()
    await keyboard.press("u")
    await expect(desk.card("Three")).to_be_focused()
    await keyboard.press("u")
    await expect(desk.card("Two")).to_be_focused()
    await expect(desk.cards).to_have_count(4)
    assert set(statuses(room, mona).values()) == {"pending"}
    await keyboard.press("u")
    await expect(desk.toast("There is nothing to take back any more.")).to_be_visible()
    # The thread around it, with Enter as well as o.
    await keyboard.press("Enter")
    await expect(desk.card("Two")).to_contain_text("It begins a thread, and nobody has answered yet.")
    await keyboard.press("o")
    await expect(desk.page.get_by_text("It begins a thread")).to_be_hidden()
    await keyboard.press("?")
    await expect(desk.page.get_by_role("dialog")).to_contain_text("Take the last decision back")
    # Letters in a dialog, or while somebody writes, are letters.
    await keyboard.press("a")
    await keyboard.press("Escape")
    await desk.card("Two").locator("summary").click()
    await desk.card("Two").get_by_role("button", name="Reject with a reason").click()
    await keyboard.type("bad jokes and spam")
    await expect(desk.cards).to_have_count(4)
    await desk.page.get_by_role("dialog").get_by_role("button", name="Reject").click()
    await expect(desk.cards).to_have_count(3)
    await expect(desk.toast("Rejected.")).to_be_visible()
    log = room.talk.call("GET", "/v1/moderation/log", mona)["entries"]
    assert (log[0]["action"], log[0]["reason"]) == ("reject", "bad jokes and spam")
    desk.is_silent()


async def test_keys_go_on_from_where_the_first_one_did_something(room: Newsroom) -> None:
    ada, mona = room.author("ada"), room.staff("mona")
    for number in range(3):
        room.talk.post(f"Number {number}", ada)
    desk = await room.desk(mona)
    await expect(desk.cards).to_have_count(3)
    for key in "xjx":
        await desk.page.keyboard.press(key)
    await expect(desk.page.get_by_text("2 selected")).to_be_visible()


async def test_several_at_once_and_back(room: Newsroom) -> None:
    ada, mona = room.author("ada"), room.staff("mona")
    for number in range(6):
        room.talk.post(f"Number {number}", ada)
    desk = await room.desk(mona)
    await expect(desk.cards).to_have_count(6)
    for key in "jxjx":
        await desk.page.keyboard.press(key)
    await desk.card("Number 4").get_by_role("checkbox").check()
    await expect(desk.page.get_by_text("3 selected")).to_be_visible()
    await desk.button("Approve all selected").click()
    await expect(desk.toast("3 approved.")).to_be_visible()
    await expect(desk.cards).to_have_count(3)
    await expect(desk.card("Number 2")).to_be_focused()
    assert sorted(statuses(room, mona).values()) == ["approved"] * 3 + ["pending"] * 3
    await desk.toast("3 approved.").get_by_role("button", name="Undo").click()
    await expect(desk.cards).to_have_count(6)
    assert set(statuses(room, mona).values()) == {"pending"}
    # All of them, after a question.
    await desk.page.get_by_label("Select all").check()
    await expect(desk.page.get_by_text("6 selected")).to_be_visible()
    await desk.page.keyboard.press("d")
    await expect(desk.page.get_by_role("dialog")).to_contain_text("Delete 6 comments?")
    await desk.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(desk.page.get_by_text("Nothing waits for a decision.")).to_be_visible()
    desk.is_silent()


async def test_of_several_those_that_fail_say_why(room: Newsroom) -> None:
    ada, mona, mia = room.author("ada"), room.staff("mona"), room.staff("mia")
    decided, changed, _ = [room.talk.post(text, ada) for text in ("Decided", "Harmless", "Fine")]
    desk = await room.desk(mona)
    await expect(desk.cards).to_have_count(3)

    async def meanwhile(route: Any) -> None:
        room.talk.call("POST", f"/v1/moderation/reject/{decided}", mia, {})
        room.talk.call("PUT", f"/v1/comments/{changed}", ada, {"content": "Not harmless any more"})
        await route.continue_()

    await desk.page.route("**/v1/moderation/bulk", meanwhile)
    await desk.page.get_by_label("Select all").check()
    await desk.button("Approve all selected").click()
    await expect(desk.toast("1 approved.")).to_be_visible()
    await expect(desk.toast("Somebody else was quicker with 1 of them.")).to_be_visible()
    await expect(desk.cards).to_have_count(1)
    await expect(desk.card("Not harmless any more")).to_contain_text("The author has changed the text meanwhile")
    became = statuses(room, mona)
    assert became == {"Decided": "rejected", "Not harmless any more": "pending", "Fine": "approved"}
    desk.is_silent()


async def test_nothing_is_claimed_while_it_is_being_decided(room: Newsroom) -> None:
    """A claim that came after the deletion was answered by 404."""
    ada, mona = room.author("ada"), room.staff("mona")
    for text in ("One", "Two"):
        room.talk.post(text, ada)
    desk = await room.desk(mona)
    await expect(desk.cards).to_have_count(2)
    claimed: list[str] = []

    async def late(route: Any) -> None:
        claimed.clear()
        await desk.card("Two").focus()
        await desk.page.wait_for_timeout(1000)  # twice as long as somebody looks before it is a claim
        assert claimed == []
        await route.continue_()

    desk.page.on("request", lambda request: claimed.append(request.url) if "/claim/" in request.url else None)
    await desk.page.route("**/v1/moderation/bulk", late)
    await desk.page.get_by_label("Select all").check()
    await desk.button("Approve all selected").click()
    await expect(desk.toast("2 approved.")).to_be_visible()
    assert claimed == []
    desk.is_silent()


async def test_filters_paging_and_what_is_behind_a_link(room: Newsroom) -> None:
    ada, ben, mona = room.author("ada"), room.author("ben"), room.staff("mona")
    for number in range(53):
        room.talk.post(f"Ada's {number:02}", ada)
    room.talk.post("Ben's only one", ben)
    desk = await room.desk(mona)
    await expect(desk.cards).to_have_count(50)
    await expect(desk.page.get_by_text("54 wait")).to_be_visible()
    await desk.button("Load more").click()
    await expect(desk.cards).to_have_count(54)
    await expect(desk.card("Ada's 50")).to_be_focused()
    await expect(desk.button("Load more")).to_have_count(0)
    await desk.card("Ben's only one").locator("summary").click()
    await desk.card("Ben's only one").get_by_role("link", name="Only this author").click()
    await expect(desk.cards).to_have_count(1)
    await expect(desk.page.locator(".chip")).to_contain_text(ben.name)
    await desk.page.reload()
    await expect(desk.cards).to_have_count(1)
    await desk.page.get_by_label("Reported").select_option("Only reported")
    await expect(desk.page.get_by_text("Nothing that waits fits this filter.")).to_be_visible()
    await desk.page.get_by_label("Reported").select_option("All")
    await desk.page.get_by_role("button", name="Remove this filter").click()
    await expect(desk.cards).to_have_count(50)
    desk.is_silent()


@pytest.mark.parametrize("width", [320, 390])
async def test_with_one_hand_on_a_phone(room: Newsroom, width: int) -> None:
    ada, mona = room.author("ada"), room.staff("mona")
    for number in range(6):
        room.talk.post(f"Number {number}, and enough words for some lines on a phone. " * 4, ada)
    height = 640
    phone: dict[str, Any] = {"viewport": {"width": width, "height": height}, "is_mobile": True, "has_touch": True}
    desk = await room.desk(mona, reduced_motion="reduce", **phone)
    await expect(desk.cards).to_have_count(6)
    bar = desk.page.get_by_role("group", name="Decide about the current comment")
    for action in ("Approve", "Reject", "Spam", "Delete"):
        box = await bar.get_by_role("button", name=action).bounding_box()
        assert box
        assert box["height"] >= 48
        assert box["y"] > height * 0.75
    assert await desk.fits()
    await expect(desk.page.locator(".comment.current")).to_contain_text("Number 0")
    await bar.get_by_role("button", name="Approve").tap()
    await expect(desk.cards).to_have_count(5)
    await expect(desk.page.locator(".comment.current")).to_contain_text("Number 1")
    await expect(bar).to_contain_text("Number 1")
    # The toast does not cover the buttons.
    toast, first = await desk.toast("Approved.").bounding_box(), await bar.bounding_box()
    assert toast
    assert first
    assert toast["y"] + toast["height"] <= first["y"]
    await desk.shot(f"mod-phone-{width}", full=False)
    # What is scrolled to is what the buttons are about.
    await desk.card("Number 3").evaluate("one => one.scrollIntoView({block: 'start'})")
    await expect(desk.page.locator(".comment.current")).to_contain_text("Number 3")
    await bar.get_by_role("button", name="Reject").tap()
    await expect(desk.card("Number 3")).to_have_count(0)
    await until(lambda: statuses_of(room, mona, "Number 3") == "rejected", "the decision to arrive")
    # Selecting puts the buttons for all selected in the same place.
    await desk.cards.first.get_by_role("checkbox").tap()
    await expect(bar).to_be_hidden()
    approve = desk.button("Approve all selected")
    box = await approve.bounding_box()
    assert box
    assert box["y"] > height * 0.75
    await desk.shot(f"mod-phone-bulk-{width}", full=False)
    await approve.tap()
    await expect(desk.cards).to_have_count(3)
    await expect(bar).to_be_visible()
    desk.is_silent()


async def test_short_ones_on_a_phone_are_decided_one_after_the_other(room: Newsroom) -> None:
    """Several fit on the screen at once, and still none is passed over."""
    ada, mona = room.author("ada"), room.staff("mona")
    for number in range(6):
        room.talk.post(f"Short {number}", ada)
    desk = await room.desk(mona, viewport={"width": 390, "height": 780}, is_mobile=True, has_touch=True)
    bar = desk.page.get_by_role("group", name="Decide about the current comment")
    for number in range(4):
        await expect(bar).to_contain_text(f"Short {number}")
        await bar.get_by_role("button", name="Approve").tap()
        await expect(desk.card(f"Short {number}")).to_have_count(0)
        await desk.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    await expect(bar).to_contain_text("Short 4")
    desk.is_silent()


def statuses_of(room: Newsroom, by: Any, text: str) -> str:
    return next(status for said, status in statuses(room, by).items() if said.startswith(text))


async def test_right_to_left_mirrors(room: Newsroom) -> None:
    room.talk.post("Mirrored", room.author("ada"))
    desk: ModDesk = await room.desk(room.staff("mona"), viewport={"width": 1200, "height": 700})
    await desk.page.evaluate("document.documentElement.dir = 'rtl'")
    box = await desk.card("Mirrored").get_by_role("checkbox").bounding_box()
    time_box = await desk.card("Mirrored").locator("time").first.bounding_box()
    assert box
    assert time_box
    assert box["x"] > time_box["x"]
    assert await desk.fits()
    await desk.shot("mod-right-to-left", full=False)


async def test_a_dialog_that_closes_takes_the_focus_from_nobody(room: Newsroom) -> None:
    """On a busy machine the next key comes before the page hears that the dialog has closed."""
    for text in ("first", "second"):
        room.talk.post(text, room.author(text.title()))
    desk = await room.desk(room.staff("Mona"))
    await desk.card("first").focus()
    await desk.page.keyboard.press("?")
    await expect(desk.page.get_by_role("dialog")).to_be_visible()
    await desk.card("second").evaluate("card => { document.querySelector('dialog').close(); card.focus() }")
    await expect(desk.page.locator("dialog")).to_have_count(0)
    await expect(desk.card("second")).to_be_focused()
    await desk.card("first").focus()
    await desk.page.keyboard.press("?")
    await desk.page.keyboard.press("Escape")
    await expect(desk.card("first")).to_be_focused()
