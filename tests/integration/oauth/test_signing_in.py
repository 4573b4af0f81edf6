"""The way out to a provider and back, and everybody it must not let in."""

from collections.abc import Callable

import pytest
from redis.asyncio import Redis

from tests.integration.oauth.browser import Browser, failed, message_of, outcome_of, path_of, query_of, succeeded
from tests.integration.oauth.conftest import BASE_URL, NAMES
from tests.integration.oauth.provider import MockProvider
from tests.make import ManualClock
from threadkit.app import Application
from threadkit.sites.model import NewSite, Site

BrowserMaker = Callable[[], Browser]


async def nobody_is_there(redis: Redis) -> bool:
    found = [key async for key in redis.scan_iter() if str(key).startswith(("user:", "session:", "sess:", "provider:"))]
    return found == []


async def switch(app: Application, site: Site, **methods: bool) -> None:
    changes: dict[str, object] = {f"auth.{name}": is_on for name, is_on in methods.items()}
    await app.services.sites.change(site.id, settings=changes)


async def test_a_sign_in_starts_with_everything_the_provider_must_hold_it_to(browser: Browser, redis: Redis) -> None:
    """S2-05, S2-07: PKCE S256, a one-time state kept for ten minutes, a nonce, our own address to come back to."""
    started = await browser.start("oidc")
    asked = query_of(started.headers["location"])
    assert asked["response_type"] == "code"
    assert asked["code_challenge_method"] == "S256"
    assert asked["redirect_uri"] == f"{BASE_URL}/auth/oidc/callback"
    assert asked["scope"] == "openid email profile"
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    assert 590 <= await redis.ttl(f"oidc:auth:{asked['state']}") <= 600
    assert started.headers["cache-control"] == "no-store"


async def test_the_cookie_that_binds_the_browser_is_out_of_reach_of_scripts(browser: Browser, redis: Redis) -> None:
    """S2-08: and the store has only its digest."""
    started = await browser.start("oidc")
    state = query_of(started.headers["location"])["state"]
    (cookie,) = browser.last_set
    name, value = next(iter(browser.cookies.items()))
    assert name == f"__Host-tk_oauth_{state[:8]}"
    attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "samesite=lax", "secure", "path=/", "max-age=600"} <= attributes
    assert value not in str(await redis.get(f"oidc:auth:{state}"))


@pytest.mark.parametrize("name", ["oidc", "google"])
async def test_somebody_signs_in_with_openid_connect(
    name: str, browser: Browser, provider: MockProvider, app: Application
) -> None:
    message = succeeded(await browser.sign_in(name))
    assert set(message) == {"type", "token", "refresh_token", "user"}
    assert message["user"]["name"] == "jane-doe"
    assert message["user"]["email"] == "jane@example.org"
    assert message["user"]["email_verified"] is True
    assert message["user"]["username_set"] is False
    assert message["user"]["avatar_url"] == "https://pictures.example.org/jane.png"
    me = await browser.http.get("/v1/users/me", headers={"authorization": f"Bearer {message['token']}"})
    assert me.json()["id"] == message["user"]["id"]
    assert browser.cookies == {}, "the cookie has done its work"


async def test_google_is_asked_for_consent(browser: Browser) -> None:
    asked = query_of((await browser.start("google")).headers["location"])
    assert asked["prompt"] == "consent"


async def test_somebody_signs_in_with_github(browser: Browser, provider: MockProvider) -> None:
    provider.person = {"id": 583231, "login": "octocat", "name": None, "email": "ceo@example.com", "avatar_url": None}
    provider.github_emails = [
        {"email": "ceo@example.com", "primary": False, "verified": False},
        {"email": "octocat@example.org", "primary": True, "verified": True},
    ]
    user = succeeded(await browser.sign_in("github"))["user"]
    assert (user["name"], user["email"], user["email_verified"]) == ("octocat", "octocat@example.org", True)


async def test_somebody_signs_in_with_discord(browser: Browser, provider: MockProvider) -> None:
    provider.person = {
        "id": "80351110224678912",
        "username": "nelly",
        "global_name": "Nelly",
        "avatar": "8342729096ea3675442027381ff50dfe",
        "email": "nelly@example.org",
        "verified": True,
    }
    user = succeeded(await browser.sign_in("discord"))["user"]
    assert (user["name"], user["email"]) == ("nelly", "nelly@example.org")
    assert user["avatar_url"] == (
        "https://cdn.discordapp.com/avatars/80351110224678912/8342729096ea3675442027381ff50dfe.png"
    )


async def test_the_same_account_at_the_provider_is_the_same_user(
    new_browser: BrowserMaker, provider: MockProvider
) -> None:
    """S3-04: even when everything else about the account has changed."""
    first = succeeded(await new_browser().sign_in("oidc"))["user"]
    provider.person |= {"name": "Someone New", "email": "other@example.org"}
    again = succeeded(await new_browser().sign_in("oidc"))["user"]
    assert again == first


async def test_the_same_number_at_another_provider_is_somebody_else(
    new_browser: BrowserMaker, provider: MockProvider
) -> None:
    provider.person |= {"id": 248289761001, "login": "jane", "email_verified": False}
    one = succeeded(await new_browser().sign_in("oidc"))["user"]
    other = succeeded(await new_browser().sign_in("github"))["user"]
    assert one["id"] != other["id"]


async def test_names_and_addresses_can_come_from_the_user_info(browser: Browser, provider: MockProvider) -> None:
    provider.in_id_token = set()
    user = succeeded(await browser.sign_in("oidc"))["user"]
    assert (user["name"], user["email"]) == ("jane-doe", "jane@example.org")


async def test_a_client_secret_is_sent_the_way_the_provider_wants_it(browser: Browser, provider: MockProvider) -> None:
    provider.auth_methods = ["client_secret_post"]
    succeeded(await browser.sign_in("oidc"))


async def test_a_verified_address_leads_to_the_account_that_has_it(
    browser: Browser, provider: MockProvider, app: Application
) -> None:
    owner = await app.services.users.create_by_owner(browser.site, "jane", "jane@example.org")
    user = succeeded(await browser.sign_in("oidc"))["user"]
    assert user["id"] == owner.id
    assert user["avatar_url"] == "https://pictures.example.org/jane.png"


@pytest.mark.parametrize("verified", [False, None, "yes", 1])
async def test_an_address_without_proof_leads_to_nobodys_account(
    verified: object, browser: Browser, provider: MockProvider, app: Application
) -> None:
    owner = await app.services.users.create_by_owner(browser.site, "jane", "jane@example.org")
    provider.person["email_verified"] = verified
    user = succeeded(await browser.sign_in("oidc"))["user"]
    assert user["id"] != owner.id
    assert user["email"] is None


async def test_the_proof_of_one_address_does_not_count_for_another(
    browser: Browser, provider: MockProvider, app: Application
) -> None:
    owner = await app.services.users.create_by_owner(browser.site, "jane", "jane@example.org")
    provider.in_id_token = {"email"}  # the user info says `email_verified`, of its own address
    assert succeeded(await browser.sign_in("oidc"))["user"]["id"] != owner.id


async def test_discords_unverified_and_githubs_secondary_addresses_do_not_count(
    new_browser: BrowserMaker, provider: MockProvider, app: Application
) -> None:
    owner = await app.services.users.create_by_owner(new_browser().site, "jane", "jane@example.org")
    provider.person = {"id": "1", "username": "jane", "email": "jane@example.org", "verified": False}
    by_discord = succeeded(await new_browser().sign_in("discord"))["user"]
    provider.person = {"id": 1, "login": "jane", "email": "jane@example.org"}
    provider.github_emails = [{"email": "jane@example.org", "primary": False, "verified": True}]
    by_github = succeeded(await new_browser().sign_in("github"))["user"]
    assert owner.id not in (by_discord["id"], by_github["id"])
    assert by_discord["email"] is by_github["email"] is None


async def test_a_callback_in_another_browser_signs_nobody_in(
    browser: Browser, new_browser: BrowserMaker, redis: Redis, provider: MockProvider
) -> None:
    """S2-08: otherwise anybody could sign others in to an account of theirs."""
    back = path_of(await browser.at_provider(await browser.start("oidc")))
    page = await new_browser().open(back)
    assert "another browser" in failed(page)
    assert await nobody_is_there(redis)
    assert provider.calls["/token"] == 0
    assert "expired or was already used" in failed(await browser.open(back)), "the state is used up all the same"


async def test_a_wrong_cookie_is_no_better_than_none(browser: Browser, redis: Redis) -> None:
    """S2-08"""
    back = path_of(await browser.at_provider(await browser.start("oidc")))
    browser.cookies = dict.fromkeys(browser.cookies, "x" * 43)
    assert "another browser" in failed(await browser.open(back))
    assert await nobody_is_there(redis)


async def test_a_finished_sign_in_cannot_be_replayed(browser: Browser, redis: Redis) -> None:
    """S2-05, S2-06: the second callback with the same state finds nothing, cookie or not."""
    back = path_of(await browser.at_provider(await browser.start("oidc")))
    cookies = dict(browser.cookies)
    succeeded(await browser.open(back))
    browser.cookies = cookies
    assert "expired or was already used" in failed(await browser.open(back))
    assert len([key async for key in redis.scan_iter(match="session:*")]) == 1


async def test_a_sign_in_that_took_too_long_is_over(browser: Browser, redis: Redis) -> None:
    """S2-05"""
    back = await browser.at_provider(await browser.start("oidc"))
    assert await redis.delete(f"oidc:auth:{query_of(back)['state']}") == 1
    assert "expired" in failed(await browser.open(path_of(back)))


async def test_a_state_is_good_for_its_own_provider_only(browser: Browser, redis: Redis) -> None:
    """S2-05"""
    back = await browser.at_provider(await browser.start("oidc"))
    assert "expired" in failed(await browser.open(path_of(back).replace("/oidc/", "/google/")))
    assert await nobody_is_there(redis)


@pytest.mark.parametrize("state", ["", "x", "*", "a" * 43, "{x}:y", "a" * 5000])
async def test_a_made_up_state_is_refused(state: str, browser: Browser) -> None:
    response = await browser.http.get("/auth/oidc/callback", params={"code": "c", "state": state})
    assert "expired" in failed(response)


async def test_no_code_is_a_bad_request_and_still_uses_the_state_up(browser: Browser, redis: Redis) -> None:
    """S2-06"""
    state = query_of((await browser.start("oidc")).headers["location"])["state"]
    response = await browser.open(f"/auth/oidc/callback?state={state}")
    assert response.status_code == 400
    assert response.headers["content-type"].startswith("text/plain")
    assert await redis.exists(f"oidc:auth:{state}") == 0


async def test_somebody_who_says_no_is_told_so(browser: Browser, redis: Redis) -> None:
    state = query_of((await browser.start("oidc")).headers["location"])["state"]
    page = await browser.open(f"/auth/oidc/callback?state={state}&error=access_denied&error_description=<b>no</b>")
    assert failed(page) == "The sign-in was cancelled."
    assert outcome_of(page)["target"] == "https://blog.example.org"
    assert await redis.exists(f"oidc:auth:{state}") == 0


async def test_an_answer_that_names_another_issuer_is_refused(browser: Browser, redis: Redis) -> None:
    back = path_of(await browser.at_provider(await browser.start("oidc")))
    failed(await browser.open(f"{back}&iss=https://attacker.example"))
    assert await nobody_is_there(redis)


@pytest.mark.parametrize("key", ["", "tk_pub_unknown00000000", "nonsense"])
async def test_an_unknown_key_starts_nothing(key: str, browser: Browser) -> None:
    response = await browser.open(f"/auth/oidc?project_id={key}")
    assert (response.status_code, response.text) == (400, "Invalid API key")


async def test_a_secret_key_has_no_business_in_an_address(browser: Browser, new_site: NewSite) -> None:
    assert (await browser.open(f"/auth/oidc?project_id={new_site.secret_key}")).status_code == 400


async def test_an_unknown_provider_is_not_found(browser: Browser) -> None:
    assert (await browser.start("myspace")).status_code == 404
    assert (await browser.start("email")).status_code == 404
    assert (await browser.open("/auth/myspace/callback?code=c&state=s")).status_code == 404


@pytest.mark.parametrize("name", NAMES)
async def test_a_provider_that_is_switched_off_is_refused(
    name: str, browser: Browser, app: Application, new_site: NewSite, redis: Redis
) -> None:
    await switch(app, new_site.site, **{name: False})
    assert (await browser.start(name)).status_code == 404
    assert [key async for key in redis.scan_iter(match="*:auth:*")] == []


async def test_a_provider_switched_off_meanwhile_is_refused(
    browser: Browser, app: Application, new_site: NewSite, redis: Redis
) -> None:
    back = path_of(await browser.at_provider(await browser.start("oidc")))
    await switch(app, new_site.site, oidc=False)
    assert "does not offer" in failed(await browser.open(back))
    assert await nobody_is_there(redis)


async def test_somebody_who_is_banned_stays_outside(browser: Browser, app: Application, redis: Redis) -> None:
    user = succeeded(await browser.sign_in("oidc"))["user"]
    await redis.hset(f"user:{user['id']}", "global_banned", "true")
    assert failed(await browser.sign_in("oidc")) == "Account banned"


async def test_a_client_cannot_fill_the_store_with_sign_ins(browser: Browser) -> None:
    statuses = [(await browser.start("oidc")).status_code for _ in range(61)]
    assert statuses == [307] * 60 + [429]


async def test_an_expired_code_is_refused(browser: Browser, clock: ManualClock, redis: Redis) -> None:
    back = path_of(await browser.at_provider(await browser.start("oidc")))
    clock.advance(seconds=120)
    assert "refused" in failed(await browser.open(back))
    assert await nobody_is_there(redis)


async def test_four_functions_keep_the_sign_ins_under_way(app: Application, redis: Redis, browser: Browser) -> None:
    """S2-06: save, get, consume, delete; looking does not use up, consuming does."""
    pending_sign_ins = app.services.oauth._pending
    state = query_of((await browser.start("oidc")).headers["location"])["state"]
    seen = await pending_sign_ins.get("oidc", state)
    assert seen is not None
    assert len(seen.verifier) == 43, "32 bytes"
    assert await pending_sign_ins.get("oidc", state) == seen
    assert await pending_sign_ins.consume("oidc", state) == seen
    assert await pending_sign_ins.consume("oidc", state) is None
    await pending_sign_ins.save("oidc", state, seen)
    await pending_sign_ins.delete("oidc", state)
    assert await pending_sign_ins.get("oidc", state) is None


async def test_a_wrong_verifier_gets_no_tokens(browser: Browser, redis: Redis) -> None:
    """S2-07: the provider holds us to what we showed it first."""
    back = await browser.at_provider(await browser.start("oidc"))
    key = f"oidc:auth:{query_of(back)['state']}"
    kept = str(await redis.get(key))
    verifier = kept.split('"verifier":"')[1][:43]
    await redis.set(key, kept.replace(verifier, "w" * 43), keepttl=True)
    assert "refused" in failed(await browser.open(path_of(back)))
    assert await nobody_is_there(redis)


async def test_the_session_belongs_to_the_site_where_it_began(browser: Browser, app: Application) -> None:
    token = message_of(await browser.sign_in("oidc"))["token"]
    claims = app.services.sessions.claims_of(token)
    assert claims is not None
    assert claims.site_id == browser.site.id
    viewer = await app.services.sessions.viewer(token, browser.site.id)
    assert viewer.session.provider == "oidc"
