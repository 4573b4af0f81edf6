"""People who run sites, with a browser of their own on the pages for staff."""

import uuid
from dataclasses import dataclass

import httpx
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Locator, Page, expect

from tests.e2e.conftest import PUBLIC, SHOTS, Member
from tests.integration.server.program import Server, command

PASSWORD = "correct horse battery"


@dataclass
class StaffMember:
    """Somebody with a role and a password."""

    member: Member
    email: str
    role: str


def appoint(server: Server, role: str, *, site: str = PUBLIC) -> StaffMember:
    """A new account with a password and a role on a site, made through the command line and the API."""
    email = f"{role}-{uuid.uuid4().hex[:8]}@example.org"
    name = email.partition("@")[0][:24]
    made = httpx.post(
        f"{server.url}/v1/auth/register",
        json={"email": email, "name": name, "password": PASSWORD},
        headers={"projectid": PUBLIC},
        timeout=30,
    )
    assert made.status_code == 200, made.text
    command("role", "grant", site, email, role, "--data", str(server.folder))
    session = made.json()
    return StaffMember(Member(session["user"]["id"], name, session), email, role)


@dataclass
class Desk:
    """One browser on `/mod` or `/admin`."""

    page: Page
    url: str

    async def sign_in(self, who: StaffMember, page: str = "mod", *, at: str = "") -> None:
        await self.page.goto(f"{self.url}/{page}{at}")
        await self.page.get_by_label("E-mail").fill(who.email)
        await self.page.get_by_label("Password").fill(PASSWORD)
        await self.page.get_by_role("button", name="Sign in", exact=True).click()
        await expect(self.page.get_by_role("button", name="Sign out")).to_be_visible()
        await self.is_ready()

    async def is_ready(self) -> None:
        await expect(self.page.locator("main:not([aria-busy])")).to_be_visible()

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    async def shot(self, name: str, *, full: bool = True) -> None:
        SHOTS.mkdir(exist_ok=True)
        await self.page.screenshot(path=str(SHOTS / f"{name}.png"), full_page=full)

    async def is_accessible(self) -> None:
        found = await Axe().run(self.page)
        faults = [f"{fault['id']}: {fault['nodes'][0]['html'][:200]}" for fault in found.response["violations"]]
        assert faults == []
