"""What somebody has typed is never lost, and one click is one comment."""

from typing import Any

from playwright.async_api import expect

from tests.e2e.conftest import Talk
from tests.e2e.holding import NO_SOCKETS, held

MOVED = "That comment is gone. What you were writing is now in the box above the comments."


async def test_a_reply_to_a_comment_that_is_deleted_goes_on_in_the_box_above(
    talk: Talk, member: Any, visit: Any
) -> None:
    ada = member("ada")
    comment = talk.post("Answer me", ada)
    visitor = await visit()
    await visitor.sign_in(member("ben"))
    await visitor.open(talk.url)
    await visitor.is_connected()
    await visitor.box.fill("Something else")
    await visitor.comment("Answer me").get_by_role("button", name="Reply").click()
    await visitor.page.get_by_placeholder("Write a reply to").fill("A long and thoughtful answer")
    talk.call("DELETE", f"/v1/comments/{comment}", ada)
    await expect(visitor.page.locator(".toast")).to_have_text(MOVED)
    await visitor.shot("reply-moved")
    await expect(visitor.box).to_have_value("Something else\n\nA long and thoughtful answer")
    await visitor.page.reload()
    await expect(visitor.box).to_have_value("Something else\n\nA long and thoughtful answer")
    await visitor.button("Post").click()
    await expect(visitor.comment("A long and thoughtful answer")).to_be_visible()
    assert visitor.complaints == []


async def test_a_change_to_a_comment_that_a_moderator_deletes_goes_on_in_the_box_above(
    talk: Talk, member: Any, visit: Any
) -> None:
    ada, mo = member("ada"), talk.appoint(member("mo"))
    comment = talk.post("Mine", ada)
    visitor = await visit()
    await visitor.sign_in(ada)
    await visitor.open(talk.url)
    await visitor.is_connected()
    await visitor.menu("Mine", "Edit")
    await visitor.page.get_by_placeholder("Edit your comment").fill("Mine, and much longer")
    talk.call("DELETE", f"/v1/comments/{comment}", mo)
    await expect(visitor.box).to_have_value("Mine, and much longer")


async def test_a_reply_that_is_being_written_stays_when_its_comment_is_to_be_deleted(
    talk: Talk, member: Any, visit: Any
) -> None:
    ada = member("ada")
    talk.post("Mine", ada)
    visitor = await visit()
    await visitor.sign_in(ada)
    await visitor.open(talk.url)
    await visitor.comment("Mine").get_by_role("button", name="Reply").click()
    box = visitor.page.get_by_placeholder("Write a reply to")
    await box.fill("And another thing")
    await visitor.menu("Mine", "Delete")
    await visitor.button("Cancel").first.click()
    await expect(box).to_have_value("And another thing")


async def test_a_change_is_seen_although_the_thread_was_loaded_again_meanwhile(
    talk: Talk, member: Any, visit: Any
) -> None:
    ada = member("ada")
    talk.post("Before", ada)
    visitor = await visit()
    # Nothing but the answer to the change may say what it says now.
    await visitor.page.add_init_script(NO_SOCKETS)
    await visitor.page.route("**/v1/events?*", lambda route: route.abort())
    await visitor.page.route("**/v1/changes?*", lambda route: route.abort())
    await visitor.sign_in(ada)
    await visitor.open(talk.url)
    await visitor.menu("Before", "Edit")
    async with visitor.page.expect_response("**/v1/comments?*"):
        await visitor.page.evaluate("document.querySelector('thread-kit').reload({quietly: true})")
    await visitor.page.get_by_placeholder("Edit your comment").fill("After")
    async with visitor.page.expect_response(lambda answer: answer.request.method == "PUT"):
        await visitor.button("Save").click()
    await expect(visitor.page.get_by_placeholder("Edit your comment")).to_have_count(0)
    assert await visitor.texts() == ["After"]


async def test_two_clicks_of_a_guest_on_post_ask_once_and_post_once(talk: Talk, visit: Any) -> None:
    visitor = await visit()
    await visitor.open(talk.url)
    await visitor.box.fill("Only once")
    await visitor.button("Post").evaluate("button => { button.click(); button.click() }")
    dialog = visitor.page.get_by_test_id("auth-modal")
    await expect(dialog).to_have_count(1)
    await dialog.get_by_role("button", name="Continue as Guest").click()
    await expect(visitor.comment("Only once")).to_be_visible()
    await expect(visitor.page.get_by_test_id("comment-count")).to_have_text("1 comment")
    assert len(talk.call("GET", f"/v1/comments?page_url={talk.url}")["tree"]["c"]) == 1


async def test_what_is_sent_again_because_its_answer_never_came_is_one_comment(
    talk: Talk, member: Any, visit: Any
) -> None:
    visitor = await visit()
    await visitor.sign_in(member("ada"))
    await visitor.open(talk.url)
    await visitor.is_connected()

    async def lose(route: Any) -> None:
        if route.request.method == "POST":
            await route.fetch()
            await route.abort()
        else:
            await route.continue_()

    await visitor.page.route("**/v1/comments", lose)
    await visitor.box.fill("Did it arrive?")
    await visitor.button("Post").click()
    await expect(visitor.page.get_by_role("alert")).to_contain_text("cannot be reached")
    await expect(visitor.comment("Did it arrive?")).to_be_visible()
    await visitor.page.unroute("**/v1/comments")
    await visitor.button("Post").click()
    await expect(visitor.box).to_have_value("")
    assert await visitor.texts() == ["Did it arrive?"]
    await expect(visitor.page.get_by_test_id("comment-count")).to_have_text("1 comment")


async def test_the_preview_is_empty_after_posting_from_it(talk: Talk, member: Any, visit: Any) -> None:
    visitor = await visit()
    await visitor.sign_in(member("ada"))
    await visitor.open(talk.url)
    await visitor.box.fill("Looks **fine**")
    await visitor.button("Preview").click()
    await expect(visitor.page.locator(".preview strong")).to_have_text("fine")
    await visitor.button("Post").click()
    await expect(visitor.comment("Looks fine")).to_be_visible()
    await expect(visitor.page.locator(".preview")).to_be_hidden()
    await expect(visitor.box).to_have_value("")


async def test_what_is_typed_while_a_comment_is_on_its_way_stays(talk: Talk, member: Any, visit: Any) -> None:
    visitor = await visit()
    await visitor.sign_in(member("ada"))
    await visitor.open(talk.url)
    late = await held(visitor, "**/v1/comments")
    await visitor.box.fill("First.")
    await visitor.button("Post").click()
    await late.one()
    await visitor.box.press_sequentially(" And second.")
    await late.release()
    await expect(visitor.comment("First.")).to_be_visible()
    await expect(visitor.box).to_have_value("And second.")


async def test_two_clicks_on_the_bell_open_one_list(talk: Talk, member: Any, visit: Any) -> None:
    visitor = await visit()
    await visitor.sign_in(member("ada"))
    await visitor.open(talk.url)
    for name in ("Notifications", "ada"):
        button = visitor.page.locator(".bell" if name == "Notifications" else ".account")
        await button.evaluate("button => { button.click(); button.click() }")
        await expect(visitor.page.locator("dialog h3")).to_have_count(1)
        await visitor.page.locator("dialog").press("Escape")
        await expect(visitor.page.locator("dialog")).to_have_count(0)


async def test_the_keyboards_focus_stays_when_a_stranger_votes(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    comment = talk.post("See https://example.org/ for more", ada)
    for number in range(7):
        talk.post(f"Reply {number}", ada, comment)
    visitor = await visit()
    await visitor.open(talk.url)
    await visitor.is_connected()
    count = visitor.page.get_by_test_id("comment").first.locator(".count")
    places = (".name", "a.time", ".body a", "[data-action=reply]", ".vote.up")
    article = visitor.page.get_by_test_id("comment").first
    for votes, place in enumerate(places, 1):
        await article.locator(place).first.focus()
        talk.vote(comment, member("voter"))
        await expect(count).to_have_text(str(votes))
        await expect(article.locator(place).first).to_be_focused()
    await visitor.button("2 more replies").focus()
    talk.vote(comment, member("voter"))
    await expect(count).to_have_text(str(len(places) + 1))
    await expect(visitor.button("2 more replies")).to_be_focused()
