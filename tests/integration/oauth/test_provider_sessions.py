"""The provider's tokens: sealed at rest, refreshed by one of many, and gone when the provider says so."""

import asyncio
import json
from typing import Any

import pytest
from redis.asyncio import Redis

from tests.integration.oauth.browser import Browser, succeeded
from tests.integration.oauth.provider import ACCESS_LIFE_S, MockProvider
from tests.make import ManualClock
from tests.wait import until
from threadkit.app import Application
from threadkit.ids import SessionId, UserId
from threadkit.keyring import Keyring
from threadkit.users.oauth.model import ProviderSession
from threadkit.users.tokens import Claims

FIELDS = {
    "uid",
    "name",
    "avatar",
    "access_token",
    "refresh_token",
    "scope",
    "token_type",
    "access_expires_at",
    "created_at",
    "last_seen_at",
    "ver",
}


@pytest.fixture
async def claims(browser: Browser, app: Application) -> Claims:
    """Somebody who is signed in with a provider."""
    found = app.services.sessions.claims_of(succeeded(await browser.sign_in("oidc"))["token"])
    assert found is not None
    return found


async def stored(redis: Redis, claims: Claims) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(str(await redis.get(f"sess:{claims.session_id}")))
    return record


async def fresh(app: Application, claims: Claims) -> str | None:
    return await app.services.oauth.fresh_access_token(claims.user_id, claims.session_id, "oidc")


async def test_the_providers_session_has_exactly_its_fields_and_no_token_in_clear(
    claims: Claims, redis: Redis, provider: MockProvider, clock: ManualClock, keyring: Keyring
) -> None:
    """S2-01"""
    record = await stored(redis, claims)
    assert set(record) == FIELDS
    raw = str(await redis.get(f"sess:{claims.session_id}"))
    access, refresh = provider.issued
    assert access not in raw
    assert refresh not in raw
    assert keyring.unseal("provider-token", record["access_token"]) == access
    assert keyring.unseal("provider-token", record["refresh_token"]) == refresh
    now = clock.now_ms()
    assert record["created_at"] == record["last_seen_at"] == now
    assert record["access_expires_at"] == now + ACCESS_LIFE_S * 1000
    assert (record["name"], record["ver"]) == ("Jane Doe", 1)
    assert 2_591_990 <= await redis.ttl(f"sess:{claims.session_id}") <= 2_592_000
    assert 2_591_990 <= await redis.ttl(f"session:{claims.session_id}") <= 2_592_000


async def test_a_token_that_lasts_is_handed_out_as_it_is(
    claims: Claims, app: Application, provider: MockProvider, clock: ManualClock
) -> None:
    """S2-09"""
    clock.advance(seconds=ACCESS_LIFE_S - 31)
    assert await fresh(app, claims) == provider.issued[0]
    assert provider.calls["/token"] == 1


async def test_a_token_about_to_expire_is_refreshed_and_the_new_one_kept(
    claims: Claims, app: Application, provider: MockProvider, clock: ManualClock, redis: Redis, keyring: Keyring
) -> None:
    """S2-09: saved with the next `ver`; the lifetime of the session and when it was used stay."""
    await redis.expire(f"sess:{claims.session_id}", 1000)
    before = await stored(redis, claims)
    clock.advance(seconds=ACCESS_LIFE_S - 30)
    assert await fresh(app, claims) == provider.issued[2]
    record = await stored(redis, claims)
    assert set(record) == FIELDS
    assert record["ver"] == 2
    assert keyring.unseal("provider-token", record["refresh_token"]) == provider.issued[3]
    assert record["access_expires_at"] == clock.now_ms() + ACCESS_LIFE_S * 1000
    assert record["last_seen_at"] == before["last_seen_at"]
    assert 990 <= await redis.ttl(f"sess:{claims.session_id}") <= 1000
    assert await redis.exists(f"lock:sess:{claims.session_id}") == 0
    clock.advance(seconds=ACCESS_LIFE_S)
    assert await fresh(app, claims) == provider.issued[4], "the new refresh token is the one that is used next"


async def test_fifty_at_once_refresh_once(
    claims: Claims, app: Application, provider: MockProvider, clock: ManualClock
) -> None:
    """S2-09: exactly one call to the token endpoint, and everybody has its answer."""
    clock.advance(seconds=ACCESS_LIFE_S)
    answers = await asyncio.gather(*(fresh(app, claims) for _ in range(50)))
    assert provider.calls["/token"] == 2, "one for the sign-in, one for all of these"
    assert set(answers) == {provider.issued[2]}


async def test_who_waits_in_vain_uses_what_is_there(
    claims: Claims, app: Application, provider: MockProvider, clock: ManualClock, redis: Redis
) -> None:
    """S2-09"""
    clock.advance(seconds=ACCESS_LIFE_S)
    await redis.set(f"lock:sess:{claims.session_id}", "somebody who does not come back", ex=5)
    started = asyncio.get_running_loop().time()
    assert await fresh(app, claims) == provider.issued[0]
    assert 1.4 <= asyncio.get_running_loop().time() - started < 3
    assert provider.calls["/token"] == 1


async def test_a_refused_refresh_ends_the_providers_session_only(
    claims: Claims, app: Application, provider: MockProvider, clock: ManualClock, redis: Redis
) -> None:
    """S2-09"""
    provider.forget_refresh_tokens()
    clock.advance(seconds=ACCESS_LIFE_S)
    assert await fresh(app, claims) is None
    assert await redis.exists(f"sess:{claims.session_id}") == 0
    assert await redis.exists(f"session:{claims.session_id}") == 1
    assert await fresh(app, claims) is None
    assert provider.calls["/token"] == 2


@pytest.mark.parametrize("lie", ["500 /token", "garbage /token"])
async def test_a_provider_that_is_down_does_not_end_the_session(
    lie: str, claims: Claims, app: Application, provider: MockProvider, clock: ManualClock, redis: Redis
) -> None:
    provider.lies = {lie}
    clock.advance(seconds=ACCESS_LIFE_S - 10)
    assert await fresh(app, claims) == provider.issued[0], "it is still good for ten seconds"
    assert (await stored(redis, claims))["ver"] == 1
    assert await redis.exists(f"lock:sess:{claims.session_id}") == 0


async def test_a_slow_holder_does_not_release_the_next_ones_lock(
    claims: Claims, app: Application, provider: MockProvider, clock: ManualClock, redis: Redis
) -> None:
    """S2-10: the lock has a random value and lives five seconds; only its holder can release it."""
    lock = f"lock:sess:{claims.session_id}"
    provider.lies = {"slow /token"}
    clock.advance(seconds=ACCESS_LIFE_S)
    slow = asyncio.create_task(fresh(app, claims))
    await until(lambda: provider.waiting == 1, "the first holder to ask the provider")
    assert len(str(await redis.get(lock))) >= 20
    assert 1 <= await redis.ttl(lock) <= 5
    await redis.set(lock, "the next holder", ex=5)  # as if the first one's time had run out
    provider.gate.set()
    assert await slow == provider.issued[2]
    assert await redis.get(lock) == "the next holder"


async def test_somebody_who_logs_out_during_a_refresh_stays_out(
    claims: Claims, app: Application, provider: MockProvider, clock: ManualClock, redis: Redis
) -> None:
    provider.lies = {"slow /token"}
    clock.advance(seconds=ACCESS_LIFE_S)
    slow = asyncio.create_task(fresh(app, claims))
    await until(lambda: provider.waiting == 1, "the provider to be asked")
    await app.services.sessions.end(claims.user_id, claims.session_id)
    provider.gate.set()
    assert await slow is None
    assert await redis.exists(f"sess:{claims.session_id}") == 0


async def test_a_token_that_never_expires_is_never_refreshed(
    browser: Browser, app: Application, provider: MockProvider, clock: ManualClock
) -> None:
    provider.lies = {"no expires_in", "no refresh_token", "no scope"}
    claims = app.services.sessions.claims_of(succeeded(await browser.sign_in("oidc"))["token"])
    assert claims is not None
    clock.advance(seconds=86_400)
    assert await fresh(app, claims) == provider.issued[0]


async def test_a_session_used_later_keeps_the_providers_side_readable(
    browser: Browser, app: Application, provider: MockProvider, clock: ManualClock, redis: Redis
) -> None:
    """S2-01: the script that notes the use rewrites the record."""
    provider.lies = {"no refresh_token"}
    token = succeeded(await browser.sign_in("oidc"))["token"]
    clock.advance(seconds=61)
    viewer = await app.services.sessions.viewer(token, browser.site.id)
    record = json.loads(str(await redis.get(f"sess:{viewer.session.id}")))
    assert set(record) == FIELDS
    assert record["last_seen_at"] == clock.now_ms()
    assert await app.services.oauth.fresh_access_token(viewer.id, viewer.session.id, "oidc") == provider.issued[0]


async def test_there_is_no_token_for_a_session_or_provider_that_is_not_there(app: Application, claims: Claims) -> None:
    oauth = app.services.oauth
    assert await oauth.fresh_access_token(claims.user_id, SessionId("gone"), "oidc") is None
    assert await oauth.fresh_access_token(UserId("nobody"), claims.session_id, "myspace") is None


async def test_a_secret_that_changed_makes_old_tokens_unreadable_not_an_error(
    claims: Claims, app: Application, redis: Redis
) -> None:
    record = await stored(redis, claims)
    record["access_token"] = Keyring(b"another root secret").seal("provider-token", "x")
    await redis.set(f"sess:{claims.session_id}", json.dumps(record), keepttl=True)
    assert await fresh(app, claims) is None


async def test_who_comes_late_to_the_lock_sees_that_it_is_done(
    claims: Claims, app: Application, provider: MockProvider, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2-09: looked before the refresh, took the lock after it."""
    clock.advance(seconds=ACCESS_LIFE_S)
    sessions = app.services.oauth._provider_sessions
    read = sessions.read
    answers = [await read(claims.user_id, claims.session_id)]
    renewed = await fresh(app, claims)

    async def first_an_old_answer(user_id: UserId, session_id: SessionId) -> ProviderSession | None:
        return answers.pop() if answers else await read(user_id, session_id)

    monkeypatch.setattr(sessions, "read", first_an_old_answer)
    assert await fresh(app, claims) == renewed
    assert provider.calls["/token"] == 2
