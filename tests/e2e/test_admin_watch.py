"""What an owner sees of how things go: use, the log, the doctor; and who runs the server, of the server."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import redis
from playwright.async_api import expect

from tests.e2e.conftest import Member, Talk
from tests.e2e.owners import office
from tests.e2e.staff import appoint
from tests.integration.server.program import Server
from tests.wait import until


def put_dead_letter(server: Server, site_id: str, why: str) -> None:
    """As the outbox leaves one when it gives up."""
    event = json.dumps({"type": f"unheard_of_{uuid.uuid4().hex[:6]}"})
    with redis.Redis(unix_socket_path=str(server.folder / "store.sock"), decode_responses=True) as store:
        letter = {"entry_id": "1-1", "handler": "", "event": event, "why": why, "tries": "0"}
        store.xadd(f"site:{site_id}:outbox:dead", letter)


def comments_counted(server: Server) -> int:
    with redis.Redis(unix_socket_path=str(server.folder / "store.sock"), decode_responses=True) as store:
        return sum(int(store.hget(key, "comments") or 0) for key in store.scan_iter("site:*:day:????-??-??"))


async def test_charts_show_numbers_by_pointer_keyboard_and_table(
    server: Server, visit: Any, talk: Talk, member: Callable[[str], Member]
) -> None:
    ada, before = member("ada"), comments_counted(server)
    for number in range(3):
        talk.post(f"Comment {number}", ada)
    await until(lambda: comments_counted(server) >= before + 3, "the comments to be counted")
    owner = appoint(server, "owner")
    desk = await office(server, visit, owner, "usage")
    chart = desk.page.locator("figure").filter(has=desk.page.get_by_role("slider", name="Comments", exact=True))
    plot = chart.get_by_role("slider")
    await plot.focus()
    await desk.page.keyboard.press("End")
    today = await chart.locator(".told").inner_text()
    assert int(today.rpartition(": ")[2].replace(",", "")) >= 3
    assert await plot.get_attribute("aria-valuetext") == today
    await desk.page.keyboard.press("ArrowLeft")
    yesterday = await chart.locator(".told").inner_text()
    assert yesterday != today
    await plot.hover(position={"x": 200, "y": 60})
    await expect(chart.locator(".told")).not_to_have_text(yesterday)
    await chart.get_by_text("As a table").click()
    await expect(chart.locator("tbody tr")).to_have_count(90)
    assert (await chart.locator("tbody tr").first.inner_text()).split("\t")[-1] == today.rpartition(": ")[2]
    await desk.page.get_by_role("link", name="7 days").click()
    await expect(chart.locator("tbody tr")).to_have_count(7)
    assert desk.complaints == []


async def test_the_log_is_filtered_and_downloaded(server: Server, visit: Any, site: Callable[..., str]) -> None:
    public = site()
    desk = await office(server, visit, appoint(server, "owner", site=public), "log")
    entries = desk.page.locator(".log li")
    await expect(entries.filter(has_text="changed a role")).to_have_count(1)
    await desk.choice("Show").select_option(label="Bans")
    await expect(desk.page.get_by_text("Nothing yet")).to_be_visible()
    await desk.choice("Show").select_option(label="Roles, settings and keys")
    await expect(entries.filter(has_text="changed settings").first).to_be_visible()
    async with desk.page.expect_download() as started:
        await desk.button("Download CSV").click()
    file = await started.value
    assert file.suggested_filename == "moderation-log.csv"
    assert "site_settings" in (await file.path()).read_text()
    assert desk.complaints == []


async def test_the_doctor_tries_the_browsers_own_socket(server: Server, visit: Any) -> None:
    desk = await office(server, visit, appoint(server, "owner"), "doctor")
    checks = desk.page.locator(".check")
    await expect(desk.page.locator("[data-check=websocket]")).to_contain_text("Your browser opened one.")
    await expect(desk.page.locator("[data-check=cookie]")).to_contain_text("Good")
    await expect(desk.page.locator("[data-check=mail]")).to_contain_text("What to do:")
    states = await checks.locator(".pill").all_inner_texts()
    assert len(states) > 15
    await desk.button("Look again").click()
    await expect(desk.page.locator("main [aria-busy]")).to_have_count(0)
    assert desk.complaints == []


async def test_a_socket_that_does_not_open_turns_red(server: Server, visit: Any) -> None:
    desk = await office(server, visit, appoint(server, "owner"), "keys")
    await desk.page.evaluate(
        "() => { window.WebSocket = class {"
        " addEventListener(name, then) { if (name === 'error') setTimeout(then) } close() {} } }"
    )
    await desk.page.get_by_role("link", name="Doctor").click()
    await expect(desk.page.locator("[data-check=websocket]")).to_contain_text("Bad")
    await expect(desk.page.locator("[data-check=websocket]")).to_contain_text("What to do:")
    await expect(desk.page.locator("nav [data-view=doctor] .badge")).to_have_text("1")


async def test_whoever_runs_the_server_sees_store_limits_and_providers(server: Server, visit: Any) -> None:
    desk = await office(server, visit, appoint(server, "owner"), "store")
    await expect(desk.page.get_by_text("noeviction")).to_be_visible()
    await expect(desk.page.get_by_role("group", name="Keys by family")).to_contain_text("Comments")
    await desk.open("limits")
    await expect(desk.page.get_by_text("Nobody has to wait")).to_be_visible()
    await desk.open("ways")
    await expect(desk.page.get_by_text("/auth/github/callback")).to_be_visible()
    await desk.page.get_by_role("button", name="Test GitHub").click()
    await expect(desk.page.get_by_text("It is not set up").first).to_be_visible()
    await desk.open("mail")
    await desk.button("Send a test mail").click()
    await expect(desk.page.locator(".outcome")).to_contain_text("No mail server is set up")
    assert desk.complaints == []


async def test_dead_letters_are_tried_again_or_dropped(server: Server, visit: Any, talk: Talk) -> None:
    site_id = talk.call("GET", "/v1/site")["id"]
    hostile = '<img src=x onerror="window.hit=1">'
    put_dead_letter(server, site_id, hostile)
    put_dead_letter(server, site_id, "the mail server said no")
    desk = await office(server, visit, appoint(server, "owner"), "outbox")
    letters = desk.page.locator(".letters li")
    await expect(letters).to_have_count(2)
    await expect(letters.nth(1)).to_contain_text(hostile)
    await desk.shot("admin-outbox")
    await letters.first.get_by_role("button", name="Drop").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Drop", exact=True).click()
    await expect(letters).to_have_count(1)
    await letters.first.get_by_role("button", name="Try again").click()
    await expect(desk.page.get_by_text("1 letter was put back.")).to_be_visible()
    assert await desk.page.evaluate("window.hit") is None
    assert desk.complaints == []
