"""An account elsewhere as the way to the pages for staff."""

import httpx

from tests.integration.oauth.browser import Browser, succeeded
from tests.integration.oauth.conftest import BASE_URL
from tests.integration.oauth.test_signing_in import switch
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role


async def test_the_door_offers_what_the_oldest_site_with_any_has(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    offered = (await http.get("/v1/staff/ways")).json()
    assert offered["project"] == new_site.site.api_key_public
    assert [one["id"] for one in offered["providers"]] == ["google", "github", "discord", "oidc"]
    assert offered["passkeys"]
    await switch(app, new_site.site, google=False, github=False, discord=False, oidc=False)
    offered = (await http.get("/v1/staff/ways")).json()
    assert (offered["providers"], offered["project"]) == ([], None)


async def test_a_session_from_elsewhere_becomes_the_cookie(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, browser: Browser
) -> None:
    # Their popup is opened by our own page, which the browser says as the referrer.
    told = succeeded(await browser.sign_in("oidc", referer=f"{BASE_URL}/mod"))
    headers = {"origin": BASE_URL, "authorization": f"Bearer {told['token']}"}
    stranger = await http.post("/v1/staff/session", headers=headers)
    assert (stranger.status_code, stranger.json()["code"]) == (403, "not_staff")
    await app.services.roles.grant(new_site.site.id, UserId(told["user"]["id"]), Role.MODERATOR)
    arrived = await http.post("/v1/staff/session", headers=headers)
    assert [site["name"] for site in arrived.json()["sites"]] == ["Blog"]
    assert arrived.headers["set-cookie"].startswith("__Host-threadkit_staff=")
