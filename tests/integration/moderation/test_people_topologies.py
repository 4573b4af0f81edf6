"""Bans, jobs and notes on a cluster, where a site's keys and a person's are on different nodes, and behind Sentinel."""

import httpx

from tests.integration.comments.test_comments import URL, write
from tests.integration.moderation.test_decisions import staff
from tests.integration.topologies.conftest import app, cluster, http, sentinel, topology
from tests.integration.topologies.nodes import on_both
from tests.make import ManualClock
from tests.people import create
from tests.wait import until
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.moderation.jobs import BATCH
from threadkit.sites.model import NewSite

__all__ = ["app", "cluster", "http", "sentinel", "topology"]
pytestmark = on_both
DRAFT = {"page_url": URL, "content": "may I?"}


async def test_people_are_banned_noted_and_their_comments_deleted_on_any_node(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    for number in range(BATCH + 1):
        await write(ada, f"comment {number}")
    assert (await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": 24})).status_code == 200
    assert (await ada.call("POST", "/v1/comments", DRAFT)).status_code == 403
    assert (await mo.call("POST", f"/v1/moderation/users/{ada.id}/notes", {"text": "hm"})).status_code == 200
    job = (await mo.call("POST", f"/v1/moderation/users/{ada.id}/delete-comments")).json()

    async def is_done() -> bool:
        await app.services.outbox.drain()
        return bool((await mo.call("GET", f"/v1/moderation/jobs/{job['id']}")).json()["state"] == "done")

    await until(is_done, "the job to end")
    card = (await mo.call("GET", f"/v1/moderation/users/{ada.id}")).json()
    assert (card["counts"]["lately"]["removed"], len(card["notes"]), card["ban"]["by"]) == (BATCH + 1, 1, mo.id)
    assert [entry["action"] for entry in card["log"]] == ["delete_comments_done", "delete_comments", "ban"]
    assert (await mo.call("POST", f"/v1/moderation/unban/{ada.id}")).status_code == 200
    user = await app.services.users.existing(UserId(ada.id))
    assert await app.services.everywhere.ban(user, is_on=True, by=None, reason=None)
    assert (await ada.call("POST", "/v1/comments", DRAFT)).status_code == 403
    user = await app.services.users.existing(UserId(ada.id))
    assert await app.services.everywhere.ban(user, is_on=False, by=None, reason=None)
    assert (await ada.call("POST", "/v1/comments", DRAFT)).status_code == 200
    assert (await ada.call("DELETE", "/v1/users/me")).status_code == 200
    assert await app.services.notes.about(new_site.site.id, UserId(ada.id)) == []
