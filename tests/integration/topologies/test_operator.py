"""What the operator is told of a cluster and of a store behind Sentinel, and searches there."""

import httpx

from tests.integration.comments.test_comments import write
from tests.integration.topologies.nodes import on_both
from tests.people import create
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

pytestmark = on_both


async def test_every_node_reports_and_searches_find(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    mo = await create(http, new_site, "mo")
    await app.services.roles.grant(new_site.site.id, UserId(mo.id), Role.OWNER)
    await write(mo, "needle")
    report = await app.services.store_reports.newest()
    assert len(report.nodes) >= (3 if report.topology == "cluster" else 1)
    for node in report.nodes:
        assert node.memory_used
        assert node.aof_fsync
        assert node.slow is not None
    assert "comment:{comment_id}" in {family.pattern for family in report.families}
    found = (await mo.call("GET", f"/v1/admin/sites/{new_site.site.id}/comments?q=needle")).json()
    assert [item["comment"]["t"] for item in found["comments"]] == ["needle"]
    people = (await mo.call("GET", "/v1/moderation/users?q=mo")).json()["people"]
    assert [person["comments"] for person in people] == [1]
    for path in ("outbox", "limits", "store"):
        assert (await mo.call("GET", f"/v1/admin/server/{path}")).status_code == 200, path
