"""A site's own check: what it is sent, how it knows that we sent it, and what it may say."""

import hmac
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.integration.moderation.outside.attempts import attempt, checked
from tests.integration.moderation.outside.conftest import Change
from tests.integration.moderation.outside.others import HOOK, Others
from tests.make import ManualClock
from tests.people import Person
from threadkit.app import Application
from threadkit.errors import ThreadKitError
from threadkit.keyring import Keyring
from threadkit.moderation.outside.building import build_outside
from threadkit.moderation.outside.model import OutsideEndpoints, Visitor
from threadkit.outbox.handlers import Handlers
from threadkit.sites.model import HIDDEN, NewSite, SiteView

URL = "https://hooks.example.org/threadkit?site=blog"


async def test_it_gets_the_attempt_without_anything_that_leads_to_an_address(
    app: Application, change: Change, others: Others, jane: Person, new_site: NewSite
) -> None:
    site = await change(webhook__enabled=True, webhook__url=URL)
    viewer = await app.services.sessions.viewer(jane.token, site.id)
    viewer = msgspec.structs.replace(viewer, user=msgspec.structs.replace(viewer.user, email="jane@example.org"))
    visitor = Visitor(address="203.0.113.77", user_agent="Browser/1.0")
    assert await checked(app.services.outside.checks, attempt(site, author=viewer, text="Hi"), visitor=visitor) is None
    (call,) = others.calls
    sent = call.json
    assert sent["type"] == "comment_check"
    assert (sent["site_id"], sent["text"], sent["is_edit"]) == (site.id, "Hi", False)
    assert sent["author"]["id"] == jane.id
    assert sent["author"]["is_verified"] is False
    for hidden in (b"203.0.113", b"Browser", b"jane@example.org"):
        assert hidden not in call.body


async def test_the_signature_is_over_time_and_body_with_the_sites_secret(
    app: Application, change: Change, others: Others, clock: ManualClock
) -> None:
    site = await change(webhook__enabled=True, webhook__url=URL)
    await checked(app.services.outside.checks, attempt(site))
    derived = app.services.outside.webhook.secret_of(site)
    site = await change(webhook__secret="a secret of the owner's".replace(" ", "-"))
    await checked(app.services.outside.checks, attempt(site))
    for call, secret in zip(others.calls, (derived, "a-secret-of-the-owner's"), strict=True):
        seconds = clock.now_ms() // 1000
        expected = hmac.digest(secret.encode(), f"{seconds}.".encode() + call.body, "sha256").hex()
        assert call.headers["x-threadkit-signature"] == f"t={seconds},v1={expected}"


async def test_each_site_has_a_secret_of_its_own(app: Application, new_site: NewSite, keyring: Keyring) -> None:
    other = await app.services.sites.create("Other", "other.example")
    secret_of = app.services.outside.webhook.secret_of
    assert secret_of(new_site.site) != secret_of(other.site)
    assert len(secret_of(new_site.site)) == 64


@pytest.mark.parametrize(
    ("answer", "kind", "sentence"),
    [
        ({"verdict": "refuse", "reason": "buys  gold\n"}, "refuse", "the site's own check says refuse: buys gold"),
        ({"verdict": "refuse"}, "refuse", "the site's own check says refuse"),
        ({"verdict": "hold", "reason": "odd"}, "hold", "the site's own check says hold: odd"),
        ({"verdict": "hold", "reason": None}, "hold", "the site's own check says hold"),
        ({"verdict": "pass", "reason": "a regular"}, "pass", "the site's own check says pass: a regular"),
        ({"verdict": "hold", "reason": "x" * 2000}, "hold", f"the site's own check says hold: {'x' * 200}"),
    ],
)
async def test_what_it_says_is_done(
    answer: dict[str, Any], kind: str, sentence: str, app: Application, change: Change, others: Others
) -> None:
    others.answers[HOOK] = answer
    site = await change(webhook__enabled=True, webhook__url=URL)
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert verdict
    assert (verdict.kind, verdict.reasons[0].sentence) == (kind, sentence)


@pytest.mark.parametrize(
    ("reason", "told"),
    [("no gold here", "no gold here"), (None, "a check of this site does not accept it"), ("\u202e\n", "a check of")],
)
async def test_who_is_refused_hears_the_reason(
    reason: str | None, told: str, app: Application, change: Change, others: Others
) -> None:
    others.answers[HOOK] = {"verdict": "refuse", "reason": reason}
    site = await change(webhook__enabled=True, webhook__url=URL)
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert verdict
    assert verdict.error().message.startswith(f"Content rejected: {told}")


@pytest.mark.parametrize("answer", [{}, {"verdict": "maybe"}, {"verdict": "hold", "reason": 7}, "pass", []], ids=str)
async def test_an_answer_of_the_wrong_shape_is_no_answer(
    answer: Any, app: Application, change: Change, others: Others
) -> None:
    others.answers[HOOK] = answer
    site = await change(webhook__enabled=True, webhook__url=URL)
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert verdict
    assert (verdict.kind, verdict.reasons[0].code) == ("hold", "outside_check_failed")


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.org/",
        "http://127.0.0.1/",
        "ftp://hooks.example.org",
        "https://",
        "https://user:password@hooks.example.org/",
        "https://hooks.example.org/#part",
        "https://hooks.example.org/a b",
        "javascript:alert(1)",
        "https://hooks.example.org/" + "x" * 1000,
    ],
)
async def test_only_https_addresses_are_taken(url: str, change: Change) -> None:
    with pytest.raises(ThreadKitError, match=r"webhook\.url"):
        await change(webhook__url=url)


async def test_a_sites_owner_cannot_have_our_own_network_called(
    app: Application, change: Change, keyring: Keyring, clock: ManualClock
) -> None:
    """The server's moderation service may be on this machine; that opens nothing to the owner of a site. Such an address
    is refused when it is saved, but one that was outside then can lead inside now."""
    services = app.services
    outside = build_outside(
        services.settings,
        OutsideEndpoints(),
        redis=services.store.redis,
        keys=services.keys,
        clock=clock,
        keyring=keyring,
        handlers=Handlers(),
        site_queries=services.site_queries,
        comment_queries=services.comment_queries,
        page_queries=services.page_queries,
    )
    for host in ("127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1", "[::ffff:127.0.0.1]"):
        site = await change(webhook__enabled=True)
        webhook = replace(site.settings.webhook, url=f"https://{host}/")
        site = replace(site, settings=replace(site.settings, webhook=webhook))
        verdict = await checked(outside.checks, attempt(site))
        assert verdict
        assert "the host is in a network we do not call" in verdict.reasons[0].sentence, host
    await outside.close()


async def test_secrets_of_a_site_are_never_shown_and_survive_being_sent_back(
    app: Application, change: Change, new_site: NewSite
) -> None:
    await change(webhook__secret="0123456789abcdef", akismet__key="abcdef012345")
    site = await app.services.site_queries.by_id(new_site.site.id)
    assert site
    shown = msgspec.json.encode(SiteView.of(site))
    assert b"0123456789abcdef" not in shown
    assert b"abcdef012345" not in shown
    site = await change(webhook__secret=HIDDEN, akismet__key=HIDDEN, webhook__url=URL)
    assert (site.settings.webhook.secret, site.settings.akismet.key) == ("0123456789abcdef", "abcdef012345")
    site = await change(webhook__secret="", akismet__key="")
    assert (site.settings.webhook.secret, site.settings.akismet.key) == ("", "")
