"""Roles given and taken on the owners' page, and who sees nothing of it."""

import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.e2e.conftest import PUBLIC, Member
from tests.e2e.owners import VIEWS, Outside, as_staff, make_proof_old, office
from tests.e2e.staff import Desk, appoint
from tests.integration.server.program import Server

OWNERS_ONLY = (
    ("GET", "/v1/admin/sites/{site}"),
    ("PATCH", "/v1/admin/sites/{site}"),
    ("DELETE", "/v1/admin/sites/{site}"),
    ("GET", "/v1/admin/sites/{site}/keys"),
    ("POST", "/v1/admin/sites/{site}/keys/secret/rotate"),
    ("GET", "/v1/admin/sites/{site}/settings/schema"),
    ("GET", "/v1/admin/sites/{site}/owners"),
    ("GET", "/v1/admin/doctor"),
    ("GET", "/v1/admin/server/store"),
    ("GET", "/v1/admin/server/outbox"),
    ("GET", "/v1/admin/server/limits"),
    ("GET", "/v1/admin/server/providers"),
    ("POST", "/v1/admin/server/mail/test"),
)
ADMINS_TOO = (
    ("GET", "/v1/admin/sites/{site}/staff"),
    ("GET", "/v1/admin/sites/{site}/usage"),
    ("GET", "/v1/admin/sites/{site}/posting"),
    ("GET", "/v1/moderation/log.csv"),
)


async def test_an_owner_gives_a_role_and_takes_it(
    server: Server, visit: Any, site: Callable[..., str], member: Callable[[str], Member]
) -> None:
    public = site()
    owner, rosa = appoint(server, "owner", site=public), member("rosa")
    desk = await office(server, visit, owner, "people")
    await expect(desk.page.get_by_text("The last owner stays.")).to_be_visible()
    await desk.field("Name, e-mail address or id").fill("nobody at all")
    await desk.button("Search").click()
    await expect(desk.page.get_by_text("Nobody found")).to_be_visible()
    await desk.field("Name, e-mail address or id").fill(rosa.name)
    await desk.button("Search").click()
    found = desk.page.locator("form .people li")
    await expect(found).to_have_count(1)
    await desk.field(f"Role for {rosa.name}").select_option("moderator")
    await found.get_by_role("button", name="Give").click()
    staff = desk.page.get_by_role("region", name="Moderators")
    await expect(staff.get_by_text(rosa.name)).to_be_visible()
    await desk.shot("admin-people")

    # Making somebody an admin can do harm, so it wants to be shown again who sits there.
    make_proof_old(server, owner)
    await desk.field(f"Role for {rosa.name}").select_option("admin")
    await found.get_by_role("button", name="Give").click()
    await desk.confirm_who_it_is()
    admins = desk.page.get_by_role("region", name="Admins")
    await expect(admins.get_by_text(rosa.name)).to_be_visible()
    await desk.page.get_by_role("button", name=f"Take the role from {rosa.name}").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Take the role", exact=True).click()
    await expect(admins.get_by_text("Nobody.")).to_be_visible()
    await desk.open("log")
    await expect(desk.page.locator(".log li").first).to_contain_text(rosa.name)
    assert [said for said in desk.complaints if "403" not in said] == []


async def test_a_moderator_is_sent_to_where_their_work_is(server: Server, visit: Any) -> None:
    desk = await office(server, visit, appoint(server, "moderator"), "settings")
    await expect(desk.page.get_by_role("heading", name="This page is for owners and admins")).to_be_visible()
    assert await desk.links().evaluate_all("links => links.map((one) => one.dataset.view)") == ["elsewhere"]
    for view in VIEWS:
        await desk.open(view)
        await expect(desk.page.get_by_role("link", name="Go to moderation")).to_be_visible()
    await desk.page.set_viewport_size({"width": 390, "height": 844})
    await desk.shot("admin-moderator")
    await desk.page.get_by_role("link", name="Go to moderation").click()
    await expect(desk.page).to_have_url(f"{desk.url}/mod")


async def test_an_admin_sees_what_admins_may_do(server: Server, visit: Any) -> None:
    desk = await office(server, visit, appoint(server, "admin"))
    seen = await desk.links().evaluate_all("links => links.map((one) => one.dataset.view)")
    assert seen == ["overview", "look", "people", "usage", "log", "danger"]
    for view in seen:
        await desk.open(view)
        await expect(desk.page.get_by_role("alert")).to_have_count(0)
    await expect(desk.button("Delete this site")).to_have_count(0)
    await desk.open("people")
    await expect(desk.page.get_by_role("region", name="Owners")).to_be_visible()
    assert desk.complaints == []


@pytest.mark.parametrize("role", ["moderator", "admin"])
async def test_nothing_of_the_owners_is_reachable_by_the_api(server: Server, role: str) -> None:
    staff = appoint(server, role)
    with as_staff(server, staff, PUBLIC) as api:
        reached = _reached(api, OWNERS_ONLY if role == "admin" else OWNERS_ONLY + ADMINS_TOO)
    assert reached == []


async def test_an_owner_elsewhere_sees_neither_this_site_nor_the_server(
    server: Server, visit: Any, site: Callable[..., str]
) -> None:
    public = site()
    stranger = appoint(server, "owner", site=public)
    desk = await office(server, visit, stranger)
    await expect(desk.page.locator("header select.site")).to_have_count(0)
    seen = await desk.links().evaluate_all("links => links.map((one) => one.dataset.view)")
    assert not {"mail", "store", "outbox", "limits"} & set(seen)
    assert {"settings", "keys", "danger"} <= set(seen)
    with as_staff(server, stranger, public) as api:
        here = Outside(api, PUBLIC).says("id")
        assert _reached(api, [call for call in OWNERS_ONLY if "{site}" in call[1]], here) == []
        assert _reached(api, [call for call in OWNERS_ONLY if "/server/" in call[1]]) == []


def _reached(api: httpx.Client, calls: Any, site_id: str | None = None) -> list[str]:
    """Which of these were not refused."""
    found = []
    for method, path in calls:
        body: dict[str, str] | None = None if method == "GET" else {}
        answer = api.request(method, path.replace("{site}", site_id or api.headers["site-id"]), json=body)
        if answer.status_code not in (401, 403):
            found.append(f"{method} {path}: {answer.status_code} {answer.text[:100]}")
    return found


async def test_nobody_without_a_role_comes_in(server: Server, visit: Any, member: Callable[[str], Member]) -> None:
    visitor = await visit()
    desk = Desk(visitor.page, server.url.replace("127.0.0.1", "localhost"))
    await desk.page.goto(f"{desk.url}/admin#/keys")
    await desk.page.get_by_label("E-mail").fill(f"{uuid.uuid4().hex}@example.org")
    await desk.page.get_by_label("Password").fill("whatever it may be")
    await desk.button("Sign in").click()
    await expect(desk.page.get_by_role("alert")).to_contain_text("do not belong together")
    await expect(desk.page.locator("nav")).to_have_count(0)
