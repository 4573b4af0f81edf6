"""Writing comments and replies: nothing typed is lost, and what goes wrong is said in a sentence."""

from typing import Any

from playwright.async_api import Route, expect

from tests.e2e.conftest import PUBLIC, Host, Talk
from tests.integration.server.program import Server, command
from tests.wait import until


async def test_a_reply_appears_under_what_it_answers(talk: Talk, member: Any, visit: Any) -> None:
    talk.post("A question", member("ada"))
    ben = await visit()
    await ben.sign_in(member("ben"))
    await ben.open(talk.url)
    await ben.comment("A question").get_by_role("button", name="Reply").click()
    await ben.page.get_by_placeholder("Write a reply").fill("An **answer**")
    await ben.shot("reply")
    await ben.button("Post Reply").click()
    answer = ben.page.locator(".replies [data-testid=comment]")
    await expect(answer.locator("strong")).to_have_text("answer")
    await expect(ben.page.get_by_test_id("comment-count")).to_have_text("2 comments")
    await expect(ben.page.get_by_placeholder("Write a reply")).to_have_count(0)
    await ben.page.reload()
    await expect(answer.locator("strong")).to_have_text("answer")
    assert ben.complaints == []


async def test_a_guest_who_replies_is_asked_once_and_loses_nothing(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    root = talk.post("A question", ada)
    for number in range(8):
        talk.post(f"Answer {number}", ada, root)
    guest = await visit()
    await guest.open(talk.url)
    await guest.button("3 more replies").click()
    # The last of those that had to be asked for: it must survive the sign-in.
    await expect(guest.page.get_by_test_id("comment")).to_have_count(9)
    last = guest.page.get_by_test_id("comment").last
    text = (await last.locator(".body").inner_text()).strip()
    await last.get_by_role("button", name="Reply").click()
    await guest.page.get_by_placeholder("Write a reply").fill("Me too")
    await guest.button("Post Reply").click()
    await guest.page.get_by_placeholder("Your name").fill("Gus")
    await guest.button("Continue as Guest").click()
    item = guest.page.locator("li.item", has=guest.page.locator(f"article:has-text('{text}')")).last
    await expect(item.locator(".replies").first).to_contain_text("Me too")
    await expect(guest.page.locator(".sending")).to_have_count(0)
    await expect(guest.page.get_by_test_id("comment")).to_have_count(10)


async def test_what_was_typed_stays_when_posting_fails(talk: Talk, member: Any, visit: Any) -> None:
    ada = await visit()
    await ada.sign_in(member("ada"))
    await ada.open(talk.url)
    problems = [
        ({"status": 429, "json": {"code": "rate_limited", "retry_after": 30}}, "Please wait 30 seconds."),
        ({"status": 429, "json": {"code": "day_used_up", "retry_after": 7200}}, "try again in 2 hours"),
        ({"status": 403, "json": {"code": "user_blocked"}}, "You cannot write here at the moment."),
        ({"status": 503, "json": {}}, "very busy right now"),
        ({"status": 500, "body": "<html>"}, "Something went wrong."),
        (None, "cannot be reached"),
    ]
    await ada.box.fill("A long thought")
    for answer, sentence in problems:

        async def refuse(route: Route, _: Any, answer: dict[str, Any] | None = answer) -> None:
            await (route.fulfill(**answer) if answer else route.abort())

        await ada.page.route("**/v1/comments", refuse)
        await ada.button("Post").click()
        await expect(ada.page.get_by_role("alert")).to_contain_text(sentence)
        await expect(ada.box).to_have_value("A long thought")
        await expect(ada.page.get_by_test_id("comment")).to_have_count(0)
        await ada.page.unroute("**/v1/comments")
    await ada.shot("refused")
    await ada.button("Post").click()
    await expect(ada.comment("A long thought")).to_be_visible()
    await expect(ada.page.get_by_text("No comments yet")).to_have_count(0)


async def test_somebody_who_is_banned_hears_it_in_a_sentence(talk: Talk, member: Any, visit: Any) -> None:
    troll = member("troll")
    talk.call("POST", f"/v1/moderation/ban/{troll.id}", talk.appoint(member("moderator")), {})
    visitor = await visit()
    await visitor.sign_in(troll)
    await visitor.open(talk.url)
    await visitor.box.fill("Let me in")
    await visitor.button("Post").click()
    await expect(visitor.page.get_by_role("alert")).to_have_text("You cannot write here at the moment.")
    await expect(visitor.box).to_have_value("Let me in")


async def test_a_draft_survives_a_reload_and_goes_when_it_is_posted(talk: Talk, member: Any, visit: Any) -> None:
    ada = await visit()
    await ada.sign_in(member("ada"))
    await ada.open(talk.url)
    await ada.box.fill("Half a thou")
    await expect(ada.page.locator(".composer.open")).to_be_visible()
    await ada.page.reload()
    await expect(ada.box).to_have_value("Half a thou")
    await ada.box.fill("A whole thought")
    await ada.page.keyboard.press("Control+Enter")
    await expect(ada.comment("A whole thought")).to_be_visible()
    await expect(ada.page.locator(".sending")).to_have_count(0)
    await ada.page.reload()
    await expect(ada.comment("A whole thought")).to_be_visible()
    await expect(ada.box).to_have_value("")


async def test_who_types_before_the_composer_came_and_looks_away_can_post_it_even_after_a_reload(
    talk: Talk, member: Any, visit: Any
) -> None:
    visitor = await visit()
    await visitor.sign_in(member("ada"))
    held: list[Any] = []
    await visitor.page.route("**/composer*.js", lambda route: held.append(route))
    await visitor.open(talk.url)
    await visitor.box.fill("Typed at once")
    await visitor.box.blur()
    await until(lambda: bool(held), "the composer to be asked for")
    await held[0].continue_()
    await expect(visitor.page.locator(".composer.open")).to_be_visible()
    await visitor.page.unroute("**/composer*.js")
    await visitor.page.reload()
    await expect(visitor.box).to_have_value("Typed at once")
    await visitor.button("Post").click()
    await expect(visitor.comment("Typed at once")).to_be_visible()


async def test_markdown_is_at_hand_and_can_be_looked_at_before(talk: Talk, member: Any, visit: Any) -> None:
    ada = await visit()
    await ada.sign_in(member("ada"))
    await ada.open(talk.url)
    await ada.box.click()
    await ada.page.keyboard.type("strong")
    await ada.page.keyboard.press("Control+a")
    await ada.page.keyboard.press("Control+b")
    await expect(ada.box).to_have_value("**strong**")
    await ada.page.keyboard.press("End")
    await ada.button("Quote").click()
    await ada.page.keyboard.type("said so")
    await expect(ada.box).to_have_value("**strong**\n> said so")
    await ada.button("Preview").click()
    await expect(ada.page.locator(".preview strong")).to_have_text("strong")
    await ada.shot("preview")
    await ada.button("Write").click()
    await expect(ada.box).to_be_focused()
    assert ada.complaints == []


async def test_who_writes_too_much_sees_by_how_much(talk: Talk, member: Any, visit: Any) -> None:
    most = talk.call("GET", "/v1/site")["max_comment_length"]
    ada = await visit()
    await ada.sign_in(member("ada"))
    await ada.open(talk.url)
    await ada.box.fill("a" * (most - 10))
    await expect(ada.page.locator(".counter")).to_have_text("10 characters left")
    await expect(ada.button("Post")).to_be_enabled()
    await ada.box.fill("a" * (most + 2))
    await expect(ada.page.locator(".counter")).to_have_text("-2 characters left")
    await expect(ada.button("Post")).to_be_disabled()


async def test_names_are_completed_behind_an_at_sign(talk: Talk, member: Any, visit: Any) -> None:
    zoe = member("zoe")
    talk.post("I am here", zoe)
    ada = await visit()
    await ada.sign_in(member("ada"))
    await ada.open(talk.url)
    await ada.box.click()
    await ada.page.keyboard.type("Hello @zo")
    await expect(ada.page.locator(".people [role=option]")).to_have_text([f"@{zoe.name}"])
    await ada.shot("names")
    await ada.page.keyboard.press("Enter")
    await expect(ada.box).to_have_value(f"Hello @{zoe.name} ")
    await expect(ada.page.locator(".people [role=option]")).to_have_count(0)


async def test_who_waits_for_approval_sees_their_comment_and_others_do_not(visit: Any, site: Any, host: Host) -> None:
    url = host.put("/approval", host.line(site(moderation_mode="pre")))
    ada, ben = await visit(), await visit()
    await ada.open(url)
    await ada.be_guest("Ada")
    await ada.box.fill("Please let me in")
    await ada.button("Post").click()
    waiting = ada.comment("Please let me in")
    await expect(waiting.locator(".badge.waiting")).to_have_text("Waiting for approval")
    await expect(ada.page.locator(".toast")).to_contain_text("Until then only you can see it.")
    await ada.shot("waiting")
    await ada.page.reload()
    await expect(waiting).to_be_visible()
    await ben.open(url)
    await expect(ben.page.get_by_text("No comments yet")).to_be_visible()


async def test_whoever_waits_sees_by_themselves_that_they_were_let_in(
    server: Server, talk: Talk, member: Any, visit: Any
) -> None:
    ada, ben = await visit(), await visit()
    await ada.sign_in(member("ada"))
    for one in (ada, ben):
        await one.open(talk.url)
        await one.is_connected()
    command("site", "set", PUBLIC, "screening.words.hold=letmein", "--data", str(server.folder))
    await ada.post("letmein please")
    badge = ada.comment("letmein please").locator(".badge.waiting")
    await expect(badge).to_be_visible()
    moderator = talk.appoint(member("mona"))
    waiting = talk.call("GET", "/v1/moderation/queue", moderator)["items"]
    held = next(item["comment"]["i"] for item in waiting if item["comment"]["t"] == "letmein please")
    talk.call("POST", f"/v1/moderation/approve/{held}", moderator, {})
    await expect(badge).to_have_count(0)
    await expect(ben.comment("letmein please")).to_be_visible()


async def test_a_site_that_wants_names_first_asks_when_the_box_is_clicked(visit: Any, site: Any, host: Host) -> None:
    project = site(auth__anonymous="false")
    visitor = await visit()
    await visitor.open(host.put("/names-first", host.line(project)))
    await visitor.box.click()
    await expect(visitor.page.get_by_test_id("auth-modal")).to_be_visible()
    await visitor.page.keyboard.press("Escape")
    # Asked once; whoever wants to write first may.
    await visitor.box.click()
    await visitor.page.keyboard.type("First I write")
    await expect(visitor.box).to_have_value("First I write")
