"""The read path: ETag, 304, HEAD, compression, and the fast lane that must give the ordinary answers."""

import asyncio
import contextlib
import gzip
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import URL, read, write
from tests.integration.comments.test_votes import vote
from tests.make import ManualClock
from tests.people import Person, create
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.comments.snapshots import Snapshots
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore


async def get(http: httpx.AsyncClient, site: NewSite, method: str = "GET", **headers: str) -> httpx.Response:
    return await http.request(
        method,
        "/v1/comments",
        params={"page_url": URL, "sort": "top"},
        headers={"projectid": site.site.api_key_public}
        | {name.replace("_", "-"): value for name, value in headers.items()},
    )


async def warm(app: Application, http: httpx.AsyncClient, site: NewSite) -> None:
    """Let the worker know the key, so that the fast lane takes the next request."""
    await until(lambda: app.services.listener.is_listening, "the listener")
    await get(http, site)
    assert app.services.site_queries.remembered(site.site.api_key_public)


@contextlib.asynccontextmanager
async def another_worker(
    bundled: BundledStore, settings: Settings, keyring: Keyring, clock: ManualClock
) -> AsyncIterator[httpx.AsyncClient]:
    """Its writes are not known here at once, as those of this worker are."""
    second = create_app(settings, bundled.address, keyring, clock=clock)
    async with second.lifespan():
        transport = httpx.ASGITransport(second)
        async with httpx.AsyncClient(transport=transport, base_url="http://second") as client:
            yield client


async def test_an_etag_is_good_until_the_page_changes(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    comment = await write(ada, "hi")
    await warm(app, http, new_site)
    first = await get(http, new_site)
    etag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    for given in (etag, f"W/{etag}", f'"other", {etag}'):
        same = await get(http, new_site, if_none_match=given)
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    for change in (
        vote(eve, comment["i"], "up"),
        ada.call("PUT", f"/v1/comments/{comment['i']}", {"content": "changed"}),
        write(eve, "another"),
        ada.call("DELETE", f"/v1/comments/{comment['i']}"),
    ):
        await change
        after = await get(http, new_site, if_none_match=etag)
        assert after.status_code == 200
        assert after.headers["etag"] != etag
        etag = after.headers["etag"]


async def test_head_and_compression(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "long " * 300)
    await warm(app, http, new_site)
    plain = await get(http, new_site, accept_encoding="identity")
    head = await get(http, new_site, "HEAD", accept_encoding="identity")
    assert (head.content, head.headers["content-length"]) == (b"", str(len(plain.content)))
    async with http.stream(
        "GET",
        "/v1/comments",
        params={"page_url": URL, "sort": "top"},
        headers={"projectid": new_site.site.api_key_public, "accept-encoding": "gzip"},
    ) as packed:
        raw = b"".join([part async for part in packed.aiter_raw()])
    assert packed.headers["content-encoding"] == "gzip"
    assert "accept-encoding" in packed.headers["vary"]
    assert gzip.decompress(raw) == plain.content
    assert len(raw) < len(plain.content) / 2


@pytest.mark.parametrize(
    ("accepted", "is_packed"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("deflate,gzip; q=1.0", True),
        ("gzip;q=0", False),
        ("br, gzip; q=0.000", False),
        ("x-gzipped", False),
        ("identity", False),
    ],
)
async def test_only_who_takes_gzip_gets_it(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, accepted: str, is_packed: bool
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "long " * 300)
    await warm(app, http, new_site)
    answer = await get(http, new_site, accept_encoding=accepted)
    assert ("content-encoding" in answer.headers) == is_packed


@pytest.mark.parametrize("limit", ["1", "100", "0", "101", "01", "+1", "%2B1", "1e1", "%D9%A3", "1_0", "", "00"])
async def test_a_number_is_read_the_same_on_both_ways(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, limit: str
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "hi")
    await warm(app, http, new_site)
    headers = {"projectid": new_site.site.api_key_public}
    path = f"/v1/comments?page_url={URL}&limit={limit}"
    ordinary = await http.get(path, headers=headers | {"authorization": "Bearer nobody"})
    fast = await http.get(path, headers=headers)
    assert fast.status_code == ordinary.status_code
    if fast.status_code == 200:
        assert fast.json() == ordinary.json()


async def test_the_fast_lane_answers_like_the_ordinary_way(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "hi")
    ordinary = await get(http, new_site, authorization="Bearer nobody")
    await warm(app, http, new_site)
    fast = await get(http, new_site, accept_encoding="identity")
    assert fast.content == ordinary.content
    volatile = {"x-request-id", "content-length", "content-encoding"}
    assert {name: value for name, value in fast.headers.items() if name not in volatile} == {
        name: value for name, value in ordinary.headers.items() if name not in volatile
    }
    allowed = await get(http, new_site, origin="https://blog.example.org")
    assert allowed.headers["access-control-allow-origin"] == "https://blog.example.org"
    assert (await get(http, new_site, origin="https://evil.example")).status_code == 403
    assert (await get(http, new_site, origin="null")).status_code == 403
    revoked = await app.services.sites.rotate_public_key(new_site.site.id, grace_s=0)
    assert (await get(http, new_site)).status_code == 401
    assert revoked.api_key_public != new_site.site.api_key_public


async def test_hidden_comments_change_no_public_byte(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    """T1: the same page with and without what is hidden."""
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    await write(ada, "public")
    await redis.sadd(f"site:{new_site.site.id}:shadowbanned", eve.id)
    await app.services.sites.change(new_site.site.id, settings={"moderation_mode": "pre"})
    await warm(app, http, new_site)
    before = await get(http, new_site)
    await write(eve, "shadowed")
    await write(ada, "pending")
    clock.advance(seconds=2)
    after = await get(http, new_site)
    assert (after.content, after.headers["etag"]) == (before.content, before.headers["etag"])
    assert (await read(http, new_site, person=ada))["total"] == 2
    own = await get(http, new_site, authorization=f"Bearer {ada.token}")
    assert own.headers["cache-control"] == "private, no-store"


async def test_another_worker_sees_a_change_within_a_second(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
    clock: ManualClock,
) -> None:
    async with another_worker(bundled, settings, keyring, clock) as other:
        ada = await create(http, new_site, "ada")
        assert (await read(other, new_site))["total"] == 0
        await write(ada, "hi")
        assert (await read(http, new_site))["total"] == 1, "the writer's worker at once"
        clock.advance(seconds=1)
        assert (await read(other, new_site))["total"] == 1


async def test_after_events_were_missed_readers_do_not_get_what_was_kept(
    app: Application,
    http: httpx.AsyncClient,
    redis: Redis,
    new_site: NewSite,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are told to look again as soon as events are heard again, which may be within the second."""
    monkeypatch.setattr(Snapshots, "_hear", lambda *_: None)
    ada = await create(http, new_site, "ada")
    await warm(app, http, new_site)
    gaps: list[bool] = []
    app.services.listener.on_back(lambda channels: gaps.append(any("page:" in one for one in channels)))
    async with another_worker(bundled, settings, keyring, clock) as other:
        assert (await read(http, new_site))["total"] == 0
        await until(lambda: not app.services.snapshots._watching, "the page's channel")
        writer = Person.of(other, ada.key, {"user": {"id": ada.id, "name": ada.name}, "token": ada.token})
        await write(writer, "not heard of")
        assert (await read(http, new_site))["total"] == 0
        await redis.client_kill_filter(_type="pubsub")
        await until(lambda: any(gaps), "the page's channel to be heard again")
        assert (await read(http, new_site))["total"] == 1


async def test_readers_during_a_storm_of_writes_see_whole_states(
    http: httpx.AsyncClient,
    new_site: NewSite,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
    clock: ManualClock,
) -> None:
    """Every write raises the page's version by one, so a version says exactly what must be seen with it."""
    ada = await create(http, new_site, "ada")
    done = asyncio.Event()
    seen: list[tuple[int, list[str]]] = []

    async def reader(**window: int) -> None:
        while not done.is_set():
            answer = await http.get(
                "/v1/comments",
                params={"page_url": URL, "sort": "old", **window},
                headers={"projectid": new_site.site.api_key_public},
            )
            thread = answer.json()
            if "unsettled" not in answer.headers["etag"]:
                seen.append((thread.get("version", 0), [node["t"] for node in thread["tree"]["c"]]))
            clock.advance(seconds=1)  # what lies ready is looked at again each time
            await asyncio.sleep(0)

    async with another_worker(bundled, settings, keyring, clock) as other:
        writer = Person.of(other, ada.key, {"user": {"id": ada.id, "name": ada.name}, "token": ada.token})
        states: list[list[str]] = [[]]
        readers = [asyncio.create_task(reader()), asyncio.create_task(reader(limit=100))]
        for number in range(20):
            comment = await write(writer, f"{number}, first")
            states.append([*states[-1], comment["t"]])
            edited = await writer.call("PUT", f"/v1/comments/{comment['i']}", {"content": f"{number}, then"})
            assert edited.status_code == 200, edited.text
            states.append([*states[-1][:-1], edited.json()["t"]])
            if number % 3 == 0:
                await writer.call("DELETE", f"/v1/comments/{comment['i']}")
                states.append(states[-1][:-1])
        done.set()
        await asyncio.gather(*readers)
    assert len({version for version, _ in seen}) > 5, "the readers were there while it happened"
    assert [(version, texts) for version, texts in seen if texts != states[version]] == []


async def test_a_reader_who_never_finds_a_quiet_moment_leaves_nothing_to_those_after_them(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
    clock: ManualClock,
) -> None:
    ada = await create(http, new_site, "ada")
    page_comments = app.services.comment_queries.page_comments
    async with another_worker(bundled, settings, keyring, clock) as other:
        writer = Person.of(other, ada.key, {"user": {"id": ada.id, "name": ada.name}, "token": ada.token})

        async def interrupted(*args: Any, **kwargs: Any) -> Any:
            found = await page_comments(*args, **kwargs)
            await write(writer, "meanwhile")
            return found

        app.services.comment_queries.page_comments = interrupted  # type: ignore[method-assign]
        hurried = await get(http, new_site)
        app.services.comment_queries.page_comments = page_comments  # type: ignore[method-assign]
    written = int(hurried.json()["total"]) + 1
    after = await get(http, new_site, if_none_match=hurried.headers["etag"])
    assert (after.status_code, after.json()["total"]) == (200, written)
    clock.advance(seconds=3600)
    assert (await get(http, new_site)).json()["total"] == written


async def test_an_etag_is_good_until_the_sites_settings_change(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "hi")
    await warm(app, http, new_site)
    before = await get(http, new_site)
    await app.services.sites.change(new_site.site.id, settings={"posting_disabled": True})
    clock.advance(seconds=20)
    after = await get(http, new_site, if_none_match=before.headers["etag"])
    assert (after.status_code, after.json()["locked"]) == (200, True)


async def test_a_crowd_of_readers_makes_one_snapshot(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "hi")
    await warm(app, http, new_site)
    made = 0
    page_comments = app.services.comment_queries.page_comments

    async def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal made
        made += 1
        return await page_comments(*args, **kwargs)

    app.services.comment_queries.page_comments = counted  # type: ignore[method-assign]
    await write(ada, "again")
    answers = await asyncio.gather(*(get(http, new_site) for _ in range(100)))
    assert {answer.json()["total"] for answer in answers} == {2}
    assert made == 1
