"""An owner changes what their site does."""

import re
from collections.abc import Callable
from typing import Any

import httpx
from playwright.async_api import expect

from tests.e2e.owners import Outside, office
from tests.e2e.staff import appoint
from tests.integration.server.program import Server
from tests.wait import until


async def test_an_owner_changes_settings_and_visitors_feel_it(
    server: Server, visit: Any, site: Callable[..., str], api: httpx.Client
) -> None:
    public = site()
    desk = await office(server, visit, appoint(server, "owner", site=public), "settings")
    await desk.field("Minutes for editing").fill("45")
    await desk.field("Moderation").select_option("pre")
    await desk.page.get_by_text("Display and order").click()
    await desk.field("Voting").select_option("up")
    await expect(desk.page.get_by_text("3 changes are not saved")).to_be_visible()
    await desk.shot("admin-settings", full=False)
    await desk.save()
    seen = Outside(api, public).site().json()
    assert (seen["edit_window_minutes"], seen["moderation_mode"], seen["voting"]) == (45, "pre", "up")

    await desk.page.get_by_role("button", name="Reset “Minutes for editing” to its default").click()
    await expect(desk.field("Minutes for editing")).to_have_value("15")
    await desk.save()
    await desk.page.reload()
    await expect(desk.field("Minutes for editing")).to_have_value("15")
    await expect(desk.field("Moderation")).to_have_value("pre")
    assert desk.complaints == []


async def test_what_is_changed_while_a_save_is_on_its_way_stays_a_change(
    server: Server, visit: Any, site: Callable[..., str], api: httpx.Client
) -> None:
    public = site()
    desk = await office(server, visit, appoint(server, "owner", site=public), "settings")
    held: list[Any] = []

    async def hold(route: Any) -> None:
        held.append(route) if route.request.method == "PATCH" and not held else await route.continue_()

    await desk.page.route("**/v1/admin/sites/*", hold)
    await desk.field("Minutes for editing").fill("45")
    await desk.button("Save").click()
    await until(lambda: bool(held), "the save")
    await desk.field("Minutes for editing").fill("15")  # as it was before
    await desk.field("Moderation").select_option("pre")
    await held[0].continue_()
    await expect(desk.page.get_by_text("2 changes are not saved")).to_be_visible()
    await expect(desk.field("Minutes for editing")).to_have_value("15")
    await desk.save()
    seen = Outside(api, public).site().json()
    assert (seen["edit_window_minutes"], seen["moderation_mode"]) == (15, "pre")


async def test_what_cannot_be_is_said_beside_its_field(server: Server, visit: Any, site: Callable[..., str]) -> None:
    desk = await office(server, visit, appoint(server, "owner", site=site()), "settings")
    minutes = desk.setting("edit_window_minutes")
    await minutes.get_by_role("spinbutton").fill("-5")
    await desk.button("Save").click()
    await expect(minutes.get_by_role("alert")).to_contain_text("Expected `int` >= 0")
    await expect(minutes.get_by_role("spinbutton")).to_be_focused()
    await desk.shot("admin-settings-wrong", full=False)
    await minutes.get_by_role("spinbutton").fill("5")
    await expect(minutes.get_by_role("alert")).to_be_hidden()
    await desk.field("Domain").fill("not a host!")
    await desk.button("Save").click()
    await expect(desk.setting("domain").get_by_role("alert")).to_contain_text("is not a host name")
    await desk.button("Discard").click()
    await expect(desk.field("Minutes for editing")).to_have_value("15")


async def test_two_owners_do_not_overwrite_each_other(
    server: Server, visit: Any, site: Callable[..., str], api: httpx.Client
) -> None:
    public = site()
    anna = await office(server, visit, appoint(server, "owner", site=public), "settings")
    bert = await office(server, visit, appoint(server, "owner", site=public), "settings")
    await anna.field("Minutes for editing").fill("30")
    await anna.field("Only verified people may write").check()
    await anna.save()
    await bert.field("Minutes for editing").fill("60")
    await bert.button("Save").click()
    await expect(bert.page.get_by_text("Somebody else has changed this site meanwhile.")).to_be_visible()
    assert Outside(api, public).says("edit_window_minutes") == 30
    await bert.shot("admin-conflict", full=False)
    await bert.button("Load the newest and keep my changes").click()
    await expect(bert.setting("edit_window_minutes")).to_contain_text("Stored is now: 30")
    await expect(bert.field("Only verified people may write")).to_be_checked()
    await bert.save()
    assert Outside(api, public).says("edit_window_minutes") == 60
    assert [said for said in bert.complaints if "409" not in said] == []


async def test_unsaved_changes_are_not_lost_by_a_click(server: Server, visit: Any, site: Callable[..., str]) -> None:
    desk = await office(server, visit, appoint(server, "owner", site=site()), "settings")
    await desk.field("Minutes for editing").fill("7")
    await desk.page.get_by_role("link", name="Keys", exact=True).click()
    asked = desk.page.get_by_role("dialog", name="Leave without saving?")
    await asked.get_by_role("button", name="Cancel").click()
    await expect(desk.field("Minutes for editing")).to_have_value("7")
    await expect(desk.page).to_have_url(re.compile("#/settings$"))
    await desk.page.get_by_role("link", name="Keys", exact=True).click()
    await asked.get_by_role("button", name="Leave").click()
    await expect(desk.page.get_by_role("heading", name="Keys", exact=True)).to_be_visible()


async def test_a_setting_is_found_by_a_word(server: Server, visit: Any, site: Callable[..., str]) -> None:
    desk = await office(server, visit, appoint(server, "owner", site=site()), "settings")
    await desk.field("Find a setting").fill("akismet")
    await expect(desk.setting("akismet.key")).to_be_visible()
    await expect(desk.setting("moderation_mode")).to_be_hidden()
    await desk.field("Find a setting").fill("")
    await expect(desk.setting("moderation_mode")).to_be_visible()
    await expect(desk.setting("akismet.key")).to_be_hidden()


async def test_a_secret_is_kept_and_never_shown(server: Server, visit: Any, site: Callable[..., str]) -> None:
    desk = await office(server, visit, appoint(server, "owner", site=site()), "settings/outside")
    await desk.field("Akismet key").fill("abcdef123456")
    await desk.save()
    await desk.page.reload()
    key = desk.field("Akismet key")
    await expect(key).to_have_value("")
    await expect(key).to_have_attribute("placeholder", "set, and not shown")
    await desk.field("Ask Akismet").check()
    await desk.save()
    await expect(key).to_have_attribute("placeholder", "set, and not shown")


async def test_the_screens_are_put_into_another_order_by_keyboard(
    server: Server, visit: Any, site: Callable[..., str]
) -> None:
    desk = await office(server, visit, appoint(server, "owner", site=site()), "settings/screening")
    order = desk.setting("screening.order").locator("li span")
    await expect(order.first).to_have_text("The same again")
    await desk.page.get_by_role("button", name="Move “Too fast” up").focus()
    await desk.page.keyboard.press("Enter")
    await expect(order.first).to_have_text("Too fast")
    await desk.save()
    await desk.page.reload()
    await expect(order.first).to_have_text("Too fast")


async def test_an_owner_says_which_hosts_may_show_comments(
    server: Server, visit: Any, site: Callable[..., str], api: httpx.Client
) -> None:
    public = site()
    desk = await office(server, visit, appoint(server, "owner", site=public), "origins")
    add = desk.field("Another host")
    await add.fill("not a host")
    await desk.button("Add").click()
    await expect(desk.page.get_by_role("alert").filter(has_text="is not a host name")).to_be_visible()
    for host in ("www.example.net", "*.example.com"):
        await add.fill(host)
        await add.press("Enter")
    check = desk.field("Address of a page")
    for address, said in (
        ("https://blog.example.com/a", "is allowed by *.example.com"),
        ("https://evil.example", "is neither the site's domain nor in the list"),
        ("http://localhost:8000/", "Only if the server allows pages on localhost"),
    ):
        await check.fill(address)
        await desk.button("Check").click()
        await expect(desk.page.locator(".outcome")).to_contain_text(said)
    await desk.shot("admin-origins")
    outside = Outside(api, public)
    assert outside.site(origin="https://www.example.net").status_code == 403
    await desk.save()
    assert outside.site(origin="https://www.example.net").status_code == 200
    await desk.page.get_by_role("button", name="Remove www.example.net").click()
    await desk.save()
    assert outside.site(origin="https://www.example.net").status_code == 403
    assert desk.complaints == []


async def test_word_lists_hold_what_they_name(
    server: Server, visit: Any, site: Callable[..., str], api: httpx.Client
) -> None:
    public = site()
    desk = await office(server, visit, appoint(server, "owner", site=public), "words")
    await desk.field("Words that refuse").fill("(regex)")
    await desk.button("Save").click()
    await expect(desk.setting("screening.words.refuse").get_by_role("alert")).to_contain_text("regular expressions")
    await desk.field("Words that refuse").fill("")
    await desk.field("Words that hold").fill("casino\nfree money")
    await desk.save()
    assert Outside(api, public).write("There is free money in the casino")["comment"]["s"] == "pending"


async def test_a_hostile_name_stays_a_name(server: Server, visit: Any, site: Callable[..., str]) -> None:
    desk = await office(server, visit, appoint(server, "owner", site=site()), "settings")
    hostile = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'
    await desk.field("Name").fill(hostile)
    await desk.save()
    for view in ("overview", "sites", "doctor", "log", "danger", "look"):
        await desk.open(view)
    await desk.open("log")
    await expect(desk.page.locator(".change ins").first).to_contain_text("onerror")
    await expect(desk.page.locator("header .site")).to_have_text(hostile)
    assert await desk.page.evaluate("window.hit") is None
    assert desk.complaints == []
