"""A server with settings of one's choice, asked by somebody at an address of one's choice."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
import msgspec
from redis.asyncio import Redis

from threadkit.app import Application, create_app
from threadkit.clock import Clock, SystemClock
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.storage.bundled import BundledStore

VISITOR = "9.9.9.9"
PUBLIC = "https://comments.example.org"

Found = dict[str, dict[str, Any]]
Open = Callable[..., AbstractAsyncContextManager["Clinic"]]


class Clinic:
    def __init__(self, app: Application, site: NewSite) -> None:
        self.app = app
        self.site = site

    async def answer(self, *, peer: str = VISITOR, headers: dict[str, str] | None = None, **asked: Any) -> Any:
        return (await self.response(peer=peer, headers=headers, **asked)).json()

    async def response(
        self, *, peer: str = VISITOR, headers: dict[str, str] | None = None, **asked: Any
    ) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, client=(peer, 1234))
        async with httpx.AsyncClient(transport=transport, base_url=PUBLIC) as http:
            answer = await http.get(
                "/v1/admin/doctor", params=asked, headers={"projectid": self.site.secret_key} | (headers or {})
            )
            assert answer.status_code == 200, answer.text
            assert answer.headers["cache-control"] == "no-store"
            return answer

    async def ask(self, **asked: Any) -> Found:
        return by_id(await self.answer(**asked))

    async def state(self, check: str, **asked: Any) -> str:
        return str((await self.ask(**asked))[check]["state"])


def by_id(answer: Any) -> Found:
    found: Found = {check["id"]: check for check in answer["checks"]}
    for check in found.values():
        assert check["found"].endswith("."), check
        assert bool(check.get("fix")) or check["state"] in ("ok", "unknown"), check
    return found


def opener(redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring) -> Open:
    """Opens a clinic on the empty store; what is given changes the settings."""

    @asynccontextmanager
    async def opened(
        *, clock: Clock | None = None, auth: AuthSettings | None = None, **changes: Any
    ) -> AsyncIterator[Clinic]:
        await redis.flushall()
        chosen = msgspec.structs.replace(settings, **({"public_url": PUBLIC} | changes))
        app = create_app(chosen, bundled.address, keyring, clock=clock or SystemClock())
        async with app.lifespan():
            site_settings = SiteSettings(auth=auth or AuthSettings(anonymous=True))
            yield Clinic(app, await app.services.sites.create("Blog", "blog.example.org", settings=site_settings))

    return opened
