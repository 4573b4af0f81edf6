"""The one-time link: it makes one owner, and dies."""

import asyncio
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as StoreGone

from tests.make import ManualClock
from tests.stores import TestedStore
from threadkit.app import Application, create_app
from threadkit.ids import new_uuid
from threadkit.keyring import Keyring
from threadkit.settings import Settings

FORM = {
    "name": "olga",
    "email": "olga@example.org",
    "password": "correct horse battery",
    "site_name": "Olga's blog",
    "domain": "blog.example.org",
    "moderation": "pre",
    "way_anonymous": "on",
    "way_password": "on",
}


@pytest.fixture
async def token(app: Application) -> str:
    await app.services.setup.first_site()
    return parse_qs(urlsplit(await app.services.setup.owner_link()).query)["token"][0]


async def test_the_link_shows_a_form_and_the_form_makes_the_owner(
    app: Application, http: httpx.AsyncClient, token: str
) -> None:
    form = await http.get("/setup", params={"token": token})
    assert form.status_code == 200
    assert "<form" in form.text
    assert "form-action 'self'" in form.headers["content-security-policy"]
    done = await http.post("/setup", data=FORM | {"token": token}, follow_redirects=True)
    assert done.status_code == 200, done.text
    assert "Welcome, olga" in done.text
    assert "tk_pub_" in done.text
    site, _ = await app.services.setup.first_site()
    assert await app.services.setup.has_owner(site)
    assert (site.name, site.domain) == ("Olga's blog", "blog.example.org")
    auth = site.settings.auth
    assert (site.settings.moderation_mode, auth.anonymous, auth.password, auth.email) == ("pre", True, True, False)
    assert (await http.get("/v1/staff/session")).json()["is_operator"]
    login = await http.post(
        "/v1/auth/login",
        json={"email": FORM["email"], "password": FORM["password"]},
        headers={"projectid": site.api_key_public},
    )
    assert login.status_code == 200


async def test_the_link_dies_with_its_use(http: httpx.AsyncClient, token: str) -> None:
    await http.post("/setup", data=FORM | {"token": token})
    assert (await http.get("/setup", params={"token": token})).status_code == 404
    again = await http.post("/setup", data=FORM | {"token": token, "name": "eve", "email": "eve@example.org"})
    assert again.status_code == 404
    assert "threadkit owner-link" in again.text


async def test_fifty_at_once_make_one_owner(
    app: Application, http: httpx.AsyncClient, token: str, redis: Redis
) -> None:
    tries = [
        http.post("/setup", data=FORM | {"token": token, "name": f"olga{n}", "email": f"olga{n}@example.org"})
        for n in range(50)
    ]
    statuses = [answer.status_code for answer in await asyncio.gather(*tries)]
    assert statuses.count(303) == 1
    site, _ = await app.services.setup.first_site()
    assert await redis.scard(f"site:{site.id}:owners") == 1


async def test_servers_that_start_together_make_one_first_site_and_all_print_its_key(
    app: Application, bundled: TestedStore, settings: Settings, keyring: Keyring, clock: ManualClock
) -> None:
    servers = [create_app(settings, bundled.address, keyring, clock=clock) for _ in range(5)]
    try:
        found = await asyncio.gather(*(server.services.setup.first_site() for server in servers))
    finally:
        for server in servers:
            await server.services.store.close()
    assert len({site.api_key_public for site, _ in found}) == 1
    assert [site.id for site in await app.services.site_queries.all()] == [found[0][0].id]
    assert len([secret for _, secret in found if secret]) == 1, "only who made it knows its secret key"


async def test_a_first_site_whose_server_died_before_it_made_it_is_made_by_the_next(
    app: Application, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threadkit.setup.service._MAKING_S", 0.1)
    claimed = new_uuid()
    await redis.zadd("sites:index", {claimed: 1})
    site, secret = await app.services.setup.first_site()
    assert site.id == claimed
    assert secret
    assert await redis.zrange("sites:index", 0, -1) == [claimed]


async def test_another_servers_start_leaves_the_printed_link_alive(
    app: Application, http: httpx.AsyncClient, token: str
) -> None:
    other = parse_qs(urlsplit(await app.services.setup.owner_link(beside_others=True)).query)["token"][0]
    assert (await http.get("/setup", params={"token": other})).status_code == 200
    assert (await http.post("/setup", data=FORM | {"token": token})).status_code == 303
    assert (await http.get("/setup", params={"token": other})).status_code == 404, "they die together"


async def test_a_mistake_keeps_the_link_and_what_was_typed(http: httpx.AsyncClient, token: str) -> None:
    weak = await http.post("/setup", data=FORM | {"token": token, "password": "password", "name": "o<b>"})
    assert weak.status_code == 400
    assert 'value="olga@example.org"' in weak.text
    assert "o&lt;b&gt;" in weak.text
    no_way = {name: value for name, value in FORM.items() if not name.startswith("way_")}
    silent = await http.post("/setup", data=no_way | {"token": token})
    assert (silent.status_code, "at least one way" in silent.text) == (400, True)
    domain = await http.post("/setup", data=FORM | {"token": token, "domain": "not a domain"})
    assert domain.status_code == 400
    assert (await http.post("/setup", data=FORM | {"token": token})).status_code == 303


async def test_a_crash_in_between_costs_nothing(
    app: Application, http: httpx.AsyncClient, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(*_: object) -> None:
        raise StoreGone("the machine was switched off")

    with monkeypatch.context() as broken:
        broken.setattr(app.services.roles, "grant", dies)
        assert (await http.post("/setup", data=FORM | {"token": token})).status_code == 503
    fresh = parse_qs(urlsplit(await app.services.setup.owner_link()).query)["token"][0]
    stranger = await http.post("/setup", data=FORM | {"token": fresh, "password": "another good sentence"})
    assert stranger.status_code == 409
    assert (await http.post("/setup", data=FORM | {"token": fresh})).status_code == 303
    site, _ = await app.services.setup.first_site()
    assert await app.services.setup.has_owner(site)


async def test_the_page_speaks_the_browsers_language(http: httpx.AsyncClient, token: str) -> None:
    asked = {"accept-language": "xx;q=0.9, en;q=0.5"}
    assert '<html lang="en" dir="ltr">' in (await http.get("/setup", params={"token": token}, headers=asked)).text
    german = {"accept-language": "de-AT, en;q=0.5"}
    assert '<html lang="de" dir="ltr">' in (await http.get("/setup", params={"token": token}, headers=german)).text


async def test_whoever_owns_nothing_sees_no_end_of_the_set_up(http: httpx.AsyncClient) -> None:
    nobody = await http.get("/setup/done")
    assert (nobody.status_code, nobody.headers["location"]) == (303, "/admin")


async def test_a_fresh_link_replaces_the_one_before(app: Application, http: httpx.AsyncClient, token: str) -> None:
    await app.services.setup.owner_link()
    assert (await http.get("/setup", params={"token": token})).status_code == 404
    assert (await http.get("/setup")).status_code == 404
