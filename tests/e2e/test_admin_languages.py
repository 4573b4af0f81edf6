"""The owners' page in the browser's language, with what the server says on it."""

from typing import Any

from playwright.async_api import Request, expect

from tests.e2e.owners import Office, office
from tests.e2e.staff import appoint
from tests.integration.server.program import Server


async def unfold(desk: Office) -> None:
    await desk.page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true })")


async def test_a_german_owner_reads_german(server: Server, visit: Any) -> None:
    desk = await office(server, visit, appoint(server, "owner"), "settings", locale="de-AT")
    await unfold(desk)
    await expect(desk.page.get_by_role("heading", name="Schreiben und Freigabe")).to_be_visible()
    await expect(desk.setting("display.show_pageviews")).to_contain_text("Zeigt allen, wie oft eine Seite")
    asked: list[Request] = []
    desk.page.on("request", lambda request: asked.append(request))
    await desk.open("doctor")
    mail = desk.page.locator("[data-check=mail]")
    await expect(mail.get_by_role("heading", name="E-Mail", exact=True)).to_be_visible()
    await expect(mail).to_contain_text("Es ist kein Mailserver eingestellt")
    await expect(mail.locator(".fix")).to_contain_text("Setze mail.host und mail.sender.")
    await expect(desk.page.locator("[data-check=websocket]")).to_contain_text("Dein Browser hat einen geöffnet.")
    # Not what the browser would send by itself: the page says what it has chosen.
    assert {one.headers["accept-language"] for one in asked if "/v1/admin/doctor" in one.url} == {"de"}
    await desk.open("overview")
    await expect(desk.page.locator("main")).to_contain_text("Es ist kein Mailserver eingestellt")
    assert desk.complaints == []


async def test_an_arabic_owner_reads_from_right_to_left(server: Server, visit: Any) -> None:
    desk = await office(server, visit, appoint(server, "owner"), "settings/pages", locale="ar-EG")
    await expect(desk.page.locator("html[dir=rtl][lang=ar]")).to_be_attached()
    origins = desk.setting("allowed_origins")
    await expect(origins).to_contain_text("نطاقات أخرى")
    await desk.shot("admin-settings-arabic")
    await desk.open("doctor")
    mail = desk.page.locator("[data-check=mail]")
    await expect(mail).to_contain_text("لم يُضبط خادم بريد")
    pill, text = await mail.locator(".pill").bounding_box(), await mail.locator("h3").bounding_box()
    assert pill is not None
    assert text is not None
    assert pill["x"] > text["x"], "the state stands on the right"
    await desk.shot("admin-doctor-arabic")
    assert desk.complaints == []
