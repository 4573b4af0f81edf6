"""Roles, settings, keys and comments of a site over HTTP. Contract 2.5, 4.6 and 10.3, S3-82…84."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.make import ManualClock
from tests.people import Person, create, post
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.ids import UserId
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role
from threadkit.storage.bundled import BundledStore

URL = "https://blog.example.org/a"


async def manage(
    http: httpx.AsyncClient, site: NewSite, method: str, rest: str = "", body: Any = None
) -> httpx.Response:
    """With the secret key."""
    path = f"/v1/admin/sites/{site.site.id}{rest}"
    return await http.request(method, path, json=body, headers={"projectid": site.secret_key})


async def names(http: httpx.AsyncClient, site: NewSite, role: str) -> list[str]:
    return sorted(user["name"] for user in (await manage(http, site, "GET", f"/{role}")).json()["users"])


@pytest.fixture
async def owner(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> Person:
    person = await create(http, new_site, "olga")
    await app.services.roles.grant(new_site.site.id, UserId(person.id), Role.OWNER)
    return person


# --- Roles ----------------------------------------------------------------------------------------------------------


async def test_people_have_one_role_and_are_listed_under_it(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    for person in (ada, bob):
        assert (await manage(http, new_site, "POST", "/moderators", {"user_id": person.id})).status_code == 200
    listed = (await manage(http, new_site, "GET", "/moderators")).json()["users"]
    assert {"id", "name", "avatar_url", "karma", "created_at", "total_comments"} <= listed[0].keys()
    assert (await manage(http, new_site, "POST", "/admins", {"user_id": ada.id})).status_code == 200
    assert await names(http, new_site, "admins") == ["ada"]
    assert await names(http, new_site, "moderators") == ["bob"]
    assert (await manage(http, new_site, "DELETE", f"/admins/{ada.id}")).status_code == 200
    assert await names(http, new_site, "admins") == []


async def test_a_role_is_for_somebody_who_exists(http: httpx.AsyncClient, new_site: NewSite) -> None:
    nobody = "01a1e1d5-9217-7000-be42-7b27b41a2a52"
    for role in ("owners", "admins", "moderators"):
        unknown = await manage(http, new_site, "POST", f"/{role}", {"user_id": nobody})
        assert unknown.status_code == 404
        wrong = await manage(http, new_site, "POST", f"/{role}", {"user_id": "ada"})
        assert (wrong.status_code, wrong.json()["field"]) == (422, "user_id")
        assert (await manage(http, new_site, "POST", f"/{role}", {})).status_code == 422
        assert (await manage(http, new_site, "DELETE", f"/{role}/ada")).status_code == 400
        assert (await manage(http, new_site, "DELETE", f"/{role}/{nobody}")).status_code == 200


async def test_another_sites_id_is_refused_everywhere(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    for method, rest, body in [
        ("GET", "", None),
        ("PATCH", "", {"name": "mine"}),
        ("DELETE", "", {"confirm": "other.example"}),
        ("POST", "/keys/secret/rotate", None),
        ("GET", "/admins", None),
        ("POST", "/owners", {"user_id": "01a1e1d5-9217-7000-be42-7b27b41a2a52"}),
        ("GET", "/posting", None),
        ("PUT", "/posting", {"disabled": True}),
        ("GET", "/owner/comments", None),
    ]:
        path = f"/v1/admin/sites/{other.site.id}{rest}"
        answer = await http.request(method, path, json=body, headers={"projectid": new_site.secret_key})
        assert (answer.status_code, answer.json()["error"]) == (403, "Site ID mismatch"), path
    assert (await app.services.site_queries.by_id(other.site.id)) == other.site


async def test_the_last_owner_stays_whoever_asks(http: httpx.AsyncClient, new_site: NewSite, owner: Person) -> None:
    path = f"/v1/admin/sites/{new_site.site.id}/owners/{owner.id}"
    for answer in (
        await manage(http, new_site, "DELETE", f"/owners/{owner.id}"),
        await owner.call("DELETE", path),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "last_owner")
    second = await create(http, new_site, "second")
    assert (await owner.call("POST", path.rpartition("/")[0], {"user_id": second.id})).status_code == 200
    assert (await owner.call("DELETE", path)).status_code == 200
    assert (await owner.call("DELETE", path)).status_code == 403, "an owner no longer"
    assert await names(http, new_site, "owners") == ["second"]


async def test_of_many_owners_removed_at_once_one_is_left(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    """The crowd test of the role script: everybody takes everybody's ownership away."""
    people = [await create(http, new_site, f"owner-{number}") for number in range(12)]
    for person in people:
        await manage(http, new_site, "POST", "/owners", {"user_id": person.id})
    path = f"/v1/admin/sites/{new_site.site.id}/owners"
    answers = await asyncio.gather(
        *(people[(place + 1) % 12].call("DELETE", f"{path}/{person.id}") for place, person in enumerate(people)),
        *(manage(http, new_site, "DELETE", f"/owners/{person.id}") for person in people),
    )
    assert {answer.status_code for answer in answers} <= {200, 403, 409}
    assert len(await names(http, new_site, "owners")) == 1


async def test_a_role_taken_away_bites_at_the_next_request(http: httpx.AsyncClient, new_site: NewSite) -> None:
    admin = await create(http, new_site, "adm")
    path = f"/v1/admin/sites/{new_site.site.id}/posting"
    await manage(http, new_site, "POST", "/admins", {"user_id": admin.id})
    assert (await admin.call("GET", path)).status_code == 200
    await manage(http, new_site, "DELETE", f"/admins/{admin.id}")
    refused = await admin.call("GET", path)
    assert (refused.status_code, refused.json()["error"]) == (403, "Admin access required")


async def test_open_sockets_are_told_of_a_changed_role_and_only_of_a_changed_one(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    async with redis.pubsub() as ear:
        await ear.subscribe(f"user:{ada.id}:events")
        heard: list[dict[str, str]] = []

        async def hears(number: int) -> bool:
            message = await ear.get_message(ignore_subscribe_messages=True, timeout=0.05)
            if message:
                heard.append(json.loads(message["data"]))
            return len(heard) == number

        await manage(http, new_site, "POST", "/moderators", {"user_id": ada.id})
        await until(lambda: hears(1), "the grant")
        await manage(http, new_site, "POST", "/moderators", {"user_id": ada.id})
        await manage(http, new_site, "DELETE", f"/moderators/{ada.id}")
        await until(lambda: hears(2), "the revocation")
        assert heard == [{"type": "rights_changed"}] * 2


async def test_a_banned_owner_manages_nothing(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, owner: Person
) -> None:
    await redis.sadd(f"site:{new_site.site.id}:blocked", owner.id)
    answer = await owner.call("GET", f"/v1/admin/sites/{new_site.site.id}")
    assert (answer.status_code, answer.json()["error"]) == (403, "User is blocked")


# --- Settings -------------------------------------------------------------------------------------------------------


async def test_a_change_touches_what_it_names_and_nothing_else_s3_82(
    http: httpx.AsyncClient, new_site: NewSite, owner: Person
) -> None:
    before = (await manage(http, new_site, "GET")).json()
    body = {"name": "News", "settings": {"moderation_mode": "pre", "display": {"default_sort": "new"}}}
    answer = await owner.call("PATCH", f"/v1/admin/sites/{new_site.site.id}", body)
    assert answer.status_code == 200, answer.text
    after = answer.json()
    assert (after["name"], after["settings"]["moderation_mode"]) == ("News", "pre")
    assert after["settings"]["display"] == before["settings"]["display"] | {"default_sort": "new"}
    assert after["version"] == before["version"] + 1
    assert after == (await manage(http, new_site, "GET")).json()
    for name in before["settings"].keys() - {"moderation_mode", "display"}:
        assert after["settings"][name] == before["settings"][name]


@pytest.mark.parametrize(
    ("body", "status", "named"),
    [
        ({"settings": {"moderation_mode": "sometimes"}}, 422, "moderation_mode"),
        ({"settings": {"posting_disabled": "true"}}, 422, "posting_disabled"),
        ({"settings": {"display": {"default_sort": 7}}}, 422, "display.default_sort"),
        ({"settings": {"rate_limits": {"ip_writes_per_minute": 0}}}, 422, "rate_limits.ip_writes_per_minute"),
        ({"settings": {"content_moderation": {"confidence_threshold": 2}}}, 422, "confidence_threshold"),
        ({"settings": {"hot": {"decay_s": -1}}}, 422, "hot"),
        ({"settings": {"allowed_origins": ["ok.example", "*"]}}, 422, "allowed_origins"),
        ({"settings": {"allowed_origins": ["https://a b"]}}, 422, "allowed_origins"),
        ({"settings": {"allowed_origins": ["x.example"] * 101}}, 422, "allowed_origins"),
        ({"settings": {"colour": "red"}}, 422, "colour"),
        ({"settings": {"display": {"colour": "red"}}}, 422, "display.colour"),
        ({"settings": {"display": 3}}, 422, "display"),
        ({"settings": {"auth": {"email": {"a": {"b": {"c": {}}}}}}}, 422, "auth.email"),
        ({"settings": {"display.default_sort.x": 1}}, 422, "display.default_sort.x"),
        ({"settings": []}, 422, "settings"),
        ({"name": " "}, 400, "name"),
        ({"name": "x" * 101}, 400, "name"),
        ({"domain": "not a domain"}, 400, "domain"),
        ({"version": "one"}, 422, "version"),
    ],
)
async def test_a_wrong_setting_is_named_and_nothing_is_changed(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, body: dict[str, Any], status: int, named: str
) -> None:
    answer = await manage(http, new_site, "PATCH", body=body)
    assert (answer.status_code, named in answer.json()["error"]) == (status, True), answer.text
    assert await app.services.site_queries.by_id(new_site.site.id) == new_site.site


@pytest.mark.parametrize(
    "url",
    [
        *("https://localhost/x", "https://127.0.0.1/x", "https://10.0.0.7/x", "https://[::1]/x", "https://0.0.0.0/x"),
        *(
            "https://[fd00::1]:8443/x",
            "https://169.254.169.254/a",
            "https://[::ffff:192.168.0.1]/x",
            "https://2130706433",
        ),
    ],
)
async def test_a_webhook_that_points_inside_is_refused_when_it_is_saved(
    http: httpx.AsyncClient, new_site: NewSite, url: str
) -> None:
    answer = await manage(http, new_site, "PATCH", body={"settings": {"webhook.url": url}})
    assert (answer.status_code, answer.json()["code"]) == (422, "wrong_shape"), answer.text
    assert "webhook.url: this address is not called" in answer.json()["error"]
    outside = {"settings": {"webhook": {"url": "https://hooks.example.org/x"}}}
    assert (await manage(http, new_site, "PATCH", body=outside)).status_code == 200


async def test_a_named_version_is_changed_or_nothing(http: httpx.AsyncClient, new_site: NewSite) -> None:
    version = (await manage(http, new_site, "GET")).json()["version"]
    first = await manage(http, new_site, "PATCH", body={"name": "One", "version": version})
    second = await manage(http, new_site, "PATCH", body={"name": "Two", "version": version})
    assert (first.status_code, second.status_code, second.json()["code"]) == (200, 409, "site_changed")
    assert (await manage(http, new_site, "GET")).json()["name"] == "One"


async def test_of_changes_made_at_once_none_is_lost(http: httpx.AsyncClient, new_site: NewSite) -> None:
    changes: dict[str, Any] = {
        "moderation_mode": "pre",
        "require_verification": True,
        "auto_approve_verified": True,
        "voting": "off",
        "edit_window_minutes": 99,
        "drop_tracking_parameters": True,
        "allowed_origins": ["www.example.org"],
        "errors": "problem",
    }
    answers = await asyncio.gather(
        *(manage(http, new_site, "PATCH", body={"settings": {name: value}}) for name, value in changes.items()),
        manage(http, new_site, "PATCH", body={"name": "Renamed"}),
        manage(http, new_site, "PATCH", body={"domain": "https://New.Example.org"}),
        manage(http, new_site, "PUT", "/posting", {"disabled": True}),
    )
    assert {answer.status_code for answer in answers} == {200}, [answer.text for answer in answers]
    after = (await manage(http, new_site, "GET")).json()
    assert {name: after["settings"][name] for name in changes} == changes
    assert (after["name"], after["domain"], after["settings"]["posting_disabled"]) == (
        "Renamed",
        "new.example.org",
        True,
    )


async def test_domain_and_allowed_origins_decide_at_once_whose_pages_are_served(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    async def served(origin: str) -> bool:
        headers = {"projectid": new_site.site.api_key_public, "origin": origin}
        return (await http.get("/v1/site", headers=headers)).status_code == 200

    assert await served("https://blog.example.org")
    assert not await served("https://www.friend.example")
    await manage(http, new_site, "PATCH", body={"settings": {"allowed_origins": ["*.friend.example", "one.example"]}})
    assert await served("https://www.friend.example")
    assert await served("https://one.example:8443")
    assert not await served("https://sub.one.example")
    await manage(http, new_site, "PATCH", body={"domain": "moved.example", "settings": {"allowed_origins": []}})
    assert [await served(f"https://{host}") for host in ("moved.example", "blog.example.org", "one.example")] == [
        True,
        False,
        False,
    ]


# --- Posting --------------------------------------------------------------------------------------------------------


async def test_switching_posting_off_bites_at_once_in_every_worker(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
    clock: ManualClock,
) -> None:
    admin, ada = await create(http, new_site, "adm"), await create(http, new_site, "ada")
    await manage(http, new_site, "POST", "/admins", {"user_id": admin.id})
    path = f"/v1/admin/sites/{new_site.site.id}/posting"
    second = create_app(settings, bundled.address, keyring, clock=clock)
    async with second.lifespan():
        await until(lambda: app.services.listener.is_listening and second.services.listener.is_listening, "listeners")
        transport = httpx.ASGITransport(second)
        async with httpx.AsyncClient(transport=transport, base_url="http://second") as other:
            elsewhere = Person(other, ada.key, ada.token, ada.id, ada.name)
            await write(elsewhere, "before")
            assert (await admin.call("GET", path)).json() == {"disabled": False}
            assert (await admin.call("PUT", path, {"disabled": True})).json() == {"disabled": True}
            assert (await admin.call("GET", path)).json() == {"disabled": True}
            refused = await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "after"})
            assert refused.status_code == 403

            async def is_refused() -> bool:
                answer = await elsewhere.call("POST", "/v1/comments", {"page_url": URL, "content": "elsewhere"})
                return answer.status_code == 403

            await until(is_refused, "the other worker to hear of it", seconds=1)
    assert (await admin.call("PUT", path, {"disabled": False})).json() == {"disabled": False}
    await write(ada, "again")
    assert (await admin.call("PUT", path, {})).status_code == 422
    assert (await admin.call("PUT", path, {"disabled": "no"})).status_code == 422


# --- Comments -------------------------------------------------------------------------------------------------------


async def test_moderators_see_every_comment_of_the_site_newest_first(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    moderator, ada = await create(http, new_site, "mod"), await create(http, new_site, "ada")
    await manage(http, new_site, "POST", "/moderators", {"user_id": moderator.id})
    other = await app.services.sites.create("Other", "other.example")
    await write(await create(http, other, "stranger"), "elsewhere")
    written = []
    for number in range(4):
        clock.advance(seconds=1)
        written.append(await write(ada, f"number {number}", url=f"https://blog.example.org/{number % 2}"))
    await ada.call("DELETE", f"/v1/comments/{written[1]['i']}")
    await app.services.sites.change(new_site.site.id, settings={"moderation_mode": "pre"})
    clock.advance(seconds=1)
    written.append(await write(ada, "held"))

    path = f"/v1/admin/sites/{new_site.site.id}/comments"
    listed = (await moderator.call("GET", path)).json()
    assert [item["comment"]["i"] for item in listed["comments"]] == [one["i"] for one in reversed(written)]
    assert [item["comment"].get("s") for item in listed["comments"]] == ["pending", None, None, "deleted", None]
    assert listed["comments"][1]["page_url"] == "https://blog.example.org/1"
    assert listed["has_more"] is False
    part = (await moderator.call("GET", f"{path}?offset=1&limit=2")).json()
    assert (part["comments"], part["has_more"]) == (listed["comments"][1:3], True)
    assert (await moderator.call("GET", f"{path}?limit=5")).json()["has_more"] is False
    assert (await moderator.call("GET", f"{path}?limit=0")).json() == {"comments": [], "has_more": True}
    assert (await moderator.call("GET", f"{path}?offset=-1")).status_code == 400
    assert (await manage(http, new_site, "GET", "/owner/comments")).json() == listed


# --- Keys -----------------------------------------------------------------------------------------------------------


async def opens(http: httpx.AsyncClient, key: str) -> bool:
    return (await http.get("/v1/site", headers={"projectid": key})).status_code == 200


async def test_a_new_public_key_leaves_the_old_one_its_grace(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    answer = await manage(http, new_site, "POST", "/keys/public/rotate?grace_s=60")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    fresh = answer.json()["api_key_public"]
    assert answer.json()["previous_key_until"].startswith("20")
    assert await opens(http, fresh)
    assert await opens(http, new_site.site.api_key_public)
    clock.advance(seconds=61)
    assert not await opens(http, new_site.site.api_key_public)
    assert await opens(http, fresh)


async def test_every_public_key_of_before_has_its_own_grace(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, redis: Redis
) -> None:
    keys = [new_site.site.api_key_public]
    for number in range(5):
        answer = await manage(http, new_site, "POST", f"/keys/public/rotate?grace_s={100 - number * 10}")
        keys.append(answer.json()["api_key_public"])
        clock.advance(seconds=1)
    assert [await opens(http, key) for key in keys] == [True] * 6
    refused = await manage(http, new_site, "POST", "/keys/public/rotate")
    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_keys_in_grace")
    for left in (4, 3):  # the newest of the old ones has the shortest grace here
        clock.advance(seconds=60 if left == 4 else 10)
        assert [await opens(http, key) for key in keys] == [True] * left + [False] * (5 - left) + [True]
    assert (await manage(http, new_site, "POST", "/keys/public/rotate?grace_s=1")).status_code == 200
    known = [key async for key in redis.scan_iter("apikey:tk_pub_*:site")]
    assert len(known) == 5, "those whose time is over leave nothing behind"
    clock.advance(seconds=100)
    assert [await opens(http, key) for key in keys] == [False] * 6


async def test_a_new_secret_key_is_shown_once_and_the_old_one_is_dead_s3_83(
    http: httpx.AsyncClient, new_site: NewSite, owner: Person
) -> None:
    path = f"/v1/admin/sites/{new_site.site.id}"
    answer = await owner.call("POST", f"{path}/keys/secret/rotate")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    secret = answer.json()["api_key_secret"]
    assert not await opens(http, new_site.secret_key)
    assert await opens(http, secret)
    for shown in (await owner.call("GET", path), await owner.call("POST", f"{path}/keys/public/rotate")):
        assert shown.status_code == 200
        assert secret not in shown.text
        assert "secret" not in shown.json()


async def test_a_new_sign_in_secret_is_shown_once(http: httpx.AsyncClient, new_site: NewSite, redis: Redis) -> None:
    answer = await manage(http, new_site, "POST", "/keys/sso/rotate")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert len(answer.json()["sso_secret"]) >= 32
    assert answer.json()["sso_secret"] not in str(await redis.hgetall(f"site:{new_site.site.id}:config"))


@pytest.mark.parametrize(
    "rest", ["/keys/master/rotate", "/keys/public/rotate?grace_s=-1", "/keys/public/rotate?grace_s=9999999"]
)
async def test_other_keys_and_graces_there_are_not(http: httpx.AsyncClient, new_site: NewSite, rest: str) -> None:
    assert (await manage(http, new_site, "POST", rest)).status_code == 400


async def test_of_rotations_at_once_the_last_one_holds_and_leaves_no_key_behind(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    results = await asyncio.gather(
        *(app.services.sites.rotate_secret_key(new_site.site.id) for _ in range(10)), return_exceptions=True
    )
    made = [result.secret_key for result in results if isinstance(result, NewSite)]
    assert made
    assert [await opens(http, key) for key in made] == [False] * (len(made) - 1) + [True]
    entries = [key async for key in redis.scan_iter("apikey:tk_sec_*:site")]
    assert len(entries) == 1


# --- More sites -----------------------------------------------------------------------------------------------------


async def test_sites_are_made_on_the_server_unless_it_says_otherwise(
    http: httpx.AsyncClient, new_site: NewSite, owner: Person
) -> None:
    body = {"name": "Second", "domain": "second.example"}
    answer = await owner.call("POST", "/v1/admin/sites", body)
    assert (answer.status_code, answer.json()["code"]) == (403, "sites_are_made_on_the_server")


class TestWhereOwnersMayMakeSites:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return replace(settings, owners_create_sites=True)

    async def test_an_owner_makes_a_site_and_owns_it(
        self, app: Application, http: httpx.AsyncClient, new_site: NewSite, owner: Person
    ) -> None:
        body = {"name": "Second", "domain": "second.example", "settings": {"voting": "up"}}
        answer = await owner.call("POST", "/v1/admin/sites", body)
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
        made = answer.json()
        assert (made["site"]["domain"], made["site"]["settings"]["voting"]) == ("second.example", "up")
        assert await opens(http, made["api_key_secret"])
        assert await app.services.roles.staff(made["site"]["id"]) == [(owner.id, Role.OWNER)]
        admin = await create(http, new_site, "adm")
        await manage(http, new_site, "POST", "/admins", {"user_id": admin.id})
        assert (await admin.call("POST", "/v1/admin/sites", body)).status_code == 403
        wrong = await owner.call("POST", "/v1/admin/sites", body | {"settings": {"voting": "maybe"}})
        assert (wrong.status_code, "voting" in wrong.json()["error"]) == (422, True)
        assert (await post(http, new_site, "/v1/admin/sites", body)).status_code == 403
