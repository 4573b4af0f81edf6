"""The operator tries out providers: what to enter there, and whether they answer."""

from typing import Any

import httpx
import pytest

from tests.integration.oauth.conftest import BASE_URL, NAMES
from tests.integration.oauth.provider import MockProvider
from threadkit.sites.model import NewSite


async def try_out(http: httpx.AsyncClient, site: NewSite, name: str) -> dict[str, Any]:
    path = f"/v1/admin/server/providers/{name}/test"
    answer = await http.post(path, headers={"projectid": site.secret_key})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_the_list_says_what_to_enter_at_each(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await http.get("/v1/admin/server/providers", headers={"projectid": new_site.secret_key})
    assert answer.json()["providers"] == [
        {"name": name, "is_configured": True, "redirect_uri": f"{BASE_URL}/auth/{name}/callback"} for name in NAMES
    ]


@pytest.mark.parametrize("name", NAMES)
async def test_a_provider_that_answers(http: httpx.AsyncClient, new_site: NewSite, name: str) -> None:
    assert (await try_out(http, new_site, name))["outcome"] == "answers"


async def test_a_provider_that_does_not_know_our_address(
    http: httpx.AsyncClient, new_site: NewSite, provider: MockProvider
) -> None:
    provider.redirect_uris.clear()
    found = await try_out(http, new_site, "oidc")
    assert found["outcome"] == "refused"
    assert "redirect address" in found["sentence"]


async def test_discovery_is_asked_each_time(http: httpx.AsyncClient, new_site: NewSite, provider: MockProvider) -> None:
    place = "/.well-known/openid-configuration"
    assert (await try_out(http, new_site, "oidc"))["outcome"] == "answers"
    provider.lies.add(f"500 {place}")
    found = await try_out(http, new_site, "oidc")
    assert (found["outcome"], found["sentence"]) == (
        "unreachable",
        "It cannot be used: the discovery document answered 500.",
    )
    assert provider.calls[place] == 2


async def test_what_nobody_knows_is_not_found(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await http.post("/v1/admin/server/providers/myspace/test", headers={"projectid": new_site.secret_key})
    assert (answer.status_code, answer.json()["code"]) == (404, "no_such_provider")
