"""The danger zone, on sites that nobody needs; and sites made and left."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import expect

from tests.e2e.conftest import PUBLIC
from tests.e2e.owners import Outside, make_proof_old, office
from tests.e2e.staff import appoint
from tests.integration.server.program import Server, command, environment, serving


async def test_posting_is_switched_off_and_on(
    server: Server, visit: Any, site: Callable[..., str], api: httpx.Client
) -> None:
    public = site()
    desk = await office(server, visit, appoint(server, "owner", site=public), "danger")
    await desk.button("Switch posting off").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Switch posting off", exact=True).click()
    await expect(desk.page.get_by_text("Nobody can write", exact=True)).to_be_visible()
    assert Outside(api, public).says("posting_disabled") is True
    await desk.button("Switch posting on").click()
    await expect(desk.page.get_by_text("People can write", exact=True)).to_be_visible()
    assert Outside(api, public).says("posting_disabled") is False
    assert desk.complaints == []


async def test_a_site_is_deleted_only_by_typing_its_domain(
    server: Server, visit: Any, site: Callable[..., str], api: httpx.Client
) -> None:
    doomed, kept = site(), site()
    owner = appoint(server, "owner", site=doomed)
    command("role", "grant", kept, owner.email, "owner", "--data", str(server.folder))
    desk = await office(server, visit, owner, "danger")
    assert await desk.page.locator("select.site option").count() == 2
    make_proof_old(server, owner)
    await desk.button("Delete this site").click()
    asked = desk.page.get_by_role("dialog", name="Delete this site")
    go = asked.get_by_role("button", name="Delete this site")
    await expect(go).to_be_disabled()
    await asked.get_by_role("textbox").fill("something else")
    await expect(go).to_be_disabled()
    domain = (await asked.locator(".label").inner_text()).split("“")[1].split("”")[0]
    await asked.get_by_role("textbox").fill(domain)
    await desk.shot("admin-delete", full=False)
    await go.click()
    await desk.confirm_who_it_is()
    told = desk.page.get_by_role("dialog", name="Deleting")
    await expect(told).to_be_visible()
    assert Outside(api, doomed).site().status_code == 401
    await told.get_by_role("button", name="Close").click()
    # What is left is shown then.
    await expect(desk.page.locator("header span.site")).to_be_visible()
    await expect(desk.page.get_by_role("heading", name="Overview")).to_be_visible()
    assert Outside(api, kept).site().status_code == 200
    assert [said for said in desk.complaints if "403" not in said and "401" not in said] == []


async def test_signing_out_everywhere_ends_this_page_too(server: Server, visit: Any, site: Callable[..., str]) -> None:
    owner = appoint(server, "owner", site=site())
    desk = await office(server, visit, owner, "danger")
    other = await office(server, visit, owner, "keys")
    await desk.button("Sign out everywhere").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Sign out everywhere", exact=True).click()
    await expect(desk.button("Sign in")).to_be_visible()
    await other.page.get_by_role("link", name="Settings", exact=True).click()
    await expect(other.button("Sign in")).to_be_visible()


async def test_where_the_server_does_not_let_owners_make_sites_it_says_how(server: Server, visit: Any) -> None:
    desk = await office(server, visit, appoint(server, "owner"), "sites")
    await desk.button("Make another site").click()
    box = desk.page.get_by_role("dialog", name="Make another site")
    await box.get_by_label("Name").fill("Another")
    await box.get_by_label("Domain").fill("another.example.org")
    await box.get_by_role("button", name="Make another site").click()
    await expect(box).to_contain_text("threadkit site create NAME DOMAIN")
    assert [said for said in desk.complaints if "403" not in said] == []


async def test_where_the_server_lets_them_owners_make_another_site(short_folder: Path, visit: Any) -> None:
    env = environment(PROJECT_ID_PUBLIC=PUBLIC, THREADKIT_OWNERS_CREATE_SITES="true")
    with serving(short_folder / "sites", env=env) as server:
        command("site", "set", PUBLIC, "auth.password=true", "--data", str(server.folder))
        desk = await office(server, visit, appoint(server, "owner"), "sites")
        await desk.button("Make another site").click()
        box = desk.page.get_by_role("dialog", name="Make another site")
        await box.get_by_label("Name").fill("Another")
        await box.get_by_label("Domain").fill("another.example.org")
        await box.get_by_role("button", name="Make another site").click()
        shown = desk.page.get_by_role("dialog", name="The site is there")
        await expect(shown).to_contain_text("tk_sec_")
        await shown.get_by_role("button", name="Close").click()
        # It is the one that is shown now, and there is nothing in it yet.
        await desk.page.get_by_role("link", name="Overview").click()
        await expect(desk.page.get_by_role("heading", name="First steps")).to_be_visible()
        assert await desk.page.locator("select.site").input_value() == "Another"
        assert desk.complaints == []
