"""When a shadow ban is lifted, everybody sees what was written under it. S3-41."""

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import outline, read, write
from tests.integration.moderation.test_decisions import decide, queued, staff
from tests.integration.moderation.test_people import abroad
from tests.people import create
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.moderation import unshadowing
from threadkit.sites.model import NewSite, SiteSettings


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unshadowing, "BATCH", 2)


@pytest.mark.parametrize("way", ["lift", "undo"])
async def test_what_was_written_under_it_is_shown_and_told_of(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, way: str
) -> None:
    ada, bob, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site),
    )
    root = await write(bob, "root")
    banned = await mo.call("POST", f"/v1/moderation/shadowban/{ada.id}")
    first = await write(ada, "first")
    await write(ada, "to myself", under=[first["i"]])
    await write(ada, "to bob", under=[root["i"]])
    turned_down = await write(ada, "turned down")
    await decide(mo, "reject", turned_down["i"])
    alone = [await write(bob, "another"), await write(ada, "last")]
    assert outline(await read(http, new_site)) == ["root", "another"]
    log_before = await redis.xlen(f"site:{new_site.site.id}:modlog")
    if way == "lift":
        await mo.call("DELETE", f"/v1/moderation/shadowban/{ada.id}")
    else:
        await mo.call("POST", f"/v1/moderation/undo/{banned.headers['x-undo']}")
    await app.services.outbox.drain()
    assert outline(await read(http, new_site)) == [
        ("root", ["to bob"]),
        ("first", ["to myself"]),
        "another",
        "last",
    ]
    assert (await read(http, new_site))["total"] == 6
    assert await disagreements(redis) == []
    assert await redis.xlen(f"site:{new_site.site.id}:modlog") == log_before + 1, "one entry, for the ban"
    kinds = [one["notification_type"] for one in (await bob.call("GET", "/v1/notifications")).json()["notifications"]]
    assert kinds == ["reply"]
    told = [one["action"] for one in (await ada.call("GET", "/v1/notifications")).json()["notifications"]]
    assert told == ["reject"], "whoever was shadowed does not learn of it"
    assert (await ada.call("GET", f"/v1/users/{ada.id}")).json()["total_comments"] == 4
    await decide(mo, "approve", turned_down["i"])
    assert "turned down" in outline(await read(http, new_site))
    assert alone


async def test_what_was_held_waits_and_what_hangs_on_nothing_shown_stays_its_authors(
    app: Application, http: httpx.AsyncClient, redis: Redis
) -> None:
    settings = SiteSettings(moderation_mode="pre")
    site = await app.services.sites.create("Careful", "blog.example.org", settings=settings)
    ada, mo = await create(http, site, "ada"), await staff(app, http, site)
    root = await write(mo, "root")
    await mo.call("POST", f"/v1/moderation/shadowban/{ada.id}")
    held, orphan = await write(ada, "held"), await write(ada, "orphan", under=[root["i"]])
    await decide(mo, "approve", orphan["i"])
    assert await queued(mo) == []
    await decide(mo, "reject", root["i"])
    await mo.call("DELETE", f"/v1/moderation/shadowban/{ada.id}")
    await app.services.outbox.drain()
    assert await queued(mo) == [held["i"]]
    await decide(mo, "approve", held["i"])
    assert outline(await read(http, site)) == ["held"]
    await decide(mo, "approve", root["i"])
    await decide(mo, "approve", orphan["i"])
    assert outline(await read(http, site)) == [("root", ["orphan"]), "held"]
    assert await disagreements(redis) == []


async def test_a_ban_that_comes_back_stops_it_and_one_from_everywhere_counts_too(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    other = await app.services.sites.create("Other", "other.example", settings=new_site.site.settings)
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    far = await abroad(app, http, ada, other)
    user = await app.services.users.existing(UserId(ada.id))
    await app.services.everywhere.ban(user, is_on=True, by=None, reason=None, which="shadowban")
    for number in range(5):
        await write(ada, f"here {number}")
    await write(far, "there", url="https://other.example/")
    await mo.call("POST", f"/v1/moderation/shadowban/{ada.id}")
    user = await app.services.users.existing(UserId(ada.id))
    await app.services.everywhere.ban(user, is_on=False, by=None, reason=None, which="shadowban")
    await app.services.outbox.drain()
    assert outline(await read(http, new_site)) == [], "here there is a ban of its own"
    headers = {"projectid": other.site.api_key_public}
    there = await http.get("/v1/comments", params={"page_url": "https://other.example/"}, headers=headers)
    assert outline(there.json()) == ["there"]
    await mo.call("DELETE", f"/v1/moderation/shadowban/{ada.id}")
    await app.services.outbox.drain()
    assert (await read(http, new_site))["total"] == 5
    assert await disagreements(redis) == []
