"""The door of the pages for staff."""

from typing import Any

from playwright.async_api import expect

from tests.e2e.conftest import PUBLIC
from tests.e2e.staff import Desk, appoint
from tests.integration.server.program import Server
from tests.wait import until


async def test_a_moderator_signs_in_stays_in_and_signs_out(server: Server, visit: Any) -> None:
    mona = appoint(server, "moderator")
    visitor = await visit()
    desk = Desk(visitor.page, server.url.replace("127.0.0.1", "localhost"))
    await desk.page.goto(f"{desk.url}/mod")
    await expect(desk.button("Sign in")).to_be_visible()
    await desk.shot("staff-door")
    await desk.page.get_by_label("E-mail").fill(mona.email)
    await desk.page.get_by_label("Password").fill("not the password")
    await desk.button("Sign in").click()
    await expect(desk.page.get_by_role("alert")).to_contain_text("do not belong together")
    await desk.sign_in(mona)
    await desk.page.reload()
    await expect(desk.button("Sign out")).to_be_visible()
    cookies = await desk.page.context.cookies()
    assert [cookie["httpOnly"] for cookie in cookies if "staff" in cookie["name"]] == [True]
    await desk.button("Sign out").click()
    await expect(desk.button("Sign in")).to_be_visible()
    allowed = ("401", "the server responded with a status of 401")
    assert [said for said in visitor.complaints if not any(word in said for word in allowed)] == []


async def test_while_somebody_guesses_a_code_is_asked_for_beside_the_password(server: Server, visit: Any) -> None:
    visitor, asked = await visit(), list[dict[str, str]]()

    async def guarded(route: Any) -> None:
        asked.append(route.request.post_data_json)
        await route.fulfill(status=429, json={"status": 429, "code": "code_required", "detail": "…"})

    desk = Desk(visitor.page, server.url.replace("127.0.0.1", "localhost"))
    await desk.page.route("**/v1/staff/sign-in", guarded)
    await desk.page.goto(f"{desk.url}/mod")
    await desk.page.get_by_label("E-mail").fill("mona@example.org")
    await desk.page.get_by_label("Password").fill("correct horse battery")
    code = desk.page.get_by_label("Code")
    await expect(code).to_be_hidden()
    await desk.button("Sign in").click()
    await expect(desk.page.get_by_role("alert")).to_contain_text("we have just sent a code")
    await code.fill("123456")
    await desk.button("Sign in").click()
    await until(lambda: len(asked) == 2, "both tries")
    assert [body.get("code") for body in asked] == [None, "123456"]


async def test_an_account_elsewhere_opens_the_door(server: Server, visit: Any) -> None:
    mona = appoint(server, "moderator")
    visitor = await visit()
    desk = Desk(visitor.page, server.url.replace("127.0.0.1", "localhost"))
    offered = {"passkeys": True, "providers": [{"id": "github", "name": "GitHub"}], "project": PUBLIC}
    await desk.page.route("**/v1/staff/ways", lambda route: route.fulfill(json=offered))
    await desk.page.context.route(
        f"**/auth/github?project_id={PUBLIC}",
        lambda route: route.fulfill(content_type="text/html", body="<title>Sign in there</title>"),
    )
    await desk.page.goto(f"{desk.url}/mod")
    async with desk.page.expect_popup() as opened:
        await desk.button("Continue with GitHub").click()
    popup = await opened.value
    trouble = {"type": "threadkit:oauth:error", "error": "You said no there."}
    await popup.evaluate("told => opener.postMessage(told, '*')", trouble)
    await expect(desk.page.get_by_role("alert")).to_have_text("You said no there.")
    await popup.close()
    async with desk.page.expect_popup() as opened:
        await desk.button("Continue with GitHub").click()
    popup = await opened.value
    told = {"type": "threadkit:oauth:success", **mona.member.session}
    # A page that pretends to be the window is not heard.
    await desk.page.evaluate("told => window.postMessage({...told, token: 'x'}, '*')", told)
    await popup.evaluate("told => opener.postMessage(told, '*')", told)
    await expect(desk.button("Sign out")).to_be_visible()


async def test_the_door_is_accessible(server: Server, visit: Any) -> None:
    visitor = await visit(bypass_csp=True)
    desk = Desk(visitor.page, server.url.replace("127.0.0.1", "localhost"))
    await desk.page.goto(f"{desk.url}/mod")
    await expect(desk.button("Sign in")).to_be_visible()
    await desk.is_accessible()
