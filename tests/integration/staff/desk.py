"""Somebody on the staff, with a password and a browser's cookie jar of their own."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.authenticator import Authenticator
from tests.make import ManualClock
from tests.people import Person, create
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role
from threadkit.users.second_step import totp

HERE = {"origin": "http://localhost:8080"}
PASSWORD = "correct horse battery"
OWN_ORIGIN = "http://localhost:8080"


async def employ(
    app: Application, http: httpx.AsyncClient, site: NewSite, name: str, role: Role = Role.MODERATOR
) -> Person:
    """With a role and a password."""
    person = await create(http, site, name, f"{name}@example.org")
    hashed = await app.services.passwords.hash(PASSWORD)
    await app.services.store.redis.set(app.services.keys.user(UserId(person.id)).password(), hashed)
    await app.services.roles.grant(site.site.id, UserId(person.id), role)
    return person


@dataclass
class Desk:
    http: httpx.AsyncClient
    site: NewSite
    name: str
    clock: ManualClock
    secret: str = ""

    async def call(self, method: str, path: str, body: Any = None) -> httpx.Response:
        return await self.http.request(method, f"/v1/staff/{path}", json=body, headers=HERE)

    async def said(self, method: str, path: str, body: Any = None) -> Any:
        answer = await self.call(method, path, body)
        assert answer.status_code == 200, answer.text
        return answer.json() if answer.content else None

    async def sign_in(self) -> Any:
        return await self.said("POST", "sign-in", {"email": f"{self.name}@example.org", "password": PASSWORD})

    async def token(self) -> str:
        return str((await self.said("POST", "token", {"site_id": self.site.site.id}))["token"])

    def code(self, *, steps: int = 0) -> str:
        step = self.clock.now_ms() // totp.STEP_MS + steps
        return totp.code_at(base64.b32decode(self.secret), step)

    def next_step(self) -> None:
        self.clock.advance(seconds=totp.STEP_MS / 1000)

    async def set_up_totp(self) -> list[str] | None:
        self.secret = (await self.said("POST", "totp"))["secret"]
        codes: list[str] | None = (await self.said("PUT", "totp", {"totp": self.code()}))["recovery_codes"]
        self.next_step()
        return codes

    async def add_passkey(self, name: str = "Phone", *, key: Authenticator | None = None) -> Authenticator:
        key = key or Authenticator(OWN_ORIGIN)
        credential = key.create(await self.said("POST", "passkeys/options"))
        await self.said("POST", "passkeys", {"name": name, "credential": credential})
        return key


@asynccontextmanager
async def at_desk(app: Application, site: NewSite, name: str, clock: ManualClock) -> AsyncIterator[Desk]:
    """A browser that nobody else uses."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://comments.test") as http:
        yield Desk(http, site, name, clock)


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]
