"""The queue, decisions, reports, bans and the log: contract 4.5 and 14.1, rows S3-40, S3-80, S3-81."""

import asyncio
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import URL, outline, read, write
from tests.integration.comments.test_votes import vote
from tests.make import ManualClock
from tests.people import Person, create
from threadkit.app import Application
from threadkit.sites.model import NewSite, SiteSettings
from threadkit.sites.roles import Role


@pytest.fixture
async def careful(app: Application) -> NewSite:
    """A site where a moderator looks first."""
    return await app.services.sites.create("Careful", "blog.example.org", settings=SiteSettings(moderation_mode="pre"))


async def staff(app: Application, http: httpx.AsyncClient, site: NewSite, role: Role = Role.MODERATOR) -> Person:
    person = await create(http, site, f"the {role.label}")
    await app.services.roles.grant(site.site.id, person.id, role)  # type: ignore[arg-type]
    return person


async def decide(person: Person, action: str, comment_id: str, **body: Any) -> dict[str, Any]:
    answer = await person.call("POST", f"/v1/moderation/{action}/{comment_id}", body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def queued(person: Person, **asked: Any) -> list[str]:
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    answer = await person.call("GET", f"/v1/moderation/queue?{query}")
    assert answer.status_code == 200, answer.text
    return [item["comment"]["i"] for item in answer.json()["items"]]


# --- The original's list, one to one --------------------------------------------------------------------------------


async def test_comment_enters_moderation_queue(http: httpx.AsyncClient, careful: NewSite) -> None:
    ada = await create(http, careful, "ada")
    assert (await write(ada, "hi"))["s"] == "pending"


async def test_moderator_can_view_queue(app: Application, http: httpx.AsyncClient, careful: NewSite) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    comment = await write(ada, "hi")
    answer = (await mo.call("GET", "/v1/moderation/queue")).json()
    assert ([item["comment"]["i"] for item in answer["items"]], answer["total"]) == ([comment["i"]], 1)


async def test_moderator_can_approve_comment(app: Application, http: httpx.AsyncClient, careful: NewSite) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    comment = await write(ada, "hi")
    await decide(mo, "approve", comment["i"], page_id="0197b0a0-0000-7000-8000-000000000000", path=[comment["i"]])
    (shown,) = (await read(http, careful))["tree"]["c"]
    assert "s" not in shown


async def test_moderator_can_reject_comment(app: Application, http: httpx.AsyncClient, careful: NewSite) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    comment = await write(ada, "hi")
    await decide(mo, "reject", comment["i"])
    assert outline(await read(http, careful)) == []
    assert outline(await read(http, careful, person=ada)) == []


async def test_regular_user_cannot_moderate(http: httpx.AsyncClient, careful: NewSite) -> None:
    ada = await create(http, careful, "ada")
    assert (await ada.call("GET", "/v1/moderation/queue")).status_code == 403


async def test_user_can_report_comment(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    comment = await write(ada, "hi")
    body = {"page_url": URL, "path": [comment["i"]], "reason": "spam"}
    assert (await bob.call("POST", f"/v1/comments/{comment['i']}/report", body)).status_code == 204


async def test_moderator_can_view_reports(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    """S3-81: one for each person and comment, with what was said."""
    ada, bob, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site),
    )
    comment = await write(ada, "hi")
    for details in ("first", "second"):
        body = {"reason": "harassment", "details": details}
        assert (await bob.call("POST", f"/v1/comments/{comment['i']}/report", body)).status_code == 204
    (item,) = (await mo.call("GET", "/v1/moderation/reports")).json()["items"]
    assert (item["comment_id"], item["reason"], item["details"]) == (comment["i"], "harassment", "second")
    assert item["reporter"]["id"] == bob.id
    assert (await mo.call("POST", f"/v1/moderation/reports/{comment['i']}/dismiss")).json()["closed"] == 1
    assert (await mo.call("GET", "/v1/moderation/reports")).json() == {"items": [], "total": 0}


async def test_moderator_can_ban_user(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    comment = await write(ada, "bad")
    assert (await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {})).json() == {"comments_deleted": 0}
    refused = await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "more"})
    assert (refused.status_code, refused.json()["error"]) == (403, "User is blocked")
    answer = await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"delete_comments": True})
    assert answer.json() == {"comments_deleted": 1}
    assert outline(await read(http, new_site)) == []
    record = await app.services.comment_queries.by_id(new_site.site.id, comment["i"])
    assert record is not None
    assert record.content == "[deleted by admin]"
    await mo.call("POST", f"/v1/moderation/unban/{ada.id}")
    await write(ada, "good")


async def test_moderator_can_shadowban_user(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    """S3-40"""
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    assert (await mo.call("POST", f"/v1/moderation/shadowban/{ada.id}")).status_code == 200
    await write(ada, "ghost")
    assert outline(await read(http, new_site)) == []
    assert outline(await read(http, new_site, person=ada)) == ["ghost"]
    assert (await read(http, new_site))["total"] == 0
    assert (await mo.call("DELETE", f"/v1/moderation/shadowban/{ada.id}")).status_code == 200
    await write(ada, "flesh")
    assert outline(await read(http, new_site)) == ["flesh"]


# --- Ours ------------------------------------------------------------------------------------------------------------


async def test_the_queue_is_the_set_of_pending_comments_s3_80(
    app: Application, http: httpx.AsyncClient, careful: NewSite, clock: ManualClock, redis: Redis
) -> None:
    ada, bob, mo = (
        await create(http, careful, "ada"),
        await create(http, careful, "bob"),
        await staff(app, http, careful),
    )
    first = await write(ada, "first")
    clock.advance(seconds=1)
    second = await write(bob, "second", url="https://blog.example.org/other")
    clock.advance(seconds=1)
    third = await write(ada, "third")
    assert await queued(mo) == [first["i"], second["i"], third["i"]]
    assert await queued(mo, author_id=ada.id, limit=1, offset=1) == [third["i"]]
    await decide(mo, "approve", first["i"])
    await decide(mo, "spam", second["i"], reason="casino")
    await ada.call("DELETE", f"/v1/comments/{third['i']}")
    assert await queued(mo) == []
    assert await disagreements(redis) == []


async def test_an_approved_comment_counts_and_is_told_like_any_other(
    app: Application, http: httpx.AsyncClient, careful: NewSite
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    root = await write(mo, "root")
    answer = await write(ada, "answer", under=[root["i"]])
    await app.services.outbox.drain()
    assert (await ada.call("GET", f"/v1/users/{ada.id}")).json()["total_comments"] == 0
    for _ in range(2):  # once approved, approving again changes nothing
        await decide(mo, "approve", answer["i"])
        await app.services.outbox.drain()
        assert (await ada.call("GET", f"/v1/users/{ada.id}")).json()["total_comments"] == 1
    assert outline(await read(http, careful)) == [("root", ["answer"])]
    notices = (await mo.call("GET", "/v1/notifications")).json()["notifications"]
    assert [notice["notification_type"] for notice in notices] == ["reply"]


async def test_what_hangs_on_a_rejected_comment_goes_and_comes_back_with_it(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    root = await write(ada, "root")
    reply = await write(ada, "reply", under=[root["i"]])
    leaf = await write(ada, "leaf", under=[root["i"], reply["i"]])
    await vote(mo, leaf["i"], "up")
    await decide(mo, "reject", leaf["i"])
    await decide(mo, "reject", root["i"])
    assert (outline(await read(http, new_site)), (await read(http, new_site))["total"]) == ([], 0)
    refused = await mo.call(
        "POST", "/v1/comments", {"page_url": URL, "content": "?", "parent_path": [root["i"], reply["i"]]}
    )
    assert refused.status_code == 404
    assert await disagreements(redis) == []
    await decide(mo, "approve", root["i"])
    assert outline(await read(http, new_site)) == [("root", ["reply"])]
    await decide(mo, "approve", leaf["i"])
    thread = await read(http, new_site)
    assert (outline(thread), thread["total"]) == ([("root", [("reply", ["leaf"])])], 3)
    assert await disagreements(redis) == []
    assert (await app.services.rebuild.run(is_check=True)).is_clean


async def test_a_decision_can_be_undone_for_half_a_minute(
    app: Application, http: httpx.AsyncClient, careful: NewSite, clock: ManualClock, redis: Redis
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    comment = await write(ada, "hi")
    for action in ("approve", "reject", "spam"):
        done = await decide(mo, action, comment["i"])
        assert await queued(mo) == []
        assert (await mo.call("POST", f"/v1/moderation/undo/{done['undo']}")).status_code == 200
        assert await queued(mo) == [comment["i"]]
        again = await mo.call("POST", f"/v1/moderation/undo/{done['undo']}")
        assert (again.status_code, again.json()["code"]) == (409, "not_in_this_state")
    done = await decide(mo, "approve", comment["i"])
    clock.advance(seconds=31)
    late = await mo.call("POST", f"/v1/moderation/undo/{done['undo']}")
    assert (late.status_code, late.json()["code"]) == (409, "too_late_to_undo")
    assert (await mo.call("POST", "/v1/moderation/undo/1-1")).status_code == 404
    assert (await mo.call("POST", "/v1/moderation/undo/nonsense")).status_code == 404
    assert await disagreements(redis) == []


async def test_reports_of_enough_weight_hide_a_comment_but_never_the_staffs(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    people = [await create(http, new_site, f"p{number}") for number in range(6)]
    bad, official = await write(ada, "bad"), await write(mo, "official")

    async def report(person: Person, comment_id: str) -> None:
        answer = await person.call("POST", f"/v1/comments/{comment_id}/report", {"reason": "spam"})
        assert answer.status_code == 204, answer.text

    for person in people[:5]:  # newcomers weigh half
        await report(person, bad["i"])
        await report(person, bad["i"])
        await report(person, official["i"])
    assert outline(await read(http, new_site)) == ["bad", "official"]
    await report(people[5], bad["i"])
    await report(people[5], official["i"])
    clock.advance(seconds=2)
    assert outline(await read(http, new_site)) == ["official"]
    assert await queued(mo, reason="reported") == [bad["i"]]
    await decide(mo, "approve", bad["i"])
    assert outline(await read(http, new_site)) == ["bad", "official"]
    reported = (await mo.call("GET", "/v1/moderation/reports")).json()["items"]
    assert {item["comment_id"] for item in reported} == {official["i"]}
    own = await ada.call("POST", f"/v1/comments/{bad['i']}/report", {"reason": "spam"})
    assert (own.status_code, own.json()["code"]) == (400, "cannot_report_oneself")


async def test_a_ban_for_a_while_ends_by_itself(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": 24, "reason": "cool down"})
    assert (await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "?"})).status_code == 403
    clock.advance(seconds=86_401)
    await write(ada, "back")
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": 24})
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {})
    clock.advance(seconds=86_401)
    assert (await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "?"})).status_code == 403


async def test_nobody_acts_on_themselves_or_an_equal(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    mo, admin = await staff(app, http, new_site), await staff(app, http, new_site, Role.ADMIN)
    for deed, body in (("ban", {}), ("shadowban", None)):
        own = await mo.call("POST", f"/v1/moderation/{deed}/{mo.id}", body)
        assert (own.status_code, own.json()["error"]) == (400, f"Cannot {deed} yourself")
        higher = await mo.call("POST", f"/v1/moderation/{deed}/{admin.id}", body)
        assert higher.status_code == 403
        assert "equal or higher role" in higher.json()["error"]
    for deed, body in (("shadowban", None), ("ban", {})):
        assert (await admin.call("POST", f"/v1/moderation/{deed}/{mo.id}", body)).status_code == 200


async def test_the_log_tells_who_did_what_to_whom(
    app: Application, http: httpx.AsyncClient, careful: NewSite, clock: ManualClock
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    comment = await write(ada, "hi")
    await decide(mo, "reject", comment["i"], reason="rude")
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": 1, "reason": "rude"})
    answer = (await mo.call("GET", "/v1/moderation/log?limit=1")).json()
    assert answer["has_more"] is True
    (ban,) = answer["entries"]
    assert (ban["action"], ban["by"], ban["user_id"], ban["reason"]) == ("ban", mo.id, ada.id, "rude")
    assert ban["until_ms"] == clock.now_ms() + 3_600_000
    rejected, *_ = (await mo.call("GET", f"/v1/moderation/log?before={ban['id']}")).json()["entries"]
    assert (rejected["before"], rejected["after"], rejected["comment_id"]) == ("pending", "rejected", comment["i"])


async def test_many_are_decided_at_once_and_what_fails_holds_nobody_up(
    app: Application, http: httpx.AsyncClient, careful: NewSite, redis: Redis
) -> None:
    people = [await create(http, careful, f"p{number}") for number in range(4)]
    mo = await staff(app, http, careful)
    written = await asyncio.gather(*(write(people[number % 4], f"comment {number}") for number in range(200)))
    ids = [comment["i"] for comment in written]
    unknown = "0197b0a0-0000-7000-8000-000000000000"
    answer = await mo.call("POST", "/v1/moderation/bulk", {"action": "approve", "ids": [*ids, unknown, ids[0]]})
    assert answer.status_code == 200, answer.text
    assert set(answer.json()["done"]) == set(ids)
    assert answer.json()["failed"] == {unknown: "comment_not_found"}
    assert (await read(http, careful))["total"] == 200
    assert await queued(mo) == []
    await app.services.outbox.drain()
    assert (await people[0].call("GET", f"/v1/users/{people[0].id}")).json()["total_comments"] == 50
    assert await disagreements(redis) == []


async def test_two_moderators_at_once_leave_one_outcome(
    app: Application, http: httpx.AsyncClient, careful: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    root = await write(mo, "root")
    comments = [await write(ada, f"comment {number}", under=[root["i"]]) for number in range(20)]
    actions = [("approve", "reject")[number % 2] for number in range(40)]
    await asyncio.gather(*(decide(mo, action, comments[number % 20]["i"]) for number, action in enumerate(actions)))
    assert await disagreements(redis) == []
    thread = await read(http, careful)
    assert thread["total"] == 1 + len(thread["tree"]["c"][0].get("r", []))


async def test_another_sites_comment_cannot_be_touched(
    app: Application, http: httpx.AsyncClient, careful: NewSite, new_site: NewSite
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, new_site)
    comment = await write(ada, "hi")
    answer = await mo.call("POST", f"/v1/moderation/approve/{comment['i']}", {})
    assert answer.status_code == 404
    assert outline(await read(http, careful)) == []


async def test_the_stock_clients_buttons_work_without_a_body_and_a_key(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    """Contract 13."""
    ada, bob, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site),
    )
    comment = await write(ada, "hi")
    report = await http.post(f"/v1/comments/{comment['i']}/report", headers={"authorization": f"Bearer {bob.token}"})
    assert report.status_code == 204, report.text
    (item,) = (await mo.call("GET", "/v1/moderation/reports")).json()["items"]
    assert item["reason"] == "other"
    ban = await http.post(f"/v1/users/{ada.id}/ban", headers={"authorization": f"Bearer {mo.token}"})
    assert ban.status_code == 200, ban.text
    assert (await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "?"})).status_code == 403


@pytest.mark.parametrize("why", ["pre-moderated", "shadow-banned"])
async def test_a_page_gets_its_title_when_its_first_comment_is_shown(
    app: Application, http: httpx.AsyncClient, careful: NewSite, why: str
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    if why == "shadow-banned":
        await app.services.sites.change(careful.site.id, settings={"moderation_mode": "none"})
        await mo.call("POST", f"/v1/moderation/shadowban/{ada.id}", {})

    async def titles() -> list[str | None]:
        pages = (await mo.call("GET", f"/v1/admin/sites/{careful.site.id}/pages")).json()["pages"]
        return [page["title"] for page in pages]

    comment = await write(ada, "hi", title="Seven ways to plant a tree")
    assert await titles() == []
    if why == "shadow-banned":
        await mo.call("DELETE", f"/v1/moderation/shadowban/{ada.id}")
        await app.services.outbox.drain()
    else:
        await decide(mo, "approve", comment["i"])
    assert await titles() == ["Seven ways to plant a tree"]
    await app.services.sites.change(careful.site.id, settings={"moderation_mode": "pre"})
    eve = await create(http, careful, "eve")
    await decide(mo, "approve", (await write(eve, "ho", title="Buy pills"))["i"])
    assert await titles() == ["Seven ways to plant a tree"], "the first to be shown names it"
