"""Ways in, and that one stays in: in this tab, after a reload, in the other tab."""

import json
import re
import time
import uuid
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey
from playwright.async_api import expect

from tests.e2e.conftest import Host, Member, Talk
from tests.integration.server.program import Server, command
from tests.wait import until


def fresh_address() -> str:
    return f"{uuid.uuid4().hex[:10]}@example.org"


async def newest_code(server: Server, before: int) -> str:
    found: list[str] = []

    def has_come() -> bool:
        mails = [line for line in server.said[before:].splitlines() if "mail_not_sent" in line]
        found[:] = re.findall(r"\b(\d{6})\b", " ".join(mails))
        return bool(found)

    await until(has_come, "the code in the log")
    return found[-1]


async def test_an_address_and_a_code_let_somebody_in(server: Server, host: Host, talk: Talk, visit: Any) -> None:
    visitor = await visit()
    await visitor.open(talk.url)
    await visitor.button("Sign in").click()
    before = len(server.said)
    await visitor.page.get_by_placeholder("E-mail").fill(fresh_address())
    await visitor.button("Continue").click()
    code = visitor.page.get_by_placeholder("Code")
    await expect(code).to_be_focused()
    await code.fill("000000")
    await visitor.button("Continue").click()
    await expect(visitor.page.get_by_role("alert")).to_have_text("This code is not right.")
    await visitor.shot("code")
    await code.fill(await newest_code(server, before))
    await visitor.button("Continue").click()
    name = f"Emil{uuid.uuid4().hex[:6]}"
    called = visitor.page.get_by_placeholder("Your name")
    await expect(called).to_be_focused()
    await called.fill(name)
    await visitor.button("Continue").click()
    await expect(visitor.button(name)).to_be_visible()
    await visitor.page.reload()
    await expect(visitor.button(name)).to_be_visible()


async def test_an_account_with_a_password_is_made_left_and_entered_again(talk: Talk, visit: Any) -> None:
    name, address, secret = f"Pia{uuid.uuid4().hex[:6]}", fresh_address(), "a long and quiet river"
    visitor = await visit()
    await visitor.open(talk.url)
    await visitor.button("Sign in").click()
    await visitor.button("Use a password").click()
    await visitor.button("Create an account").click()
    await visitor.page.get_by_placeholder("Your name").fill(name)
    await visitor.page.get_by_placeholder("E-mail").fill(address)
    await visitor.page.get_by_placeholder("Password").fill(secret)
    await visitor.shot("register")
    await visitor.button("Create account").click()
    await expect(visitor.button(name)).to_be_visible()
    await visitor.button(name).click()
    await visitor.button("Sign out").click()
    await expect(visitor.button("Sign in")).to_be_visible()
    await visitor.button("Sign in").click()
    await visitor.button("Use a password").click()
    dialog = visitor.page.get_by_test_id("auth-modal")
    await dialog.get_by_placeholder("E-mail").fill(address)
    await dialog.get_by_placeholder("Password").fill("wrong")
    await dialog.get_by_role("button", name="Sign in").click()
    await expect(visitor.page.get_by_role("alert")).to_have_text("Address or password is not right.")
    await dialog.get_by_placeholder("Password").fill(secret)
    await dialog.get_by_role("button", name="Sign in").click()
    await expect(visitor.button(name)).to_be_visible()


def vouched(secret: str, name: str) -> str:
    """A token as the site's own server makes it: see docs/signing-in.md."""
    claims = {"sub": uuid.uuid4().hex, "name": name, "exp": int(time.time()) + 300}
    return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(secret))


@pytest.fixture
def own_users(server: Server, site: Any) -> tuple[str, str]:
    """A site that vouches for its users: its public key, and the secret that it signs with."""
    project = site(auth__sso="true")
    made = command("key", "rotate", project, "sso", "--json", "--data", str(server.folder))
    return project, json.loads(made)["sso_secret"]


async def test_while_somebody_guesses_at_the_account_a_code_is_asked_for_beside_the_password(
    talk: Talk, visit: Any
) -> None:
    visitor, asked = await visit(), list[dict[str, str]]()

    async def guarded(route: Any) -> None:
        asked.append(route.request.post_data_json)
        await route.fulfill(status=429, json={"status": 429, "code": "code_required", "detail": "…"})

    await visitor.page.route("**/v1/auth/login", guarded)
    await visitor.open(talk.url)
    await visitor.button("Sign in").click()
    await visitor.button("Use a password").click()
    await visitor.page.get_by_placeholder("E-mail").fill("ada@example.org")
    await visitor.page.get_by_placeholder("Password").fill("correct horse battery")
    code = visitor.page.get_by_placeholder("Code")
    await expect(code).to_be_hidden()
    await visitor.page.get_by_role("dialog").get_by_role("button", name="Sign in", exact=True).click()
    await expect(visitor.page.get_by_role("alert")).to_contain_text("we sent a code")
    await code.fill("123456")
    await visitor.page.get_by_role("dialog").get_by_role("button", name="Sign in", exact=True).click()
    await until(lambda: len(asked) == 2, "both tries")
    assert [body.get("code") for body in asked] == [None, "123456"]


async def test_who_is_signed_in_on_the_page_is_signed_in_here(
    api: Any, host: Host, visit: Any, own_users: tuple[str, str]
) -> None:
    project, secret = own_users
    name = f"Hosted{uuid.uuid4().hex[:6]}"
    talk = Talk(api, host.put("/vouched", host.line(project, sso=vouched(secret, name))), project)
    visitor = await visit()
    await visitor.open(talk.url)
    await expect(visitor.button(name.lower())).to_be_visible()
    # The site says who they are; how they are called here is for them to say, once, and the suggestion will do.
    await visitor.box.fill("From a user of the site itself")
    await visitor.button("Post").click()
    await visitor.button("Save").click()
    await expect(visitor.page.locator(".toast")).to_have_text("Saved.")
    await visitor.page.keyboard.press("Escape")
    await visitor.button("Post").click()
    await expect(visitor.comment("From a user of the site itself")).to_contain_text(name.lower())
    # The session outlives the token, which is good once and for minutes.
    await visitor.open(host.put("/later", host.line(project, url=talk.url)))
    await expect(visitor.button(name.lower()).first).to_be_visible()
    assert [one for one in visitor.complaints if "403" not in one] == []


async def test_on_a_shared_computer_nobody_writes_as_the_user_before(
    api: Any, host: Host, visit: Any, own_users: tuple[str, str]
) -> None:
    project, secret = own_users
    anna, bert = (f"{name}{uuid.uuid4().hex[:6]}" for name in ("Anna", "Bert"))
    visitor = await visit()
    await visitor.open(host.put("/shared", host.line(project, sso=vouched(secret, anna))))
    await expect(visitor.page.locator(".account")).to_contain_text(anna.lower())
    await visitor.open(host.put("/shared", host.line(project, sso=vouched(secret, bert))))
    await expect(visitor.page.locator(".account")).to_contain_text(bert.lower())
    # A site that says who is here without a reload, then that nobody is.
    sign = "token => document.querySelector('thread-kit').setAttribute('sso', token)"
    await visitor.page.evaluate(sign, vouched(secret, anna))
    await expect(visitor.page.locator(".account")).to_contain_text(anna.lower())
    await visitor.page.evaluate(sign, "")
    await expect(visitor.page.locator(".account")).to_have_text("Sign in")
    await visitor.open(host.put("/shared", host.line(project, sso=vouched(secret, bert))))
    await expect(visitor.page.locator(".account")).to_contain_text(bert.lower())
    await visitor.open(host.put("/shared", host.line(project, sso=vouched("somebody else's long secret", anna))))
    await expect(visitor.page.locator(".account")).to_have_text("Sign in")


async def test_a_site_that_vouches_for_its_users_alone_says_where_to_sign_in(
    server: Server, api: Any, host: Host, visit: Any, site: Any
) -> None:
    project = site(auth__sso="true", auth__anonymous="false", auth__email="false")
    command("key", "rotate", project, "sso", "--data", str(server.folder))
    visitor = await visit()
    await visitor.open(host.put("/only-here", host.line(project)))
    await visitor.button("Sign in").click()
    dialog = visitor.page.get_by_test_id("auth-modal")
    await expect(dialog).to_contain_text("first, then you can take part here.")
    await visitor.shot("only-sso", full=False)


async def test_a_token_that_the_site_did_not_sign_lets_nobody_in(
    api: Any, host: Host, visit: Any, own_users: tuple[str, str]
) -> None:
    project, _ = own_users
    token = vouched("another secret, long enough to sign", "Mallory")
    talk = Talk(api, host.put("/forged", host.line(project, sso=token)), project)
    talk.post("There is still something to read", talk.guest("Gus"))
    visitor = await visit()
    await visitor.open(talk.url)
    await expect(visitor.comment("There is still something to read")).to_be_visible()
    await expect(visitor.button("Sign in")).to_be_visible()
    await expect(visitor.page.locator(".toast")).to_be_visible()


async def test_a_token_that_has_run_out_is_exchanged_without_a_word(talk: Talk, visit: Any) -> None:
    gus = talk.guest("Gus")
    visitor = await visit()
    await visitor.sign_in(Member(gus.id, gus.name, {**gus.session, "token": "has.run.out"}))
    async with visitor.page.expect_response("**/v1/auth/refresh"):
        await visitor.open(talk.url)
    await visitor.post("Still me")
    await expect(visitor.comment("Still me")).to_contain_text("gus")
    assert [one for one in visitor.complaints if "401" not in one] == []


async def test_two_tabs_know_of_each_other(talk: Talk, visit: Any) -> None:
    visitor = await visit()
    await visitor.open(talk.url)
    other = await visitor.page.context.new_page()
    await other.goto(talk.url)
    await expect(other.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
    await visitor.be_guest("Tabea")
    await expect(other.get_by_role("button", name="tabea", exact=True)).to_be_visible()
    await other.get_by_role("button", name="tabea", exact=True).click()
    await other.get_by_role("button", name="Sign out", exact=True).click()
    await expect(visitor.button("Sign in")).to_be_visible()
    # What this tab asked in the very moment in which the other signed out was refused, and rightly so.
    assert [one for one in visitor.complaints if "401" not in one] == []


async def test_who_closes_the_dialog_is_where_they_were(talk: Talk, visit: Any) -> None:
    visitor = await visit()
    await visitor.open(talk.url)
    await visitor.box.fill("Not yet")
    await visitor.button("Post").click()
    await expect(visitor.page.get_by_test_id("auth-modal")).to_be_visible()
    await visitor.page.keyboard.press("Escape")
    await expect(visitor.page.get_by_test_id("auth-modal")).to_have_count(0)
    await expect(visitor.box).to_have_value("Not yet")
    await expect(visitor.box).to_be_focused()
    await expect(visitor.page.get_by_test_id("comment")).to_have_count(0)


async def test_a_window_of_another_origin_cannot_sign_anybody_in(talk: Talk, visit: Any) -> None:
    visitor = await visit()
    await visitor.page.route(
        "**/v1/site**",
        lambda route: route.fulfill(
            json={**talk.call("GET", "/v1/site"), "methods": [{"id": "github", "type": "oauth", "name": "GitHub"}]}
        ),
    )
    await visitor.page.context.route(
        "**/auth/github**",
        lambda route: route.fulfill(content_type="text/html", body="<title>Sign in there</title>"),
    )
    # Nobody knows the token that is made up below.
    await visitor.page.route("**/v1/users/me", lambda route: route.fulfill(json={"unread_notifications": 0}))
    await visitor.page.route("**/v1/pages/my_votes**", lambda route: route.fulfill(json={"votes": {}}))
    await visitor.open(talk.url)
    await visitor.button("Sign in").click()
    async with visitor.page.expect_popup() as opened:
        await visitor.button("Continue with GitHub").click()
    popup = await opened.value
    told = {"type": "threadkit:oauth:success", "token": "t", "refresh_token": "r", "user": {"id": "1", "name": "Olga"}}
    await visitor.page.evaluate("told => window.postMessage(told, '*')", told)
    await expect(visitor.page.get_by_test_id("auth-modal")).to_be_visible()
    await popup.evaluate("told => opener.postMessage(told, '*')", told)
    await expect(visitor.page.get_by_test_id("auth-modal")).to_have_count(0)
    await expect(visitor.button("Olga")).to_be_visible()
