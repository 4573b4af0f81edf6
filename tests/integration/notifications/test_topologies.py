"""People are told on a cluster, where a user's keys are on another node than the site's, and behind Sentinel."""

import httpx

from tests.integration.comments.test_comments import write
from tests.integration.comments.test_votes import vote
from tests.integration.notifications.inbox import answer, inbox, settle, told
from tests.integration.topologies.conftest import app, cluster, http, sentinel, topology
from tests.integration.topologies.nodes import all_text, on_both
from tests.integration.topologies.servers import Topology
from tests.people import create
from threadkit.app import Application
from threadkit.sites.model import NewSite

__all__ = ["app", "cluster", "http", "sentinel", "topology"]
pytestmark = on_both


async def test_all_of_it_from_being_told_to_leaving(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, topology: Topology
) -> None:
    ada, eve, bob = [await create(http, new_site, name) for name in ("ada", "eve", "bob")]
    root = await write(ada, "root")
    reply = await answer(eve, root, "hello @bob")
    for voter in (eve, bob):
        await vote(voter, root["i"], "up")
    await settle(app)
    assert sorted(await told(ada)) == [("reply", "hello @bob"), ("upvote", "root")]
    assert await told(bob) == [("mention", "hello @bob")]
    notices = (await inbox(ada))["notifications"]
    assert [one["count"] for one in notices if one["notification_type"] == "upvote"] == [2]
    assert (await ada.call("POST", f"/v1/notifications/{notices[0]['id']}/read")).status_code == 200
    assert (await inbox(ada))["unread_count"] == 1
    assert (await ada.call("POST", "/v1/notifications/read")).status_code == 200
    assert (await ada.call("DELETE", f"/v1/notifications/{notices[1]['id']}")).status_code == 204
    await eve.call("PUT", "/v1/notifications/settings", {"reply": False})
    await eve.call("DELETE", f"/v1/comments/{reply['i']}")
    await vote(bob, root["i"], "up")
    await settle(app)
    assert await told(bob) == []
    assert (await bob.call("DELETE", "/v1/users/me")).status_code == 200
    await settle(app)
    assert bob.id not in await all_text(topology)
