"""The operator looks after the outboxes over HTTP, with what `threadkit outbox` does."""

from typing import Any

import httpx
from redis.asyncio import Redis

from tests.integration.outbox.entries import Flaky, add
from threadkit.app import Application
from threadkit.sites.model import NewSite

PATH = "/v1/admin/server/outbox"


async def call(http: httpx.AsyncClient, site: NewSite, method: str, rest: str = "") -> httpx.Response:
    return await http.request(method, f"{PATH}{rest}", headers={"projectid": site.secret_key})


async def look(http: httpx.AsyncClient, site: NewSite, rest: str = "") -> Any:
    answer = await call(http, site, "GET", rest)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_what_waits_is_tried_again_and_is_dead(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    assert await look(http, new_site) == {
        "waiting": 0,
        "retrying": 0,
        "dead": 0,
        "oldest_waits_since": None,
        "oldest_waits_s": None,
        "sites": [],
        "letters": [],
        "next": None,
    }
    app.services.outbox.handlers.on("rang", "bell", Flaky(failures=9))
    for kind in ("rang", "strange"):
        await add(redis, new_site, kind, text="something private")
    await app.services.outbox.drain()
    await add(redis, new_site, "rang")
    found = await look(http, new_site)
    assert (found["waiting"], found["retrying"], found["dead"]) == (1, 1, 1)
    assert found["oldest_waits_since"].endswith("Z")
    [site] = found["sites"]
    assert (site["site"], site["waiting"], site["dead"]) == ("Blog", 1, 1)
    [letter] = found["letters"]
    assert (letter["kind"], letter["tries"]) == ("strange", 0)
    assert letter["why"]
    assert "something private" not in str(found)


async def test_letters_of_all_sites_are_paged_newest_first(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    for number in (1, 2, 3):
        for site in (new_site, other):
            await redis.xadd(f"site:{site.site.id}:outbox:dead", {"event": "{}", "why": f"{number}"}, id=f"{number}-0")
    seen, rest = [], "?limit=2"
    while True:
        found = await look(http, new_site, rest)
        seen += [(letter["id"], letter["site_id"]) for letter in found["letters"]]
        if found["next"] is None:
            break
        rest = f"?limit=2&cursor={found['next']}"
    sites = sorted((new_site.site.id, other.site.id), reverse=True)
    assert seen == [(f"{number}-0", site) for number in (3, 2, 1) for site in sites]
    assert (await call(http, new_site, "GET", "?cursor=nonsense")).status_code == 400

    assert (await call(http, new_site, "DELETE", "/1-0")).json()["code"] == "dead_letter_ambiguous"
    assert (await call(http, new_site, "DELETE", f"/1-0?site_id={other.site.id}")).status_code == 204
    assert (await call(http, new_site, "DELETE", "/1-0")).status_code == 204, "now there is one of this id"
    assert (await call(http, new_site, "DELETE", "/1-0")).json()["code"] == "dead_letter_not_found"
    assert (await call(http, new_site, "POST", "/x/retry")).status_code == 400


async def test_letters_are_put_back_one_or_all(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    bell = Flaky()
    for _ in range(3):
        await add(redis, new_site, "rang")
    await app.services.outbox.drain()
    letters = (await look(http, new_site))["letters"]
    app.services.outbox.handlers.on("rang", "bell", bell)
    one = (await call(http, new_site, "POST", f"/{letters[0]['id']}/retry")).json()
    assert one == {"put_back": 1, "left": 2}
    assert (await call(http, new_site, "POST", "/retry-all")).json() == {"put_back": 2, "left": 0}
    await app.services.outbox.drain()
    assert len(bell.done) == 3
    assert (await call(http, new_site, "POST", "/retry-all")).json() == {"put_back": 0, "left": 0}
