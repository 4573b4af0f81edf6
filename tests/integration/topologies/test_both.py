"""The whole way of a comment on a cluster and behind Sentinel."""

import asyncio

import httpx

from tests.integration.comments.test_comments import outline, read, write
from tests.integration.comments.test_votes import vote
from tests.integration.topologies.nodes import all_keys, all_text, hears_of_changes, on_both
from tests.integration.topologies.servers import Topology
from tests.people import Person, create, guest
from tests.wait import until
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.settings import StoreTuning
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role
from threadkit.storage.client import Store, parse_url
from threadkit.storage.stamp import SCHEMA_VERSION

pytestmark = on_both


async def karma(person: Person) -> int:
    return int((await person.call("GET", "/v1/users/me")).json()["karma"])


async def settle(app: Application, site: NewSite) -> None:
    """Wait until what was done has had its effect on people."""
    outbox = app.services.keys.site(site.site.id).outbox()

    async def is_empty() -> bool:
        return not await app.services.store.redis.xlen(outbox)

    await until(is_empty, "the outbox to be empty")


async def test_the_store_is_checked_and_stamped_at_the_start(app: Application) -> None:
    assert app.services.health.found_at_start is not None
    assert app.services.health.found_at_start.risks == []
    stamp = await app.services.store.redis.hgetall(app.services.keys.shared.stamp())
    assert stamp["schema_version"] == str(SCHEMA_VERSION)
    assert await app.services.store.ping()
    await app.services.health.measure()
    checks = await app.services.health.checks(live_updates=True)
    assert (checks.redis_reachable, checks.redis_writable, checks.can_be_lost) == (True, True, [])


async def test_a_changed_setting_reaches_the_other_workers(
    app: Application, other: Application, new_site: NewSite
) -> None:
    for key in (new_site.site.api_key_public, new_site.secret_key):
        opened = await other.services.site_queries.opened_by(key)
        assert opened is not None
        assert opened.site.id == new_site.site.id
    await hears_of_changes(other, app, new_site)


async def test_keys_of_a_site_can_be_changed(app: Application, new_site: NewSite) -> None:
    sites, queries = app.services.sites, app.services.site_queries
    renewed = await sites.rotate_secret_key(new_site.site.id)
    public = await sites.rotate_public_key(new_site.site.id)
    await sites.rotate_public_key(new_site.site.id)
    assert await queries.opened_by(new_site.secret_key) is None
    assert await queries.opened_by(renewed.secret_key) is not None
    assert await queries.opened_by(public.api_key_public) is not None
    assert await queries.opened_by(new_site.site.api_key_public) is not None


async def test_comments_votes_and_karma(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada, visitor = await create(http, new_site, "ada", "ada@example.org"), await guest(http, new_site)
    root = await write(ada, "root")
    reply = await write(visitor, "reply", under=[str(root["i"])])
    deep = await write(ada, "deep @ada", under=[str(root["i"]), str(reply["i"])])
    for sort in ("new", "old", "top", "hot", "controversial"):
        assert outline(await read(http, new_site, sort=sort)) == [("root", [("reply", ["deep @ada"])])]
    counts = await vote(visitor, root["i"], "up")
    assert (counts["upvotes"], counts["downvotes"], counts["user_vote"]) == (1, 0, "up")

    async def has_karma() -> bool:
        return await karma(ada) == 1

    await until(has_karma, "karma to arrive")
    edited = await ada.call("PUT", f"/v1/comments/{root['i']}", {"content": "root, edited"})
    assert (edited.status_code, edited.json()["t"]) == (200, "root, edited")
    assert (await visitor.call("DELETE", f"/v1/comments/{reply['i']}")).status_code == 204
    assert outline(await read(http, new_site)) == [("root, edited", [("[deleted]", ["deep @ada"])])]
    assert (await ada.call("DELETE", f"/v1/comments/{deep['i']}")).status_code == 204
    assert outline(await read(http, new_site)) == ["root, edited"]
    await settle(app, new_site)


async def test_sessions_are_listed_and_ended(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    assert len((await ada.call("GET", "/v1/users/me/sessions")).json()["sessions"]) == 1
    assert (await ada.call("DELETE", "/v1/users/me/sessions")).status_code == 200
    assert (await ada.call("GET", "/v1/users/me")).status_code == 401


async def test_roles_are_given_changed_and_taken(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    roles, site_id = app.services.roles, new_site.site.id
    ada = UserId((await create(http, new_site, "ada")).id)
    await roles.grant(site_id, ada, Role.MODERATOR)
    await roles.grant(site_id, ada, Role.OWNER)
    assert await roles.staff(site_id) == [(ada, Role.OWNER)]
    assert await roles.revoke(site_id, ada) is True
    assert await roles.revoke(site_id, ada) is False
    assert await roles.staff(site_id) == []


async def test_who_leaves_leaves_no_trace(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, topology: Topology
) -> None:
    ada, eve = await create(http, new_site, "ada", "ada@example.org"), await create(http, new_site, "eve")
    root = await write(eve, "root")
    await write(ada, "answer", under=[str(root["i"])])
    await vote(ada, root["i"], "up")
    await ada.call("POST", f"/v1/users/{eve.id}/block")
    await eve.call("POST", f"/v1/users/{ada.id}/block")
    await app.services.roles.grant(new_site.site.id, UserId(ada.id), Role.ADMIN)
    await settle(app, new_site)
    assert ada.id in await all_text(topology)
    assert (await ada.call("DELETE", "/v1/users/me")).json() == {"comments_deleted": 1, "votes_deleted": 1}
    text = await all_text(topology)
    assert eve.id in text
    for trace in (ada.id, "ada@example.org"):
        assert trace not in text
    assert outline(await read(http, new_site)) == [("root", ["answer"])]


async def test_two_hundred_commands_at_once_wait_their_turn(topology: Topology) -> None:
    store = Store(parse_url(topology.url), StoreTuning(connections=4))

    async def command(number: int) -> object:
        if number % 2:
            return await store.redis.execute_command("EVAL", "return 1", 1, f"key {number}")
        async with store.redis.pipeline(transaction=False) as pipe:
            for other in range(5):
                pipe.exists(f"key {number} {other}")
            return sum(await pipe.execute())

    try:
        answers = await asyncio.gather(*(command(number) for number in range(200)))
    finally:
        await store.close()
    assert answers == [0, 1] * 100
    assert sum(len(keys) for keys in await all_keys(topology)) == 0
