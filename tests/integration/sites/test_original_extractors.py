"""Contract 14.1: the original's extractor_tests.rs, one to one and by name."""

import httpx

from tests.people import create
from threadkit.app import Application
from threadkit.sites.model import NewSite


async def comments(http: httpx.AsyncClient, key: str | None, **headers: str) -> httpx.Response:
    sent = headers | ({"projectid": key} if key else {})
    return await http.get("/v1/comments", params={"page_url": "test"}, headers=sent)


async def test_valid_api_key(http: httpx.AsyncClient, new_site: NewSite) -> None:
    assert (await comments(http, new_site.site.api_key_public)).status_code == 200


async def test_missing_api_key(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await comments(http, None)
    assert (answer.status_code, answer.json()["error"]) == (401, "Missing projectid header")


async def test_invalid_api_key(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await comments(http, "tk_pub_invalid_key")
    assert (answer.status_code, answer.json()["error"]) == (401, "Invalid API key")


async def test_origin_validation_localhost_allowed(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await comments(http, new_site.site.api_key_public, origin="http://localhost:3000")
    assert answer.status_code == 200


async def test_origin_validation_primary_domain(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await comments(http, new_site.site.api_key_public, origin=f"https://{new_site.site.domain}")
    assert answer.status_code == 200


async def test_origin_validation_subdomain(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await comments(http, new_site.site.api_key_public, origin=f"https://blog.{new_site.site.domain}")
    assert answer.status_code == 200


async def test_origin_validation_forbidden(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await comments(http, new_site.site.api_key_public, origin="https://evil.com")
    assert answer.status_code == 403
    assert "Origin" in answer.json()["error"]
    assert "not allowed" in answer.json()["error"]


async def test_origin_from_referer_header(http: httpx.AsyncClient, new_site: NewSite) -> None:
    key = new_site.site.api_key_public
    assert (await comments(http, key, referer=f"https://{new_site.site.domain}/some/page")).status_code == 200
    assert (await comments(http, key, referer="https://evil.com/some/page")).status_code == 403


async def test_secret_key_skips_origin_validation(http: httpx.AsyncClient, new_site: NewSite) -> None:
    assert (await comments(http, new_site.secret_key, origin="https://evil.com")).status_code == 200


async def test_auth_user_with_admin_creation(http: httpx.AsyncClient, new_site: NewSite) -> None:
    person = await create(http, new_site, "Test User", "test@example.com")
    me = await person.call("GET", "/v1/users/me")
    assert (me.status_code, me.json()["name"]) == (200, "Test User")


async def test_auth_user_missing_token(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await http.get("/v1/users/me", headers={"projectid": new_site.site.api_key_public})
    assert (answer.status_code, answer.json()["error"]) == (401, "Missing Authorization header")


async def test_auth_user_invalid_token_format(http: httpx.AsyncClient, new_site: NewSite) -> None:
    headers = {"projectid": new_site.site.api_key_public, "authorization": "InvalidFormat"}
    answer = await http.get("/v1/users/me", headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (401, "Invalid Authorization header format")


async def test_auth_user_invalid_token(http: httpx.AsyncClient, new_site: NewSite) -> None:
    headers = {"projectid": new_site.site.api_key_public, "authorization": "Bearer invalid.token.here"}
    answer = await http.get("/v1/users/me", headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (401, "Invalid token")


async def test_maybe_auth_user_with_token(http: httpx.AsyncClient, new_site: NewSite) -> None:
    person = await create(http, new_site, "reader")
    answer = await comments(http, person.key, authorization=f"Bearer {person.token}")
    assert answer.status_code == 200


async def test_maybe_auth_user_without_token(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await comments(http, new_site.site.api_key_public)
    assert (answer.status_code, answer.json()["total"]) == (200, 0)


async def test_auth_user_with_role_moderator(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    """The role comes after the sign-in, and the old token has it."""
    person = await create(http, new_site, "moderator")
    listing = f"/v1/admin/sites/{new_site.site.id}/comments"
    assert (await person.call("GET", listing)).status_code == 403
    added = await http.post(
        f"/v1/admin/sites/{new_site.site.id}/moderators",
        json={"user_id": person.id},
        headers={"projectid": new_site.secret_key},
    )
    assert added.status_code == 200
    assert (await person.call("GET", listing)).status_code == 200


async def test_auth_user_with_role_forbidden(http: httpx.AsyncClient, new_site: NewSite) -> None:
    person = await create(http, new_site, "nobody-special")
    answer = await person.call("GET", f"/v1/admin/sites/{new_site.site.id}/comments")
    assert (answer.status_code, answer.json()["error"]) == (403, "Moderator access required")


async def test_api_key_caching(http: httpx.AsyncClient, new_site: NewSite) -> None:
    for _ in range(2):
        assert (await comments(http, new_site.site.api_key_public)).status_code == 200


async def test_case_insensitive_origin(http: httpx.AsyncClient, new_site: NewSite) -> None:
    origin = f"https://{new_site.site.domain.upper()}"
    assert (await comments(http, new_site.site.api_key_public, origin=origin)).status_code == 200
