"""What a reader sees: the thread, its order, its badges, and what is folded, deleted or further down."""

from typing import Any

from playwright.async_api import expect

from tests.e2e.conftest import Host, Talk
from tests.wait import until


async def test_replies_hang_under_what_they_answer_and_can_be_hidden(talk: Talk, member: Any, visit: Any) -> None:
    ada, ben = member("ada"), member("ben")
    root = talk.post("The root", ada)
    reply = talk.post("The reply", ben, root)
    talk.post("The deep one", ada, root, reply)
    reader = await visit()
    await reader.open(talk.url)
    assert await reader.texts() == ["The root", "The reply", "The deep one"]
    outer, inner = await reader.comment("The root").bounding_box(), await reader.comment("The reply").bounding_box()
    assert inner["x"] > outer["x"]
    await reader.comment("The root").get_by_role("button", name="Hide replies").click()
    await expect(reader.comment("The reply")).to_be_hidden()
    show = reader.button("Show 1 reply")
    await expect(show).to_be_focused()
    await show.click()
    await expect(reader.comment("The deep one")).to_be_visible()
    assert reader.complaints == []


async def test_more_replies_come_when_they_are_asked_for(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    root = talk.post("Say a number", ada)
    for number in range(8):
        talk.post(f"Number {number}", ada, root)
    reader = await visit()
    await reader.open(talk.url)
    assert len(await reader.texts()) == 6
    await reader.button("3 more replies").click()
    await expect(reader.page.get_by_test_id("comment")).to_have_count(9)
    assert len(set(await reader.texts())) == 9
    await expect(reader.page.get_by_text("more repl")).to_have_count(0)


async def test_more_threads_come_when_they_are_asked_for(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    for number in range(30):
        talk.post(f"Thread {number:02}", ada)
    reader = await visit()
    await reader.open(talk.url)
    await expect(reader.page.get_by_test_id("comment-count")).to_have_text("30 comments")
    await expect(reader.page.get_by_test_id("comment")).to_have_count(25)
    await reader.button("Load more comments").click()
    await expect(reader.page.get_by_test_id("comment")).to_have_count(30)
    assert len(set(await reader.texts())) == 30
    await expect(reader.button("Load more comments")).to_have_count(0)
    # Whoever uses the keyboard goes on at the first of the new ones, and listeners hear how many came.
    assert await reader.page.evaluate(
        "document.querySelector('thread-kit').shadowRoot.activeElement.matches('article')"
    )
    await expect(reader.page.locator("thread-kit .sr[role=status]")).to_have_text("5 more comments loaded")
    assert reader.complaints == []


async def test_the_order_is_the_sites_until_the_reader_chooses_another(talk: Talk, member: Any, visit: Any) -> None:
    ada, ben = member("ada"), member("ben")
    liked = talk.post("Liked", ada)
    talk.post("Later", ada)
    talk.vote(liked, ben)
    reader = await visit()
    await reader.open(talk.url)
    sort = reader.page.get_by_test_id("sort-dropdown")
    assert (await sort.input_value(), await reader.texts()) == ("top", ["Liked", "Later"])
    await sort.select_option("Newest")
    await expect(reader.page.locator("[data-testid=comment] .body").first).to_have_text("Later")
    await sort.select_option("Top")
    await expect(reader.page.locator("[data-testid=comment] .body").first).to_have_text("Liked")


async def test_a_site_that_begins_with_the_oldest_shows_the_oldest_first(
    api: Any, visit: Any, site: Any, host: Host
) -> None:
    project = site(display__default_sort="old")
    talk = Talk(api, host.put("/oldest", host.line(project)), project)
    for text in ("first", "second"):
        talk.post(text, talk.guest(text))
    reader = await visit()
    asked: list[str] = []
    reader.page.on("request", lambda request: asked.append(request.url) if "/v1/comments?" in request.url else None)
    await reader.open(talk.url)
    assert await reader.page.get_by_test_id("sort-dropdown").input_value() == "old"
    assert await reader.texts() == ["first", "second"]
    assert len(asked) == 1


async def test_badges_say_who_somebody_is_and_what_happened_to_a_comment(
    talk: Talk, member: Any, visit: Any, host: Host
) -> None:
    moderator, writer, other = talk.appoint(member("moderator")), member("writer"), member("other")
    talk.post("By the author", writer)
    changed = talk.post("Before", other)
    talk.call("PUT", f"/v1/comments/{changed}", other, {"content": "After"})
    talk.call("POST", f"/v1/comments/{talk.post('By staff', moderator)}/pin", moderator, {})
    talk.post("By a guest", talk.guest("Gus"))
    reader = await visit()
    await reader.open(host.put("/badges", host.line(url=talk.url, author=writer.name)))
    await expect(reader.comment("By the author").locator(".badge")).to_have_text(["Author"])
    await expect(reader.comment("By a guest").locator(".badge")).to_have_text(["Guest"])
    await expect(reader.comment("After").get_by_text("edited")).to_be_visible()

    async def has_staff_badge() -> bool:
        await reader.open(host.url + "/badges")
        return bool(await reader.comment("By staff").locator(".badge").all_inner_texts() == ["Moderator", "Pinned"])

    await until(has_staff_badge, "the list of staff, which is some seconds old")
    assert (await reader.texts())[0] == "By staff"
    await reader.shot("badges")


async def test_a_deleted_comment_leaves_its_place_to_its_replies(talk: Talk, member: Any, visit: Any) -> None:
    ada, ben = member("ada"), member("ben")
    root = talk.post("Regretted", ada)
    talk.post("An answer to it", ben, root)
    talk.call("DELETE", f"/v1/comments/{root}", ada)
    reader = await visit()
    await reader.open(talk.url)
    gone = reader.comment("This comment was deleted.")
    await expect(gone).to_be_visible()
    await expect(gone.get_by_role("button")).to_have_count(0)
    await expect(reader.comment("An answer to it")).to_be_visible()
    await expect(reader.page.get_by_text("Regretted")).to_have_count(0)


async def test_what_many_voted_down_is_folded_and_can_be_read(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    bad = talk.post("Nobody likes this", ada)
    talk.vote(bad, *(member("critic") for _ in range(5)), direction="down")
    reader = await visit()
    await reader.open(talk.url)
    await expect(reader.page.get_by_text("Nobody likes this")).to_have_count(0)
    await reader.button("Show").click()
    await expect(reader.comment("Nobody likes this")).to_be_visible()


async def test_a_name_that_is_pointed_at_or_focused_says_who_it_is(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    talk.post("Hello", ada)
    reader = await visit()
    await reader.open(talk.url)
    name = reader.comment("Hello").get_by_role("button", name=ada.name)
    await name.hover()
    card = reader.page.get_by_role("tooltip")
    await expect(card).to_contain_text("1 comment · Karma")
    await reader.shot("card")
    await reader.page.keyboard.press("Escape")
    await expect(card).to_have_count(0)
    await reader.page.mouse.move(0, 0)
    await reader.page.get_by_test_id("sort-dropdown").focus()
    for _ in range(4):
        await reader.page.keyboard.press("Tab")
    await expect(card).to_contain_text(ada.name)
    assert reader.complaints == []


async def test_an_unreachable_server_is_said_in_a_sentence_and_tried_again(talk: Talk, member: Any, visit: Any) -> None:
    talk.post("Here after all", member("ada"))
    reader = await visit()
    await reader.page.route("**/v1/comments?**", lambda route: route.abort())
    await reader.page.goto(talk.url)
    await expect(reader.page.get_by_role("alert")).to_contain_text("The comments cannot be reached.")
    await reader.shot("unreachable")
    await reader.page.unroute("**/v1/comments?**")
    await reader.button("Try again").click()
    await expect(reader.comment("Here after all")).to_be_visible()


async def test_nothing_jumps_while_the_thread_comes_in(talk: Talk, member: Any, visit: Any) -> None:
    for number in range(5):
        talk.post(f"Comment {number}", member("ada"))
    reader = await visit()
    await reader.page.add_init_script(
        "window.shifted = 0; new PerformanceObserver((list) => { for (const one of list.getEntries())"
        " window.shifted += one.value }).observe({type: 'layout-shift', buffered: true})"
    )
    await reader.open(talk.url)
    await reader.is_connected()
    assert await reader.page.evaluate("window.shifted") < 0.1


async def test_a_copy_from_before_an_outage_says_how_old_it_is_until_it_is_none(
    talk: Talk, member: Any, visit: Any
) -> None:
    talk.post("Said before", member("ada"))
    reader = await visit()
    await reader.page.clock.install()
    is_away = True

    async def answer(route: Any) -> None:
        response = await route.fetch()
        marks = {"warning": '110 - "Response is Stale"', "age": "180"} if is_away else {}
        await route.fulfill(response=response, headers=response.headers | marks)

    await reader.page.route("**/v1/comments?**", answer)
    await reader.open(talk.url)
    line = reader.page.locator("thread-kit p.notice[role=status]")
    await expect(line).to_have_text("The comments as they were 3 minutes ago. Nobody can write now.")
    await expect(reader.comment("Said before")).to_be_visible()
    is_away = False
    await reader.page.clock.run_for(20_000)
    await expect(line).to_have_count(0)
    assert reader.complaints == []
