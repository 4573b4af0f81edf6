"""`/health`, `/readyz`, `/version`, `/metrics`: contract 1.2, rows S4-31 and S2-42."""

import httpx
import msgspec
import pytest
from redis.asyncio import Redis

from threadkit.app import create_app
from threadkit.keyring import Keyring
from threadkit.settings import Settings, StoreTuning
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore
from threadkit.storage.client import StoreAddress


async def test_health_says_what_the_contract_says(http: httpx.AsyncClient) -> None:
    answer = await http.get("/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "healthy", "redis": "connected"})


async def test_without_its_store_it_is_degraded_and_not_ready_but_alive(settings: Settings, keyring: Keyring) -> None:
    quick = msgspec.structs.replace(settings, store=StoreTuning(connect_timeout_s=0.2, command_timeout_s=0.2))
    app = create_app(quick, StoreAddress("standalone", hosts=(("127.0.0.1", 1),)), keyring)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://t") as http:
        health = await http.get("/health")
        assert (health.status_code, health.json()) == (503, {"status": "degraded", "redis": "disconnected"})
        ready = await http.get("/readyz")
        assert (ready.status_code, ready.json()) == (503, {"status": "not_ready"})
        call = await http.get("/v1/site", headers={"projectid": "tk_pub_whatever"})
        assert (call.status_code, call.json()["code"]) == (503, "store_unavailable")
        assert int(call.headers["retry-after"]) >= 1
        assert "threadkit_store_up 0.0" in (await http.get("/metrics")).text
    await app.services.store.close()


async def test_readyz_shows_its_checks_to_owners_only_s4_31(http: httpx.AsyncClient, new_site: NewSite) -> None:
    assert (await http.get("/readyz")).json() == {"status": "ready"}
    public = await http.get("/readyz", headers={"projectid": new_site.site.api_key_public})
    assert public.json() == {"status": "ready"}
    checks = (await http.get("/readyz", headers={"projectid": new_site.secret_key})).json()["checks"]
    assert checks["api_key_configured"] is True
    assert checks["redis_reachable"] is True
    assert checks["redis_writable"] is True
    assert checks["disk_has_room"] is True
    assert checks["can_be_lost"] == []


async def test_readyz_tells_what_a_relaxed_owner_can_lose(
    redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring
) -> None:
    await redis.config_set("appendfsync", "everysec")
    try:
        app = create_app(msgspec.structs.replace(settings, durability="relaxed"), bundled.address, keyring)
        async with app.lifespan():
            site = await app.services.sites.create("Blog", "blog.example")
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://t") as http:
                answer = await http.get("/readyz", headers={"projectid": site.secret_key})
        assert answer.json()["checks"]["can_be_lost"] == [
            "appendfsync is everysec, so a crash can lose the last seconds"
        ]
    finally:
        await redis.config_set("appendfsync", "always")


async def test_a_store_that_takes_no_writes_is_not_ready_s2_42(http: httpx.AsyncClient, redis: Redis) -> None:
    await redis.config_set("min-replicas-to-write", 9)
    try:
        assert (await http.get("/readyz")).status_code == 503
    finally:
        await redis.config_set("min-replicas-to-write", 0)


async def test_version_has_the_three_fields(http: httpx.AsyncClient) -> None:
    assert (await http.get("/version")).json().keys() == {"version", "git_commit", "build_date"}


async def test_metrics_count_answers_and_know_the_store(http: httpx.AsyncClient) -> None:
    await http.get("/health")
    text = (await http.get("/metrics")).text
    assert 'threadkit_http_requests_total{method="GET",route="/health",status="200"} 1.0' in text
    assert "threadkit_store_up 1.0" in text
    assert "threadkit_store_memory_bytes" in text


@pytest.mark.parametrize(("token", "status"), [(None, 401), ("wrong", 401), ("a token of 16 chars", 200)])
async def test_metrics_from_elsewhere_need_the_token(
    redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring, token: str | None, status: int
) -> None:
    app = create_app(msgspec.structs.replace(settings, metrics_token="a token of 16 chars"), bundled.address, keyring)
    async with app.lifespan():
        transport = httpx.ASGITransport(app, client=("203.0.113.5", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://t") as http:
            headers = {"authorization": f"Bearer {token}"} if token else {}
            assert (await http.get("/metrics", headers=headers)).status_code == status


async def test_metrics_without_a_token_are_for_this_machine(http: httpx.AsyncClient) -> None:
    assert (await http.get("/metrics")).status_code == 200
    assert (await http.get("/metrics", headers={"x-forwarded-for": "203.0.113.5"})).status_code == 401
