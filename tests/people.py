"""People for tests: made through the public surface, each with their own token."""

import re
from dataclasses import dataclass
from typing import Any

import httpx

from threadkit.app import Application
from threadkit.sending.model import Mail, Sms
from threadkit.sites.model import NewSite


@dataclass
class Person:
    """Somebody signed in on a site."""

    http: httpx.AsyncClient
    key: str
    token: str
    id: str
    name: str
    refresh_token: str = ""

    @classmethod
    def of(cls, http: httpx.AsyncClient, key: str, answer: dict[str, Any]) -> "Person":
        user = answer["user"]
        return cls(http, key, answer["token"], user["id"], user["name"], answer.get("refresh_token", ""))

    async def call(self, method: str, path: str, body: Any = None) -> httpx.Response:
        headers = {"projectid": self.key, "authorization": f"Bearer {self.token}"}
        return await self.http.request(method, path, json=body, headers=headers)


async def create(http: httpx.AsyncClient, site: NewSite, name: str, email: str | None = None) -> Person:
    """A user made with the secret key, who may be called `owner` or `moderator` where a test is about one."""
    body = {"name": name, "email": email, "allow_reserved": True}
    answer = await http.post("/v1/admin/create-user", json=body, headers={"projectid": site.secret_key})
    assert answer.status_code == 200, answer.text
    return Person.of(http, site.site.api_key_public, answer.json())


async def guest(http: httpx.AsyncClient, site: NewSite, name: str | None = None) -> Person:
    answer = await post(http, site, "/v1/auth/anonymous", {"name": name})
    assert answer.status_code == 200, answer.text
    return Person.of(http, site.site.api_key_public, answer.json())


async def post(http: httpx.AsyncClient, site: NewSite, path: str, body: Any, **headers: str) -> httpx.Response:
    return await http.post(path, json=body, headers={"projectid": site.site.api_key_public} | headers)


class Letterbox:
    """What was sent, instead of sending it."""

    def __init__(self, app: Application) -> None:
        self.mails: list[Mail] = []
        self.texts: list[Sms] = []
        app.services.office.send_mail = lambda mail, **_: self.mails.append(mail)  # type: ignore[method-assign]
        app.services.office.send_sms = lambda sms, **_: self.texts.append(sms)  # type: ignore[method-assign]

    def newest_code(self) -> str:
        text = (self.mails or self.texts)[-1].text
        found = re.search(r"\b\d{6}\b", text)
        assert found, text
        return found[0]
