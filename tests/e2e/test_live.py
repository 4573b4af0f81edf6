"""Two browsers on one page: what one does, the other sees."""

from typing import Any

from playwright.async_api import expect

from tests.e2e.conftest import Talk


async def test_a_new_comment_is_announced_and_one_click_away(talk: Talk, member: Any, visit: Any) -> None:
    for number in range(12):
        talk.post(f"Older {number}", member("old"))
    ada, ben = await visit(), await visit()
    await ada.sign_in(member("ada"))
    for one in (ada, ben):
        await one.open(talk.url)
        await one.is_connected()
    await expect(ben.page.get_by_test_id("presence-count")).to_have_text("2 reading")
    await ben.comment("Older 11").scroll_into_view_if_needed()
    await ada.post("Fresh from the press")
    banner = ben.button("1 new comment")
    await expect(banner).to_be_visible()
    await expect(ben.page.locator("thread-kit .sr[role=status]")).to_contain_text("New comment by")
    await ben.shot("banner", full=False)
    await banner.click()
    await expect(ben.comment("Fresh from the press")).to_be_in_viewport()
    await expect(ben.comment("Fresh from the press")).to_be_focused()
    await expect(banner).to_be_hidden()
    # One's own comment needs no banner.
    await expect(ada.page.locator(".banner")).to_be_hidden()
    await expect(ada.page.get_by_test_id("comment")).to_have_count(13)
    assert ada.complaints == ben.complaints == []


async def test_edits_votes_and_deletions_arrive(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    comment = talk.post("Before", ada)
    reader = await visit()
    await reader.open(talk.url)
    await reader.is_connected()
    talk.call("PUT", f"/v1/comments/{comment}", ada, {"content": "After"})
    await expect(reader.comment("After")).to_be_visible()
    talk.vote(comment, member("ben"))
    await expect(reader.comment("After").locator(".count")).to_have_text("1")
    talk.call("DELETE", f"/v1/comments/{comment}", ada)
    await expect(reader.page.get_by_text("No comments yet")).to_be_visible()
    assert reader.complaints == []


async def test_who_is_typing_is_said_while_they_type(talk: Talk, member: Any, visit: Any) -> None:
    ada, ben = await visit(), await visit()
    ada_herself = member("ada")
    await ada.sign_in(ada_herself)
    for one in (ada, ben):
        await one.open(talk.url)
        await one.is_connected()
    await ada.box.press_sequentially("Hm")
    await expect(ben.page.get_by_text(f"{ada_herself.name} is typing")).to_be_visible()
    await ada.button("Post").click()
    await expect(ben.page.get_by_text("is typing")).to_have_count(0)
    await expect(ben.comment("Hm")).to_be_visible()


async def test_a_reply_rings_the_bell_and_the_panel_leads_to_it(talk: Talk, member: Any, visit: Any) -> None:
    ada, ben = member("ada"), member("ben")
    root = talk.post("Ask me anything", ada)
    visitor = await visit()
    await visitor.sign_in(ada)
    await visitor.open(talk.url)
    await visitor.is_connected()
    talk.post("How are you?", ben, root)
    bell = visitor.button("1 unread notification")
    await expect(bell).to_be_visible()
    await bell.click()
    note = visitor.page.get_by_role("link", name=f"{ben.name} replied to you")
    await expect(note).to_contain_text("How are you?")
    await visitor.shot("notifications")
    await note.click()
    await expect(visitor.page.get_by_role("dialog")).to_have_count(0)
    await expect(visitor.comment("How are you?")).to_be_in_viewport()
    await expect(visitor.button("Notifications")).to_be_visible()
    assert visitor.complaints == []


async def test_what_is_being_changed_is_not_overwritten(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    comment = talk.post("Mine", ada)
    visitor = await visit()
    await visitor.sign_in(ada)
    await visitor.open(talk.url)
    await visitor.is_connected()
    await visitor.menu("Mine", "Edit")
    box = visitor.page.get_by_placeholder("Edit your comment")
    await box.fill("Mine, and better")
    talk.vote(comment, member("ben"))
    talk.post("Another one", member("cleo"))
    await expect(visitor.comment("Another one")).to_be_visible()
    await expect(box).to_have_value("Mine, and better")
    await expect(box).to_be_focused()
