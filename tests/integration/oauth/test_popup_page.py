"""The page in the popup: to whom it speaks, and that nothing in it runs but our own script."""

import re
from collections.abc import Callable

import pytest

from tests.integration.oauth.browser import Browser, failed, outcome_of, succeeded
from tests.integration.oauth.provider import MockProvider
from threadkit.app import Application


@pytest.mark.parametrize(
    ("referer", "target"),
    [
        ("https://blog.example.org/a/post", "https://blog.example.org"),
        ("https://www.blog.example.org:8443/", "https://www.blog.example.org:8443"),
        ("http://localhost:3000/dev", "http://localhost:3000"),
        ("https://evil.example/", "https://blog.example.org"),
        ("https://blog.example.org.evil.example/", "https://blog.example.org"),
        ("https://blog.example.org@evil.example/", "https://blog.example.org"),
        ("https://evil.example/?https://blog.example.org", "https://blog.example.org"),
        ("javascript://blog.example.org/%0aalert(1)", "https://blog.example.org"),
        ("null", "https://blog.example.org"),
        ("*", "https://blog.example.org"),
        ("", "https://blog.example.org"),
    ],
)
async def test_the_page_speaks_only_to_the_sites_own_origin(referer: str, target: str, browser: Browser) -> None:
    page = await browser.sign_in("oidc", referer=referer)
    succeeded(page)
    assert outcome_of(page)["target"] == target
    assert '"*"' not in page.text


async def test_the_origin_header_counts_before_the_referer(browser: Browser) -> None:
    started = await browser.open(
        f"/auth/oidc?project_id={browser.site.api_key_public}",
        origin="https://en.blog.example.org",
        referer="https://blog.example.org/",
    )
    state = re.search(r"state=([\w-]+)", started.headers["location"])
    assert state
    page = await browser.open(f"/auth/oidc/callback?state={state[1]}&error=access_denied")
    assert outcome_of(page)["target"] == "https://en.blog.example.org"


async def test_an_unknown_state_has_nobody_to_speak_to(browser: Browser) -> None:
    page = await browser.open("/auth/oidc/callback?code=c&state=s")
    failed(page)
    assert outcome_of(page)["target"] is None


async def test_only_the_script_with_the_nonce_may_run(new_browser: Callable[[], Browser]) -> None:
    page = await new_browser().sign_in("oidc")
    policy = page.headers["content-security-policy"]
    nonce = re.search(r"script-src 'nonce-([\w-]+)'", policy)
    assert nonce
    assert f'<script nonce="{nonce[1]}">' in page.text
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.text.count("<script") == 2, "the data and our script"
    assert nonce[1] not in (await new_browser().sign_in("oidc")).text


async def test_the_page_is_kept_nowhere_and_stays_in_touch_with_its_opener(browser: Browser) -> None:
    page = await browser.sign_in("oidc")
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cross-origin-opener-policy"] == "unsafe-none"


async def test_the_page_tells_both_ways_and_closes(browser: Browser) -> None:
    page = await browser.sign_in("oidc")
    assert 'new BroadcastChannel("threadkit-auth")' in page.text
    assert "window.opener.postMessage(message, target)" in page.text
    assert outcome_of(page)["close_after_ms"] == 0
    assert "You can close this window." in page.text
    error = await browser.open("/auth/oidc/callback?code=c&state=s")
    assert outcome_of(error)["close_after_ms"] == 100
    assert '<p role="status">This sign-in has expired' in error.text


async def test_hostile_text_in_the_page_executes_nothing(
    browser: Browser, provider: MockProvider, app: Application
) -> None:
    """Even were the name or picture kept as they are: what stands in the page is escaped."""
    provider.person |= {
        "name": "</script><script>alert(1)</script>",
        "picture": "https://x.example/</script><img src=x onerror=alert(1)>",
        "email": '"</script><script>alert(1)"@example.org',
    }
    page = await browser.sign_in("oidc")
    message = succeeded(page)
    assert message["user"]["name"] == "scriptscriptalert1script"
    assert message["user"]["avatar_url"] is None
    assert page.text.count("<script") == page.text.count("</script>") == 2
    assert "onerror" not in page.text
