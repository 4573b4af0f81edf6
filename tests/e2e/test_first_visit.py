"""One line in a page, a visitor, and the first comment."""

from typing import Any

from tests.e2e.conftest import Host


async def test_one_line_shows_a_thread_and_a_guest_writes_the_first_comment(host: Host, visit: Any) -> None:
    ada = await visit()
    await ada.open(host.put("/first", host.line()))
    await ada.page.get_by_text("No comments yet").wait_for()
    await ada.shot("empty")
    box = ada.page.get_by_placeholder("Write a comment")
    await box.click()
    await box.fill("Hello **world**")
    # Nobody is asked who they are before it matters, and what was written is not lost.
    await ada.page.get_by_role("button", name="Post", exact=True).click()
    await ada.page.get_by_test_id("auth-modal").wait_for()
    await ada.shot("sign-in")
    await ada.page.get_by_placeholder("Your name").fill("Ada")
    await ada.page.get_by_role("button", name="Continue as Guest").click()
    comment = ada.comment("Hello world")
    await comment.wait_for()
    assert await comment.locator("strong").inner_text() == "world"
    await ada.page.get_by_text("1 comment", exact=True).wait_for()
    assert await box.input_value() == ""
    await ada.page.reload()
    await ada.comment("Hello world").wait_for()
    await ada.page.get_by_role("button", name="ada", exact=True).first.wait_for()
    assert ada.complaints == []
