"""One primary hangs: it is not dead, takes calls, and says nothing. Its sites are refused at once, and no others are."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import msgspec
import pytest

from tests.integration.topologies.nodes import on_cluster
from tests.integration.topologies.servers import Cluster, Server
from tests.integration.topologies.shards import everybody_at
from tests.people import Person
from tests.wait import until
from threadkit.app import Application
from threadkit.settings import LimitSettings, Settings, StoreTuning
from threadkit.sites.model import NewSite

pytestmark = [on_cluster, pytest.mark.prove]
HANGS_S = 1.5  # and not as long as the nodes are patient with each other
PER_SECOND = 30  # so in two seconds more than there are places
# What a request waits that began when nobody was waited for any more; a busy machine takes its time.
AT_ONCE_S = 0.25


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """As few places as a worker has by default, and as little patience."""
    return msgspec.structs.replace(settings, limits=LimitSettings(enabled=False), store=StoreTuning())


@contextlib.contextmanager
def hanging(server: Server) -> Iterator[None]:
    server.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.send_signal(signal.SIGCONT)


@dataclass
class Visitors:
    """People who come at an even pace, however long the others before them wait."""

    site: NewSite
    people: list[Person]
    answers: list[tuple[float, float, str]] = field(default_factory=list)
    """When each began, how long it took, and what was answered."""

    async def come(self, seconds: float) -> None:
        loop, visits = asyncio.get_running_loop(), []
        began = loop.time()
        for number in range(int(seconds * PER_SECOND)):
            await asyncio.sleep(max(0, began + number / PER_SECOND - loop.time()))
            visits.append(asyncio.create_task(self._visit(number)))
        await asyncio.gather(*visits)

    async def _visit(self, number: int) -> None:
        began = time.monotonic()
        page = {"page_url": f"https://{self.site.site.domain}/", "content": f"number {number} at {began}"}
        answer = await self.people[number % len(self.people)].call("POST", "/v1/comments", page)
        said = answer.json().get("code", "posted")
        assert said in ("posted", "store_unavailable", "busy"), answer.text
        self.answers.append((began, time.monotonic() - began, said))


async def test_a_primary_that_hangs_costs_the_sites_of_the_others_nothing(
    app: Application, http: httpx.AsyncClient, topology: Cluster
) -> None:
    ill, well = topology.servers[:2]
    here = Visitors(*await everybody_at(topology, app, http, ill, "here", count=4))
    elsewhere = Visitors(*await everybody_at(topology, app, http, well, "elsewhere", count=4))
    await asyncio.gather(here.come(0.3), elsewhere.come(0.3))
    assert {said for _, _, said in here.answers + elsewhere.answers} == {"posted"}
    began = time.monotonic()
    with hanging(ill):
        await asyncio.gather(here.come(HANGS_S), elsewhere.come(HANGS_S))
    assert {said for _, _, said in elsewhere.answers} == {"posted"}
    assert "store_unavailable" in {said for _, _, said in here.answers}
    late = [took for at, took, _ in here.answers if at > began + 0.5]
    assert late
    assert max(late) < AT_ONCE_S, "who comes to the shard that hangs is not told at once"

    async def is_back() -> bool:
        answer = await here.people[0].call("POST", "/v1/comments", {"page_url": here_page(here), "content": "back"})
        return answer.status_code == 200

    await until(is_back, "the shard to be asked again", seconds=5)


def here_page(visitors: Visitors) -> str:
    return f"https://{visitors.site.site.domain}/"
