"""A rebuild and a re-ranking on a cluster and behind Sentinel: keys on several nodes, one site's on one."""

import httpx

from tests.integration.comments.test_comments import write
from tests.integration.comments.test_votes import vote
from tests.integration.topologies.conftest import app, cluster, http, sentinel, topology
from tests.integration.topologies.nodes import on_both
from tests.people import create
from tests.wait import until
from threadkit.app import Application
from threadkit.ids import new_uuid
from threadkit.sites.model import NewSite

__all__ = ["app", "cluster", "http", "sentinel", "topology"]
pytestmark = on_both


async def populate(http: httpx.AsyncClient, site: NewSite) -> list[str]:
    ada, eve = await create(http, site, f"ada {site.site.name}"), await create(http, site, f"eve {site.site.name}")
    root = str((await write(ada, "root"))["i"])
    reply = str((await write(eve, "reply", under=[root]))["i"])
    leaf = str((await write(ada, "leaf", under=[root, reply]))["i"])
    await vote(eve, root, "up")
    await eve.call("DELETE", f"/v1/comments/{reply}")
    return [root, reply, leaf]


async def test_every_site_is_put_right_wherever_its_keys_are(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    services, redis = app.services, app.services.store.redis
    sites = [new_site, *[await services.sites.create(f"Site {n}", f"s{n}.example.org") for n in range(4)]]
    for site in sites:
        await populate(http, site)
    assert (await services.rebuild.run(is_check=True)).tallies == []
    for site in sites:
        keys = services.keys.site(site.site.id)
        root, reply, leaf = await redis.zrange(keys.comments(), 0, -1)
        page_id = await redis.hget(keys.comment(root), "page_id")
        await redis.delete(keys.page_new(page_id))
        await redis.zadd(keys.replies(reply), {new_uuid(): 1})
        await redis.hset(keys.comment(leaf), "depth", "7")
        await redis.set(keys.roots(page_id, "hot"), "no index any more")
    checked = await services.rebuild.run(is_check=True)
    assert {(tally.kind, tally.what): tally.count for tally in checked.tallies} == {
        ("page_new", "missing"): 15,
        ("page comments", "value"): 5,
        ("replies", "stray"): 5,
        ("reply_count", "value"): 5,
        ("depth", "value"): 5,
        ("roots:hot", "type"): 5,
    }
    assert (checked.comments, checked.pages, checked.votes) == (15, 5, 5)
    assert (await services.rebuild.run()).is_clean
    assert (await services.rebuild.run(is_check=True)).tallies == []


async def test_a_changed_formula_reaches_the_scores(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    services, redis = app.services, app.services.store.redis
    root, _, _ = await populate(http, new_site)
    keys = services.keys.site(new_site.site.id)
    index = keys.page_hot(await redis.hget(keys.comment(root), "page_id"))
    before = await redis.zscore(index, root)
    await services.sites.change(new_site.site.id, settings={"hot.decay_s": 3600})

    async def is_anew() -> bool:
        return bool(await redis.zscore(index, root) != before)

    await until(is_anew, "the new scores")

    async def agrees() -> bool:
        return (await services.rebuild.run(is_check=True)).tallies == []

    await until(agrees, "all scores to be of the new formula")
