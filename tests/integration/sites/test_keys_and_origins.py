"""Contract 2.1 and 2.2, rows S3-83 and S3-84, and the extractor part of 14.1."""

import asyncio
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore


async def ask(http: httpx.AsyncClient, key: str | None, path: str = "/v1/site", **headers: str) -> httpx.Response:
    return await http.get(path, headers=({"projectid": key} if key else {}) | headers)


async def test_a_valid_key_opens_its_site(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await ask(http, new_site.site.api_key_public)
    assert answer.status_code == 200
    assert answer.json()["name"] == "Blog"


async def test_x_api_key_is_taken_too(http: httpx.AsyncClient, new_site: NewSite) -> None:
    assert (await http.get("/v1/site", headers={"X-API-Key": new_site.site.api_key_public})).status_code == 200


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        (None, "Missing projectid header"),
        ("tk_pub_nobody_has_this", "Invalid API key"),
        ("nonsense", "Invalid API key"),
    ],
)
async def test_other_keys_get_the_documented_sentence(
    http: httpx.AsyncClient, new_site: NewSite, key: str | None, sentence: str
) -> None:
    answer = await ask(http, key)
    assert answer.status_code == 401
    assert answer.json()["error"] == answer.json()["detail"] == sentence


async def test_a_foreign_page_is_refused_and_may_read_why(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await ask(http, new_site.site.api_key_public, origin="http://127.0.0.1.evil.example")
    assert answer.status_code == 403
    assert answer.json()["error"] == "Origin '127.0.0.1.evil.example' is not allowed for this API key"
    assert answer.headers["access-control-allow-origin"] == "http://127.0.0.1.evil.example"


async def test_an_origin_that_will_not_say_who_it_is_is_foreign(http: httpx.AsyncClient, new_site: NewSite) -> None:
    assert (await ask(http, new_site.site.api_key_public, origin="null")).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://blog.example.org"},
        {"origin": "https://BLOG.example.org:8443"},
        {"origin": "https://sub.blog.example.org"},
        {"referer": "https://blog.example.org/post/1"},
        {"origin": "http://localhost:3000"},
        {},
    ],
)
async def test_the_sites_own_pages_are_served(
    http: httpx.AsyncClient, new_site: NewSite, headers: dict[str, str]
) -> None:
    answer = await ask(http, new_site.site.api_key_public, **headers)
    assert answer.status_code == 200
    assert answer.headers.get("access-control-allow-origin") == headers.get("origin")
    assert "origin" in answer.headers["vary"].lower()


async def test_the_referer_counts_when_there_is_no_origin(http: httpx.AsyncClient, new_site: NewSite) -> None:
    assert (await ask(http, new_site.site.api_key_public, referer="https://evil.example/")).status_code == 403


async def test_a_secret_key_is_not_asked_for_its_origin_but_no_page_may_read_the_answer(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    answer = await ask(http, new_site.secret_key, origin="https://evil.example")
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


async def test_owner_routes_need_the_secret_key(http: httpx.AsyncClient, new_site: NewSite) -> None:
    path = f"/v1/admin/sites/{new_site.site.id}"
    refused = await ask(http, new_site.site.api_key_public, path)
    assert (refused.status_code, refused.json()["error"]) == (403, "Secret API key required")
    shown = await ask(http, new_site.secret_key, path)
    assert shown.status_code == 200
    assert new_site.secret_key not in shown.text
    assert "api_key_secret" not in shown.text


async def test_another_sites_key_opens_nothing_here(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    answer = await ask(http, other.secret_key, f"/v1/admin/sites/{new_site.site.id}")
    assert (answer.status_code, answer.json()["error"]) == (403, "Site ID mismatch")


async def test_the_record_has_the_seeds_fields_and_no_secret_s3_83(redis: Redis, new_site: NewSite) -> None:
    record = await redis.hgetall(f"site:{new_site.site.id}:config")
    assert {"id", "name", "domain", "api_key_public", "api_key_secret", "settings"} <= record.keys()
    everything = [
        f"{key} {await redis.dump(key)!r}" async for key in redis.scan_iter() if await redis.type(key) == "string"
    ]
    assert new_site.secret_key not in str(record) + str(everything) + str([key async for key in redis.scan_iter()])


async def test_the_key_cache_lives_300_seconds_s3_84(http: httpx.AsyncClient, redis: Redis, new_site: NewSite) -> None:
    await ask(http, new_site.site.api_key_public)
    assert 290 <= await redis.ttl(f"apikey:{new_site.site.api_key_public}") <= 300


async def test_a_changed_setting_is_seen_by_the_next_request_of_every_worker_s3_84(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
) -> None:
    second = create_app(settings, bundled.address, keyring)
    async with second.lifespan():
        await until(lambda: app.services.listener.is_listening and second.services.listener.is_listening, "listeners")
        transport = httpx.ASGITransport(second)
        async with httpx.AsyncClient(transport=transport, base_url="http://second") as other:
            for client in (http, other):
                assert (await ask(client, new_site.site.api_key_public)).json()["posting_disabled"] is False
            await second.services.sites.change(new_site.site.id, settings={"posting_disabled": True})
            assert (await ask(other, new_site.site.api_key_public)).json()["posting_disabled"] is True

            async def first_worker_knows() -> bool:
                return bool((await ask(http, new_site.site.api_key_public)).json()["posting_disabled"])

            await until(first_worker_knows, "the other worker to hear of it", seconds=1)


async def test_a_rotated_secret_key_is_dead_at_once(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    assert (await ask(http, new_site.secret_key)).status_code == 200
    fresh = await app.services.sites.rotate_secret_key(new_site.site.id)
    assert (await ask(http, new_site.secret_key)).status_code == 401
    assert (await ask(http, fresh.secret_key)).status_code == 200


async def test_a_rotated_public_key_works_for_its_grace(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: "object"
) -> None:
    old = new_site.site.api_key_public
    fresh = await app.services.sites.rotate_public_key(new_site.site.id, grace_s=60)
    assert (await ask(http, old)).status_code == 200
    assert (await ask(http, fresh.api_key_public)).status_code == 200
    clock.advance(seconds=61)  # type: ignore[attr-defined]
    assert (await ask(http, old)).status_code == 401
    assert (await ask(http, fresh.api_key_public)).status_code == 200


async def test_an_unknown_key_that_is_made_later_works_at_once(app: Application, http: httpx.AsyncClient) -> None:
    await until(lambda: app.services.listener.is_listening, "the listener")
    assert (await ask(http, "tk_pub_comes_later")).status_code == 401
    await app.services.sites.create("Later", "later.example", public_key="tk_pub_comes_later")
    assert (await ask(http, "tk_pub_comes_later")).status_code == 200


async def test_fifty_parallel_creations_with_one_key_make_one_site(app: Application, redis: Redis) -> None:
    tries = [app.services.sites.create("Same", "same.example", public_key="tk_pub_only_one") for _ in range(50)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(result, NewSite) for result in results) == 1
    assert await redis.zcard("sites:index") == 1


async def test_two_changes_from_one_reading_do_not_overwrite_each_other(app: Application, new_site: NewSite) -> None:
    changes: list[dict[str, Any]] = [{"posting_disabled": True}, {"moderation_mode": "pre"}]
    results = await asyncio.gather(
        *(app.services.sites.change(new_site.site.id, settings=change) for change in changes), return_exceptions=True
    )
    stored = await app.services.site_queries.by_id(new_site.site.id)
    assert stored
    done = [change for change, result in zip(changes, results, strict=True) if not isinstance(result, Exception)]
    for change in done:
        for name, value in change.items():
            assert getattr(stored.settings, name) == value


async def test_a_worker_that_starts_after_a_rotation_does_not_find_the_old_key_in_the_cache(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
) -> None:
    """It heard nothing of the change, so what it finds in the store must be right."""
    old_public = new_site.site.api_key_public
    assert (await ask(http, new_site.secret_key)).status_code == 200
    assert (await ask(http, old_public)).status_code == 200
    await app.services.sites.rotate_secret_key(new_site.site.id)
    for _ in range(2):
        await app.services.sites.rotate_public_key(new_site.site.id, grace_s=0)
    late = create_app(settings, bundled.address, keyring)
    async with late.lifespan():
        transport = httpx.ASGITransport(late)
        async with httpx.AsyncClient(transport=transport, base_url="http://late") as other:
            assert (await ask(other, new_site.secret_key)).status_code == 401
            assert (await ask(other, old_public)).status_code == 401
