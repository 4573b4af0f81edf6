"""Reports, appeals, all comments, people and the log: what they show, and what is done there."""

import csv
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.e2e.moderating import Newsroom, newsroom
from tests.integration.server.program import Server


@pytest.fixture
def room(server: Server, visit: Any, api: httpx.Client) -> Newsroom:
    return newsroom(server, visit, api, moderation_mode="none")


async def test_reports_are_looked_at_by_comment(room: Newsroom) -> None:
    ada, ben, cleo, mona = [*map(room.author, ("ada", "ben", "cleo")), room.staff("mona")]
    fine, bad = room.talk.post("A fine comment", ada), room.talk.post("A bad comment", ada)
    for somebody in (ben, cleo):
        complaint = {"reason": "harassment", "details": f"says {somebody.name}"}
        room.talk.call("POST", f"/v1/comments/{fine}/report", somebody, complaint)
    room.talk.call("POST", f"/v1/comments/{bad}/report", ben, {"reason": "spam"})
    desk = await room.desk(mona)
    await desk.go("Reports")
    await expect(desk.cards).to_have_count(2)
    await expect(desk.page.locator("a[data-view=reports] .badge")).to_have_text("3")
    await expect(desk.card("A fine comment")).to_contain_text("2 people reported it")
    await expect(desk.card("A fine comment")).to_contain_text(f"Harassment “says {ben.name}” — {ben.name}")
    await desk.do("A fine comment", "Leave it").click()
    await expect(desk.cards).to_have_count(1)
    await expect(desk.page.locator("a[data-view=reports] .badge")).to_have_text("1")
    await desk.toast("The comment stays").get_by_role("button", name="Undo").click()
    await expect(desk.cards).to_have_count(2)
    await desk.do("A bad comment", "Spam").click()
    await expect(desk.cards).to_have_count(1)
    assert room.talk.call("GET", f"/v1/moderation/comments/{bad}", mona)["item"]["status"] == "rejected"
    # What is reported meanwhile is offered, and nothing moves by itself.
    another = room.talk.post("Yet another", ada)
    room.talk.call("POST", f"/v1/comments/{another}/report", room.staff("mia"), {"reason": "other"})
    await desk.button("There are new reports. Show them").click()
    await expect(desk.card("Yet another")).to_contain_text("Waiting")
    await desk.do("Yet another", "Approve").click()
    await expect(desk.cards).to_have_count(1)
    desk.is_silent()


async def test_an_appeal_is_decided_by_somebody_else(room: Newsroom) -> None:
    ada, mona, mia = room.author("ada"), room.staff("mona"), room.staff("mia")
    comment = room.talk.post("Hear me out", ada)
    room.talk.call("POST", f"/v1/moderation/reject/{comment}", mona, {})
    room.talk.call("POST", f"/v1/comments/{comment}/appeal", ada, {"text": "It was a quotation."})
    first, second = await room.desk(mona, "#/appeals"), await room.desk(mia, "#/appeals")
    await expect(first.card("Hear me out")).to_contain_text("somebody else has to look")
    await expect(first.do("Hear me out", "Grant")).to_have_count(0)
    await expect(second.card("Hear me out")).to_contain_text("It was a quotation.")
    await expect(second.card("Hear me out")).to_contain_text(f"Decided before by {mona.name}.")
    await second.page.get_by_label("What to tell the author").fill("You are right.")
    await second.do("Hear me out", "Grant").click()
    await expect(second.page.get_by_text("Nobody asks for another look.")).to_be_visible()
    assert room.talk.call("GET", f"/v1/moderation/comments/{comment}", mia)["item"]["status"] == "approved"
    await second.toast("Granted").get_by_role("button", name="Undo").click()
    await expect(second.card("Hear me out")).to_be_visible()
    await second.do("Hear me out", "Decline").click()
    await expect(second.page.get_by_text("Nobody asks for another look.")).to_be_visible()
    for desk in (first, second):
        desk.is_silent()


@pytest.mark.parametrize("view", ["Reports", "Appeals", "Comments", "person"])
async def test_every_view_sends_the_text_that_it_showed(room: Newsroom, view: str) -> None:
    ada, ben, mona = room.author("ada"), room.author("ben"), room.staff("mona")
    comment = room.talk.post("Harmless", ada)
    if view == "Appeals":
        room.talk.call("POST", f"/v1/moderation/reject/{comment}", room.staff("mia"), {})
        room.talk.call("POST", f"/v1/comments/{comment}/appeal", ada, {"text": "Why?"})
    else:
        room.talk.call("POST", f"/v1/comments/{comment}/report", ben, {"reason": "spam"})
    desk = await room.desk(mona, f"#/people/id={ada.id}" if view == "person" else "")
    if view != "person":
        await desk.go(view)
    await expect(desk.card("Harmless")).to_be_visible()
    room.talk.call("PUT", f"/v1/comments/{comment}", ada, {"content": "Buy pills"})
    await desk.do("Harmless", {"Reports": "Leave it", "Appeals": "Grant"}.get(view, "Reject")).click()
    await expect(desk.card("Buy pills")).to_contain_text("The author has changed the text meanwhile")
    status = "rejected" if view == "Appeals" else "approved"
    assert room.talk.call("GET", f"/v1/moderation/comments/{comment}", mona)["item"]["status"] == status
    await desk.do("Buy pills", {"Appeals": "Decline"}.get(view, "Reject")).click()
    await expect(desk.toast("Declined" if view == "Appeals" else "Rejected")).to_be_visible()
    desk.is_silent("409")


async def test_comments_are_found_by_text_author_page_and_status(room: Newsroom) -> None:
    ada, ben, mona = room.author("ada"), room.author("ben"), room.staff("mona")
    room.talk.post("Apples are red", ada)
    rejected = room.talk.post("Apples are blue", ben)
    elsewhere = "https://news.example.org/elsewhere"
    room.talk.call("POST", "/v1/comments", ben, {"page_url": elsewhere, "content": "Pears are green"})
    room.talk.call("POST", f"/v1/moderation/reject/{rejected}", mona, {})
    desk = await room.desk(mona)
    await desk.go("Comments")
    await expect(desk.cards).to_have_count(3)

    async def search(**asked: str) -> None:
        await desk.page.goto(f"{desk.url}/mod#/comments")
        await desk.page.reload()
        await expect(desk.cards).to_have_count(3)
        for label, value in asked.items():
            found = desk.page.get_by_label(label.replace("_", " "))
            await (found.select_option(value) if label == "Status" else found.fill(value))
        await desk.button("Search").click()

    await search(Text="APPLES")
    await expect(desk.cards).to_have_count(2)
    await search(Author=ben.name)
    await expect(desk.cards).to_have_count(2)
    await expect(desk.card("Pears are green")).to_be_visible()
    await search(Author="nobody like that")
    await expect(desk.page.get_by_text("Nobody of that name has written here.")).to_be_visible()
    await search(Address_of_the_page=elsewhere)
    await expect(desk.cards).to_have_count(1)
    await search(Text="apples", Status="Rejected")
    await expect(desk.cards).to_have_count(1)
    # What becomes of it is seen at once, and can be taken back.
    card = desk.card("Apples are blue")
    await desk.do("Apples are blue", "Approve").click()
    await expect(card.locator(".tag")).to_have_text("Shown")
    await desk.toast("Approved.").get_by_role("button", name="Undo").click()
    await expect(card.locator(".tag")).to_have_text("Rejected")
    await search(Text="plums")
    await expect(desk.page.get_by_text("No comments found.")).to_be_visible()
    desk.is_silent()


async def test_people_are_found_banned_noted_and_forgiven(room: Newsroom) -> None:
    ada, mona = room.author("ada"), room.staff("mona")
    for number in range(3):
        room.talk.post(f"Ada's {number}", ada)
    desk = await room.desk(mona, "#/people")
    await desk.page.get_by_label("Name").fill(ada.name[:5])
    await desk.button("Search").click()
    await desk.page.get_by_role("link", name=ada.name).first.click()
    await expect(desk.page.get_by_role("heading", level=1, name=ada.name)).to_be_visible()
    await expect(desk.cards).to_have_count(3)

    await desk.page.get_by_label("New note").fill("Was nice once")
    await desk.button("Add note").click()
    await expect(desk.page.locator(".notes")).to_contain_text("Was nice once")

    await desk.button("Ban …").click()
    dialog = desk.page.get_by_role("dialog")
    await dialog.get_by_label("A week").check()
    await dialog.get_by_label("Reason").fill("Rude")
    await dialog.get_by_role("button", name="Ban", exact=True).click()
    await expect(desk.page.locator(".standings")).to_contain_text("Banned until")
    await expect(desk.page.locator(".standings")).to_contain_text("Rude")
    refused = room.talk.api.post(
        "/v1/comments",
        json={"page_url": room.talk.url, "content": "no"},
        headers={"projectid": room.talk.project, **ada.headers},
    )
    assert refused.json()["code"] == "user_blocked"
    await desk.toast("Banned.").get_by_role("button", name="Undo").click()
    await expect(desk.page.locator(".standings")).to_have_count(0)
    await desk.button("Shadow-ban").click()
    await expect(desk.page.locator(".standings")).to_contain_text("only they see what they write")
    await desk.page.goto(f"{desk.url}/mod#/people/standing=shadowbanned")
    await desk.page.locator(".people").get_by_role("link", name=ada.name).click()
    await desk.button("Lift the shadow ban").click()
    await expect(desk.page.locator(".standings")).to_have_count(0)

    await desk.button("Delete all comments …").click()
    await expect(dialog.get_by_role("button", name="Delete all comments …")).to_be_disabled()
    await dialog.get_by_label("to confirm").fill(ada.name)
    await dialog.get_by_role("button", name="Delete all comments …").click()
    await expect(desk.toast("Done: 3 deleted.")).to_be_visible(timeout=30_000)
    await expect(desk.page.locator(".notes")).to_contain_text("Was nice once")
    await desk.button("Delete note").click()
    await expect(desk.page.locator(".notes li")).to_have_count(0)
    # Nothing to be done about colleagues.
    await desk.page.goto(f"{desk.url}/mod#/people/id={room.staff('mia').id}")
    await expect(desk.page.get_by_text("They have the same role as you, or a higher one.")).to_be_visible()
    await expect(desk.button("Ban …")).to_have_count(0)
    desk.is_silent()


async def test_the_log_says_who_did_what_and_takes_back(room: Newsroom, tmp_path: Path) -> None:
    ada, mona, boss = room.author("ada"), room.staff("mona"), room.staff("boss", "admin")
    one, two = room.talk.post("One", ada), room.talk.post("Two", ada)
    room.talk.call("POST", f"/v1/moderation/spam/{one}", mona, {})
    room.talk.call("POST", f"/v1/moderation/reject/{two}", boss, {"reason": "not here"})
    desk = await room.desk(boss, "#/log")
    rows = desk.page.locator(".log li")
    await expect(rows.filter(has_text="marked as spam a comment by")).to_contain_text(mona.name)
    await expect(rows.filter(has_text="You rejected a comment by")).to_contain_text("not here")
    await desk.page.get_by_label("What").select_option("Marked as spam")
    await expect(rows).to_have_count(1)
    await desk.page.get_by_label("What").select_option("Everything")
    await desk.page.get_by_label("Who").select_option("Me")
    await expect(rows).to_have_count(1)
    await rows.get_by_role("button", name="Undo").click()
    await expect(rows).to_have_count(2)
    await expect(rows.first).to_contain_text("took back: rejected a comment by")
    async with desk.page.expect_download() as downloading:
        await desk.button("Download as CSV").click()
    file = tmp_path / "log.csv"
    await (await downloading.value).save_as(file)
    actions = [row["action"] for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines())]
    assert actions[-3:] == ["spam", "reject", "undo_reject"]
    desk.is_silent()
    plain = await room.desk(mona, "#/log")
    await expect(plain.page.locator(".log li").first).to_be_visible()
    await expect(plain.button("Download as CSV")).to_have_count(0)


async def test_moderators_see_nothing_of_the_owners_and_others_nothing_at_all(
    room: Newsroom, server: Server, visit: Any, api: httpx.Client
) -> None:
    room.talk.post("Only for this site", room.author("ada"))
    mona, boss = room.staff("mona"), room.staff("boss", "admin")
    desk = await room.desk(mona, "#/comments")
    await expect(desk.card("Only for this site")).to_be_visible()
    await expect(desk.page.get_by_role("link", name="Administration")).to_have_count(0)
    owners = f"/v1/admin/sites/{room.site_id}"
    for path in ("/owners", "/admins", "/moderators", "/usage", ""):
        headers = {"projectid": room.talk.project, **mona.headers}
        assert room.talk.api.request("GET", owners + path, headers=headers).status_code in (403, 404)
    above = await room.desk(boss)
    await expect(above.page.get_by_role("link", name="Administration")).to_be_visible()
    other = newsroom(server, visit, api)
    stranger = await other.desk(other.staff("stranger"), "#/comments")
    await expect(stranger.page.get_by_text("No comments found.")).to_be_visible()
    await expect(stranger.page.locator("body")).not_to_contain_text("Only for this site")
    answer = await stranger.page.context.request.post(
        f"{stranger.url}/v1/staff/token", data={"site_id": room.site_id}, headers={"origin": stranger.url}
    )
    assert answer.status == 404
