"""The owners' page in every size and light, for everybody; and the preview of the embed."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.e2e.owners import VIEWS, Office, office
from tests.e2e.staff import appoint
from tests.integration.server.program import Server


async def fits(desk: Office) -> None:
    wide = await desk.page.evaluate(
        "[...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1"
        " && !one.closest('.table, pre, .toasts')).map((one) => one.outerHTML.slice(0, 100))"
        " .slice(0, document.documentElement.scrollWidth > innerWidth ? 5 : 0)"
    )
    assert wide == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("name", "width", "scheme"), [("wide", 1280, "light"), pytest.param("phone", 390, "dark", marks=pytest.mark.prove)]
)
async def test_every_view_is_accessible(server: Server, visit: Any, name: str, width: int, scheme: str) -> None:
    desk = await office(
        server,
        visit,
        appoint(server, "owner"),
        viewport={"width": width, "height": 844},
        color_scheme=scheme,
        bypass_csp=True,
    )
    for view in VIEWS:
        await desk.open(view)
        await expect(desk.page.locator("main h1")).to_be_visible()
        if view == "settings":
            await desk.page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true })")
        await desk.is_accessible()
        await fits(desk)
        await desk.shot(f"admin-{view}-{name}")


async def test_the_smallest_phone_has_room_for_everything(server: Server, visit: Any) -> None:
    desk = await office(server, visit, appoint(server, "owner"), viewport={"width": 320, "height": 640})
    menu = desk.page.locator("button.menu")
    for view in VIEWS:
        await desk.open(view)
        await fits(desk)
    await menu.click()
    await expect(desk.page.get_by_role("link", name="Settings", exact=True)).to_be_visible()
    await desk.shot("admin-menu-tiny", full=False)
    await desk.page.get_by_role("link", name="Settings", exact=True).click()
    await expect(menu).to_have_attribute("aria-expanded", "false")
    await expect(menu).to_have_text("Settings")
    assert desk.complaints == []


async def test_dialogs_are_accessible_and_close_by_keyboard(server: Server, visit: Any) -> None:
    desk = await office(server, visit, appoint(server, "owner"), bypass_csp=True)
    for view, region, opener in (
        ("keys", "Public key", "Replace it"),
        ("danger", "Delete this site", "Delete this site"),
        ("danger", "Posting", "Switch posting off"),
    ):
        await desk.open(view)
        button = desk.page.get_by_role("region", name=region).get_by_role("button", name=opener)
        await button.focus()
        await desk.page.keyboard.press("Enter")
        await expect(desk.page.get_by_role("dialog")).to_be_visible()
        await desk.is_accessible()
        await desk.page.keyboard.press("Escape")
        await expect(desk.page.get_by_role("dialog")).to_have_count(0)
        await expect(button).to_be_focused()


async def test_colours_are_tried_on_the_real_thread(server: Server, visit: Any) -> None:
    desk = await office(server, visit, appoint(server, "owner"), "look")
    frame = desk.page.frame_locator("iframe.preview")
    await expect(frame.get_by_test_id("comment-count")).to_be_visible()
    await desk.field("Accent, Light").fill("#ffee00")
    await expect(desk.page.get_by_text("Accent on Surface is hard to read")).to_be_visible()
    await expect(desk.page.locator("pre").last).to_contain_text("--tk-accent: light-dark(#ffee00, #93b6ff);")
    painted = await frame.locator("thread-kit").evaluate(
        "(one) => getComputedStyle(one).getPropertyValue('--tk-accent')"
    )
    assert "#ffee00" in painted
    await desk.choice("Theme").select_option("dark")
    await expect(desk.page.locator("pre").first).to_contain_text('data-theme="dark"')
    await desk.page.reload()
    await expect(desk.page.locator("pre").last).to_contain_text("#ffee00")
    await desk.button("Start over").click()
    await expect(desk.page.get_by_text("no style sheet is needed")).to_be_visible()
    assert desk.complaints == []
