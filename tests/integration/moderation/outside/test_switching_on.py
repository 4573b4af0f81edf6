"""How an owner switches outside checks on: settings of the server, and the command that shows a webhook's secret."""

import json
from collections.abc import Mapping

import pytest

from tests.folders import quick_folder
from tests.integration.server.program import run
from threadkit.errors import CannotStart
from threadkit.settings import flat, is_secret, load

FULL = {
    "MODERATION_ENABLED": "true",
    "MODERATION_API_URL": "https://api.example.org/v1",
    "MODERATION_API_KEY": "sk-secret",
    "MODERATION_MODEL": "omni-moderation-latest",
    "TURNSTILE_SECRET_KEY": "0xsecret",
}


def test_the_names_of_an_older_server_switch_the_same_things_on() -> None:
    loaded = load(environment=FULL | {"MODERATION_TIMEOUT_SECONDS": "10"})
    service = loaded.settings.moderation_service
    assert (service.enabled, service.url, service.key, service.model) == (
        True,
        "https://api.example.org/v1",
        "sk-secret",
        "omni-moderation-latest",
    )
    assert loaded.settings.turnstile.secret == "0xsecret"
    assert any("MODERATION_TIMEOUT_SECONDS has no effect" in notice for notice in loaded.notices)


def test_nothing_is_on_by_itself() -> None:
    settings = load(environment={}).settings
    assert not settings.moderation_service.enabled
    assert settings.turnstile.secret is None


@pytest.mark.parametrize("missing", ["MODERATION_API_URL", "MODERATION_API_KEY", "MODERATION_MODEL"])
def test_the_service_needs_address_key_and_model(missing: str) -> None:
    with pytest.raises(CannotStart, match=r"moderation_service\.enabled: needs"):
        load(environment={name: value for name, value in FULL.items() if name != missing})


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.org/v1",
        "https://user:word@api.example.org",
        "https://api.example.org/?x",
        "nonsense",
        "https://",
        "https://[",
    ],
)
def test_the_services_address_must_be_safe_to_send_a_key_to(url: str) -> None:
    with pytest.raises(CannotStart, match=r"moderation_service\.url: must begin with https"):
        load(environment=with_url(url))


@pytest.mark.parametrize("url", ["http://localhost:9000/v1", "http://127.0.0.1:9000", "https://moderation.internal/v1"])
def test_a_service_of_ones_own_may_be_near(url: str) -> None:
    assert load(environment=with_url(url)).settings.moderation_service.url == url


def test_keys_are_never_shown_with_the_settings() -> None:
    for name in ("moderation_service.key", "turnstile.secret"):
        assert name in flat(load(environment=FULL).settings)
        assert is_secret(name)
    assert not is_secret("turnstile.site_key")


def with_url(url: str) -> Mapping[str, str]:
    return FULL | {"MODERATION_API_URL": url}


def test_the_command_line_shows_a_webhooks_secret_and_no_other() -> None:
    with quick_folder() as folder:
        assert run("site", "create", "Blog", "blog.example.org", "--data", folder).returncode == 0
        derived = run("site", "webhook-secret", "Blog", "--data", folder)
        assert len(derived.stdout.strip()) == 64, derived.stderr
        own = ("webhook.secret=0123456789abcdef", "akismet.key=abcdef012345")
        changed = run("site", "set", "Blog", *own, "--data", folder)
        assert changed.returncode == 0, changed.stderr
        assert "(hidden)" in changed.stdout
        for secret in ("0123456789abcdef", "abcdef012345"):
            assert secret not in changed.stdout
        shown = run("site", "webhook-secret", "Blog", "--json", "--data", folder)
        assert json.loads(shown.stdout)["webhook_secret"] == "0123456789abcdef"
