"""Outside checks that are down, slow or lying: known people write on, newcomers wait, and no secret gets into the log."""

import time
from typing import Any

import pytest

from tests.integration.moderation.outside.attempts import attempt, checked
from tests.integration.moderation.outside.conftest import SERVICE_KEY, TURNSTILE_SECRET, Change
from tests.integration.moderation.outside.others import CHECK, ELSEWHERE, HOOK, MODERATIONS, Others
from tests.people import Person
from threadkit import logs
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

AKISMET_KEY, HOOK_SECRET = "akismetkey12", "the-secret-of-the-hook"

SWITCHES: dict[str, dict[str, Any]] = {
    MODERATIONS: {"content_moderation__enabled": True},
    CHECK: {"akismet__enabled": True, "akismet__key": AKISMET_KEY},
    HOOK: {"webhook__enabled": True, "webhook__url": "https://hooks.example.org/", "webhook__secret": HOOK_SECRET},
}
ALL_ON = {name: value for switches in SWITCHES.values() for name, value in switches.items()}
LIES = {
    "slow": "no answer in time",
    "drip": "no answer in time",
    "hangup": "no answer: RemoteProtocolError",
    "500": "it answered 500",
    "garbage": "the answer is",
    "huge": "the answer is too large",
    "redirect": "it answered 307",
    "down": "no answer: ConnectError",
}


@pytest.mark.parametrize("path", SWITCHES)
@pytest.mark.parametrize("lie", LIES)
async def test_trouble_holds_newcomers_and_lets_known_people_pass(
    lie: str,
    path: str,
    app: Application,
    settings: Settings,
    change: Change,
    others: Others,
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs.configure(settings)
    site = await change(**SWITCHES[path])
    others.lies[path] = lie
    if lie == "down":
        others.close()
    started = time.monotonic()
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert time.monotonic() - started < 2.5, "a check has one second"
    assert verdict
    assert (verdict.kind, verdict.reasons[0].code) == ("hold", "outside_check_failed")
    assert LIES[lie] in verdict.reasons[0].sentence
    assert verdict.reasons[0].sentence.endswith("and the author is new here")
    assert ELSEWHERE not in others.paths(), "a redirect is not followed"
    assert await checked(app.services.outside.checks, attempt(site), is_known=True) is None
    written = capsys.readouterr().err
    assert "outside_check_failed" in written
    for secret in (SERVICE_KEY, TURNSTILE_SECRET, AKISMET_KEY, HOOK_SECRET, "What a fine post!"):
        assert secret not in written + verdict.reasons[0].sentence


async def test_all_are_asked_at_once_and_one_that_is_slow_does_not_silence_the_others(
    app: Application, change: Change, others: Others
) -> None:
    site = await change(**ALL_ON)
    others.lies = {MODERATIONS: "slow", CHECK: "drip", HOOK: "slow"}
    started = time.monotonic()
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert time.monotonic() - started < 2.5, "three that are slow take as long as one"
    assert verdict
    assert [reason.code for reason in verdict.reasons] == ["outside_check_failed"] * 3
    others.lies.pop(HOOK)
    others.answers[HOOK] = {"verdict": "refuse", "reason": "no"}
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert verdict
    assert verdict.kind == "refuse"
    assert verdict.error().message == "Content rejected: no"


async def test_a_refusal_wins_over_a_hold_and_holds_add_up(app: Application, change: Change, others: Others) -> None:
    site = await change(**ALL_ON)
    others.answers |= {CHECK: "true", HOOK: {"verdict": "hold", "reason": "odd"}}
    verdict = await checked(app.services.outside.checks, attempt(site), is_known=True)
    assert verdict
    assert verdict.kind == "hold"
    assert [reason.code for reason in verdict.reasons] == ["akismet", "webhook"]
    others.answers[HOOK] = {"verdict": "refuse"}
    verdict = await checked(app.services.outside.checks, attempt(site), is_known=True)
    assert verdict
    assert verdict.kind == "refuse"


async def test_nobody_is_asked_about_those_who_moderate(
    app: Application, change: Change, others: Others, jane: Person, new_site: NewSite
) -> None:
    await app.services.roles.grant(new_site.site.id, UserId(jane.id), Role.MODERATOR)
    site = await change(**ALL_ON)
    viewer = await app.services.sessions.viewer(jane.token, site.id)
    assert await checked(app.services.outside.checks, attempt(site, author=viewer)) is None
    assert others.calls == []


async def test_nobody_is_called_unless_the_owner_switched_it_on(
    app: Application, change: Change, others: Others
) -> None:
    """Keys and addresses alone switch nothing on; and neither does a switch without them."""
    settings = {name: value for name, value in ALL_ON.items() if not name.endswith("__enabled")}
    site = await change(**settings)
    assert await checked(app.services.outside.checks, attempt(site)) is None
    site = await change(akismet__enabled=True, akismet__key="", webhook__enabled=True, webhook__url="")
    assert await checked(app.services.outside.checks, attempt(site)) is None
    await app.services.outside.turnstile.require_human(site, None, "a token", "client")
    assert others.calls == []
    site = await change(**ALL_ON)
    assert await checked(app.services.outside.checks, attempt(site)) is None
    assert sorted(others.paths()) == sorted(SWITCHES)
