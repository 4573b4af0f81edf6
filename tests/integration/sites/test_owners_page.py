"""When keys were made and last used, and who has a role since when: what the owner's page shows."""

from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.sites.test_site_admin import manage
from tests.integration.users.test_host_site_users import signed
from tests.make import ManualClock
from tests.people import Person, create, post
from threadkit.app import Application
from threadkit.clock import iso
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

MINUTE_S = 60


@pytest.fixture
async def owner(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> Person:
    person = await create(http, new_site, "olga")
    await app.services.roles.grant(new_site.site.id, UserId(person.id), Role.OWNER)
    return person


async def keys_seen_by(owner: Person, app: Application, site: NewSite) -> dict[str, Any]:
    assert await app.services.tally.flush() is None
    answer = await owner.call("GET", f"/v1/admin/sites/{site.site.id}/keys")
    assert answer.status_code == 200, answer.text
    return {one["kind"]: one for one in answer.json()["keys"]} | {"replaced": answer.json()["replaced"]}


def to_the_minute(clock: ManualClock) -> str:
    return iso(clock.now_ms() - clock.now_ms() % 60_000)


async def test_each_kind_of_key_has_its_own_last_use(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, owner: Person, clock: ManualClock
) -> None:
    first = to_the_minute(clock)
    clock.advance(seconds=2 * MINUTE_S)
    await http.get("/v1/site", headers={"projectid": new_site.site.api_key_public})
    second = to_the_minute(clock)
    found = await keys_seen_by(owner, app, new_site)
    assert (found["public"]["last_used"], found["secret"]["last_used"]) == (second, first)
    assert (found["sso"]["is_set"], found["sso"]["last_used"], found["sso"]["made_at"]) == (False, None, None)
    assert found["public"]["key"] == new_site.site.api_key_public
    assert found["secret"]["key"] is None

    secret = await app.services.sites.rotate_sso_secret(new_site.site.id)
    await app.services.sites.change(new_site.site.id, settings={"auth.sso": True})
    refused = await post(http, new_site, "/v1/auth/sso", {"token": signed("x" * 40, clock)})
    assert refused.status_code == 401
    assert (await keys_seen_by(owner, app, new_site))["sso"]["last_used"] is None, "refused, so it was not used"
    assert (await post(http, new_site, "/v1/auth/sso", {"token": signed(secret, clock)})).status_code == 200
    assert (await keys_seen_by(owner, app, new_site))["sso"]["last_used"] == second


async def test_a_new_key_says_when_it_was_made_and_has_not_been_used(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, owner: Person, clock: ManualClock
) -> None:
    made = iso(clock.now_ms())
    clock.advance(seconds=5 * MINUTE_S)
    for kind in ("secret", "public"):
        path = f"/v1/admin/sites/{new_site.site.id}/keys/{kind}/rotate"
        assert (await owner.call("POST", path)).status_code == 200
    found = await keys_seen_by(owner, app, new_site)
    assert (found["secret"]["made_at"], found["secret"]["last_used"]) == (iso(clock.now_ms()), None)
    assert found["public"]["made_at"] == iso(clock.now_ms()) != made
    assert [one["key"] for one in found["replaced"]] == [new_site.site.api_key_public], "it still works for a while"


async def test_using_a_key_often_is_written_down_once_a_minute(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    key = f"site:{new_site.site.id}:keys:used"
    for _ in range(3):
        await http.get("/v1/site", headers={"projectid": new_site.site.api_key_public})
    await app.services.tally.flush()
    assert await redis.hgetall(key) == {"public": str(clock.now_ms() - clock.now_ms() % 60_000)}
    await redis.delete(key)
    await http.get("/v1/site", headers={"projectid": new_site.site.api_key_public})
    await app.services.tally.flush()
    assert await redis.exists(key) == 0, "nothing is written again in the same minute"


async def test_a_late_worker_does_not_turn_the_last_use_back(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    key, later = f"site:{new_site.site.id}:keys:used", str(clock.now_ms() + 3_600_000)
    await redis.hset(key, "public", later)
    await http.get("/v1/site", headers={"projectid": new_site.site.api_key_public})
    await app.services.tally.flush()
    assert await redis.hget(key, "public") == later


async def test_staff_is_one_list_with_since_when(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, owner: Person, clock: ManualClock, redis: Redis
) -> None:
    made = iso(clock.now_ms())
    clock.advance(seconds=10)
    zoe, ada = await create(http, new_site, "zoe"), await create(http, new_site, "Ada")
    for person, role in ((zoe, "moderators"), (ada, "moderators"), (zoe, "admins")):
        assert (await manage(http, new_site, "POST", f"/{role}", {"user_id": person.id})).status_code == 200
    now = iso(clock.now_ms())
    answer = await manage(http, new_site, "GET", "/staff")
    assert [(one["user"]["name"], one["role"], one["since"]) for one in answer.json()["staff"]] == [
        ("olga", "owner", made),
        ("zoe", "admin", now),
        ("Ada", "moderator", now),
    ]
    await redis.delete(f"site:{new_site.site.id}:modlog")
    assert {one["since"] for one in (await manage(http, new_site, "GET", "/staff")).json()["staff"]} == {None}
    other = await app.services.sites.create("Other", "other.example")
    assert (await owner.call("GET", f"/v1/admin/sites/{other.site.id}/staff")).status_code == 403


async def test_the_owner_gets_all_settings_described(http: httpx.AsyncClient, new_site: NewSite) -> None:
    schema = (await manage(http, new_site, "GET", "/settings/schema")).json()
    values = (await manage(http, new_site, "GET")).json()["settings"]
    for setting in schema["settings"]:
        value = values
        for step in setting["name"].split("."):
            value = value[step]
    by_name = {setting["name"]: setting for setting in schema["settings"]}
    assert by_name["edit_window_minutes"] | {"explanation": ""} == {
        "name": "edit_window_minutes",
        "group": "writing",
        "type": "integer",
        "default": 15,
        "explanation": "",
        "may_be_null": False,
        "is_secret": False,
        "choices": None,
        "min": 0,
        "max": 525_600,
        "max_length": None,
        "pattern": None,
        "max_items": None,
    }


@pytest.mark.parametrize(
    ("wanted", "lang", "group", "sentence"),
    [
        ("de-AT, en;q=0.5", "de", "Schreiben und Freigabe", "Zeigt allen, wie oft eine Seite aufgerufen wurde."),
        ("ja", "ja", "投稿と承認", "ページが何回表示されたかを訪問者に見せます。"),
        ("xx, yy;q=0.7", "en", "Writing and approval", "Tell visitors how often a page was viewed."),
    ],
)
async def test_settings_are_described_in_the_language_that_is_asked_for(
    http: httpx.AsyncClient, new_site: NewSite, wanted: str, lang: str, group: str, sentence: str
) -> None:
    answer = await http.get(
        f"/v1/admin/sites/{new_site.site.id}/settings/schema",
        headers={"projectid": new_site.secret_key, "accept-language": wanted},
    )
    assert answer.headers["content-language"] == lang
    assert "accept-language" in answer.headers["vary"].lower()
    schema = answer.json()
    assert schema["groups"][0]["title"] == group
    [views] = [one for one in schema["settings"] if one["name"] == "display.show_pageviews"]
    assert views["explanation"] == sentence
