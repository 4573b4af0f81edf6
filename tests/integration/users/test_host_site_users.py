"""Signed-in users of the host site: a short JWT that the site's own server signs."""

from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey
from redis.asyncio import Redis

from tests.make import ManualClock
from tests.people import create, post
from threadkit.app import Application
from threadkit.sites.model import NewSite


@pytest.fixture
async def secret(app: Application, new_site: NewSite) -> str:
    return await app.services.sites.rotate_sso_secret(new_site.site.id)


def signed(secret: str, clock: ManualClock, **changes: Any) -> str:
    claims = {"sub": "host-42", "name": "Ada L.", "exp": clock.now_ms() // 1000 + 300} | changes
    return jwt.encode({"alg": "HS256"}, {k: v for k, v in claims.items() if v is not None}, OctKey.import_key(secret))


async def test_the_sites_user_comes_in_and_is_the_same_next_time(
    http: httpx.AsyncClient, new_site: NewSite, secret: str, clock: ManualClock
) -> None:
    first = await post(http, new_site, "/v1/auth/sso", {"token": signed(secret, clock)})
    assert first.status_code == 200, first.text
    assert first.json()["user"]["name"] == "ada-l"
    second = await post(http, new_site, "/v1/auth/sso", {"token": signed(secret, clock, name="Renamed")})
    assert second.json()["user"]["id"] == first.json()["user"]["id"]


async def test_two_sites_users_with_one_id_are_two_people(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, secret: str, clock: ManualClock
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    await app.services.sites.change(other.site.id, settings={"auth.sso": True})
    other_secret = await app.services.sites.rotate_sso_secret(other.site.id)
    here = await post(http, new_site, "/v1/auth/sso", {"token": signed(secret, clock)})
    there = await post(http, other, "/v1/auth/sso", {"token": signed(other_secret, clock)})
    assert here.json()["user"]["id"] != there.json()["user"]["id"]
    assert here.json()["user"]["name"] != there.json()["user"]["name"]


async def test_tokens_the_site_did_not_sign_or_did_not_mean_are_refused(
    http: httpx.AsyncClient, new_site: NewSite, secret: str, clock: ManualClock
) -> None:
    now = clock.now_ms() // 1000
    for token in (
        "nonsense",
        signed("another secret, long enough to sign", clock),
        signed(secret, clock, exp=now - 120),
        signed(secret, clock, exp=now + 86_400),
        signed(secret, clock, exp=None),
        signed(secret, clock, sub=""),
        signed(secret, clock, sub=None),
        signed(secret, clock, name=7),
        signed(secret, clock, aud="another site"),
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4IiwibmFtZSI6IngiLCJleHAiOjk5OTk5OTk5OTl9.",
    ):
        answer = await post(http, new_site, "/v1/auth/sso", {"token": token})
        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_sso_token"), token


async def test_without_the_switch_or_the_secret_it_is_off(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    early = await post(http, new_site, "/v1/auth/sso", {"token": signed("s" * 32, clock)})
    assert early.status_code == 403
    secret = await app.services.sites.rotate_sso_secret(new_site.site.id)
    assert (await post(http, new_site, "/v1/auth/sso", {"token": signed(secret, clock)})).status_code == 200
    await app.services.sites.change(new_site.site.id, settings={"auth.sso": False})
    assert (await post(http, new_site, "/v1/auth/sso", {"token": signed(secret, clock)})).status_code == 403


async def test_only_a_verified_address_links_accounts(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, secret: str, clock: ManualClock
) -> None:

    ada = await create(http, new_site, "ada", "ada@example.org")
    unproved = signed(secret, clock, sub="a", email="ada@example.org")
    assert (await post(http, new_site, "/v1/auth/sso", {"token": unproved})).json()["user"]["id"] != ada.id
    proved = signed(secret, clock, sub="b", email="ada@example.org", email_verified=True)
    assert (await post(http, new_site, "/v1/auth/sso", {"token": proved})).json()["user"]["id"] == ada.id


async def test_an_account_can_have_several_accounts_elsewhere(
    http: httpx.AsyncClient, new_site: NewSite, secret: str, clock: ManualClock, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada", "ada@example.org")
    for sub in ("first", "second"):
        proved = signed(secret, clock, sub=sub, email="ada@example.org", email_verified=True)
        assert (await post(http, new_site, "/v1/auth/sso", {"token": proved})).json()["user"]["id"] == ada.id
    later = signed(secret, clock, sub="first")
    assert (await post(http, new_site, "/v1/auth/sso", {"token": later})).json()["user"]["id"] == ada.id
    assert len([key async for key in redis.scan_iter("provider:*")]) == 2
    assert (await ada.call("DELETE", "/v1/users/me")).status_code == 200
    assert [key async for key in redis.scan_iter("provider:*")] == []
