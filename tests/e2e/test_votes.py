"""Votes show at once, and are taken back when the server says no."""

import asyncio
from typing import Any

from playwright.async_api import Locator, expect

from tests.e2e.conftest import Host, Talk
from tests.wait import until


def up(comment: Locator) -> Locator:
    return comment.get_by_role("button", name="upvote", exact=True)


async def test_a_vote_counts_and_is_still_there_after_a_reload(talk: Talk, member: Any, visit: Any) -> None:
    talk.post("Vote for me", member("ada"))
    reader = await visit()
    await reader.sign_in(member("ben"))
    await reader.open(talk.url)
    comment = reader.comment("Vote for me")
    async with reader.page.expect_response("**/vote"):
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


async def test_a_thread_that_was_asked_for_before_a_vote_does_not_take_it_back(
    talk: Talk, member: Any, visit: Any
) -> None:
    """Whoever signs in to vote has the thread loaded again while the vote is on its way."""
    talk.post("Vote for me", member("ada"))
    reader = await visit()
    await reader.open(talk.url)
    is_answered, is_voted = asyncio.Event(), asyncio.Event()

    async def late(route: Any) -> None:
        from_before = await route.fetch()
        is_answered.set()
        await is_voted.wait()
        await route.fulfill(response=from_before)

    async def vote(route: Any) -> None:
        await is_answered.wait()
        await route.continue_()

    await reader.page.route("**/v1/comments?*", late)
    await reader.page.route("**/vote", vote)
    comment = reader.comment("Vote for me")
    await up(comment).click()
    async with reader.page.expect_response("**/vote"):
        await reader.button("Continue as Guest").click()
    async with reader.page.expect_response("**/v1/comments?*"):
        is_voted.set()
    async with reader.page.expect_response("**/v1/pages/my_votes?*"):
        pass
    await expect(comment.locator(".count")).to_have_text("1")
    await expect(up(comment)).to_have_attribute("aria-pressed", "true")


async def test_whoever_clicks_twice_sees_what_the_server_has(talk: Talk, member: Any, visit: Any) -> None:
    voted = talk.post("Vote for me", member("ada"))
    ben = member("ben")
    reader = await visit()
    await reader.sign_in(ben)
    await reader.open(talk.url)
    held: list[Any] = []
    await reader.page.route("**/vote", lambda route: held.append(route))
    comment = reader.comment("Vote for me")
    await up(comment).click()
    await comment.get_by_role("button", name="downvote").click()
    await expect(comment.locator(".count")).to_have_text("-1")
    await until(lambda: len(held) == 1, "the first vote, and not the second before its answer")
    await held[0].continue_()
    await until(lambda: len(held) == 2, "the second vote")
    await expect(comment.locator(".count")).to_have_text("-1")
    async with reader.page.expect_response("**/vote"):
        await held[1].continue_()
    await expect(comment.locator(".count")).to_have_text("-1")
    await expect(up(comment)).to_have_attribute("aria-pressed", "false")
    assert talk.call("GET", f"/v1/pages/my_votes?page_url={talk.url}", ben)["votes"] == {voted: "down"}


async def test_a_vote_counts_although_its_voter_leaves_at_once(talk: Talk, host: Host, member: Any, visit: Any) -> None:
    talk.post("Vote for me", member("ada"))
    elsewhere = host.put("/elsewhere", "Nothing to vote for")
    reader = await visit()
    await reader.sign_in(member("ben"))
    # A quick server has most votes before the page is gone, so it is also looked at how they are sent.
    await reader.page.add_init_script(
        "const sent = fetch;"
        "fetch = (url, how) => (url.endsWith('/vote') && (sessionStorage.outlives = how.keepalive), sent(url, how))"
    )
    await reader.open(talk.url)
    await reader.is_connected()
    await up(reader.comment("Vote for me")).evaluate(f"button => {{ button.click(); location.href = '{elsewhere}' }}")
    await reader.page.wait_for_url(elsewhere)
    assert await reader.page.evaluate("sessionStorage.outlives") == "true"

    def votes() -> int:
        return int(talk.call("GET", f"/v1/comments?page_url={talk.url}")["tree"]["c"][0]["u"])

    await until(lambda: votes() == 1, "the vote to count")
