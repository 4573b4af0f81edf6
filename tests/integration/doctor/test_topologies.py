"""The deep doctor on a cluster and behind Sentinel: a site's keys on one node, a person's on another."""

import httpx

from tests.integration.rebuild.test_topologies import populate
from tests.integration.topologies.conftest import app, cluster, http, sentinel, topology
from tests.integration.topologies.nodes import on_both
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.users.model import name_key

__all__ = ["app", "cluster", "http", "sentinel", "topology"]
pytestmark = on_both


async def test_everything_is_found_and_mended_wherever_it_is(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    services, redis = app.services, app.services.store.redis
    sites = [new_site, *[await services.sites.create(f"Site {n}", f"s{n}.example.org") for n in range(3)]]
    for site in sites:
        await populate(http, site)
    clean = await services.deep_doctor.run()
    assert (clean.found, clean.comments, clean.pages) == ([], 12, 4)

    for site in sites:
        keys, shared = services.keys.site(site.site.id), services.keys.shared
        root = (await redis.zrange(keys.comments(), 0, 0))[0]
        author = UserId(await redis.hget(keys.comment(root), "author_id"))
        person = services.keys.user(author)
        await redis.zrem(keys.comments_of(author), root)
        user = await services.user_queries.by_id(author)
        assert user is not None
        await redis.delete(shared.username(name_key(user.name)))
        await redis.set(person.unread(), "77")
        await redis.srem(person.sessions(), *await redis.smembers(person.sessions()))
        await redis.expire(keys.config(), 1000)
        await redis.delete(shared.api_key_site(site.site.api_key_public))
    found = await services.deep_doctor.run()
    assert {(tally.kind, tally.what): tally.count for tally in found.left} == {
        ("api_key", "missing"): 4,
        ("comments_of", "missing"): 4,
        ("sessions", "missing"): 4,
        ("site.config", "lifetime"): 4,
        ("unread", "value"): 4,
        ("username", "missing"): 4,
    }
    assert (await services.deep_doctor.run(is_repair=True)).exit_code == 0
    assert (await services.deep_doctor.run()).found == []
