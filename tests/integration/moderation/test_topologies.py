"""The queue on a cluster, where a site's keys are on one node, and behind Sentinel."""

import asyncio

import httpx

from tests.integration.comments.test_comments import outline, read, write
from tests.integration.live.ears import serving
from tests.integration.moderation.test_claims import claim, listening
from tests.integration.moderation.test_decisions import decide, queued, staff
from tests.integration.topologies.conftest import app, cluster, http, sentinel, topology
from tests.integration.topologies.nodes import on_both
from tests.people import create
from threadkit.app import Application
from threadkit.sites.model import SiteSettings

__all__ = ["app", "cluster", "http", "sentinel", "topology"]
pytestmark = on_both


async def test_claiming_deciding_many_deleting_and_undoing(app: Application, http: httpx.AsyncClient) -> None:
    settings = SiteSettings(moderation_mode="pre")
    site = await app.services.sites.create("Careful", "blog.example.org", settings=settings)
    ada, mo = await create(http, site, "ada"), await staff(app, http, site)
    root = await write(mo, "root")
    under = [root["i"]]
    ids = [one["i"] for one in await asyncio.gather(*(write(ada, f"{n}", under=under) for n in range(120)))]
    async with serving(app) as live, listening(live, mo) as ear:
        assert (await claim(mo, ids[0])).status_code == 200
        assert (await ear.heard("claimed"))["queue"] == 120
        answer = await mo.call("POST", "/v1/moderation/bulk", {"action": "approve", "ids": ids})
        assert (set(answer.json()["done"]), answer.json()["failed"]) == (set(ids), {})
        await ear.until_queue_is(0)
    assert await queued(mo) == []
    thread = await read(http, site)
    assert thread["total"] == 121
    deleted = [await decide(mo, "delete", comment_id) for comment_id in (ids[0], root["i"])]
    assert outline(await read(http, site))[0][0] == "[deleted]"
    for done in deleted:
        assert (await mo.call("POST", f"/v1/moderation/undo/{done['undo']}")).status_code == 200
    assert (await read(http, site))["tree"]["c"] == thread["tree"]["c"]
