"""Two ways to run the same server: in the test's own loop, and as the real program with two workers."""

import contextlib
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.folders import quick_folder
from tests.integration.live.ears import Ear, LiveServer
from tests.integration.server.program import Server, environment, run
from tests.integration.server.program import serving as program_serving
from tests.make import ManualClock
from tests.people import Person, create
from threadkit.ids import SiteId, new_uuid
from threadkit.sites.model import NewSite, Site

DOMAIN = "blog.example.org"


@dataclass
class House:
    """A server with a site, whichever way it runs."""

    site: NewSite
    web: httpx.AsyncClient
    port: int
    clock: ManualClock | None = None

    @property
    def key(self) -> str:
        return self.site.site.api_key_public

    async def create(self, name: str) -> Person:
        """Somebody whose name nobody else has."""
        return await create(self.web, self.site, f"{name}{new_uuid()[-8:]}")

    @contextlib.asynccontextmanager
    async def ear(self, person: Person | None = None, *, token: str | None = None) -> AsyncIterator[Ear]:
        """A socket that has been greeted."""
        async with LiveServer.at(self.port, self.key, person.token if person else token) as ear:
            method, params = await ear.hear()
            assert (method, params) == ("connected", {"user_id": person.id if person else None})
            yield ear

    def tick(self) -> None:
        """Let a little time pass where time stands still by itself."""
        if self.clock:
            self.clock.advance(seconds=0.2)

    async def metric(self, name: str) -> float:
        answer = await self.web.get("/metrics")
        assert answer.status_code == 200, answer.text
        found = re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)$", answer.text, re.MULTILINE)
        return float(found[1]) if found else 0.0


@dataclass
class Program:
    """`threadkit serve --workers 2`, and a site made on its command line."""

    server: Server
    site: NewSite


@contextlib.contextmanager
def two_workers(**env: str) -> Iterator[Program]:
    with quick_folder() as parent:
        folder = Path(parent) / "data"
        with program_serving(folder, "--workers", "2", env=environment(**env)) as server:
            made = run("site", "create", "Blog", DOMAIN, "auth.anonymous=yes", "--json", "--data", str(folder))
            assert made.returncode == 0, made.stderr
            found = json.loads(made.stdout)
            site = Site(
                id=SiteId(found["id"]),
                name=found["name"],
                domain=found["domain"],
                api_key_public=found["api_key_public"],
                api_key_secret="",
                created_at=found["created_at"],
            )
            yield Program(server, NewSite(site=site, secret_key=found["api_key_secret"]))
            assert "Traceback" not in server.said, server.said
