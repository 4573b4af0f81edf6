"""The first hour: from the one-time link to the first comment, on a server that nobody has used yet."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from tests.e2e.staff import PASSWORD, Desk
from tests.folders import quick_folder
from tests.integration.server.program import Server, command, environment, serving


@pytest.fixture
def fresh() -> Iterator[Server]:
    with (
        quick_folder() as folder,
        serving(Path(folder) / "d", env=environment()) as found,
    ):
        yield found


async def test_from_the_link_to_the_first_comment(fresh: Server, visit: Any) -> None:
    visitor = await visit(viewport={"width": 900, "height": 900})
    desk, page = Desk(visitor.page, fresh.url.replace("127.0.0.1", "localhost")), visitor.page
    link = re.search(r"\S+/setup\?token=\S+", command("owner-link", "--data", str(fresh.folder)))
    assert link
    address = f"{desk.url}/setup?{link[0].partition('?')[2]}"
    await page.goto(address)
    await desk.shot("setup-form")
    await page.get_by_label("Name", exact=True).fill("olga")
    await page.get_by_label("E-mail").first.fill("olga@example.org")
    await page.get_by_label("Password").first.fill(PASSWORD)
    await page.get_by_label("Name of the site").fill("Olga's blog")
    await page.get_by_label("Domain").fill("blog.example.org")
    await page.get_by_label("After somebody has approved them").check()
    await desk.button("Set it up").click()
    await expect(page.get_by_role("heading", name="Welcome, olga")).to_be_visible()
    await expect(page.locator("pre.snippet")).to_contain_text("data-project=")
    await page.get_by_placeholder("Write a comment").fill("The very first comment.")
    await page.get_by_role("button", name="Post", exact=True).click()
    await page.get_by_placeholder("Your name").fill("Bea")
    await page.get_by_role("button", name="Continue as Guest").click()
    await expect(page.locator("[data-testid=comment]")).to_contain_text("The very first comment.")
    await expect(page.locator("[data-testid=comment]")).to_contain_text("Waiting for approval")
    await desk.shot("setup-done")
    assert visitor.complaints == []
    await page.goto(address)
    await expect(page.get_by_role("heading", name="This link is used up")).to_be_visible()
    await page.goto(f"{desk.url}/setup/done")
    await page.get_by_role("link", name="Moderation").click()
    await expect(desk.button("Sign out")).to_be_visible()


@pytest.mark.parametrize("width", [320, 1200])
async def test_the_set_up_is_accessible(fresh: Server, visit: Any, width: int) -> None:
    visitor = await visit(bypass_csp=True, viewport={"width": width, "height": 800}, color_scheme="dark")
    desk = Desk(visitor.page, fresh.url.replace("127.0.0.1", "localhost"))
    link = re.search(r"\?token=\S+", command("owner-link", "--data", str(fresh.folder)))
    assert link
    await desk.page.goto(f"{desk.url}/setup{link[0]}")
    await desk.is_accessible()
    assert await desk.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await desk.shot(f"setup-{width}")
