"""Whoever is shut out is out everywhere at once: on every server, for requests and for open sockets. T5, T8, G31."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest
from redis.asyncio import Redis
from websockets.exceptions import ConnectionClosed

from tests.integration.live.ears import Ear, LiveServer
from tests.integration.moderation.test_decisions import staff
from tests.people import Person, post
from tests.wait import until
from threadkit.app import Application
from threadkit.ids import UserId, new_uuid
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings

MOST_S = 5
URL = "https://blog.example.org/post"
PASSWORD = "correct horse battery"


@pytest.fixture
async def new_site(app: Application) -> NewSite:
    settings = SiteSettings(auth=AuthSettings(password=True))
    return await app.services.sites.create("Blog", "blog.example.org", settings=settings)


@pytest.fixture
async def doors(live: LiveServer, other: LiveServer) -> AsyncIterator[list[httpx.AsyncClient]]:
    """Both servers, over the wire."""
    async with (
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}") as one,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{other.port}") as two,
    ):
        yield [one, two]


Deed = Callable[[Application, httpx.AsyncClient, NewSite, Person], Awaitable[None]]


async def logs_out(_app: Application, _http: httpx.AsyncClient, _site: NewSite, person: Person) -> None:
    assert (await person.call("POST", "/v1/auth/logout")).status_code == 200


async def signs_out_everywhere(_app: Application, _http: httpx.AsyncClient, _site: NewSite, person: Person) -> None:
    assert (await person.call("DELETE", "/v1/users/me/sessions")).status_code < 300


async def changes_password(_app: Application, http: httpx.AsyncClient, site: NewSite, person: Person) -> None:
    """On another device."""
    answer = await post(http, site, "/v1/auth/login", {"email": f"{person.name}@example.org", "password": PASSWORD})
    elsewhere = Person.of(http, person.key, answer.json())
    wish = {"old_password": PASSWORD, "new_password": "a much better one"}
    assert (await elsewhere.call("PUT", "/v1/users/me/password", wish)).status_code == 200


async def is_banned(app: Application, http: httpx.AsyncClient, site: NewSite, person: Person) -> None:
    mo = await staff(app, http, site)
    assert (await mo.call("POST", f"/v1/moderation/ban/{person.id}", {"hours": 24})).status_code == 200


async def is_banned_everywhere(app: Application, _http: httpx.AsyncClient, _site: NewSite, person: Person) -> None:
    user = await app.services.users.existing(UserId(person.id))
    await app.services.everywhere.ban(user, is_on=True, by=None, reason=None)


async def leaves(_app: Application, _http: httpx.AsyncClient, _site: NewSite, person: Person) -> None:
    assert (await person.call("DELETE", "/v1/users/me")).status_code == 200


async def may_write(web: httpx.AsyncClient, person: Person) -> bool:
    headers = {"projectid": person.key, "authorization": f"Bearer {person.token}"}
    answer = await web.post("/v1/comments", json={"page_url": URL, "content": new_uuid()}, headers=headers)
    assert answer.status_code in (200, 401, 403), answer.text
    return answer.status_code == 200 and answer.json()["comment"]["a"] == person.id


async def is_cut_off(ear: Ear) -> None:
    with pytest.raises(ConnectionClosed):
        await ear.hear_of("what never comes", seconds=MOST_S)
    assert ear.connection.close_code in (4401, 4403)


@pytest.mark.parametrize(
    "deed", [logs_out, signs_out_everywhere, changes_password, is_banned, is_banned_everywhere, leaves]
)
async def test_whoever_is_shut_out_is_out_on_every_server_within_five_seconds(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    live: LiveServer,
    other: LiveServer,
    doors: list[httpx.AsyncClient],
    deed: Deed,
) -> None:
    body = {"name": "ada", "email": "ada@example.org", "password": PASSWORD}
    ada = Person.of(http, new_site.site.api_key_public, (await post(http, new_site, "/v1/auth/register", body)).json())
    assert [await may_write(web, ada) for web in doors] == [True, True]
    async with live.ear(ada.key, ada.token) as here, other.ear(ada.key, ada.token) as there:
        for ear in (here, there):
            await ear.subscribe(new_uuid())
        started = time.monotonic()
        await deed(app, http, new_site, ada)
        for ear in (here, there):
            await is_cut_off(ear)
        for web in doors:

            async def is_out(web: httpx.AsyncClient = web) -> bool:
                return not await may_write(web, ada)

            await until(is_out, "the server to refuse", seconds=MOST_S)
        took_s = time.monotonic() - started
    assert took_s <= MOST_S
    print(f"\nG31: {deed.__name__}: requests and sockets on two servers within {took_s * 1000:.0f} ms")


async def test_a_key_that_was_replaced_opens_nothing_within_five_seconds(
    app: Application, new_site: NewSite, doors: list[httpx.AsyncClient], redis: Redis
) -> None:
    async def opens(web: httpx.AsyncClient) -> bool:
        answer = await web.get(f"/v1/admin/sites/{new_site.site.id}", headers={"projectid": new_site.secret_key})
        return answer.status_code == 200

    assert [await opens(web) for web in doors] == [True, True]
    started = time.monotonic()
    path = f"/v1/admin/sites/{new_site.site.id}/keys/secret/rotate"
    answer = await doors[0].post(path, json={}, headers={"projectid": new_site.secret_key})
    assert answer.status_code == 200, answer.text
    for web in doors:

        async def is_shut(web: httpx.AsyncClient = web) -> bool:
            return not await opens(web)

        await until(is_shut, "the old key to open nothing", seconds=MOST_S)
    print(
        f"\nG31: a replaced secret key opens nothing on two servers after {(time.monotonic() - started) * 1000:.0f} ms"
    )
