"""What moderators see of one person, and what they note about them."""

import asyncio

import httpx

from tests.integration.comments.test_comments import write
from tests.integration.moderation.test_decisions import decide, staff
from tests.integration.moderation.test_people import abroad
from tests.make import ManualClock
from tests.people import Person, create
from threadkit.app import Application
from threadkit.clock import iso
from threadkit.ids import UserId, new_uuid
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role


async def note(mo: Person, about: Person, text: str) -> str:
    answer = await mo.call("POST", f"/v1/moderation/users/{about.id}/notes", {"text": text})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


async def test_a_card_has_all_that_is_known_of_somebody(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, bob, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site),
    )
    await write(ada, "long ago")
    clock.advance(seconds=31 * 86_400)
    ada, bob, mo = [await abroad(app, http, person, new_site) for person in (ada, bob, mo)]  # tokens last a week
    comments = [await write(ada, f"comment {number}") for number in range(12)]
    await decide(mo, "reject", comments[0]["i"], reason="rude")
    await ada.call("DELETE", f"/v1/comments/{comments[1]['i']}")
    await bob.call("POST", f"/v1/comments/{comments[2]['i']}/report", {"reason": "spam"})
    await app.services.outbox.drain()
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": 24, "reason": "rude again"})
    await note(mo, ada, "was warned by mail")

    card = (await mo.call("GET", f"/v1/moderation/users/{ada.id}")).json()
    assert (card["user"]["id"], card["user"]["name"], card["role"], card["is_guest"]) == (ada.id, "ada", "user", False)
    assert "email" not in card["user"]
    now = clock.now_ms()
    assert card["ban"] == {"until": iso(now + 86_400_000), "reason": "rude again", "by": mo.id, "since": iso(now)}
    assert (card["shadow_ban"], card["banned_everywhere"]) == (None, False)
    counts = card["counts"]
    assert (counts["comments"], counts["rejected"], counts["reports_against"]) == (13, 1, 1)
    assert counts["lately"] == {"days": 30, "pending": 0, "approved": 10, "rejected": 1, "removed": 1}
    assert [item["comment"]["i"] for item in card["comments"]] == [comment["i"] for comment in comments[:1:-1]]
    assert {item["status"] for item in card["comments"]} == {"approved"}
    assert [(entry["action"], entry["reason"]) for entry in card["log"]] == [("ban", "rude again"), ("reject", "rude")]
    (noted,) = card["notes"]
    assert (noted["text"], noted["by"], noted["by_name"]) == ("was warned by mail", mo.id, mo.name)

    clock.advance(seconds=86_400)
    card = (await mo.call("GET", f"/v1/moderation/users/{ada.id}")).json()
    assert card["ban"] is None
    assert (await mo.call("GET", f"/v1/moderation/users/{new_uuid()}")).status_code == 404


async def test_who_reported_well_and_who_did_not(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada, bob, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site),
    )
    bad, fine = await write(ada, "bad"), await write(ada, "fine")
    for comment in (bad, fine):
        await bob.call("POST", f"/v1/comments/{comment['i']}/report", {"reason": "spam"})
    await decide(mo, "reject", bad["i"])
    await mo.call("POST", f"/v1/moderation/reports/{fine['i']}/dismiss")
    await app.services.outbox.drain()
    counts = (await mo.call("GET", f"/v1/moderation/users/{bob.id}")).json()["counts"]
    assert (counts["reports_upheld"], counts["reports_dismissed"]) == (1, 1)


async def test_notes_are_for_those_who_stand_above_the_person(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    mo, admin = await staff(app, http, new_site), await staff(app, http, new_site, Role.ADMIN)
    await note(admin, mo, "asks for more rights every week")
    second = await create(http, new_site, "second")
    await app.services.roles.grant(new_site.site.id, UserId(second.id), Role.MODERATOR)
    for who, status in ((mo, 400), (second, 403)):
        card = (await who.call("GET", f"/v1/moderation/users/{mo.id}")).json()
        assert (card["role"], card["notes"]) == ("moderator", None)
        assert (await who.call("GET", f"/v1/moderation/users/{mo.id}/notes")).status_code == status
        assert (
            await who.call("POST", f"/v1/moderation/users/{mo.id}/notes", {"text": "but works hard"})
        ).status_code == status
    (noted,) = (await admin.call("GET", f"/v1/moderation/users/{mo.id}/notes")).json()["notes"]
    assert noted["text"] == "asks for more rights every week"


async def test_a_note_is_deleted_by_its_author_or_an_admin(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, mo, admin = (
        await create(http, new_site, "ada"),
        await staff(app, http, new_site),
        await staff(app, http, new_site, Role.ADMIN),
    )
    second = await create(http, new_site, "second")
    await app.services.roles.grant(new_site.site.id, UserId(second.id), Role.MODERATOR)
    first, other = await note(mo, ada, "first"), await note(mo, ada, "other")
    path = f"/v1/moderation/users/{ada.id}/notes"
    refused = await second.call("DELETE", f"{path}/{first}")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_your_note")
    assert [one["text"] for one in (await second.call("GET", path)).json()["notes"]] == ["other", "first"]
    assert (await mo.call("DELETE", f"{path}/{first}")).status_code == 200
    assert (await mo.call("DELETE", f"{path}/{first}")).status_code == 404
    assert (await admin.call("DELETE", f"{path}/{other}")).status_code == 200
    assert (await admin.call("GET", path)).json() == {"notes": []}


async def test_notes_are_bounded_and_stay_on_their_site(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    path = f"/v1/moderation/users/{ada.id}/notes"
    for text, status in (("", 422), ("  ", 422), ("x" * 2001, 422), ("x" * 2000, 200)):
        assert (await mo.call("POST", path, {"text": text})).status_code == status, text[:5]
    answers = await asyncio.gather(*(mo.call("POST", path, {"text": f"note {number}"}) for number in range(110)))
    assert sorted(answer.status_code for answer in answers) == [200] * 99 + [409] * 11
    assert len((await mo.call("GET", path)).json()["notes"]) == 100
    other = await app.services.sites.create("Other", "other.example")
    far = await staff(app, http, other, Role.ADMIN)
    assert (await far.call("GET", path)).json() == {"notes": []}
    for who in (ada, await create(http, new_site, "bob")):
        assert (await who.call("GET", path)).status_code == 403
        assert "note 1" not in (await who.call("GET", f"/v1/users/{ada.id}")).text
