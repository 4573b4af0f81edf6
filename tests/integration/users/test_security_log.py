"""Who came in, who did not, and by which way: for whoever has to find out what happened."""

from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from tests.integration.users.test_passwords import EMAIL, PASSWORD, login, register
from tests.people import Letterbox, Person, post
from threadkit import logs
from threadkit.app import Application
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings

EVENTS = ("signed_in", "sign_in_failed", "password_changed")


@pytest.fixture
async def new_site(app: Application) -> NewSite:
    logs.configure(replace(app.services.settings, log_level="info"))
    settings = SiteSettings(auth=AuthSettings(password=True, sso=True))
    return await app.services.sites.create("Blog", "blog.example.org", settings=settings)


def told(lines: Any) -> list[dict[str, Any]]:
    return [line for line in lines if line["event"] in EVENTS]


async def test_every_sign_in_is_in_the_log_and_says_nothing_secret(
    http: httpx.AsyncClient, new_site: NewSite, letterbox: Letterbox
) -> None:
    with capture_logs() as lines:
        grace = Person.of(http, new_site.site.api_key_public, (await register(http, new_site)).json())
        await login(http, new_site)
    for line in told(lines):
        assert (line["event"], line["user_id"], line["site_id"]) == ("signed_in", grace.id, new_site.site.id)
        assert line["client"]
    assert len(told(lines)) == 2
    assert PASSWORD not in str(lines)
    assert EMAIL not in str(told(lines))


async def test_every_failure_is_in_the_log(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, letterbox: Letterbox
) -> None:
    made = (await register(http, new_site)).json()
    await app.services.sites.rotate_sso_secret(new_site.site.id)
    with capture_logs() as lines:
        await login(http, new_site, "not the password")
        await post(http, new_site, "/v1/auth/login", {"email": "nobody@example.org", "password": PASSWORD})
        await post(http, new_site, "/v1/auth/verify-otp", {"email": EMAIL, "code": "000000"})
        await post(http, new_site, "/v1/auth/sso", {"token": "forged"})
    failed = told(lines)
    assert [line["event"] for line in failed] == ["sign_in_failed"] * 4
    assert [line["way"] for line in failed] == ["password", "password", "code", "sso"]
    assert [line.get("user_id") for line in failed[:2]] == [made["user"]["id"], None]
    assert failed[2]["to"] == "g…@example.org"
    assert "not the password" not in str(lines)


async def test_a_new_password_is_in_the_log(http: httpx.AsyncClient, new_site: NewSite, letterbox: Letterbox) -> None:
    grace = Person.of(http, new_site.site.api_key_public, (await register(http, new_site)).json())
    with capture_logs() as lines:
        change = {"old_password": PASSWORD, "new_password": "quite another one"}
        assert (await grace.call("PUT", "/v1/users/me/password", change)).status_code < 300
    assert [(line["event"], line["user_id"]) for line in told(lines)] == [("password_changed", grace.id)]
