"""Owners with a browser on `/admin`."""

from dataclasses import dataclass
from typing import Any

import httpx
import redis
from playwright.async_api import Locator, expect

from tests.e2e.conftest import Visitor
from tests.e2e.staff import PASSWORD, Desk, StaffMember
from tests.integration.server.program import Server

SITE_VIEWS = ("overview", "settings", "origins", "ways", "words", "look", "people", "keys", "usage", "log", "doctor")
SERVER_VIEWS = ("sites", "mail", "store", "outbox", "limits")
VIEWS = (*SITE_VIEWS, *SERVER_VIEWS, "danger")


@dataclass
class Office(Desk):
    """One browser on the owners' page."""

    visitor: Visitor

    async def open(self, view: str) -> None:
        await self.page.goto(f"{self.url}/admin#/{view}")
        await self.is_ready()

    def field(self, label: str) -> Locator:
        return self.page.get_by_label(label, exact=True)

    def setting(self, name: str) -> Locator:
        return self.page.locator(f"[data-setting='{name}']")

    async def save(self) -> None:
        await self.button("Save").click()
        await expect(self.page.locator(".savebar")).to_be_hidden()

    async def confirm_who_it_is(self) -> None:
        box = self.page.get_by_role("dialog", name="Is it you?")
        await box.get_by_label("Password").fill(PASSWORD)
        await box.get_by_role("button", name="Confirm", exact=True).click()
        await expect(box).to_be_hidden()

    def links(self) -> Locator:
        return self.page.locator("nav a")

    @property
    def complaints(self) -> list[str]:
        """Without the one that nobody was signed in at first, which browsers write down by themselves."""
        return [said for said in self.visitor.complaints if "status of 401" not in said]


async def office(server: Server, visit: Any, who: StaffMember, view: str = "overview", **options: Any) -> Office:
    visitor = await visit(**options)
    found = Office(visitor.page, server.url.replace("127.0.0.1", "localhost"), visitor)
    await found.sign_in(who, "admin", at=f"#/{view}")
    return found


def make_proof_old(server: Server, who: StaffMember) -> None:
    """As if everybody at this account had shown long ago who they are."""
    with redis.Redis(unix_socket_path=str(server.folder / "store.sock"), decode_responses=True) as store:
        for session in store.smembers(f"user:{who.member.id}:sessions"):
            store.hset(f"session:{session}", mapping={"created_at": "2026-01-01T00:00:00Z", "proved_ms": "0"})


def as_staff(server: Server, who: StaffMember, site: str) -> httpx.Client:
    """The API with the token that the pages would get for them."""
    client = httpx.Client(base_url=server.url, headers={"origin": server.url}, timeout=30)
    arrived = client.post("/v1/staff/sign-in", json={"email": who.email, "password": PASSWORD})
    assert arrived.status_code == 200, arrived.text
    mine = next(one for one in arrived.json()["sites"] if one["api_key_public"] == site)
    token = client.post("/v1/staff/token", json={"site_id": mine["id"]}).json()["token"]
    client.headers |= {"projectid": site, "authorization": f"Bearer {token}"}
    return client
