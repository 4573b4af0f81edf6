"""Signing in to the pages for staff: who gets in, what the cookie is good for, and from where it may be used."""

import httpx
import pytest
from msgspec.structs import replace

from tests.make import ManualClock
from tests.people import Letterbox, Person, create
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role
from threadkit.users.sessions import PROOF_MS

HERE = {"origin": "http://localhost:8080"}
PASSWORD = "correct horse battery"
EMAIL = "mona@example.org"


@pytest.fixture
async def mona(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> Person:
    """A moderator with a password, on a site whose visitors cannot have one."""
    person = await create(http, new_site, "mona", EMAIL)
    hashed = await app.services.passwords.hash(PASSWORD)
    await app.services.store.redis.set(app.services.keys.user(person.id).password(), hashed)  # type: ignore[arg-type]
    await app.services.roles.grant(new_site.site.id, person.id, Role.MODERATOR)  # type: ignore[arg-type]
    return person


async def sign_in(http: httpx.AsyncClient, password: str = PASSWORD, **headers: str) -> httpx.Response:
    return await http.post("/v1/staff/sign-in", json={"email": EMAIL, "password": password}, headers=HERE | headers)


async def test_staff_come_in_and_get_tokens_for_their_sites(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, mona: Person
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    arrived = await sign_in(http)
    assert arrived.status_code == 200, arrived.text
    assert [(site["name"], site["role"]) for site in arrived.json()["sites"]] == [("Blog", "moderator")]
    assert not arrived.json()["is_operator"]
    token = (await http.post("/v1/staff/token", json={"site_id": new_site.site.id}, headers=HERE)).json()["token"]
    headers = {"projectid": new_site.site.api_key_public, "authorization": f"Bearer {token}"}
    assert (await http.get("/v1/moderation/queue", headers=headers)).status_code == 200
    foreign = await http.post("/v1/staff/token", json={"site_id": other.site.id}, headers=HERE)
    assert (foreign.status_code, foreign.json()["code"]) == (404, "not_your_site")


async def test_the_cookie_is_for_browsers_alone(http: httpx.AsyncClient, mona: Person) -> None:
    cookie = (await sign_in(http)).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "path=/" in cookie


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost.evil.example:8080"},
        {"origin": "http://localhost:81"},
        {"origin": "http://comments.test"},
        {"origin": "http://comments.test", "host": "comments.test"},
        {"origin": "http://localhost:8080", "sec-fetch-site": "cross-site"},
        {"origin": "http://localhost:8080", "sec-fetch-site": "same-site"},
        {},
    ],
)
async def test_changes_come_from_our_own_pages_only(
    http: httpx.AsyncClient, new_site: NewSite, mona: Person, headers: dict[str, str]
) -> None:
    await sign_in(http)
    for method, path, body in (
        ("POST", "/v1/staff/token", {"site_id": new_site.site.id}),
        ("POST", "/v1/staff/confirm", {"password": PASSWORD}),
        ("POST", "/v1/staff/sign-in", {"email": EMAIL, "password": PASSWORD}),
        ("DELETE", "/v1/staff/session", None),
    ):
        answer = await http.request(method, path, json=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "only_from_our_pages"), path
    assert (await http.get("/v1/staff/session")).status_code == 200


async def test_whoever_is_on_no_staff_stays_outside(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, mona: Person
) -> None:
    await app.services.roles.revoke(new_site.site.id, mona.id)  # type: ignore[arg-type]
    answer = await sign_in(http)
    assert (answer.status_code, answer.json()["code"]) == (403, "not_staff")
    assert "set-cookie" not in answer.headers
    wrong = await sign_in(http, "wrong password")
    assert (wrong.status_code, wrong.json()["code"]) == (401, "invalid_credentials")


async def test_signing_out_ends_the_session_and_its_tokens(
    http: httpx.AsyncClient, new_site: NewSite, mona: Person
) -> None:
    await sign_in(http)
    token = (await http.post("/v1/staff/token", json={"site_id": new_site.site.id}, headers=HERE)).json()["token"]
    kept = dict(http.cookies)
    out = await http.delete("/v1/staff/session", headers=HERE)
    assert out.status_code == 200
    assert "clear-site-data" in out.headers
    http.cookies.update(kept)
    assert (await http.get("/v1/staff/session")).status_code == 401
    headers = {"projectid": new_site.site.api_key_public, "authorization": f"Bearer {token}"}
    assert (await http.get("/v1/moderation/queue", headers=headers)).status_code == 401


async def test_a_code_opens_too_and_is_sent_to_staff_only(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, mona: Person
) -> None:
    letterbox = Letterbox(app)
    await create(http, new_site, "visitor", "visitor@example.org")
    for email in ("visitor@example.org", "nobody@example.org"):
        assert (await http.post("/v1/staff/code", json={"email": email}, headers=HERE)).status_code == 200
    assert letterbox.mails == []
    assert (await http.post("/v1/staff/code", json={"email": EMAIL}, headers=HERE)).status_code == 200
    code = letterbox.newest_code()
    answer = await http.post("/v1/staff/sign-in", json={"email": EMAIL, "code": code}, headers=HERE)
    assert answer.status_code == 200, answer.text


async def test_a_session_of_the_site_can_be_used(http: httpx.AsyncClient, new_site: NewSite, mona: Person) -> None:
    headers = HERE | {"authorization": f"Bearer {mona.token}"}
    assert (await http.post("/v1/staff/session", headers=headers)).status_code == 200
    assert (await http.get("/v1/staff/session")).json()["user"]["name"] == "mona"


async def test_what_does_harm_asks_again_after_a_while(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, mona: Person, clock: ManualClock
) -> None:
    await app.services.roles.grant(new_site.site.id, mona.id, Role.OWNER)  # type: ignore[arg-type]
    assert (await sign_in(http)).json()["is_operator"]
    token = (await http.post("/v1/staff/token", json={"site_id": new_site.site.id}, headers=HERE)).json()["token"]
    headers = {"projectid": new_site.site.api_key_public, "authorization": f"Bearer {token}"}
    rotate = f"/v1/admin/sites/{new_site.site.id}/keys/secret/rotate"
    clock.advance(seconds=PROOF_MS / 1000 + 1)
    refused = await http.post(rotate, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (403, "confirmation_required")
    wrong = await http.post("/v1/staff/confirm", json={"password": "wrong password"}, headers=HERE)
    assert wrong.status_code == 401
    assert (await http.post(rotate, headers=headers)).status_code == 403
    assert (await http.post("/v1/staff/confirm", json={"password": PASSWORD}, headers=HERE)).status_code == 200
    assert (await http.post(rotate, headers=headers)).status_code == 200


async def test_the_pages_refuse_frames_and_foreign_scripts(http: httpx.AsyncClient) -> None:
    for path in ("/mod", "/admin"):
        page = await http.get(path)
        assert page.status_code == 200
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert page.headers["x-frame-options"] == "DENY" or "frame-ancestors" in policy
        assert "<script>" not in page.text
        assert " style=" not in page.text


@pytest.mark.parametrize("host", ["192.0.2.7:8080", "[2001:db8::7]:8080", "localhost:9000"])
async def test_without_a_public_address_owners_come_by_the_machines_own(
    http: httpx.AsyncClient, mona: Person, host: str
) -> None:
    assert (await sign_in(http, origin=f"http://{host}", host=host)).status_code == 200
    assert (await sign_in(http, origin=f"http://{host}", host="localhost:8080")).status_code == 403


class TestWithAPublicAddress:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return replace(settings, public_url="https://comments.example.org")

    async def test_it_is_the_only_one(self, http: httpx.AsyncClient, mona: Person) -> None:
        ours = {"origin": "https://comments.example.org"}
        assert (await sign_in(http, **ours, host="127.0.0.1:8080")).status_code == 200, "behind a proxy"
        for host in ("192.0.2.7:8080", "localhost:8080", "rebound.example"):
            assert (await sign_in(http, origin=f"http://{host}", host=host)).status_code == 403


@pytest.mark.parametrize("way", ["taken", "revoked", "lowered"])
async def test_with_a_role_its_session_on_the_pages_for_staff_ends_at_once(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, mona: Person, way: str
) -> None:
    roles, site_id, mona_id = app.services.roles, new_site.site.id, UserId(mona.id)
    await roles.grant(site_id, mona_id, Role.ADMIN)
    await sign_in(http)
    token = (await http.post("/v1/staff/token", json={"site_id": site_id}, headers=HERE)).json()["token"]
    if way == "taken":
        await roles.take(site_id, mona_id, Role.ADMIN, by=None)
    elif way == "revoked":
        await roles.revoke(site_id, mona_id)
    else:
        await roles.grant(site_id, mona_id, Role.MODERATOR)
    assert (await http.get("/v1/staff/session")).status_code == 401
    headers = {"projectid": new_site.site.api_key_public, "authorization": f"Bearer {token}"}
    assert (await http.get("/v1/users/me", headers=headers)).status_code == 401
    assert (await mona.call("GET", "/v1/users/me")).status_code == 200, "where they are a visitor they stay one"
