"""Turnstile: the original's checklist (contract 14.1), contract 4.8 and 11.3, and Cloudflare in all its moods."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.moderation.outside.conftest import TURNSTILE_SECRET, Change
from tests.integration.moderation.outside.others import ELSEWHERE, VERIFY, Others
from tests.make import ManualClock
from tests.people import Person, guest, post
from threadkit import logs
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.settings import Settings, TurnstileServerSettings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore

COMMENT = {"page_url": "https://blog.example.org/post", "content": "Hello", "author_name": "Bob"}


@pytest.fixture
async def unconfigured(
    app: Application, bundled: BundledStore, settings: Settings, keyring: Keyring, clock: ManualClock
) -> AsyncIterator[httpx.AsyncClient]:
    """A server beside the first that has no secret for Turnstile."""
    bare = replace(settings, turnstile=TurnstileServerSettings())
    application = create_app(bare, bundled.address, keyring, clock=clock)
    transport = httpx.ASGITransport(application, raise_app_exceptions=False)
    async with application.lifespan(), httpx.AsyncClient(transport=transport, base_url="http://bare.test") as client:
        yield client


async def write(
    http: httpx.AsyncClient, site: NewSite, person: Person | None = None, token: str = ""
) -> httpx.Response:
    headers = {"x-turnstile-token": token} if token else {}
    if person:
        headers["authorization"] = f"Bearer {person.token}"
    return await post(http, site, "/v1/comments", COMMENT, **headers)


class TestTheOriginalsChecklist:
    async def test_turnstile_disabled_by_default(
        self, http: httpx.AsyncClient, new_site: NewSite, others: Others
    ) -> None:
        assert (await write(http, new_site)).status_code == 200
        assert others.calls == []

    async def test_turnstile_config_endpoint(self, unconfigured: httpx.AsyncClient, new_site: NewSite) -> None:
        answer = await unconfigured.get("/v1/turnstile/config", headers={"projectid": new_site.site.api_key_public})
        assert answer.status_code == 200
        assert answer.json() == {"enabled": False, "enforce_on": "anonymous", "server_configured": False}

    async def test_turnstile_challenge_page_requires_site_key(self, http: httpx.AsyncClient) -> None:
        answer = await http.get("/v1/turnstile/challenge")
        assert answer.status_code == 400
        assert "site_key" in answer.json()["error"]

    async def test_turnstile_challenge_page_returns_html(self, http: httpx.AsyncClient) -> None:
        answer = await http.get("/v1/turnstile/challenge?site_key=1x00000000000000000000AA")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/html")
        for needed in ("challenges.cloudflare.com", "1x00000000000000000000AA", "threadkit:turnstile:success"):
            assert needed in answer.text

    async def test_turnstile_verify_requires_secret_key(
        self, unconfigured: httpx.AsyncClient, new_site: NewSite, change: Change
    ) -> None:
        await change(turnstile__enabled=True)
        answer = await post(unconfigured, new_site, "/v1/turnstile/verify", {"token": "a token"})
        assert answer.status_code == 503
        assert answer.json()["error"] == "Turnstile not configured"

    async def test_turnstile_enforcement_unverified_currently_same_as_anonymous(
        self, http: httpx.AsyncClient, new_site: NewSite, change: Change, jane: Person
    ) -> None:
        await change(turnstile__enabled=True, turnstile__enforce_on="unverified")
        assert (await write(http, new_site, jane)).status_code == 200
        assert (await write(http, new_site)).status_code == 403

    async def test_turnstile_enforcement_all_requires_token_for_authenticated_users(
        self, http: httpx.AsyncClient, new_site: NewSite, change: Change, jane: Person
    ) -> None:
        await change(turnstile__enabled=True, turnstile__enforce_on="all")
        answer = await write(http, new_site, jane)
        assert answer.status_code == 403
        assert answer.json()["error"] == "Turnstile verification required"

    async def test_turnstile_enabled_but_missing_token_header(
        self, unconfigured: httpx.AsyncClient, new_site: NewSite, change: Change
    ) -> None:
        """The missing header is seen before the missing secret."""
        await change(turnstile__enabled=True)
        answer = await write(unconfigured, new_site)
        assert answer.status_code == 403
        assert answer.json()["error"] == "Turnstile verification required"

    async def test_turnstile_enforcement_anonymous_allows_authenticated_users(
        self, http: httpx.AsyncClient, new_site: NewSite, change: Change, jane: Person
    ) -> None:
        await change(turnstile__enabled=True)
        assert (await write(http, new_site, jane)).status_code == 200

    async def test_turnstile_disabled_allows_all_comments(
        self, http: httpx.AsyncClient, new_site: NewSite, change: Change, jane: Person
    ) -> None:
        await change(turnstile__enabled=False, turnstile__enforce_on="all")
        assert (await write(http, new_site)).status_code == 200
        assert (await write(http, new_site, jane)).status_code == 200

    async def test_turnstile_enforce_none_allows_all_comments(
        self, http: httpx.AsyncClient, new_site: NewSite, change: Change, jane: Person
    ) -> None:
        await change(turnstile__enabled=True, turnstile__enforce_on="none")
        assert (await write(http, new_site)).status_code == 200
        assert (await write(http, new_site, jane)).status_code == 200


async def test_a_good_token_lets_a_comment_in(
    http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others
) -> None:
    await change(turnstile__enabled=True)
    assert (await write(http, new_site, token="a good token")).status_code == 200
    (call,) = others.calls
    assert call.path == VERIFY
    assert call.form == {"secret": TURNSTILE_SECRET, "response": "a good token", "remoteip": "127.0.0.1"}


async def test_a_bad_token_is_refused_with_the_codes(
    http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others
) -> None:
    await change(turnstile__enabled=True)
    others.answers[VERIFY] = {"success": False, "error-codes": ["timeout-or-duplicate", "<script>", "other-code"]}
    answer = await write(http, new_site, token="used before")
    assert answer.status_code == 403
    assert answer.json()["error"] == "Turnstile failed: timeout-or-duplicate, other-code"


async def test_without_a_secret_a_token_cannot_be_checked(
    unconfigured: httpx.AsyncClient, new_site: NewSite, change: Change
) -> None:
    await change(turnstile__enabled=True)
    answer = await write(unconfigured, new_site, token="a token")
    assert answer.status_code == 503
    assert answer.json()["error"] == "Turnstile not configured"


async def test_a_closed_site_says_so_before_it_asks_who_is_human(
    http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others
) -> None:
    """The order of contract 4.3: posting off (5) before Turnstile (7) before the length (8)."""
    await change(turnstile__enabled=True, posting_disabled=True)
    assert (await write(http, new_site)).json()["error"] == "Posting is currently disabled"
    await change(posting_disabled=False)
    answer = await post(http, new_site, "/v1/comments", COMMENT | {"content": "x" * 10_001})
    assert answer.json()["error"] == "Turnstile verification required"
    assert others.calls == []


async def test_a_guest_counts_as_nobody(http: httpx.AsyncClient, new_site: NewSite, change: Change) -> None:
    """A guest's session is to be had for the asking, by programs too."""
    await change(turnstile__enabled=True)
    assert (await write(http, new_site, await guest(http, new_site))).status_code == 403


@pytest.mark.parametrize("lie", ["slow", "drip", "hangup", "500", "garbage", "huge", "redirect", "down"])
async def test_when_cloudflare_cannot_be_asked_nobody_passes_and_no_secret_is_told(
    lie: str,
    http: httpx.AsyncClient,
    new_site: NewSite,
    change: Change,
    others: Others,
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs.configure(settings)
    await change(turnstile__enabled=True)
    others.lies[VERIFY] = lie
    if lie == "down":
        others.close()
    answer = await post(http, new_site, "/v1/turnstile/verify", {"token": "the visitor's token"})
    assert answer.status_code == 500
    assert answer.json()["error"] == "Turnstile could not be asked. Please try again."
    assert ELSEWHERE not in others.paths()
    written = capsys.readouterr().err
    assert "outside_check_failed" in written
    for secret in (TURNSTILE_SECRET, "the visitor's token"):
        assert secret not in written + answer.text


@pytest.mark.parametrize(
    "answer", [{}, {"success": "true"}, {"success": True, "error-codes": "x"}, [], "true"], ids=str
)
async def test_an_answer_of_the_wrong_shape_lets_nobody_pass(
    answer: Any, http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others
) -> None:
    await change(turnstile__enabled=True)
    others.answers[VERIFY] = answer
    assert (await post(http, new_site, "/v1/turnstile/verify", {"token": "t"})).status_code == 500


async def test_verify_says_what_cloudflare_says(
    http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others
) -> None:
    await change(turnstile__enabled=True)
    answer = await post(http, new_site, "/v1/turnstile/verify", {"token": "t"})
    assert answer.json() == {"success": True}
    others.answers[VERIFY] = {"success": False, "error-codes": ["invalid-input-response"]}
    answer = await post(http, new_site, "/v1/turnstile/verify", {"token": "t"})
    assert answer.json() == {"success": False, "error_codes": ["invalid-input-response"]}


@pytest.mark.parametrize("token", ["", "x" * 2049, 7, None])
async def test_a_token_that_cannot_be_one_is_not_sent_on(
    token: Any, http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others
) -> None:
    await change(turnstile__enabled=True)
    assert (await post(http, new_site, "/v1/turnstile/verify", {"token": token})).status_code == 422
    assert others.calls == []


async def test_cloudflare_is_not_called_for_a_site_that_did_not_switch_it_on(
    http: httpx.AsyncClient, new_site: NewSite, others: Others
) -> None:
    answer = await post(http, new_site, "/v1/turnstile/verify", {"token": "t"})
    assert answer.status_code == 503
    assert others.calls == []


async def test_whoever_passed_need_not_do_so_again_for_a_while(
    http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others, redis: Redis, jane: Person
) -> None:
    await change(turnstile__enabled=True, turnstile__enforce_on="all", turnstile__cache_duration_seconds=600)
    assert (await write(http, new_site)).status_code == 403
    assert (await write(http, new_site, token="good")).status_code == 200
    assert (await write(http, new_site)).status_code == 200, "the same visitor"
    assert (await write(http, new_site, jane)).status_code == 403, "somebody else at the same place"
    assert len(others.calls) == 1
    (mark,) = await redis.keys("*:human:*")
    assert 590 <= await redis.ttl(mark) <= 600
    assert "127.0.0.1" not in mark
    await redis.delete(mark)
    assert (await write(http, new_site)).status_code == 403, "the time is over"


async def test_verifying_first_and_writing_then_takes_one_token(
    http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others
) -> None:
    await change(turnstile__enabled=True, turnstile__cache_duration_seconds=600)
    assert (await post(http, new_site, "/v1/turnstile/verify", {"token": "t"})).json() == {"success": True}
    assert (await write(http, new_site)).status_code == 200
    assert len(others.calls) == 1


async def test_a_failure_is_not_remembered(
    http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others, redis: Redis
) -> None:
    await change(turnstile__enabled=True, turnstile__cache_duration_seconds=600)
    others.answers[VERIFY] = {"success": False, "error-codes": []}
    answer = await write(http, new_site, token="bad")
    assert answer.json()["error"] == "Turnstile failed: no reason given"
    assert await redis.keys("*:human:*") == []


@pytest.mark.parametrize("path", ["/v1/turnstile/challenge", "/v1/v1/turnstile/challenge"])
async def test_the_challenge_page_lets_run_cloudflares_script_and_ours_and_nothing_else(
    path: str, http: httpx.AsyncClient
) -> None:
    answer = await http.get(f"{path}?site_key=0x4AAA-_z")
    assert answer.status_code == 200
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    ours, theirs = policy["script-src"].split()
    assert ours.startswith("'sha256-")
    assert theirs == policy["frame-src"] == "https://challenges.cloudflare.com"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["cross-origin-opener-policy"] == "unsafe-none"
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "site_key", ["", "x" * 101, '"><script>alert(1)</script>', "a b", "a'b", "a\nb", "\u00fc", "a&b", "<"]
)
async def test_a_site_key_that_is_none_is_refused(site_key: str, http: httpx.AsyncClient) -> None:
    answer = await http.get("/v1/turnstile/challenge", params={"site_key": site_key})
    assert answer.status_code == 400
    assert "<script>" not in answer.text
