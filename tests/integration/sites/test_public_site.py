"""`GET /v1/site`: everything an embed needs, in one answer."""

import httpx

from tests.make import ManualClock
from tests.people import create
from threadkit.app import Application
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role
from threadkit.sites.staff import MEMORY_MS, MOST_SHOWN


async def ask(http: httpx.AsyncClient, site: NewSite, **headers: str) -> httpx.Response:
    return await http.get("/v1/site", headers={"projectid": site.site.api_key_public} | headers)


async def test_it_says_what_people_may_do(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    changes = {"voting": "up", "edit_window_minutes": 30, "moderation_mode": "pre", "turnstile.enabled": True}
    await app.services.sites.change(new_site.site.id, settings=changes)
    said = (await ask(http, new_site)).json()
    assert {name: said[name] for name in ("name", "voting", "edit_window_minutes", "moderation_mode")} == {
        "name": "Blog",
        "voting": "up",
        "edit_window_minutes": 30,
        "moderation_mode": "pre",
    }
    assert said["max_comment_length"] == app.services.settings.max_comment_length
    assert said["turnstile"] == {"enabled": True, "enforce_on": "anonymous", "site_key": None}
    assert said["posting_disabled"] is False
    assert said["display"]["default_sort"] == "top"


async def test_the_ways_in_are_those_of_their_own_route(http: httpx.AsyncClient, new_site: NewSite) -> None:
    methods = await http.get("/v1/auth/methods", headers={"projectid": new_site.site.api_key_public})
    said = (await ask(http, new_site)).json()["methods"]
    assert said == methods.json()["methods"]
    assert [method["id"] for method in said] == ["email", "anonymous"]


async def test_staff_are_shown_with_their_role_and_soon_after_a_change(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    people = [await create(http, new_site, name) for name in ("olga", "adam", "mona", "ulf")]
    for person, role in zip(people, (Role.OWNER, Role.ADMIN, Role.MODERATOR), strict=False):
        await app.services.roles.grant(new_site.site.id, person.id, role)  # type: ignore[arg-type]
    assert (await ask(http, new_site)).json()["staff"] == {
        people[0].id: "owner",
        people[1].id: "admin",
        people[2].id: "moderator",
    }
    await app.services.roles.revoke(new_site.site.id, people[2].id)  # type: ignore[arg-type]
    clock.advance(seconds=MEMORY_MS / 1000)
    assert people[2].id not in (await ask(http, new_site)).json()["staff"]


async def test_not_more_than_some_staff_are_shown_and_owners_come_first(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    keys = app.services.keys.site(new_site.site.id)
    await app.services.store.redis.sadd(keys.moderators(), *(f"00000000-0000-7000-8000-{n:012}" for n in range(300)))
    await app.services.store.redis.sadd(keys.owners(), "ffffffff-0000-7000-8000-000000000000")
    staff = (await ask(http, new_site)).json()["staff"]
    assert len(staff) == MOST_SHOWN
    assert staff["ffffffff-0000-7000-8000-000000000000"] == "owner"


async def test_whoever_has_it_is_told_so_until_something_changes(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    first = await ask(http, new_site, origin="https://blog.example.org")
    again = await ask(http, new_site, origin="https://blog.example.org", **{"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["access-control-allow-origin"] == "https://blog.example.org"
    assert "projectid" in first.headers["vary"]
    await app.services.sites.change(new_site.site.id, settings={"posting_disabled": True})
    assert (await ask(http, new_site, **{"if-none-match": first.headers["etag"]})).status_code == 200


async def test_it_holds_nothing_that_is_not_for_everybody(http: httpx.AsyncClient, new_site: NewSite) -> None:
    said = (await ask(http, new_site)).json()
    assert set(said) == {
        *("id", "name", "display", "posting_disabled", "methods", "staff", "voting", "max_comment_length"),
        *("edit_window_minutes", "moderation_mode", "turnstile"),
    }
