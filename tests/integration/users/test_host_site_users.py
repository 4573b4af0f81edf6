"""Signed-in users of the host site: a short JWT that the site's own server signs."""

from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey
from redis.asyncio import Redis

from tests.make import ManualClock
from tests.people import Letterbox, Person, create, post
from threadkit.app import Application
from threadkit.sites.model import NewSite
from threadkit.users.sessions import Device
from threadkit.users.sign_in import Identity


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


async def test_a_site_cannot_claim_an_address_that_belongs_to_somebody(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, secret: str, clock: ManualClock
) -> None:
    """Accounts are the whole server's: one site's server must not open another site's owner's."""
    ada = await create(http, new_site, "ada", "ada@example.org")
    token = signed(secret, clock, email="ada@example.org", email_verified=True)
    stranger = Person.of(
        http, new_site.site.api_key_public, (await post(http, new_site, "/v1/auth/sso", {"token": token})).json()
    )
    assert stranger.id != ada.id
    first = await stranger.call("PUT", "/v1/users/me/password", {"new_password": "correct horse battery"})
    assert first.status_code == 401, "a first password needs a proved address"


async def test_whoever_proves_an_address_ends_what_an_owner_vouched_for(
    http: httpx.AsyncClient, new_site: NewSite, letterbox: Letterbox
) -> None:
    made = await create(http, new_site, "ada", "ada@example.org")
    await post(http, new_site, "/v1/auth/send-otp", {"email": "ada@example.org"})
    body = {"email": "ada@example.org", "code": letterbox.newest_code()}
    proved = await post(http, new_site, "/v1/auth/verify-otp", body)
    assert proved.json()["user"]["id"] == made.id
    assert (await made.call("GET", "/v1/users/me")).status_code == 401


async def test_an_account_can_have_several_accounts_elsewhere(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, letterbox: Letterbox
) -> None:
    device = Device("test", "here")
    people = set()
    for provider in ("google", "github", "google"):
        identity = Identity(
            provider=provider, provider_id="7", name="Ada", email="ada@example.org", email_verified=True
        )
        opened = await app.services.sign_in.by_provider(new_site.site, identity, device)
        people.add(opened.user.id)
    assert len(people) == 1
    assert len([key async for key in redis.scan_iter("provider:*")]) == 2
    ada = Person(http, new_site.site.api_key_public, opened.token, opened.user.id, "ada")
    assert (await ada.call("DELETE", "/v1/users/me")).status_code == 200
    assert [key async for key in redis.scan_iter("provider:*")] == []
