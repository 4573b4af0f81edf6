"""What an embed needs to begin may fail, and whoever is vouched for is whoever is here."""

from typing import Any

from playwright.async_api import expect

from tests.e2e.conftest import Host, Talk
from tests.e2e.holding import HURRY, NO_SOCKETS


async def test_looks_and_words_that_fail_once_are_asked_for_again(talk: Talk, member: Any, visit: Any) -> None:
    talk.post("Hello", member("ada"))
    reader = await visit()
    for pattern in ("**/embed/style.*.css", "**/embed/locales/en.*.json", "**/embed/later.*.css"):
        await reader.page.route(pattern, lambda route: route.fulfill(status=502, body="busy"), times=1)
    await reader.page.goto(talk.url)
    await expect(reader.comment("Hello").get_by_role("button", name="Reply")).to_be_visible()
    await expect(reader.page.locator("[data-testid=comment]")).to_have_css("border-radius", "10px")
    await reader.is_connected()
    await reader.box.focus()
    await expect(reader.button("Post")).to_have_css("font-weight", "600")


async def test_words_that_do_not_come_are_told_to_the_page_and_the_reader_can_try_again(
    host: Host, talk: Talk, member: Any, visit: Any
) -> None:
    talk.post("Hello", member("ada"))
    reader = await visit()
    await reader.page.add_init_script(HURRY)
    await reader.page.add_init_script(
        "window.heard = []; addEventListener('threadkit:error', (event) => heard.push(event.detail.message))"
    )
    await reader.page.route("**/embed/locales/en.*.json", lambda route: route.fulfill(status=502, body="busy"))
    await reader.page.goto(talk.url)
    await expect(reader.page.get_by_text("The comments could not be loaded.")).to_be_visible()
    assert await reader.page.evaluate("heard") == ["locales/en.json: 502"]
    await reader.page.unroute("**/embed/locales/en.*.json")
    await reader.button("Try again").click()
    await expect(reader.comment("Hello")).to_be_visible()


async def test_without_its_later_looks_everything_still_works(talk: Talk, member: Any, visit: Any) -> None:
    reader = await visit()
    await reader.page.add_init_script(HURRY)
    await reader.sign_in(member("ada"))
    await reader.page.route("**/embed/later.*.css", lambda route: route.abort())
    await reader.open(talk.url)
    await reader.is_connected()
    await reader.post("Plain, but there")


async def test_a_stream_knows_who_reads(talk: Talk, member: Any, visit: Any) -> None:
    ada, troll = member("ada"), member("troll")
    root = talk.post("Ask me anything", ada)
    talk.call("POST", f"/v1/users/{troll.id}/block", ada)
    reader = await visit()
    await reader.page.add_init_script(NO_SOCKETS)
    await reader.page.add_init_script(HURRY)
    await reader.sign_in(ada)
    async with reader.page.expect_request("**/v1/events?**"):
        await reader.open(talk.url)
    await reader.is_connected()
    talk.post("You are all wrong", troll)
    talk.post("How are you?", member("ben"), root)
    await expect(reader.comment("How are you?")).to_be_visible()
    await expect(reader.button("1 unread notification")).to_be_visible()
    await expect(reader.page.get_by_text("You are all wrong")).to_have_count(0)
