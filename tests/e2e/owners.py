"""Owners with a browser on `/admin`."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import redis
from playwright.async_api import Locator, expect

from tests.e2e.conftest import Visitor
from tests.e2e.staff import PASSWORD, Desk, StaffMember
from tests.integration.server.program import Server
from threadkit.staff.model import COOKIE

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

    def choice(self, label: str) -> Locator:
        return self.page.get_by_role("combobox", name=label, exact=True)

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


@dataclass
class Outside:
    """What visitors and programs see of a site."""

    api: httpx.Client
    key: str

    def site(self, **headers: str) -> httpx.Response:
        return self.api.get("/v1/site", headers={"projectid": self.key, **headers})

    def says(self, name: str) -> Any:
        return self.site().json()[name]

    def write(self, text: str) -> Any:
        headers = {"projectid": self.key}
        guest = self.api.post("/v1/auth/anonymous", json={"name": "gina"}, headers=headers).json()
        body = {"page_url": "http://localhost/outside", "content": text}
        headers |= {"authorization": f"Bearer {guest['token']}"}
        return self.api.post("/v1/comments", json=body, headers=headers).json()


async def office(server: Server, visit: Any, who: StaffMember, view: str = "overview", **options: Any) -> Office:
    """Whoever it is has come in before: the door itself has tests of its own."""
    visitor = await visit(**options)
    url = server.url.replace("127.0.0.1", "localhost")
    cookie = {"name": COOKIE, "value": _cookie(server, who), "url": url, "httpOnly": True}
    await visitor.page.context.add_cookies([cookie])
    found = Office(visitor.page, url, visitor)
    await found.open(view)
    await expect(found.page.locator("header.top .who")).to_be_visible()
    return found


def _cookie(server: Server, who: StaffMember) -> str:
    headers = {"origin": server.url, **who.member.headers}
    arrived = httpx.post(f"{server.url}/v1/staff/session", headers=headers, timeout=30)
    assert arrived.status_code == 200, arrived.text
    return arrived.cookies[COOKIE]


def make_proof_old(server: Server, who: StaffMember) -> None:
    """As if everybody at this account had shown long ago who they are."""
    with redis.Redis(unix_socket_path=str(server.folder / "store.sock"), decode_responses=True) as store:
        for session in store.smembers(f"user:{who.member.id}:sessions"):
            store.hset(f"session:{session}", mapping={"created_at": "2026-01-01T00:00:00Z", "proved_ms": "0"})


@contextlib.contextmanager
def as_staff(server: Server, who: StaffMember, site: str) -> Iterator[httpx.Client]:
    """The API with the token that the pages would get for them."""
    with httpx.Client(base_url=server.url, headers={"origin": server.url}, timeout=30) as client:
        client.cookies.set(COOKIE, _cookie(server, who))
        mine = next(one for one in client.get("/v1/staff/session").json()["sites"] if one["api_key_public"] == site)
        token = client.post("/v1/staff/token", json={"site_id": mine["id"]}).json()["token"]
        client.headers.update({"projectid": site, "authorization": f"Bearer {token}", "site-id": mine["id"]})
        yield client
