"""A link to one comment opens it, wherever it stands."""

import re
from typing import Any

from playwright.async_api import expect

from tests.e2e.conftest import Talk


async def test_a_link_opens_scrolls_to_and_marks_a_comment(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    wanted, *_ = [talk.post(f"Comment {number}", ada) for number in range(20)]
    reader = await visit()
    await reader.open(f"{talk.url}#comment-{wanted}")
    found = reader.page.locator(".comment.highlight")
    await expect(found).to_have_attribute("data-id", wanted)
    await expect(found).to_be_in_viewport()
    await expect(found).to_be_focused()
    await reader.shot("permalink", full=False)
    assert reader.complaints == []


async def test_a_link_leads_to_a_deep_reply_on_a_later_page(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    for number in range(30):
        talk.post(f"Thread {number}", ada)
    path = [talk.post("The last thread", ada)]
    for level in range(5):
        path.append(talk.post(f"Level {level}", ada, *path))
    reader = await visit()
    await reader.open(f"{talk.url}#comment-{path[-1]}")
    await expect(reader.page.locator(".highlight")).to_have_attribute("data-id", path[-1])
    await expect(reader.page.locator(".highlight")).to_be_in_viewport()


async def test_following_a_time_marks_its_comment_and_a_changed_address_another(
    talk: Talk, member: Any, visit: Any
) -> None:
    ada = member("ada")
    *_, last = [talk.post(f"Comment {number}", ada) for number in range(27)]
    reader = await visit()
    await reader.open(talk.url)
    first = reader.page.get_by_test_id("comment").first
    await first.locator("a.time").click()
    await expect(first).to_have_class(re.compile("highlight"))
    assert reader.page.url.endswith(f"#comment-{await first.get_attribute('data-id')}")
    # Not here yet: the thread is loaded around it.
    await reader.page.evaluate("id => { location.hash = `comment-${id}` }", last)
    await expect(reader.page.locator(".highlight")).to_have_attribute("data-id", last)


async def test_a_new_order_does_not_take_the_reader_back_to_the_link(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    wanted, *_ = [talk.post(f"Comment {number}", ada) for number in range(3)]
    reader = await visit()
    await reader.open(f"{talk.url}#comment-{wanted}")
    await expect(reader.page.locator(".highlight")).to_have_attribute("data-id", wanted)
    await reader.page.get_by_test_id("sort-dropdown").select_option("Newest")
    await expect(reader.page.locator("[data-testid=comment] .body").first).to_have_text("Comment 2")


async def test_a_link_to_what_is_gone_says_so(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    talk.post("Still here", ada)
    gone = talk.post("Gone soon", ada)
    talk.call("DELETE", f"/v1/comments/{gone}", ada)
    reader = await visit()
    await reader.open(f"{talk.url}#comment-{gone}")
    await expect(reader.page.locator(".toast")).to_have_text("This comment is not there any more.")
    await expect(reader.comment("Still here")).to_be_visible()
