"""What is special about Sentinel: the primary may die, and a sentinel too."""

import time
from collections.abc import Iterator

import httpx
import pytest

from tests.integration.comments.test_comments import URL, outline, read, write
from tests.integration.topologies.nodes import hears_of_changes, on_sentinel
from tests.integration.topologies.servers import MASTER, SentinelGroup, free_ports, has_all_of, running
from tests.people import create
from tests.wait import until
from threadkit.app import Application
from threadkit.settings import StoreTuning
from threadkit.sites.model import NewSite
from threadkit.storage.client import Store, parse_url


@pytest.fixture(scope="module")
def doomed() -> Iterator[SentinelGroup]:
    """One whose primary does not live to see the end."""
    with running(SentinelGroup) as group:
        yield group


@on_sentinel
async def test_a_dead_sentinel_is_passed_over(topology: SentinelGroup) -> None:
    (nobody,) = free_ports(1)
    url = f"redis+sentinel://127.0.0.1:{nobody},127.0.0.1:{topology.sentinels[0].port}/{MASTER}/0"
    store = Store(parse_url(url), StoreTuning())
    started = time.monotonic()
    try:
        assert await store.ping()
    finally:
        await store.close()
    assert time.monotonic() - started < 1


@pytest.mark.parametrize("topology", ["doomed"], indirect=True)
async def test_when_the_primary_is_killed_writing_goes_on_and_nothing_is_lost(
    app: Application,
    other: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    topology: SentinelGroup,
) -> None:
    assert await other.services.site_queries.opened_by(new_site.site.api_key_public)
    ada = await create(http, new_site, "ada")
    before = await write(ada, "before")
    await until(lambda: has_all_of(topology.replica, topology.primary), "the replica to have it all")
    refused = 0
    headers = {"projectid": ada.key, "authorization": f"Bearer {ada.token}", "idempotency-key": "after-the-fall"}

    async def is_taken() -> bool:
        nonlocal refused
        body = {"page_url": URL, "content": "after", "parent_path": [before["i"]]}
        answer = await http.post("/v1/comments", json=body, headers=headers)
        if answer.status_code == 200:
            return True
        assert answer.status_code == 503, answer.text
        assert int(answer.headers["retry-after"]) > 0
        refused += 1
        return False

    topology.primary.kill()
    await until(is_taken, "a comment to be taken", seconds=10)
    assert refused
    topology.primary = topology.replica
    assert outline(await read(http, new_site)) == [("before", ["after"])]
    await hears_of_changes(other, app, new_site)
