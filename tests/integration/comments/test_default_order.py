"""`sort=default`: the order that a site has chosen, for clients that ask before they know it."""

from typing import Any

import httpx
import pytest

from tests.integration.comments.test_comments import URL, write
from tests.integration.comments.test_reading import warm
from tests.make import ManualClock
from tests.people import create
from threadkit.app import Application
from threadkit.sites.model import NewSite

BOTH_WAYS = pytest.mark.parametrize("more", [{}, {"authorization": "Bearer nobody"}], ids=["fast lane", "ordinary way"])


async def get(http: httpx.AsyncClient, site: NewSite, more: dict[str, str], **asked: Any) -> httpx.Response:
    headers = {"projectid": site.site.api_key_public} | more
    return await http.get("/v1/comments", params={"page_url": URL} | asked, headers=headers)


def texts(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [comment["t"] for comment in answer.json()["tree"]["c"]]


@pytest.fixture
async def talk(app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock) -> None:
    ada = await create(http, new_site, "ada")
    for text in ("first", "second", "third"):
        await write(ada, text)
        clock.advance(seconds=2)
    await warm(app, http, new_site)


@BOTH_WAYS
@pytest.mark.parametrize("asked", [{}, {"limit": 25}], ids=["all", "window"])
async def test_it_is_what_the_site_says_now(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    clock: ManualClock,
    talk: None,
    more: dict[str, str],
    asked: dict[str, int],
) -> None:
    for chosen, expected in (
        ("old", ["first", "second", "third"]),
        ("new", ["third", "second", "first"]),
        ("old", ["first", "second", "third"]),
    ):
        await app.services.sites.change(new_site.site.id, settings={"display.default_sort": chosen})
        clock.advance(seconds=20)
        assert texts(await get(http, new_site, more, sort="default", **asked)) == expected
        assert texts(await get(http, new_site, more, sort="default", **asked)) == expected


@BOTH_WAYS
async def test_an_etag_does_not_outlive_the_order(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, talk: None, more: dict[str, str]
) -> None:
    await app.services.sites.change(new_site.site.id, settings={"display.default_sort": "old"})
    clock.advance(seconds=20)
    etag = (await get(http, new_site, more, sort="default")).headers["etag"]
    known = more | {"if-none-match": etag}
    assert (await get(http, new_site, known, sort="default")).status_code == 304
    await app.services.sites.change(new_site.site.id, settings={"display.default_sort": "new"})
    clock.advance(seconds=20)
    assert texts(await get(http, new_site, known, sort="default")) == ["third", "second", "first"]


@BOTH_WAYS
async def test_who_names_no_order_still_gets_the_newest_first(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, talk: None, more: dict[str, str]
) -> None:
    await app.services.sites.change(new_site.site.id, settings={"display.default_sort": "old"})
    clock.advance(seconds=20)
    assert texts(await get(http, new_site, more)) == ["third", "second", "first"]


@BOTH_WAYS
async def test_one_can_read_on_in_it(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, talk: None, more: dict[str, str]
) -> None:
    await app.services.sites.change(new_site.site.id, settings={"display.default_sort": "old"})
    clock.advance(seconds=20)
    cursor = (await get(http, new_site, more, sort="default", limit=2)).json()["next"]
    for order in ("default", "old"):
        assert texts(await get(http, new_site, more, sort=order, cursor=cursor)) == ["third"]
    assert (await get(http, new_site, more, sort="top", cursor=cursor)).status_code == 400


async def test_replies_come_in_it_too(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada = await create(http, new_site, "ada")
    root = await write(ada, "root")
    for text in ("first", "second"):
        await write(ada, text, under=[root["i"]])
        clock.advance(seconds=2)
    await app.services.sites.change(new_site.site.id, settings={"display.default_sort": "old"})
    clock.advance(seconds=20)
    answer = await http.get(
        f"/v1/comments/{root['i']}/replies?sort=default", headers={"projectid": new_site.site.api_key_public}
    )
    assert [reply["t"] for reply in answer.json()["replies"]] == ["first", "second"]
