"""What concerns oneself: profile, devices, what one is told of, one's data, and leaving."""

import re
import uuid
from typing import Any

from playwright.async_api import expect

from tests.e2e.conftest import Member, Talk


async def test_profile_devices_notices_and_data(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    talk.post("What I wrote", ada)
    visitor = await visit()
    await visitor.sign_in(ada)
    await visitor.open(talk.url)
    await visitor.button(ada.name).first.click()
    dialog = visitor.page.get_by_role("dialog")
    await expect(dialog.get_by_text("This device")).to_be_visible()
    await visitor.shot("account", full=False)
    renamed = ada.name.replace("ada", "Ada-L")
    await dialog.get_by_label("Your name").fill(renamed)
    await visitor.button("Save").click()
    await expect(visitor.button(renamed).first).to_be_visible()
    box = dialog.get_by_label("Votes for my comments")
    was = await box.is_checked()
    async with visitor.page.expect_response("**/v1/notifications/settings"):
        await box.click()
    assert talk.call("GET", "/v1/notifications/settings", ada)["upvote"] is not was
    async with visitor.page.expect_download() as saved:
        await visitor.button("Download").click()
    file = await (await saved.value).path()
    assert "What I wrote" in file.read_text()
    assert visitor.complaints == []


async def test_another_device_can_be_signed_out_from_here(talk: Talk, visit: Any) -> None:
    name, address, secret = (
        f"Dev{uuid.uuid4().hex[:6]}",
        f"{uuid.uuid4().hex[:10]}@example.org",
        "a long and quiet river",
    )
    talk.call("POST", "/v1/auth/register", None, {"name": name, "email": address, "password": secret})
    here, there = (
        Member(session["user"]["id"], name, session)
        for session in (
            talk.call("POST", "/v1/auth/login", None, {"email": address, "password": secret}) for _ in range(2)
        )
    )
    visitor, lost = await visit(), await visit()
    await visitor.sign_in(here)
    await lost.sign_in(there)
    await lost.open(talk.url)
    await expect(lost.button(name).first).to_be_visible()
    await visitor.open(talk.url)
    await visitor.button(name).first.click()
    devices = visitor.page.get_by_role("dialog").get_by_role("listitem").filter(has_not_text="This device")
    mine = visitor.page.get_by_role("dialog").get_by_role("listitem").filter(has_text="This device")
    await expect(mine).to_have_count(1)
    await expect(mine.get_by_role("button")).to_have_count(0)
    others = await devices.count()
    assert others >= 1
    for left in range(others - 1, -1, -1):
        await devices.first.get_by_role("button", name="Sign out").click()
        await expect(devices).to_have_count(left)
    # What is kept on the other device opens nothing any more.
    await lost.page.reload()
    await expect(lost.button("Sign in")).to_be_visible()
    await visitor.page.reload()
    await expect(visitor.button(name).first).to_be_visible()


async def test_an_account_is_deleted_after_a_second_question(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    talk.post("What I leave behind", ada)
    visitor = await visit()
    await visitor.sign_in(ada)
    await visitor.open(talk.url)
    await visitor.button(ada.name).first.click()
    await visitor.button("Delete account").click()
    await expect(visitor.page.get_by_text("This cannot be undone.")).to_be_visible()
    await visitor.button("Confirm").click()
    await expect(visitor.button("Sign in")).to_be_visible()
    await expect(visitor.page.get_by_role("dialog")).to_have_count(0)
    await expect(visitor.comment("What I leave behind")).to_contain_text(re.compile("Deleted"))
    assert ada.name not in await visitor.comment("What I leave behind").inner_text()


async def test_somebody_who_was_blocked_can_be_let_back_in(talk: Talk, member: Any, visit: Any) -> None:
    ada, troll = member("ada"), member("troll")
    talk.post("An annoying text", troll)
    talk.call("POST", f"/v1/users/{troll.id}/block", ada)
    visitor = await visit()
    await visitor.sign_in(ada)
    await visitor.open(talk.url)
    await expect(visitor.comment("An annoying text")).to_have_count(0)
    await visitor.button(ada.name).first.click()
    await visitor.button("Unblock").click()
    await visitor.page.keyboard.press("Escape")
    await expect(visitor.comment("An annoying text")).to_be_visible()
