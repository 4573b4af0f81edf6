"""Votes show at once, and are taken back when the server says no."""

from typing import Any

from playwright.async_api import Locator, expect

from tests.e2e.conftest import Talk


def up(comment: Locator) -> Locator:
    return comment.get_by_role("button", name="upvote", exact=True)


async def test_a_vote_counts_and_is_still_there_after_a_reload(talk: Talk, member: Any, visit: Any) -> None:
    talk.post("Vote for me", member("ada"))
    reader = await visit()
    await reader.sign_in(member("ben"))
    await reader.open(talk.url)
    comment = reader.comment("Vote for me")
    await up(comment).click()
    await expect(comment.locator(".count")).to_have_text("1")
    await expect(up(comment)).to_have_attribute("aria-pressed", "true")
    await expect(up(comment)).to_be_focused()
    await reader.page.reload()
    await expect(up(comment)).to_have_attribute("aria-pressed", "true")
    await comment.get_by_role("button", name="downvote").click()
    await expect(comment.locator(".count")).to_have_text("-1")
    await comment.get_by_role("button", name="downvote").click()
    await expect(comment.locator(".count")).to_have_text("0")
    assert reader.complaints == []


async def test_a_vote_that_the_server_refuses_is_taken_back(talk: Talk, member: Any, visit: Any) -> None:
    talk.post("Vote for me", member("ada"))
    reader = await visit()
    await reader.sign_in(member("ben"))
    await reader.open(talk.url)
    comment = reader.comment("Vote for me")
    for trouble, sentence in (
        (lambda route: route.abort(), "cannot be reached"),
        (lambda route: route.fulfill(status=503, body="{}"), "very busy right now"),
    ):
        await reader.page.route("**/vote", trouble)
        await up(comment).click()
        await expect(reader.page.locator(".toast")).to_contain_text(sentence)
        await expect(comment.locator(".count")).to_have_text("0")
        await expect(up(comment)).to_have_attribute("aria-pressed", "false")
        await reader.page.unroute("**/vote")


async def test_an_answer_that_comes_late_does_not_take_the_focus(talk: Talk, member: Any, visit: Any) -> None:
    talk.post("Vote for me", member("ada"))
    reader = await visit()
    await reader.sign_in(member("ben"))
    await reader.open(talk.url)
    held: list[Any] = []
    await reader.page.route("**/vote", lambda route: held.append(route))
    comment = reader.comment("Vote for me")
    await up(comment).click()
    await expect(comment.locator(".count")).to_have_text("1")
    await reader.box.fill("I was")
    async with reader.page.expect_response("**/vote"):
        await held[0].continue_()
    await reader.page.keyboard.type(" not interrupted")
    await expect(reader.box).to_have_value("I was not interrupted")


async def test_whoever_is_not_signed_in_is_asked_and_then_the_vote_counts(talk: Talk, member: Any, visit: Any) -> None:
    talk.post("Vote for me", member("ada"))
    reader = await visit()
    await reader.open(talk.url)
    await up(reader.comment("Vote for me")).click()
    await expect(reader.page.get_by_test_id("auth-modal")).to_contain_text("Your vote counts once you are signed in.")
    await reader.button("Continue as Guest").click()
    await expect(reader.comment("Vote for me").locator(".count")).to_have_text("1")
