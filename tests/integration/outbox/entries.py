"""Entries for outboxes, handlers that fail when told to, and an owner who types commands."""

import asyncio
import json
from typing import Any

import httpx
from redis.asyncio import Redis

from tests.integration.server.program import Done, environment, run
from tests.people import Person
from threadkit.ids import SiteId
from threadkit.outbox.handlers import Event
from threadkit.settings import Settings
from threadkit.sites.model import NewSite


async def add(redis: Redis, site: NewSite, kind: str, *, key: str | None = None, **more: Any) -> str:
    """Append an event, as the scripts of comments and votes do."""
    event = json.dumps({"type": kind, **more})
    return str(await redis.xadd(key or f"site:{site.site.id}:outbox", {"event": event}))


async def numbers(http: httpx.AsyncClient, person: Person) -> tuple[int, int]:
    """Somebody's karma and total of comments, as everybody sees them."""
    profile = (await http.get(f"/v1/users/{person.id}", headers={"projectid": person.key})).json()
    return profile["karma"], profile["total_comments"]


class Flaky:
    """A handler that remembers its calls, and fails the first so many times."""

    def __init__(self, failures: int = 0, why: str = "the other side is away") -> None:
        self.failures = failures
        self.why = why
        self.calls: list[str] = []
        self.done: list[str] = []

    async def __call__(self, site_id: SiteId, entry_id: str, event: Event) -> None:
        self.calls.append(entry_id)
        if self.failures:
            self.failures -= 1
            raise RuntimeError(self.why)
        self.done.append(entry_id)


class Owner:
    def __init__(self, redis_url: str, settings: Settings) -> None:
        self._where = ["--redis-url", redis_url, "--data", settings.data]
        self._env = environment(THREADKIT_SECRET=settings.secret or "")

    async def types(self, *words: str) -> Done:
        return await asyncio.to_thread(run, *words, *self._where, env=self._env)

    async def reads(self, *words: str) -> Any:
        result = await self.types(*words, "--json")
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)
