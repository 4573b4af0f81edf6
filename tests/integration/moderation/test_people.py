"""Bans and shadow bans: how long they hold, who is told what, and what the log says. S3-40, S3-41."""

import asyncio
from itertools import pairwise
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import URL, write
from tests.integration.live.ears import LiveServer, serving
from tests.integration.moderation.test_decisions import decide, staff
from tests.make import ManualClock
from tests.people import Person, create
from threadkit.app import Application
from threadkit.clock import iso
from threadkit.ids import SiteId, UserId, new_uuid
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role
from threadkit.users.sessions import Device

DRAFT = {"page_url": URL, "content": "may I?"}


async def log_of(person: Person, *actions: str) -> list[dict[str, Any]]:
    """Oldest first; the roles with which tests begin only when they are asked for."""
    entries = (await person.call("GET", "/v1/moderation/log?limit=200")).json()["entries"]
    return [entry for entry in reversed(entries) if entry["action"] in actions or (not actions and not is_role(entry))]


def is_role(entry: dict[str, Any]) -> bool:
    return bool(entry["action"] == "role")


async def abroad(app: Application, http: httpx.AsyncClient, person: Person, site: NewSite) -> Person:
    """The same person, signed in on another site."""
    user = await app.services.users.existing(UserId(person.id))
    opened = await app.services.sessions.open(user, site.site.id, Device("test", "-"))
    return Person(http, site.site.api_key_public, opened.token, person.id, person.name)


@pytest.mark.parametrize("hours", [24, 72, 7 * 24, 30 * 24])
async def test_a_ban_says_until_when_and_ends_to_the_millisecond(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, hours: int
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    assert (await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": hours})).status_code == 200
    until = iso(clock.now_ms() + hours * 3_600_000)
    for path, body in (("/v1/comments", DRAFT), (f"/v1/comments/{new_uuid()}/report", {})):
        refused = await ada.call("POST", path, body)
        assert (refused.status_code, refused.json()["error"]) == (403, "User is blocked"), path
        assert refused.json()["until"] == until, path
    clock.advance(seconds=hours * 3600 - 0.001)
    ada = await abroad(app, http, ada, new_site)  # the token of before is too old by now
    assert (await ada.call("POST", "/v1/comments", DRAFT)).status_code == 403
    clock.advance(seconds=0.001)
    assert (await ada.call("POST", "/v1/comments", DRAFT)).status_code == 200


async def test_a_ban_for_ever_says_no_time_and_does_not_end(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {})
    clock.advance(seconds=300 * 86_400)
    ada = await abroad(app, http, ada, new_site)
    refused = await ada.call("POST", "/v1/comments", DRAFT)
    assert (refused.status_code, "until" in refused.json()) == (403, False)


async def test_a_shadow_ban_leaves_a_ban_for_a_while_what_it_is(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": 24})
    await mo.call("POST", f"/v1/moderation/shadowban/{ada.id}")
    await mo.call("DELETE", f"/v1/moderation/shadowban/{ada.id}")
    clock.advance(seconds=86_400)
    assert (await ada.call("POST", "/v1/comments", DRAFT)).status_code == 200


async def test_the_log_has_one_entry_for_one_change_with_before_and_after(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    for _ in range(2):  # the second of each changes nothing
        await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": 24, "reason": "rude"})
    for _ in range(2):
        await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {})
    for _ in range(2):
        await mo.call("POST", f"/v1/moderation/unban/{ada.id}")
    for method in ("POST", "POST", "DELETE", "DELETE"):
        await mo.call(method, f"/v1/moderation/shadowban/{ada.id}")
    until = f"until {iso(clock.now_ms() + 86_400_000)}"
    assert [(entry["action"], entry["before"], entry["after"]) for entry in await log_of(mo)] == [
        ("ban", "off", until),
        ("ban", until, "on"),
        ("unban", "on", "off"),
        ("shadowban", "off", "on"),
        ("unshadowban", "on", "off"),
    ]


async def test_a_ban_is_undone_for_half_a_minute_and_what_was_before_comes_back(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    until = iso(clock.now_ms() + 86_400_000)

    async def undo(action: str) -> httpx.Response:
        entry = (await log_of(mo, action))[-1]
        return await mo.call("POST", f"/v1/moderation/undo/{entry['id']}")

    for changes in (True, False):  # what changes nothing cannot be undone
        answer = await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": 24})
        made = (await log_of(mo, "ban"))[-1]["id"]
        assert answer.headers.get("x-undo") == (made if changes else None)
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {})
    assert (await undo("ban")).status_code == 200
    assert (await ada.call("POST", "/v1/comments", DRAFT)).json()["until"] == until
    again = await undo("ban")
    assert (again.status_code, again.json()["code"]) == (409, "stands_otherwise")
    await mo.call("POST", f"/v1/moderation/unban/{ada.id}")
    assert (await undo("unban")).status_code == 200
    assert (await ada.call("POST", "/v1/comments", DRAFT)).json()["until"] == until
    await mo.call("POST", f"/v1/moderation/shadowban/{ada.id}")
    assert (await undo("shadowban")).status_code == 200
    assert [(entry["action"], entry["after"]) for entry in await log_of(mo)][-1] == ("undo_shadowban", "off")
    await mo.call("POST", f"/v1/moderation/shadowban/{ada.id}")
    clock.advance(seconds=31)
    assert (await undo("shadowban")).json()["code"] == "too_late_to_undo"


async def test_lifting_a_ban_that_is_over_changes_nothing_and_is_not_told(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": 1})
    clock.advance(seconds=3600)
    assert (await mo.call("POST", f"/v1/moderation/unban/{ada.id}")).status_code == 200
    assert [entry["action"] for entry in await log_of(mo)] == ["ban"]
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {})
    assert [entry["before"] for entry in await log_of(mo)] == ["off", "off"]


async def test_many_moderators_at_once_make_one_change_and_one_entry(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    crowd = [await create(http, new_site, f"mo{number}") for number in range(10)]
    for mo in crowd:
        await app.services.roles.grant(new_site.site.id, UserId(mo.id), Role.MODERATOR)
    answers = await asyncio.gather(*(mo.call("POST", f"/v1/moderation/ban/{ada.id}", {}) for mo in crowd))
    assert {answer.status_code for answer in answers} == {200}
    (entry,) = await log_of(crowd[0])
    assert entry["by"] in {mo.id for mo in crowd}
    card = (await crowd[0].call("GET", f"/v1/moderation/users/{ada.id}")).json()
    assert card["ban"]["by"] == entry["by"]

    deeds = [("ban", "unban")[number % 2] for number in range(40)]
    await asyncio.gather(
        *(crowd[number % 10].call("POST", f"/v1/moderation/{deed}/{ada.id}", {}) for number, deed in enumerate(deeds))
    )
    entries = await log_of(crowd[0])
    assert all(now["before"] == before["after"] for before, now in pairwise(entries))
    is_banned = bool(await redis.sismember(f"site:{new_site.site.id}:blocked", ada.id))
    assert is_banned == (entries[-1]["after"] == "on")
    refused = await ada.call("POST", "/v1/comments", DRAFT)
    assert refused.status_code == (403 if is_banned else 200)


async def test_somebody_promoted_meanwhile_is_not_banned_and_the_log_is_silent(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The role counts at the moment of the deed, not at that of the look before it."""
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    check = app.services.people.check

    async def promoted_after(*args: Any) -> None:
        await check(*args)
        await app.services.roles.grant(new_site.site.id, UserId(ada.id), Role.ADMIN)

    monkeypatch.setattr(app.services.people, "check", promoted_after)
    refused = await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {})
    assert (refused.status_code, refused.json()["code"]) == (403, "higher_role")
    assert await log_of(mo) == []
    assert (await ada.call("POST", "/v1/comments", DRAFT)).status_code == 200


async def test_somebody_of_another_site_can_be_banned_here_and_nobody_elsewhere(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    stranger, mo = await create(http, other, "stranger"), await staff(app, http, new_site)
    assert (await mo.call("POST", f"/v1/moderation/ban/{stranger.id}", {})).status_code == 200
    assert (await stranger.call("POST", "/v1/comments", DRAFT)).status_code == 200
    here = await abroad(app, http, stranger, new_site)
    assert (await here.call("POST", "/v1/comments", DRAFT)).status_code == 403
    assert (await mo.call("POST", f"/v1/moderation/ban/{new_uuid()}", {})).status_code == 404
    mo.key = other.site.api_key_public
    assert (await mo.call("POST", f"/v1/moderation/ban/{stranger.id}", {})).status_code == 401


async def test_a_ban_from_everywhere_bites_on_two_sites_and_their_sockets_s3_41(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    ada, boss = await create(http, new_site, "ada"), await staff(app, http, new_site, Role.OWNER)
    far = await abroad(app, http, ada, other)
    path = f"/v1/admin/users/{ada.id}/ban"
    for who in (boss, await staff(app, http, other, Role.ADMIN)):
        refused = await who.call("POST", path, {})
        assert refused.status_code == 403, refused.text
    with_key = await http.post(path, headers={"projectid": new_site.secret_key})
    assert (with_key.status_code, with_key.json()["code"]) == (403, "not_owner_everywhere")
    await app.services.roles.grant(other.site.id, UserId(boss.id), Role.OWNER)

    async with serving(app) as live:
        async with live.ear(ada.key, ada.token) as here, live.ear(far.key, far.token) as there:
            for ear, site in ((here, new_site), (there, other)):
                assert await ear.hear() == ("connected", {"user_id": ada.id}), site.site.name
            assert (await boss.call("POST", path, {"reason": "spam"})).json() == {"banned_everywhere": True}
            for ear in (here, there):
                assert (await ear.hear_of("error", seconds=1))["code"] == "user_banned"
        await _is_nobody(live, ada)
    for person in (ada, far):
        refused = await person.call("POST", "/v1/comments", DRAFT)
        assert (refused.status_code, refused.json()["code"]) == (403, "user_blocked")
    assert (await boss.call("POST", path, {})).status_code == 200  # again, and nothing changes
    assert (await boss.call("DELETE", path)).json() == {"banned_everywhere": False}
    for person in (ada, far):
        assert (await person.call("POST", "/v1/comments", DRAFT)).status_code == 200
    for site in (new_site, other):
        entries = await app.services.moderation_log.newest(site.site.id, before=None, limit=10)
        assert [(entry.action, entry.by, entry.reason) for entry in entries if entry.action != "role"] == [
            ("unban_everywhere", boss.id, None),
            ("ban_everywhere", boss.id, "spam"),
        ]


async def _is_nobody(live: LiveServer, person: Person) -> None:
    async with live.ear(person.key, person.token) as again:
        assert await again.hear() == ("connected", {"user_id": None})


async def test_no_owner_is_banned_from_everywhere_by_another(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    boss, partner = await staff(app, http, new_site, Role.OWNER), await create(http, new_site, "partner")
    await app.services.roles.grant(new_site.site.id, UserId(partner.id), Role.OWNER)
    for who, status in ((partner, 403), (boss, 400)):
        assert (await boss.call("POST", f"/v1/admin/users/{who.id}/ban", {})).status_code == status
    ada = await create(http, new_site, "ada")
    by_key = await http.post(f"/v1/admin/users/{ada.id}/ban", headers={"projectid": new_site.secret_key})
    assert by_key.status_code == 200, by_key.text
    assert (await ada.call("POST", "/v1/comments", DRAFT)).status_code == 403


async def test_a_socket_hears_until_when_its_owner_is_banned(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    async with serving(app) as live, live.ear(ada.key, ada.token) as ear:
        await ear.hear_of("connected")
        await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": 72})
        heard = await ear.hear_of("error", seconds=1)
    assert (heard["code"], heard["until"]) == ("user_banned", iso(clock.now_ms() + 72 * 3_600_000))


async def test_bans_and_notes_go_with_the_account(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await write(ada, "hi")
    await mo.call("POST", f"/v1/moderation/shadowban/{ada.id}")
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": 24})
    note = await mo.call("POST", f"/v1/moderation/users/{ada.id}/notes", {"text": "a note of the staff's"})
    assert note.status_code == 200, note.text
    exported = await ada.call("GET", "/v1/users/me/export")
    assert exported.status_code == 200
    assert "a note of the staff's" not in exported.text
    assert (await ada.call("DELETE", "/v1/users/me")).status_code == 200
    left = [key async for key in redis.scan_iter() if ada.id in key]
    assert left == []
    assert await redis.hgetall(f"site:{new_site.site.id}:standings") == {}


async def test_a_ban_from_everywhere_is_told_in_every_log_once_though_something_failed_in_between(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    boss, ada = await staff(app, http, new_site, Role.OWNER), await create(http, new_site, "ada")
    await app.services.roles.grant(other.site.id, UserId(boss.id), Role.OWNER)
    path, noted = f"/v1/admin/users/{ada.id}/ban", app.services.everywhere._note_deed

    async def fails_on_the_second(site_id: SiteId, *args: Any) -> str:
        if site_id == other.site.id:
            raise OSError("no connection")
        return await noted(site_id, *args)

    async def told() -> list[list[str]]:
        found = [
            await app.services.moderation_log.newest(one.site.id, before=None, limit=10) for one in (new_site, other)
        ]
        return [[entry.action for entry in entries if "everywhere" in entry.action] for entries in found]

    monkeypatch.setattr(app.services.everywhere, "_note_deed", fails_on_the_second)
    assert (await boss.call("POST", path, {"reason": "spam"})).status_code >= 500
    assert await told() == [["ban_everywhere"], []]
    monkeypatch.undo()
    again = await boss.call("POST", path, {"reason": "spam"})
    assert (again.status_code, "x-undo" in again.headers) == (200, True)
    assert await told() == [["ban_everywhere"], ["ban_everywhere"]]
    # What was not told of yet is, before the next.
    monkeypatch.setattr(app.services.everywhere, "_note_deed", fails_on_the_second)
    assert (await boss.call("DELETE", path)).status_code >= 500
    monkeypatch.undo()
    assert (await boss.call("POST", path, {})).status_code == 200
    assert await told() == [["ban_everywhere", "unban_everywhere", "ban_everywhere"]] * 2
    exported = (await ada.call("GET", "/v1/users/me/export")).text
    assert "_deed" not in exported


async def test_many_owners_at_once_ban_somebody_from_everywhere_once(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await create(http, new_site, "ada")
    user = await app.services.users.existing(UserId(ada.id))
    await asyncio.gather(*(app.services.everywhere.ban(user, is_on=True, by=None, reason=None) for _ in range(20)))
    entries = await app.services.moderation_log.newest(new_site.site.id, before=None, limit=30)
    assert [entry.action for entry in entries] == ["ban_everywhere"]


async def test_undoing_the_end_of_a_ban_gives_back_its_reason_its_time_and_who_gave_it(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    mia = await create(http, new_site, "mia")
    await app.services.roles.grant(new_site.site.id, UserId(mia.id), Role.MODERATOR)
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": 24, "reason": "rude"})
    await mo.call("POST", f"/v1/moderation/shadowban/{ada.id}", {})

    async def standing() -> tuple[Any, Any]:
        card = (await mo.call("GET", f"/v1/moderation/users/{ada.id}")).json()
        return card["ban"], card["shadow_ban"]

    before = await standing()
    assert (before[0]["reason"], before[0]["by"], before[1]["by"]) == ("rude", mo.id, mo.id)
    for method, path in (("POST", "unban"), ("DELETE", "shadowban")):
        answer = await mia.call(method, f"/v1/moderation/{path}/{ada.id}")
        assert (await mia.call("POST", f"/v1/moderation/undo/{answer.headers['x-undo']}")).status_code == 200
    assert await standing() == before


async def test_a_second_ban_with_another_reason_corrects_it_and_can_be_taken_back(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    mia = await create(http, new_site, "mia")
    await app.services.roles.grant(new_site.site.id, UserId(mia.id), Role.MODERATOR)

    async def ban(by: Person, reason: str | None) -> str | None:
        answer = await by.call("POST", f"/v1/moderation/ban/{ada.id}", {"reason": reason})
        assert answer.status_code == 200, answer.text
        undo: str | None = answer.headers.get("x-undo")
        return undo

    async def why() -> tuple[str, str]:
        card = (await mo.call("GET", f"/v1/moderation/users/{ada.id}")).json()
        return card["ban"]["reason"], card["ban"]["by"]

    first = await ban(mo, "rude")
    second = await ban(mia, "threats")
    assert await why() == ("threats", mia.id)
    assert await ban(mo, None) is None, "who gives no reason has nothing to correct"
    assert await ban(mo, "threats") is None
    assert [(one["before"], one["after"], one["reason"]) for one in await log_of(mo, "ban")] == [
        ("off", "on", "rude"),
        ("on", "on", "threats"),
    ]
    late = await mo.call("POST", f"/v1/moderation/undo/{first}")
    assert (late.status_code, late.json()["code"]) == (409, "stands_otherwise")
    assert (await mia.call("POST", f"/v1/moderation/undo/{second}")).status_code == 200
    assert await why() == ("rude", mo.id)
    assert (await mo.call("POST", f"/v1/moderation/undo/{first}")).status_code == 200
    assert (await mo.call("GET", f"/v1/moderation/users/{ada.id}")).json()["ban"] is None


async def test_what_was_said_in_a_ban_that_was_lifted_goes_with_the_account(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    comment = (await write(ada, "hello"))["i"]
    await decide(mo, "reject", comment, reason="a secret of ada's")
    await decide(mo, "spam", comment)
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"reason": "a secret of ada's"})
    await mo.call("POST", f"/v1/moderation/unban/{ada.id}")
    assert (await ada.call("DELETE", "/v1/users/me")).is_success
    log = await redis.xrange(f"site:{new_site.site.id}:modlog") or []
    assert len(log) > 3
    assert all("secret" not in str(fields) for _, fields in log)
