"""Answers that come late, in another order, or not at all: the screen says what the server has in the end."""

import time
from typing import Any

from playwright.async_api import expect

from tests.e2e.conftest import PUBLIC, Talk, Visitor
from tests.e2e.holding import held, polls, turn_to
from tests.integration.server.program import Server, command
from tests.wait import until

CURSOR = "**/v1/comments?*cursor=*"


def elsewhere(talk: Talk) -> Talk:
    return Talk(talk.api, talk.url + "-two")


async def choose(visitor: Visitor, sort: str) -> None:
    await visitor.page.get_by_test_id("sort-dropdown").select_option(sort)


async def test_what_was_to_be_read_on_does_not_come_onto_another_page(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    for number in range(27):
        talk.post(f"Old {number}", ada)
    other = elsewhere(talk)
    other.post("On page two", ada)
    reader = await visit()
    await reader.open(talk.url)
    late = await held(reader, CURSOR)
    await reader.button("Load more comments").click()
    await late.one()
    await turn_to(reader, other.url)
    await expect(reader.comment("On page two")).to_be_visible()
    await late.release()
    assert await reader.texts() == ["On page two"]
    await expect(reader.page.get_by_test_id("comment-count")).to_have_text("1 comment")


async def test_what_changed_on_a_page_that_was_left_stays_there(talk: Talk, member: Any, visit: Any) -> None:
    ada, other = member("ada"), elsewhere(talk)
    talk.post("On page one", ada)
    other.post("On page two", ada)
    reader = await visit()
    await polls(reader)
    await reader.open(talk.url)
    late = await held(reader, "**/v1/changes?*")
    talk.post("Also on page one", ada)
    await late.one()
    await turn_to(reader, other.url)
    await expect(reader.comment("On page two")).to_be_visible()
    await late.release()
    assert await reader.texts() == ["On page two"]


async def test_of_two_orders_the_one_that_was_chosen_last_is_shown(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    for text in ("first", "second"):
        talk.post(text, ada)
    reader = await visit()
    await reader.open(talk.url)
    late = await held(reader, "**/v1/comments?*sort=new*")
    await choose(reader, "Newest")
    await late.one()
    await choose(reader, "Oldest")
    await expect(reader.page.locator("[data-testid=comment] .body").first).to_have_text("first")
    await late.release()
    assert await reader.texts() == ["first", "second"]
    await expect(reader.page.get_by_test_id("sort-dropdown")).to_have_value("old")


async def test_a_page_whose_first_answer_failed_is_live_all_the_same(talk: Talk, member: Any, visit: Any) -> None:
    reader = await visit()
    await reader.page.route("**/v1/comments?*", lambda route: route.fulfill(status=500, body="{}"))
    await reader.page.goto(talk.url)
    await expect(reader.button("Try again")).to_be_visible()
    await reader.is_connected()
    await reader.page.unroute("**/v1/comments?*")
    await reader.button("Try again").click()
    await expect(reader.page.get_by_text("No comments yet")).to_be_visible()
    talk.post("Live", member("ada"))
    await expect(reader.comment("Live")).to_be_visible()


async def test_reading_on_between_two_looks_at_the_changes_skips_none(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    roots = [talk.post(f"Thread {number}", ada) for number in range(27)]
    reader = await visit()
    await polls(reader)
    await reader.open(talk.url)
    await reader.page.route("**/v1/changes?*", lambda route: route.abort())
    shown = await reader.page.get_by_test_id("comment").first.get_attribute("data-id")
    assert shown in roots
    talk.call("PUT", f"/v1/comments/{shown}", ada, {"content": "Changed meanwhile"})
    await reader.button("Load more comments").click()
    await expect(reader.page.get_by_test_id("comment")).to_have_count(27)
    await reader.page.unroute("**/v1/changes?*")
    await expect(reader.comment("Changed meanwhile")).to_be_visible()


async def test_an_old_comment_that_was_voted_on_is_not_announced_as_new(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    old, began = talk.post("Thread 0", ada), int(time.time())
    # Times of comments are in seconds: what is as young as the thread may be new to it.
    await until(lambda: int(time.time()) > began, "the next second")
    for number in range(1, 27):
        talk.post(f"Thread {number}", ada)
    reader = await visit()
    await polls(reader)
    await reader.open(talk.url)
    await choose(reader, "Newest")
    await expect(reader.page.locator("[data-testid=comment] .body").first).to_have_text("Thread 26")
    talk.vote(old, member("ben"))
    async with reader.page.expect_response(lambda answer: "/v1/changes" in answer.url) as seen:
        pass
    await (await seen.value).finished()
    newest = talk.post("Really new", ada)
    await expect(reader.button("1 new comment")).to_be_visible()
    await expect(reader.page.get_by_test_id("comment")).to_have_count(26)
    assert await reader.page.locator(".fresh").get_attribute("data-id") == newest


async def test_others_votes_stay_when_more_is_read(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    for number in range(26):
        talk.post(f"Thread {number}", ada)
    reader = await visit()
    await reader.sign_in(member("ben"))
    await reader.open(talk.url)
    await reader.is_connected()
    comment = reader.page.get_by_test_id("comment").first
    async with reader.page.expect_response("**/vote"):
        await comment.get_by_role("button", name="upvote").click()
    talk.vote(str(await comment.get_attribute("data-id")), member("cleo"))
    await expect(comment.locator(".count")).to_have_text("2")
    await reader.button("Load more comments").click()
    await expect(reader.page.get_by_test_id("comment")).to_have_count(26)
    await expect(comment.locator(".count")).to_have_text("2")


async def test_a_vote_of_somebody_else_while_ones_own_has_no_answer_is_counted_too(
    talk: Talk, member: Any, visit: Any
) -> None:
    voted = talk.post("Vote for me", member("ada"))
    reader = await visit()
    await reader.sign_in(member("ben"))
    await reader.open(talk.url)
    await reader.is_connected()
    late = await held(reader, "**/vote")
    count = reader.comment("Vote for me").locator(".count")
    heard = "id => document.querySelector('thread-kit').thread.pending.get(id)?.up"
    await reader.comment("Vote for me").get_by_role("button", name="upvote").click()
    await late.one()
    talk.vote(voted, member("cleo"))

    async def is_heard() -> bool:
        return bool(await reader.page.evaluate(heard, voted) == 2)

    await until(is_heard, "the other's vote")
    await expect(count).to_have_text("1")
    await late.release()
    await expect(count).to_have_text("2")


async def test_ones_own_votes_are_marked_on_what_is_read_on_too(talk: Talk, member: Any, visit: Any) -> None:
    ada, ben = member("ada"), member("ben")
    first, *_ = [talk.post(f"Thread {number}", ada) for number in range(27)]
    talk.vote(first, ben)
    reader = await visit()
    await reader.sign_in(ben)
    await reader.open(talk.url)
    await choose(reader, "Newest")
    await expect(reader.page.locator("[data-testid=comment] .body").first).to_have_text("Thread 26")
    await reader.button("Load more comments").click()
    up = reader.comment("Thread 0").get_by_role("button", name="upvote", exact=True)
    await expect(up).to_have_attribute("aria-pressed", "true")


async def test_a_deletion_of_what_is_not_loaded_is_counted(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    roots = [talk.post(f"Thread {number}", ada) for number in range(27)]
    reader = await visit()
    await reader.open(talk.url)
    await reader.is_connected()
    count = reader.page.get_by_test_id("comment-count")
    await expect(count).to_have_text("27 comments")
    shown = await reader.page.get_by_test_id("comment").evaluate_all("all => all.map(one => one.dataset.id)")
    talk.call("DELETE", f"/v1/comments/{next(one for one in roots if one not in shown)}", ada)
    await expect(count).to_have_text("26 comments")


async def test_a_chain_of_empty_places_goes_with_the_last_reply(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    path = [talk.post("one", ada)]
    path.append(talk.post("two", ada, *path))
    path.append(talk.post("three", ada, *path))
    reader = await visit()
    await reader.open(talk.url)
    await reader.is_connected()
    for comment in path[:2]:
        talk.call("DELETE", f"/v1/comments/{comment}", ada)
    await expect(reader.page.get_by_text("This comment was deleted.")).to_have_count(2)
    talk.call("DELETE", f"/v1/comments/{path[2]}", ada)
    await expect(reader.page.get_by_text("No comments yet")).to_be_visible()
    await expect(reader.page.get_by_test_id("comment")).to_have_count(0)


async def test_whoever_asks_now_and_then_learns_of_pins_locks_and_names_that_went(
    server: Server, talk: Talk, member: Any, visit: Any
) -> None:
    leaver, mo = member("leaver"), talk.appoint(member("mo"))
    comment = talk.post("Pin me", leaver)
    reader = await visit()
    await polls(reader)
    await reader.open(talk.url)
    talk.call("POST", f"/v1/comments/{comment}/pin", mo, {})
    await expect(reader.comment("Pin me").get_by_text("Pinned")).to_be_visible()
    lock = ("page", "lock", talk.url, "--site", PUBLIC, "--data", str(server.folder))
    command(*lock)
    await expect(reader.page.get_by_text("Comments are closed.")).to_be_visible()
    await expect(reader.box).to_be_hidden()
    command(*lock, "--open")
    await expect(reader.box).to_be_visible()
    talk.call("DELETE", "/v1/users/me", leaver)
    await expect(reader.page.get_by_role("button", name="Deleted", exact=True)).to_be_visible()
