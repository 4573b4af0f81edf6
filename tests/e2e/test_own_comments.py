"""What people do with comments that are there: edit, delete, report, block."""

from typing import Any

from playwright.async_api import expect

from tests.e2e.conftest import Host, Talk


async def test_one_can_edit_ones_own_comment(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    talk.post("With a typpo", ada)
    visitor = await visit()
    await visitor.sign_in(ada)
    await visitor.open(talk.url)
    await visitor.menu("With a typpo", "Edit")
    box = visitor.page.get_by_placeholder("Edit your comment")
    await expect(box).to_have_value("With a typpo")
    await expect(box).to_be_focused()
    await box.fill("With no typo")
    await visitor.shot("edit")
    await visitor.button("Save").click()
    comment = visitor.comment("With no typo")
    await expect(comment).to_be_visible()
    await expect(comment.get_by_text("edited")).to_be_visible()
    await visitor.menu("With no typo", "Edit")
    await visitor.page.keyboard.press("Escape")
    await expect(comment.get_by_role("button", name="Reply")).to_be_visible()
    assert visitor.complaints == []


async def test_after_the_window_nothing_can_be_edited(visit: Any, site: Any, host: Host) -> None:
    visitor = await visit()
    await visitor.open(host.put("/window", host.line(site(edit_window_minutes="0"))))
    await visitor.be_guest("Ada")
    await visitor.post("For ever")
    await visitor.comment("For ever").get_by_test_id("comment-menu").click()
    await expect(visitor.page.get_by_role("menuitem", name="Delete")).to_be_visible()
    await expect(visitor.page.get_by_role("menuitem", name="Edit")).to_have_count(0)


async def test_a_failed_edit_keeps_the_words(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    talk.post("The first words", ada)
    visitor = await visit()
    await visitor.sign_in(ada)
    await visitor.open(talk.url)
    await visitor.menu("The first words", "Edit")
    box = visitor.page.get_by_placeholder("Edit your comment")
    await box.fill("Better words")
    problem = {"code": "edit_window_over"}
    await visitor.page.route("**/v1/comments/*", lambda route: route.fulfill(status=409, json=problem))
    await visitor.button("Save").click()
    await expect(visitor.page.get_by_role("alert")).to_have_text("This comment can no longer be edited.")
    await expect(box).to_have_value("Better words")


async def test_one_deletes_after_a_second_question(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    talk.post("To be deleted", ada)
    visitor = await visit()
    await visitor.sign_in(ada)
    await visitor.open(talk.url)
    await visitor.menu("To be deleted", "Delete")
    await visitor.shot("delete")
    await visitor.button("Cancel").click()
    await expect(visitor.comment("To be deleted")).to_be_focused()
    await visitor.menu("To be deleted", "Delete")
    await visitor.button("Confirm").click()
    await expect(visitor.page.get_by_text("No comments yet")).to_be_visible()
    await visitor.page.reload()
    await expect(visitor.page.get_by_text("No comments yet")).to_be_visible()
    assert visitor.complaints == []


async def test_a_report_reaches_the_moderators(talk: Talk, member: Any, visit: Any) -> None:
    spam = talk.post("Buy my pills", member("spammer"))
    visitor = await visit()
    await visitor.sign_in(member("ben"))
    await visitor.open(talk.url)
    await visitor.menu("Buy my pills", "Report")
    dialog = visitor.page.get_by_role("dialog")
    await dialog.get_by_label("Something else").check()
    await dialog.get_by_placeholder("Anything the moderators should know").fill("Again")
    await visitor.shot("report")
    async with visitor.page.expect_request(f"**/v1/comments/{spam}/report") as asked:
        await visitor.button("Send report").click()
    assert (await asked.value).post_data_json == {"reason": "other", "details": "Again"}
    await expect(visitor.page.locator(".toast")).to_contain_text("The moderators will have a look.")
    await expect(dialog).to_have_count(0)


async def test_blocking_hides_somebody_and_can_be_undone(talk: Talk, member: Any, visit: Any) -> None:
    talk.post("An annoying text", member("troll"))
    talk.post("A nice text", member("nice"))
    visitor = await visit()
    await visitor.sign_in(member("ben"))
    await visitor.open(talk.url)
    await visitor.menu("An annoying text", "Block this person")
    await expect(visitor.comment("An annoying text")).to_have_count(0)
    await expect(visitor.comment("A nice text")).to_be_visible()
    await visitor.button("Undo").click()
    await expect(visitor.comment("An annoying text")).to_be_visible()
    assert visitor.complaints == []


async def test_the_menu_of_the_last_comment_is_not_cut_off(talk: Talk, member: Any, visit: Any) -> None:
    for number in range(3):
        talk.post(f"Comment {number}", member("ada"))
    visitor = await visit()
    await visitor.open(talk.url)
    await visitor.page.get_by_test_id("comment-menu").last.click()
    for item in await visitor.page.get_by_role("menuitem").all():
        await item.click(trial=True)
    await visitor.shot("menu")
    await visitor.page.get_by_test_id("comment-menu").last.click()
    await expect(visitor.page.get_by_role("menu")).to_have_count(0)
