"""Keys: shown once, replaced with care."""

from collections.abc import Callable
from typing import Any

import httpx
from playwright.async_api import expect

from tests.e2e.owners import Outside, make_proof_old, office
from tests.e2e.staff import appoint
from tests.integration.server.program import Server


async def test_a_secret_key_is_replaced_after_showing_again_who_it_is(
    server: Server, visit: Any, site: Callable[..., str], api: httpx.Client
) -> None:
    owner = appoint(server, "owner", site=site())
    desk = await office(server, visit, owner, "keys")
    make_proof_old(server, owner)
    card = desk.page.get_by_role("region", name="Secret key")
    await expect(card).to_contain_text("never")
    await card.get_by_role("button", name="Replace it").click()
    asked = desk.page.get_by_role("dialog", name="Replace it")
    await asked.get_by_role("button", name="Replace it").click()
    await desk.shot("admin-confirm", full=False)
    await desk.confirm_who_it_is()
    shown = desk.page.get_by_role("dialog", name="The new key")
    await expect(shown).to_contain_text("shown only this once")
    secret = await shown.locator("code").inner_text()
    await desk.shot("admin-key-once", full=False)
    assert secret.startswith("tk_sec_")
    assert Outside(api, secret).site().status_code == 200
    await shown.get_by_role("button", name="Close").click()
    await expect(desk.page.get_by_text(secret)).to_have_count(0)
    await desk.page.reload()
    await expect(card).to_be_visible()
    await expect(desk.page.get_by_text(secret)).to_have_count(0)
    assert [said for said in desk.complaints if "403" not in said] == []


async def test_without_showing_who_it_is_nothing_changes(server: Server, visit: Any, site: Callable[..., str]) -> None:
    public = site()
    owner = appoint(server, "owner", site=public)
    desk = await office(server, visit, owner, "keys")
    make_proof_old(server, owner)
    await desk.page.get_by_role("region", name="Public key").get_by_role("button", name="Replace it").click()
    asked = desk.page.get_by_role("dialog", name="Replace it")
    await asked.get_by_role("button", name="Replace it").click()
    await desk.page.get_by_role("dialog", name="Is it you?").get_by_role("button", name="Close").click()
    await expect(asked.get_by_role("alert")).to_contain_text("Nothing was changed")
    await desk.page.reload()
    await expect(desk.page.get_by_text(public)).to_be_visible()


async def test_an_old_public_key_works_for_as_long_as_it_was_given(
    server: Server, visit: Any, site: Callable[..., str], api: httpx.Client
) -> None:
    public = site()
    desk = await office(server, visit, appoint(server, "owner", site=public), "keys")
    card = desk.page.get_by_role("region", name="Public key")

    async def replace(grace: str) -> str:
        await card.get_by_role("button", name="Replace it").click()
        asked = desk.page.get_by_role("dialog", name="Replace it")
        await asked.get_by_label("The old key goes on working").select_option(label=grace)
        await asked.get_by_role("button", name="Replace it").click()
        shown = desk.page.get_by_role("dialog", name="The new key")
        key = await shown.locator("code").inner_text()
        await shown.get_by_role("button", name="Close").click()
        return key

    second = await replace("for a week")
    await expect(card).to_contain_text(public)
    assert (Outside(api, public).site().status_code, Outside(api, second).site().status_code) == (200, 200)
    third = await replace("not at all")
    assert (Outside(api, second).site().status_code, Outside(api, third).site().status_code) == (401, 200)
    # The page itself goes on with the new key.
    await desk.page.get_by_role("link", name="Overview").click()
    await expect(desk.page.get_by_text(third)).to_be_visible()
    assert desk.complaints == []
