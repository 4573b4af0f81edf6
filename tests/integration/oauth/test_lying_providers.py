"""Providers that are down, slow or lying: one clear sentence, nobody signed in, and no secret in the log."""

import json
from typing import Any

import pytest
from redis.asyncio import Redis

from tests.integration.oauth.browser import Browser, failed, path_of, succeeded
from tests.integration.oauth.provider import CLIENT_ID, CLIENT_SECRET, MockProvider
from tests.integration.oauth.test_signing_in import nobody_is_there
from tests.make import ManualClock
from tests.wait import until
from threadkit import logs
from threadkit.app import Application
from threadkit.settings import Settings

NOW_S = ManualClock().now_ms() // 1000


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another sign-in's"},
        {"nonce": None},
        {"aud": "another client"},
        {"aud": []},
        {"aud": [CLIENT_ID, "another client"]},
        {"azp": "another client"},
        {"iss": "https://elsewhere.example"},
        {"exp": NOW_S - 61},
        {"exp": "soon"},
        {"exp": None},
        {"exp": float("nan")},
        {"iat": NOW_S + 61},
        {"iat": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "x" * 256},
    ],
    ids=str,
)
async def test_an_id_token_with_a_wrong_claim_is_refused(
    claims: dict[str, Any], browser: Browser, provider: MockProvider, redis: Redis
) -> None:
    provider.claims = claims
    assert "did not answer as it should" in failed(await browser.sign_in("oidc"))
    assert await nobody_is_there(redis)


@pytest.mark.parametrize("lie", ["alg none", "other key"])
async def test_an_id_token_without_a_good_signature_is_refused(
    lie: str, browser: Browser, provider: MockProvider, redis: Redis
) -> None:
    provider.lies = {lie}
    assert "did not answer as it should" in failed(await browser.sign_in("oidc"))
    assert await nobody_is_there(redis)


async def test_new_keys_of_the_provider_are_fetched_once_they_are_used(
    browser: Browser, provider: MockProvider
) -> None:
    succeeded(await browser.sign_in("oidc"))
    succeeded(await browser.sign_in("oidc"))
    assert provider.calls["/jwks"] == 1, "known keys are not fetched again"
    provider.kid = "second"
    succeeded(await browser.sign_in("oidc"))
    assert provider.calls["/jwks"] == 2


async def test_the_discovery_document_is_kept_for_an_hour(
    browser: Browser, provider: MockProvider, clock: ManualClock
) -> None:
    await browser.start("oidc")
    clock.advance(seconds=3599)
    await browser.start("oidc")
    assert provider.calls["/.well-known/openid-configuration"] == 1
    clock.advance(seconds=1)
    await browser.start("oidc")
    assert provider.calls["/.well-known/openid-configuration"] == 2


@pytest.mark.parametrize(
    "lie",
    [
        "500 /token",
        "garbage /token",
        "huge /token",
        "no access_token",
        "500 /jwks",
        "garbage /jwks",
        "500 /userinfo",
        "garbage /userinfo",
        "other sub",
    ],
)
async def test_a_provider_that_fails_half_way_leaves_nobody_behind(
    lie: str, browser: Browser, provider: MockProvider, redis: Redis
) -> None:
    provider.in_id_token = set()
    provider.lies = {lie}
    assert "try again" in failed(await browser.sign_in("oidc"))
    assert await nobody_is_there(redis)


@pytest.mark.parametrize("lie", ["500", "garbage", "huge"])
async def test_a_provider_that_cannot_be_found_is_said_at_once(
    lie: str, browser: Browser, provider: MockProvider, redis: Redis
) -> None:
    provider.lies = {f"{lie} /.well-known/openid-configuration"}
    assert "cannot be reached" in failed(await browser.start("oidc"))
    assert [key async for key in redis.scan_iter(match="*:auth:*")] == []


async def test_a_discovery_document_of_another_issuer_is_refused(browser: Browser, provider: MockProvider) -> None:
    provider.lies = {"other issuer"}
    failed(await browser.start("oidc"))


async def test_a_slow_provider_is_not_waited_for(
    browser: Browser, provider: MockProvider, app: Application, redis: Redis
) -> None:
    back = path_of(await browser.at_provider(await browser.start("oidc")))
    app.services.outbound._timeout_s = 0.2
    provider.lies = {"slow"}
    assert "cannot be reached" in failed(await browser.open(back))
    await until(lambda: provider.waiting == 1, "the provider to have been asked")
    assert await nobody_is_there(redis)


@pytest.mark.parametrize(
    "person",
    [
        {},
        {"id": "583231", "login": "octocat"},
        {"id": 583231},
        {"id": 583231, "login": ["octocat"]},
        [],
        "octocat",
    ],
    ids=str,
)
async def test_github_without_the_fields_it_promises_is_refused(
    person: Any, browser: Browser, provider: MockProvider, redis: Redis
) -> None:
    provider.person = person
    assert "try again" in failed(await browser.sign_in("github"))
    assert await nobody_is_there(redis)


@pytest.mark.parametrize("person", [{}, {"id": 1, "username": "n"}, {"id": "../x", "username": "n"}, None], ids=str)
async def test_discord_without_the_fields_it_promises_is_refused(
    person: Any, browser: Browser, provider: MockProvider, redis: Redis
) -> None:
    provider.person = person
    assert "try again" in failed(await browser.sign_in("discord"))
    assert await nobody_is_there(redis)


async def test_an_address_we_could_not_write_to_is_left_out(browser: Browser, provider: MockProvider) -> None:
    provider.person["email"] = "not an address"
    assert succeeded(await browser.sign_in("oidc"))["user"]["email"] is None


@pytest.mark.parametrize(
    "picture", ["http://x.example/a.png", "javascript:alert(1)", 'https://x/"><script>', 5, "https://"]
)
async def test_a_picture_that_is_not_an_https_address_is_left_out(
    picture: object, browser: Browser, provider: MockProvider
) -> None:
    provider.person["picture"] = picture
    assert succeeded(await browser.sign_in("oidc"))["user"]["avatar_url"] is None


@pytest.mark.parametrize("name", ["", "\u202e\u0000", "x" * 10_000, ["a"], None, "__anon-1", "管理者"])
async def test_any_name_becomes_one_that_may_be_used(name: object, browser: Browser, provider: MockProvider) -> None:
    provider.person["name"] = name
    user = succeeded(await browser.sign_in("oidc"))["user"]
    assert 1 <= len(user["name"]) <= 24
    assert not user["name"].startswith("__anon")


async def test_the_log_names_the_provider_and_the_reason_and_no_secret(
    browser: Browser, provider: MockProvider, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure(Settings(log_level="debug", log_format="json"))
    provider.claims = {"nonce": "wrong"}
    back = await browser.at_provider(await browser.start("oidc"))
    cookies = list(browser.cookies.values())
    failed(await browser.open(path_of(back)))
    provider.claims = {}
    succeeded(await browser.sign_in("oidc"))
    written = capsys.readouterr().err
    lines = [json.loads(line) for line in written.splitlines() if line.startswith("{")]
    (failure,) = [line for line in lines if line["event"] == "oauth_failed"]
    assert (failure["provider"], failure["reason"]) == ("oidc", "the ID token has a wrong nonce")
    secrets = [*provider.issued, *cookies, CLIENT_SECRET, *back.partition("?")[2].replace("&", "=").split("=")[1::2]]
    assert [secret for secret in secrets if secret in written] == []
