"""The first layer: requests a minute (contract 8, row S3-90)."""

import asyncio
import ipaddress

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests import people
from tests.make import ManualClock
from threadkit.app import Application
from threadkit.http.client_address import ClientAddresses
from threadkit.ratelimit.model import RateLimited
from threadkit.ratelimit.requests import Caller
from threadkit.settings import LimitSettings
from threadkit.sites.model import NewSite, RateLimitSettings

PAGE = {"page_url": "https://blog.example.org/post"}
THREE = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


@pytest.fixture
def limits() -> LimitSettings:
    return LimitSettings(ip_reads_per_minute=30, ip_writes_per_minute=5, user_writes_per_minute=4, post_every_s=0)


def public(site: NewSite) -> dict[str, str]:
    return {"projectid": site.site.api_key_public}


async def test_rate_limit_headers_present(http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock) -> None:
    """Contract 14.1."""
    answer = await http.get("/v1/comments", params=PAGE, headers=public(new_site))
    assert answer.status_code == 200
    assert [answer.headers[name] for name in THREE[:2]] == ["30", "29"]
    wait_s = int(answer.headers["x-ratelimit-reset"]) - clock.now_ms() // 1000
    assert 1 <= wait_s <= 60
    assert answer.headers["ratelimit-policy"] == '"read";q=30;w=60'
    assert answer.headers["ratelimit"] == f'"read";r=29;t={wait_s}'


async def test_rate_limit_decrements(http: httpx.AsyncClient, new_site: NewSite) -> None:
    """Contract 14.1; the same on the fast lane and on the ordinary way."""
    left = []
    for path in ("/v1/comments", "/v1/comments", "/v1/auth/methods", "/v1/comments"):
        answer = await http.get(path, params=PAGE if "comments" in path else {}, headers=public(new_site))
        left.append(int(answer.headers["x-ratelimit-remaining"]))
    assert left == [29, 28, 27, 26]


async def test_the_thirty_first_read_in_a_minute_waits_s3_90(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, redis: Redis, app: Application
) -> None:
    for _ in range(30):
        assert (await http.get("/v1/comments", params=PAGE, headers=public(new_site))).status_code == 200
    for path in ("/v1/comments", "/v1/auth/methods"):
        refused = await http.get(path, params=PAGE, headers=public(new_site))
        assert refused.status_code == 429
        said = refused.json()
        assert (said["error"], said["layer"], said["limit_type"]) == ("Rate limit exceeded", "IP", "minute")
        assert int(refused.headers["retry-after"]) == said["retry_after"] >= 1
        assert refused.headers["x-ratelimit-remaining"] == "0"
    await app.services.request_limits.flush()
    (name,) = map(str, await redis.keys("ratelimit:*"))
    assert name.startswith("ratelimit:ip:")
    assert name.endswith(f":{clock.now_ms() // 60_000}")
    assert await redis.get(name) == "30"
    assert 60 <= await redis.ttl(name) <= 120
    clock.advance(seconds=said["retry_after"])
    assert (await http.get("/v1/comments", params=PAGE, headers=public(new_site))).status_code == 200


async def test_writes_are_counted_for_the_address_and_for_the_user_s3_90(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await people.create(http, new_site, "ada")
    left = []
    for number in range(4):
        answer = await ada.call("POST", "/v1/comments", {**PAGE, "content": f"number {number} of them"})
        assert answer.status_code == 200, answer.text
        left.append(int(answer.headers["x-ratelimit-remaining"]))
    assert left == [3, 2, 1, 0]
    refused = await ada.call("POST", "/v1/comments", {**PAGE, "content": "one more"})
    assert (refused.status_code, refused.json()["layer"]) == (429, "user")
    # A refusal uses nothing up: the address has one left.
    names = sorted(map(str, await redis.keys("ratelimit:*")))
    assert {name.split(":")[1]: await redis.get(name) for name in names} == {"ip": "4", "user": "4"}
    assert (await http.post("/v1/auth/anonymous", json={}, headers=public(new_site))).status_code == 200
    refused = await http.post("/v1/auth/anonymous", json={}, headers=public(new_site))
    assert (refused.status_code, refused.json()["layer"]) == (429, "IP")


async def test_five_hundred_parallel_writes_let_exactly_the_limit_through(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    async def write() -> int:
        answer = await http.post("/v1/comments/preview", json={"content": "hello"}, headers=public(new_site))
        return answer.status_code

    answers = await asyncio.gather(*(write() for _ in range(500)))
    assert (answers.count(200), answers.count(429)) == (5, 495)
    print(f"\nG22: {len(answers)} at once at a limit of 5: {answers.count(200)} let through")


async def test_a_site_has_numbers_of_its_own(http: httpx.AsyncClient, new_site: NewSite, app: Application) -> None:
    own = RateLimitSettings(ip_reads_per_minute=2, ip_writes_per_minute=1)
    settings = replace(new_site.site.settings, rate_limits=own)
    site = await app.services.sites.create("Shop", "shop.example.org", settings=settings)
    for expected in (200, 200, 429):
        assert (await http.get("/v1/auth/methods", headers=public(site))).status_code == expected
    # What was done there is not held against anybody here.
    answer = await http.get("/v1/auth/methods", headers=public(new_site))
    assert (answer.status_code, answer.headers["x-ratelimit-limit"]) == (200, "30")


async def test_the_owners_server_speaks_for_many(http: httpx.AsyncClient, new_site: NewSite) -> None:
    for number in range(10):
        await people.create(http, new_site, f"user-{number}")


async def test_guessing_keys_is_limited_by_address(http: httpx.AsyncClient, new_site: NewSite) -> None:
    statuses = [
        (await http.post("/v1/auth/anonymous", json={}, headers={"projectid": f"tk_pub_guess{number:08}"})).status_code
        for number in range(7)
    ]
    assert statuses == [401] * 5 + [429] * 2


async def test_two_workers_know_of_each_others_readers_after_a_flush(
    http: httpx.AsyncClient, new_site: NewSite, app: Application, second: Application
) -> None:
    other = httpx.AsyncClient(transport=httpx.ASGITransport(second), base_url="http://t")
    async with other:
        for _ in range(15):
            for worker in (http, other):
                assert (await worker.get("/v1/auth/methods", headers=public(new_site))).status_code == 200
        for one in (app, second, app):
            await one.services.request_limits.flush()
        # The second one hears of the first one's readers with its next own count.
        for worker in (http, other):
            await worker.get("/v1/auth/methods", headers=public(new_site))
        for one in (app, second):
            await one.services.request_limits.flush()
        for worker in (http, other):
            assert (await worker.get("/v1/auth/methods", headers=public(new_site))).status_code == 429


async def test_forged_headers_change_nothing(http: httpx.AsyncClient, new_site: NewSite, app: Application) -> None:
    """T23: only a trusted proxy's word counts, and of its words the right-most."""
    transport = httpx.ASGITransport(app, client=("203.0.113.9", 1234))
    async with httpx.AsyncClient(transport=transport, base_url="http://t") as stranger:
        for number in range(31):
            forged = {"x-forwarded-for": f"198.51.100.{number}", "x-real-ip": f"198.51.100.{number}"}
            answer = await stranger.get("/v1/comments", params=PAGE, headers=public(new_site) | forged)
            assert answer.status_code == (200 if number < 30 else 429)
    for number in range(31):  # from the proxy on this machine each is somebody else
        forwarded = {"x-forwarded-for": f"10.9.8.7, 198.51.100.{number}"}
        answer = await http.get("/v1/comments", params=PAGE, headers=public(new_site) | forwarded)
        assert answer.status_code == 200


async def test_an_ipv6_household_is_one_client(app: Application, new_site: NewSite) -> None:
    for number in range(31):
        transport = httpx.ASGITransport(app, client=(f"2001:db8:1:2::{number + 1:x}", 1234))
        async with httpx.AsyncClient(transport=transport, base_url="http://t") as http:
            answer = await http.get("/v1/comments", params=PAGE, headers=public(new_site))
            assert answer.status_code == (200 if number < 30 else 429)


async def test_memory_for_readers_is_bounded(
    app: Application, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threadkit.ratelimit.requests.MOST_COUNTED", 100)
    limits = app.services.request_limits
    for number in range(1000):
        transport = httpx.ASGITransport(app, client=(f"198.51.{number // 250}.{number % 250}", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://t") as http:
            assert (await http.get("/v1/auth/methods", headers=public(new_site))).status_code in (200, 429)
        if number % 50 == 0:
            await limits.flush()
    assert len(limits._counted) <= 101


async def test_what_is_counted_in_one_minute_is_not_counted_twice_in_the_next(
    app: Application, second: Application, new_site: NewSite, clock: ManualClock, redis: Redis
) -> None:
    """A count that waits to be brought to the store when the minute changes."""
    limits, caller = app.services.request_limits, Caller(new_site.site, "somebody")
    limits.spend(caller, "read")
    clock.advance(seconds=60)
    for _ in range(7):
        limits.spend(caller, "read")
    for _ in range(3):
        await limits.flush()
    bucket = clock.now_ms() // 60_000
    assert [await redis.get(name) for name in await redis.keys(f"ratelimit:*:{bucket}")] == ["7"]
    # And whoever was refused because of others' counts hears when these were corrected.
    other = second.services.request_limits
    for _ in range(30):
        other.spend(Caller(new_site.site, "elsewhere"), "read")
    with pytest.raises(RateLimited):
        other.spend(Caller(new_site.site, "elsewhere"), "read")
    await other.flush()
    (name,) = await redis.keys(f"ratelimit:ip:elsewhere*:{bucket}")
    await redis.set(name, 3, keepttl=True)
    with pytest.raises(RateLimited):
        other.spend(Caller(new_site.site, "elsewhere"), "read")
    await other.flush()
    other.spend(Caller(new_site.site, "elsewhere"), "read")


async def test_two_lines_of_a_forwarded_header_are_read_together(app: Application) -> None:
    """A proxy may add a line of its own instead of prolonging the one that is there."""
    addresses = ClientAddresses(["127.0.0.1", "10.0.0.0/8"], b"key")

    def client(first: bytes) -> str:
        lines = [(b"x-forwarded-for", first), (b"x-forwarded-for", b"10.1.2.3")]
        return addresses.client_of({"client": ("127.0.0.1", 1), "headers": lines}, dict(lines))

    assert client(b"1.1.1.1") != client(b"2.2.2.2")
    assert client(b"1.1.1.1") == addresses.hashed(ipaddress.ip_address("1.1.1.1"))


async def test_long_headers_are_not_remembered(http: httpx.AsyncClient, app: Application, new_site: NewSite) -> None:
    for number in range(10):
        long = {"referer": f"https://blog.example.org/{number}{'x' * 8000}"}
        assert (await http.get("/v1/comments", params=PAGE, headers=public(new_site) | long)).status_code == 200
        shown = {"origin": "https://blog.example.org"}
        assert (await http.get("/v1/comments", params=PAGE, headers=public(new_site) | long | shown)).status_code in (
            200,
            429,
        )
    assert len(app.fast_lane._callers) <= 2


async def test_what_belongs_to_no_site_is_counted_by_address(http: httpx.AsyncClient, app: Application) -> None:
    statuses = [
        (await http.post("/v1/v1/users/check-username", json={"username": "ada"})).status_code for _ in range(7)
    ]
    assert statuses == [200] * 5 + [429] * 2
