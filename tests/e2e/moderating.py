"""A site where everything waits for a look, people who write there, and moderators before their page."""

import uuid
from dataclasses import dataclass
from typing import Any

import httpx
from playwright.async_api import Locator, expect

from tests.e2e.conftest import Member, Talk, Visitor, make_site
from tests.e2e.staff import Desk
from tests.integration.server.program import Server


@dataclass
class Newsroom:
    """One site of its own, with a thread."""

    server: Server
    visit: Any
    talk: Talk
    secret: str
    site_id: str

    def author(self, name: str) -> Member:
        unique = f"{name}-{uuid.uuid4().hex[:6]}"
        made = self._as_owner("POST", "/v1/admin/create-user", {"name": unique, "allow_reserved": True})
        return Member(made["user"]["id"], unique, made)

    def staff(self, name: str, role: str = "moderator") -> Member:
        somebody = self.author(name)
        self._as_owner("POST", f"/v1/admin/sites/{self.site_id}/{role}s", {"user_id": somebody.id})
        return somebody

    async def desk(self, who: Member, at: str = "", **options: Any) -> "ModDesk":
        """Somebody of the staff before the page, as if they had signed in before."""
        visitor: Visitor = await self.visit(**options)
        desk = ModDesk(visitor.page, self.server.url.replace("127.0.0.1", "localhost"), visitor.complaints)
        came = await visitor.page.context.request.post(
            f"{desk.url}/v1/staff/session", headers={"origin": desk.url, **who.headers}
        )
        assert came.ok, await came.text()
        await desk.page.goto(f"{desk.url}/mod{at}")
        await expect(desk.button("Sign out")).to_be_visible()
        await desk.is_ready()
        return desk

    def claimed_by(self, asker: Member) -> list[str]:
        """Who is on something, as somebody of the staff is told."""
        queue = self.talk.call("GET", "/v1/moderation/queue", asker)
        return [item["claimed_by"]["name"] for item in queue["items"] if item.get("claimed_by")]

    def _as_owner(self, method: str, path: str, body: Any) -> Any:
        answer = self.talk.api.request(method, path, headers={"projectid": self.secret}, json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None


def newsroom(server: Server, visit: Any, api: httpx.Client, **settings: str) -> Newsroom:
    """Where everything waits, unless the settings say otherwise."""
    chosen = {"moderation_mode": "pre", "screening__repeated__enabled": "false", **settings}
    public, secret = make_site(server, **chosen)
    talk = Talk(api, f"https://news.example.org/{uuid.uuid4().hex[:6]}", public)
    return Newsroom(server, visit, talk, secret, talk.call("GET", "/v1/site")["id"])


@dataclass
class ModDesk(Desk):
    """A moderator's browser on `/mod`."""

    complaints: list[str]

    @property
    def cards(self) -> Locator:
        return self.page.locator("article.comment")

    def card(self, text: str) -> Locator:
        return self.page.locator("article.comment").filter(has_text=text).first

    async def go(self, view: str) -> None:
        await self.page.get_by_role("link", name=view).first.click()
        await expect(self.page.get_by_role("heading", level=1, name=view)).to_be_visible()
        await self.is_ready()

    async def is_live(self) -> None:
        await expect(self.page.locator(".live.on")).to_be_visible()

    def do(self, text: str, action: str) -> Locator:
        return self.card(text).get_by_role("button", name=action, exact=True)

    def toast(self, text: str) -> Locator:
        return self.page.locator(".toast").filter(has_text=text)

    def fits(self) -> Any:
        return self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    def is_silent(self, *expected: str) -> None:
        """The console has said nothing but the statuses that the test brought about; 401 is how the door is found."""
        allowed = [f"status of {status}" for status in ("401", *expected)]
        assert [said for said in self.complaints if not any(one in said for one in allowed)] == []
