"""`/api/discord/me` and `/api/auth/logout`: what a client of the older kind asks."""

from collections.abc import Callable

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.oauth.browser import Browser, succeeded
from tests.integration.oauth.provider import MockProvider

NELLY = {"id": "80351110224678912", "username": "nelly", "avatar": "8342729096ea3675442027381ff50dfe"}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Bearer x.y.z", "Basic eDp5"])
async def test_nobody_is_logged_in_without_a_good_token(header: str | None, http: httpx.AsyncClient) -> None:
    """S2-30"""
    response = await http.get("/api/discord/me", headers={} if header is None else {"authorization": header})
    assert (response.status_code, response.json()) == (200, {"loggedIn": False})


async def test_somebody_who_is_logged_in_sees_their_name_and_picture_and_no_token(
    browser: Browser, provider: MockProvider
) -> None:
    """S2-30"""
    provider.person = NELLY
    message = succeeded(await browser.sign_in("discord"))
    response = await browser.http.get("/api/discord/me", headers=bearer(message["token"]))
    assert response.status_code == 200
    assert response.json() == {"loggedIn": True, "name": "nelly", "avatar": message["user"]["avatar_url"]}
    assert not any(token in response.text for token in [*provider.issued, message["token"]])


async def test_a_refresh_token_is_not_a_login(browser: Browser) -> None:
    """S2-30"""
    message = succeeded(await browser.sign_in("oidc"))
    response = await browser.http.get("/api/discord/me", headers=bearer(message["refresh_token"]))
    assert response.json() == {"loggedIn": False}


async def test_logging_out_ends_this_session_only_and_can_be_repeated(
    new_browser: Callable[[], Browser], redis: Redis
) -> None:
    """S2-31: both keys and the entry in the user's set."""
    http = new_browser().http
    one, other = [succeeded(await new_browser().sign_in("oidc")) for _ in range(2)]
    for _ in range(2):
        assert (await http.post("/api/auth/logout", headers=bearer(one["token"]))).status_code == 200
    assert (await http.get("/api/discord/me", headers=bearer(one["token"]))).json() == {"loggedIn": False}
    assert (await http.get("/api/discord/me", headers=bearer(other["token"]))).json()["loggedIn"] is True
    for pattern in ("session:*", "sess:*"):
        assert len([key async for key in redis.scan_iter(match=pattern)]) == 1
    assert await redis.scard(f"user:{one['user']['id']}:sessions") == 1


async def test_logging_out_as_nobody_is_fine(http: httpx.AsyncClient) -> None:
    """S2-31"""
    assert (await http.post("/api/auth/logout")).status_code == 200
    assert (await http.post("/api/auth/logout", headers=bearer("x.y.z"))).status_code == 200
