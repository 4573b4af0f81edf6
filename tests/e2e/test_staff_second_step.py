"""The second step in a browser: one-time codes, recovery codes, and passkeys of Chromium's own making."""

import base64
import time
from typing import Any

from playwright.async_api import Page, expect

from tests.e2e.staff import PASSWORD, Desk, StaffMember, appoint
from tests.integration.server.program import Server, command
from threadkit.users.second_step import totp


def fresh_code(secret: str, used: set[str]) -> str:
    """One that counts now and was not typed before: the present one, or the one after it."""
    step = int(time.time() * 1000) // totp.STEP_MS
    codes = [totp.code_at(base64.b32decode(secret), one) for one in (step, step + 1)]
    code = next(code for code in codes if code not in used)
    used.add(code)
    return code


async def at_door(server: Server, visit: Any, **options: Any) -> Desk:
    visitor = await visit(**options)
    return Desk(visitor.page, server.url.replace("127.0.0.1", "localhost"))


async def give_password(desk: Desk, who: StaffMember, page: str = "mod") -> None:
    await desk.page.goto("about:blank")  # the same address again would load nothing anew
    await desk.page.goto(f"{desk.url}/{page}#/account")
    await desk.page.get_by_label("E-mail").fill(who.email)
    await desk.page.get_by_label("Password").fill(PASSWORD)
    await desk.button("Sign in").click()


async def enter(desk: Desk, who: StaffMember, page: str = "mod") -> None:
    await give_password(desk, who, page)
    await expect(desk.page.get_by_role("heading", name="Account", exact=True)).to_be_visible()
    await desk.is_ready()


async def leave(desk: Desk) -> None:
    await desk.button("Sign out").first.click()
    await expect(desk.button("Sign in")).to_be_visible()


async def set_up_totp(desk: Desk, used: set[str]) -> tuple[str, list[str]]:
    await desk.button("Set up one-time codes").click()
    shown = desk.page.get_by_label("Key for the app")
    secret = (await shown.inner_text()).replace(" ", "").strip()
    assert await desk.page.get_by_alt_text("QR code").evaluate("image => image.naturalWidth > 0")
    await desk.page.get_by_role("textbox", name="One-time code").fill(fresh_code(secret, used))
    await desk.button("Switch on").click()
    codes = (await desk.page.locator("dialog").get_by_label("Recovery codes").locator("code").inner_text()).split()
    assert len(codes) == 10
    return secret, codes


async def virtual_passkeys(page: Page) -> Any:
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("WebAuthn.enable")
    await devtools.send(
        "WebAuthn.addVirtualAuthenticator",
        {
            "options": {
                "protocol": "ctap2",
                "transport": "internal",
                "hasResidentKey": True,
                "hasUserVerification": True,
                "isUserVerified": True,
                "automaticPresenceSimulation": True,
            }
        },
    )
    return devtools


async def test_one_time_codes_from_setting_up_to_the_operators_help(server: Server, visit: Any) -> None:
    mona = appoint(server, "moderator")
    used: set[str] = set()
    desk = await at_door(server, visit)
    await enter(desk, mona)
    await expect(desk.page.get_by_text("Off: whoever learns your password")).to_be_visible()
    await desk.shot("staff-account-off")
    secret, recovery = await set_up_totp(desk, used)
    await desk.shot("staff-recovery-codes", full=False)
    await desk.button("I have kept them").click()
    await expect(desk.page.get_by_text("On: a password alone does not open")).to_be_visible()

    await leave(desk)
    await give_password(desk, mona)
    await expect(desk.page.get_by_role("textbox", name="One-time code")).to_be_focused()
    await desk.shot("staff-second-step")
    await desk.page.get_by_role("textbox", name="One-time code").fill("000000")
    await desk.button("Continue").click()
    await expect(desk.page.get_by_role("alert")).to_contain_text("wrong, or too old")
    await desk.page.reload()  # half a sign-in is remembered as such
    await desk.page.get_by_role("textbox", name="One-time code").fill(fresh_code(secret, used))
    await desk.button("Continue").click()
    await expect(desk.page.get_by_text("10 codes left")).to_be_visible()

    await leave(desk)
    await give_password(desk, mona)
    await desk.button("Use a recovery code instead").click()
    await desk.page.get_by_role("textbox", name="Recovery code").fill(recovery[0].upper())
    await desk.button("Continue").click()
    await expect(desk.page.get_by_text("9 codes left")).to_be_visible()

    said = command("user", "reset-second-step", mona.email, "--data", str(server.folder))
    assert "has no second step any more" in said
    await give_password(desk, mona)
    await expect(desk.page.get_by_text("Off: whoever learns your password")).to_be_visible()


async def test_a_passkey_is_added_signs_in_confirms_and_goes(server: Server, visit: Any) -> None:
    olga = appoint(server, "owner")
    desk = await at_door(server, visit)
    await virtual_passkeys(desk.page)
    await enter(desk, olga, "admin")
    await desk.button("Add a passkey").click()
    await desk.page.get_by_label("Name of the passkey").fill("Phone")
    await desk.button("Continue").click()
    await desk.button("I have kept them").click()
    await expect(desk.page.get_by_text("Never used yet")).to_be_visible()
    await desk.shot("staff-account-on")

    await leave(desk)
    await desk.button("Sign in with a passkey").click()
    await expect(desk.page.get_by_role("heading", name="Passkeys")).to_be_visible()
    await expect(desk.page.get_by_text("Never used yet")).not_to_be_visible()

    await leave(desk)
    await give_password(desk, olga, "admin")
    await desk.button("Use a passkey").click()  # as the second step
    await expect(desk.page.get_by_role("heading", name="Passkeys")).to_be_visible()

    # Long after, removing it asks again, and the passkey itself is the answer.
    refuse_once = {"left": 1}

    async def as_if_long_after(route: Any) -> None:
        if refuse_once["left"]:
            refuse_once["left"] -= 1
            await route.fulfill(
                status=403, json={"code": "confirmation_required", "error": "Show again that it is you"}
            )
        else:
            await route.continue_()

    await desk.page.route("**/v1/staff/recovery-codes", as_if_long_after)
    await desk.button("Make new codes").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Make new codes").click()
    await expect(desk.page.get_by_role("heading", name="Is it you?")).to_be_visible()
    await desk.button("Use a passkey instead").click()
    await desk.shot("staff-confirm-passkey", full=False)
    await desk.button("Use a passkey").click()
    await desk.button("I have kept them").click()

    await desk.button("Rename Phone").click()
    await desk.page.get_by_label("Name of the passkey").fill("Old phone")
    await desk.button("Continue").click()
    await desk.button("Remove Old phone").click()
    await expect(desk.page.get_by_text("This is the last one")).to_be_visible()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    await expect(desk.page.get_by_text("Off: whoever learns your password")).to_be_visible()


async def test_devices_are_listed_and_ended_and_the_password_changes(server: Server, visit: Any) -> None:
    mona = appoint(server, "moderator")
    desk, other = await at_door(server, visit), await at_door(server, visit)
    await enter(desk, mona)
    await other.sign_in(mona)
    await desk.page.reload()
    ending = desk.page.get_by_role("button", name="Sign out Chrome, Linux")
    await expect(ending).to_have_count(1)  # the one that registered is no browser, and is called by its whole name
    await ending.click()
    await expect(ending).to_have_count(0)
    await other.page.reload()
    await expect(other.button("Sign in")).to_be_visible()
    await desk.page.get_by_label("Password until now").fill(PASSWORD)
    await desk.page.get_by_label("New password").fill("another horse battery")
    await desk.button("Change the password").click()
    await expect(desk.page.get_by_text("The password was changed")).to_be_visible()
    await desk.button("Sign out everywhere").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Sign out everywhere").click()
    await expect(desk.button("Sign in")).to_be_visible()


async def test_it_is_all_accessible_and_fits_a_phone(server: Server, visit: Any) -> None:
    mona = appoint(server, "moderator")
    used: set[str] = set()
    desk = await at_door(server, visit, bypass_csp=True, viewport={"width": 360, "height": 740}, color_scheme="dark")
    await virtual_passkeys(desk.page)
    await enter(desk, mona)
    await desk.is_accessible()
    await desk.button("Set up one-time codes").click()
    await expect(desk.page.get_by_alt_text("QR code")).to_be_visible()
    await desk.shot("staff-totp-phone", full=False)
    assert await desk.page.locator("dialog").evaluate("dialog => dialog.scrollWidth <= dialog.clientWidth")
    await desk.is_accessible()
    await desk.page.keyboard.press("Escape")
    await set_up_totp(desk, used)
    await desk.is_accessible()
    await desk.button("I have kept them").click()
    await desk.button("Add a passkey").click()
    await desk.page.get_by_label("Name of the passkey").fill("Phone")
    await desk.button("Continue").click()
    await expect(desk.page.get_by_text("Never used yet")).to_be_visible()
    await desk.shot("staff-account-phone")
    await desk.is_accessible()
    assert await desk.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await leave(desk)
    await give_password(desk, mona)
    await expect(desk.page.get_by_role("textbox", name="One-time code")).to_be_visible()
    await desk.is_accessible()
    await desk.button("Use a recovery code instead").click()
    await desk.is_accessible()
