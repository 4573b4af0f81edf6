"""What becomes of reports: who hears of it, and what it does to the next report of the same person. S3-81."""

import asyncio
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import outline, read, write
from tests.integration.moderation.test_decisions import decide, queued, staff
from tests.integration.moderation.test_people import log_of
from tests.integration.moderation.test_screened import blog
from tests.integration.notifications.inbox import inbox, settle
from tests.integration.users.test_profiles import everything
from tests.make import ManualClock
from tests.people import Person, create, guest
from threadkit.app import Application
from threadkit.ids import CommentId, UserId
from threadkit.moderation.reporters import Record
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role
from threadkit.users.sessions import Device


async def report(person: Person, comment: dict[str, Any], reason: str = "spam") -> None:
    answer = await person.call("POST", f"/v1/comments/{comment['i']}/report", {"reason": reason, "details": "look!"})
    assert answer.status_code == 204, answer.text


async def outcomes(person: Person) -> list[tuple[str, str]]:
    """What somebody was told about their reports, newest first."""
    notices = (await inbox(person))["notifications"]
    assert {one["notification_type"] for one in notices} <= {"mod_action", "reply"}, "kinds that stock clients know"
    return [(one["comment_id"], one["outcome"]) for one in notices if one["action"] == "report_outcome"]


async def weight_of(app: Application, site: NewSite, comment: dict[str, Any]) -> float | None:
    found = await app.services.comment_queries.by_id(site.site.id, CommentId(comment["i"]))
    assert found is not None
    return found.report_weight


DEEDS = [("approve", "stays"), ("reject", "removed"), ("spam", "removed"), ("dismiss", "stays"), ("delete", "removed")]


@pytest.mark.parametrize(("deed", "outcome"), DEEDS)
async def test_all_who_reported_a_comment_hear_once_what_became_of_it(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, deed: str, outcome: str
) -> None:
    ada, bob, eve, mo = [await create(http, new_site, name) for name in ("ada", "bob", "eve", "mo")]
    await app.services.roles.grant(new_site.site.id, UserId(mo.id), Role.MODERATOR)
    comment = await write(ada, "bad")
    for person in (bob, eve, bob):
        await report(person, comment)
    if deed == "dismiss":
        answer = await mo.call("POST", f"/v1/moderation/reports/{comment['i']}/dismiss")
        assert answer.json()["closed"] == 2
        assert (await mo.call("POST", f"/v1/moderation/reports/{comment['i']}/dismiss")).json() == {"closed": 0}
    elif deed == "delete":
        assert (await mo.call("DELETE", f"/v1/comments/{comment['i']}")).status_code == 204
    else:
        await decide(mo, deed, comment["i"])
        await decide(mo, deed, comment["i"])
    await settle(app)
    for person in (bob, eve):
        assert await outcomes(person) == [(comment["i"], outcome)]
        (notice,) = (await inbox(person))["notifications"]
        assert (notice["notification_type"], notice["from_user"]) == ("mod_action", None), "not who decided"
    for person in (ada, mo):
        assert await outcomes(person) == []
    assert (await mo.call("GET", "/v1/moderation/reports")).json() == {"items": [], "total": 0}
    assert not await redis.exists(f"site:{new_site.site.id}:reports", f"comment:{comment['i']}:reports")
    assert await weight_of(app, new_site, comment) is None


async def test_whoever_decides_about_what_they_reported_is_not_told(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    mo = await staff(app, http, new_site)
    comment = await write(ada, "bad")
    await report(bob, comment)
    await report(mo, comment)  # a moderator's report is enough to hide it, and the log says whose it was
    assert outline(await read(http, new_site)) == []
    (entry,) = await log_of(mo)
    assert (entry["action"], entry["by"]) == ("hide", mo.id)
    await decide(mo, "reject", comment["i"])
    await settle(app)
    assert await outcomes(bob) == [(comment["i"], "removed")]
    assert await outcomes(mo) == []
    assert await app.services.reporters.of(new_site.site.id, UserId(mo.id)) == Record()


async def test_outcomes_can_be_switched_off_by_themselves(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    mo = await staff(app, http, new_site)
    chosen = (await bob.call("PUT", "/v1/notifications/settings", {"report_outcome": False})).json()
    assert (chosen["report_outcome"], chosen["mod_action"]) == (False, True)
    comment, own = await write(ada, "bad"), await write(bob, "mine")
    await report(bob, comment)
    await decide(mo, "reject", comment["i"])
    await decide(mo, "reject", own["i"])
    await settle(app)
    assert [one["action"] for one in (await inbox(bob))["notifications"]] == ["reject"]


@pytest.mark.parametrize("deed", ["reject", "delete", "dismiss"])
async def test_a_decision_taken_back_takes_back_what_reporters_were_told(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, deed: str
) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    mo = await staff(app, http, new_site)
    comment = await write(ada, "bad")
    await report(bob, comment)
    path = f"reports/{comment['i']}/dismiss" if deed == "dismiss" else f"{deed}/{comment['i']}"
    done = (await mo.call("POST", f"/v1/moderation/{path}", {})).json()
    await settle(app)
    assert await outcomes(bob) == [(comment["i"], "stays" if deed == "dismiss" else "removed")]
    assert (await mo.call("POST", f"/v1/moderation/undo/{done['undo']}")).status_code == 200
    await settle(app)
    assert await outcomes(bob) == []
    assert await app.services.reporters.of(new_site.site.id, UserId(bob.id)) == Record()
    (item,) = (await mo.call("GET", "/v1/moderation/reports")).json()["items"]
    assert item["comment_id"] == comment["i"]
    clock.advance(seconds=5)
    await decide(mo, "approve", comment["i"])
    await settle(app)
    assert await outcomes(bob) == [(comment["i"], "stays")]
    assert await app.services.reporters.of(new_site.site.id, UserId(bob.id)) == Record(0, 1)


NOTHING_YET = [(0, 0, None), (2, 0, None), (0, 2, None), (4, 3, None), (2, 4, None), (3, 7, None)]


@pytest.mark.parametrize(
    ("upheld", "dismissed", "weight"),
    [*NOTHING_YET, (3, 0, 1.5), (3, 2, 1.5), (60, 40, 1.5), (0, 3, 0.5), (1, 3, 0.5), (3, 8, 0.5)],
)
def test_a_record_speaks_when_there_is_enough_of_it(upheld: int, dismissed: int, weight: float | None) -> None:
    """Three found right and 60 % of all: 1.5; three found wrong and less than 30 % right: 0.5."""
    assert Record(upheld, dismissed).weight == weight


async def test_reports_weigh_what_their_authors_record_says(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, good, poor, normal = [await create(http, new_site, name) for name in ("ada", "good", "poor", "normal")]
    clock.advance(seconds=8 * 86_400)  # nobody is new any more
    ada, good, poor, normal = [await again(app, http, new_site, person) for person in (ada, good, poor, normal)]
    mo = await staff(app, http, new_site)
    for number in range(3):
        bad, fine = await write(ada, f"bad {number}"), await write(ada, f"fine {number}")
        await report(good, bad)
        await report(poor, fine)
        assert await weight_of(app, new_site, bad) == await weight_of(app, new_site, fine) == 1.0
        await decide(mo, "reject", bad["i"])
        await mo.call("POST", f"/v1/moderation/reports/{fine['i']}/dismiss")
        await settle(app)
    for person, weight in ((good, 1.5), (poor, 0.5), (normal, 1.0)):
        comment = await write(mo, f"another for {person.name}")
        await report(person, comment)
        assert await weight_of(app, new_site, comment) == weight
    comment = await write(normal, "hidden by people of different weight")
    await report(good, comment)
    await report(ada, comment)
    assert await queued(mo) == []
    await report(poor, comment)
    assert await queued(mo) == [comment["i"]]


async def again(app: Application, http: httpx.AsyncClient, site: NewSite, person: Person) -> Person:
    """Signed in anew, because sessions end."""
    user = await app.services.users.existing(UserId(person.id))
    opened = await app.services.sessions.open(user, site.site.id, Device("test", "-"))
    return Person(http, site.site.api_key_public, opened.token, person.id, person.name)


async def test_a_comment_its_author_takes_back_says_nothing_about_who_reported_it(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    comment = await write(ada, "regretted")
    await report(bob, comment)
    await ada.call("DELETE", f"/v1/comments/{comment['i']}")
    await settle(app)
    assert await outcomes(bob) == [(comment["i"], "removed")]
    assert await app.services.reporters.of(new_site.site.id, UserId(bob.id)) == Record()


async def test_of_several_verdicts_about_one_comment_the_latest_counts_however_often_it_comes(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    bob, site_id = await create(http, new_site, "bob"), new_site.site.id
    closed = {"type": "reports_closed", "comment_id": "c1", "by": "mo", "reporters": [bob.id]}
    for outcome, at_ms in (("removed", 10), ("stays", 20), ("removed", 10), ("stays", 20)):
        await app.services.reporters.reports_closed(site_id, "1-1", closed | {"outcome": outcome, "at_ms": at_ms})
    assert await app.services.reporters.of(site_id, UserId(bob.id)) == Record(0, 1)
    for number in range(120):
        facts = {"comment_id": f"d{number}", "outcome": "removed", "at_ms": 100 + number}
        await app.services.reporters.reports_closed(site_id, "1-1", closed | facts)
    assert await app.services.reporters.of(site_id, UserId(bob.id)) == Record(100, 0), "the newest hundred"


async def test_whoever_leaves_leaves_no_reports_and_no_record(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, bob, eve, mo = [await create(http, new_site, name) for name in ("ada", "bob", "eve", "mo")]
    await app.services.roles.grant(new_site.site.id, UserId(mo.id), Role.MODERATOR)
    old, first, second = [await write(ada, text) for text in ("old", "first", "second")]
    await report(bob, old)
    await decide(mo, "reject", old["i"])
    await report(bob, first)
    await report(bob, second)
    await report(eve, second)
    await settle(app)
    assert await app.services.reporters.of(new_site.site.id, UserId(bob.id)) == Record(1, 0)
    assert (await bob.call("DELETE", "/v1/users/me")).status_code == 200
    for kept in [key async for key in redis.scan_iter("comment:*") if await redis.ttl(key) in range(31)]:
        await redis.delete(kept)  # what could still be undone goes by itself after half a minute
    assert bob.id not in await everything(redis)
    (item,) = (await mo.call("GET", "/v1/moderation/reports")).json()["items"]
    assert (item["comment_id"], item["reporter"]["id"]) == (second["i"], eve.id)
    await decide(mo, "reject", first["i"])
    await settle(app)
    assert bob.id not in await everything(redis)


async def test_a_crowd_that_reports_while_moderators_decide_leaves_nothing_half_done(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    mo = await staff(app, http, new_site)
    crowd = [await create(http, new_site, f"p{number}") for number in range(12)]
    for _ in range(3):
        comment = await write(mo, "official")  # the staff's are never hidden by reports
        await asyncio.gather(
            *(report(person, comment) for person in crowd),
            *(mo.call("POST", f"/v1/moderation/reports/{comment['i']}/dismiss") for _ in range(4)),
        )
        open_ones = await redis.hgetall(f"comment:{comment['i']}:reports")
        listed = await redis.zrange(f"site:{new_site.site.id}:reports", 0, -1)
        assert sorted(open_ones.values()) == sorted(listed)
        # Whoever was overruled meanwhile and says it again weighs nothing.
        assert (await weight_of(app, new_site, comment) or 0) <= 0.5 * len(open_ones)
        await mo.call("POST", f"/v1/moderation/reports/{comment['i']}/dismiss")
    await settle(app)
    assert not await redis.exists(f"site:{new_site.site.id}:reports", f"comment:{comment['i']}:reports")


async def hidden(app: Application, site: NewSite, comment: dict[str, Any]) -> bool:
    found = await app.services.comment_queries.by_id(site.site.id, CommentId(comment["i"]))
    assert found is not None
    return found.status == "pending"


async def test_guests_of_one_address_weigh_what_one_of_them_does(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    comment = await write(ada, "fine")
    for number in range(8):
        await report(await guest(http, new_site, f"g{number}"), comment)
    assert (await weight_of(app, new_site, comment), await hidden(app, new_site, comment)) == (0.5, False)
    assert 0 < await redis.ttl(f"comment:{comment['i']}:reports:from") <= 86_400
    assert len(await app.services.reports.of_comment(new_site.site.id, CommentId(comment["i"]))) == 8
    for number in range(1, 6):
        transport = httpx.ASGITransport(app, client=(f"198.51.100.{number}", 123))
        async with httpx.AsyncClient(transport=transport, base_url="http://comments.test") as elsewhere:
            await report(await guest(elsewhere, new_site, f"h{number}"), comment)
    assert await hidden(app, new_site, comment)


@pytest.mark.parametrize("deed", ["approve", "dismiss"])
async def test_whoever_was_overruled_cannot_hide_the_same_comment_again(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, deed: str
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    crowd = [await create(http, new_site, f"p{number}") for number in range(6)]
    comment, another = await write(ada, "fine"), await write(ada, "another")
    for person in crowd if deed == "approve" else crowd[:5]:
        await report(person, comment)
    path = f"approve/{comment['i']}" if deed == "approve" else f"reports/{comment['i']}/dismiss"
    done = (await mo.call("POST", f"/v1/moderation/{path}", {})).json()
    await settle(app)
    for person in crowd if deed == "approve" else crowd[:5]:
        await report(person, comment)
    assert (await weight_of(app, new_site, comment), await hidden(app, new_site, comment)) == (0.0, False)
    assert len((await mo.call("GET", "/v1/moderation/reports")).json()["items"]) >= 5, "moderators still see them"
    for person in crowd:
        await report(person, another)
    assert await hidden(app, new_site, another)
    await report(mo, comment)
    assert await hidden(app, new_site, comment)
    assert done["undo"]


async def test_a_comment_reported_enough_is_hidden_though_the_last_reporter_got_no_answer(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    comment, official = await write(ada, "bad"), await write(mo, "official")

    async def dies(*args: Any, **more: Any) -> None:
        raise OSError("no connection")

    other = await create(http, new_site, "other")
    await app.services.roles.grant(new_site.site.id, UserId(other.id), Role.MODERATOR)
    with monkeypatch.context() as patch:
        patch.setattr(app.services.decisions, "hide_reported", dies)
        for one in (comment, official):
            await other.call("POST", f"/v1/comments/{one['i']}/report", {})
    await settle(app)
    assert await queued(mo) == [comment["i"]]
    (entry,) = await log_of(mo)
    assert (entry["action"], entry["by"]) == ("hide", other.id)


async def test_a_moderator_who_looks_in_between_is_not_overridden_by_reports(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    crowd = [await create(http, new_site, f"p{number}") for number in range(6)]
    comment = await write(ada, "fine")
    usual = app.services.decisions.hide_reported

    async def after_a_dismissal(*args: Any, **more: Any) -> None:
        await mo.call("POST", f"/v1/moderation/reports/{comment['i']}/dismiss")
        await usual(*args, **more)

    monkeypatch.setattr(app.services.decisions, "hide_reported", after_a_dismissal)
    for person in crowd:
        await report(person, comment)
    await settle(app)
    assert not await hidden(app, new_site, comment)


async def test_dismissing_the_reports_that_hid_a_comment_shows_it_again(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    """Also when its author has appealed: that is granted."""
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    people = [await create(http, new_site, f"p{number}") for number in range(6)]
    comment = await write(ada, "unloved")
    for person in people:
        await report(person, comment)
    assert outline(await read(http, new_site)) == []
    await ada.call("POST", f"/v1/comments/{comment['i']}/appeal", {"text": "why?"})
    answer = await mo.call("POST", f"/v1/moderation/reports/{comment['i']}/dismiss")
    assert answer.json()["closed"] == 6
    await settle(app)
    assert outline(await read(http, new_site)) == ["unloved"]
    assert await outcomes(people[0]) == [(comment["i"], "stays")]
    (own,) = (await ada.call("GET", "/v1/users/me/comments")).json()["comments"]
    assert own["appeal"] == "granted"
    assert await disagreements(redis) == []
    await mo.call("POST", f"/v1/moderation/undo/{answer.json()['undo']}")
    await settle(app)
    assert outline(await read(http, new_site)) == []
    assert await outcomes(people[0]) == []
    (own,) = (await ada.call("GET", "/v1/users/me/comments")).json()["comments"]
    assert own["appeal"] == "open"


async def test_reports_of_a_comment_that_waits_for_another_reason_are_not_dismissed_but_decided_with_it(
    app: Application, http: httpx.AsyncClient
) -> None:
    site = await blog(app, hold=("casino",))
    ada, bob, mo = await create(http, site, "ada"), await create(http, site, "bob"), await staff(app, http, site)
    comment = await write(ada, "harmless")
    await report(bob, comment)
    await ada.call("PUT", f"/v1/comments/{comment['i']}", {"content": "casino"})
    answer = await mo.call("POST", f"/v1/moderation/reports/{comment['i']}/dismiss")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_in_this_state")
    await settle(app)
    assert await outcomes(bob) == []
    await decide(mo, "reject", comment["i"])
    await settle(app)
    assert await outcomes(bob) == [(comment["i"], "removed")]


@pytest.mark.parametrize("deed", ["dismiss", "approve", "approve what waits", "approve in bulk"])
async def test_a_moderator_is_no_judge_of_reports_about_themselves(
    app: Application, http: httpx.AsyncClient, deed: str
) -> None:
    site = await blog(app, hold=("casino",))
    bob, mo, mia = await create(http, site, "bob"), await create(http, site, "mo"), await staff(app, http, site)
    comment = await write(mo, "rude")
    await report(bob, comment)
    if deed == "approve what waits":
        await mo.call("PUT", f"/v1/comments/{comment['i']}", {"content": "casino"})
    await app.services.roles.grant(site.site.id, UserId(mo.id), Role.MODERATOR)
    calls: dict[str, tuple[str, Any]] = {
        "dismiss": (f"reports/{comment['i']}/dismiss", None),
        "approve": (f"approve/{comment['i']}", {}),
        "approve what waits": (f"approve/{comment['i']}", {}),
        "approve in bulk": ("bulk", {"action": "approve", "ids": [comment["i"]]}),
    }
    path, body = calls[deed]
    answer = await mo.call("POST", f"/v1/moderation/{path}", body)
    assert "own_comment" in answer.text
    await settle(app)
    assert await outcomes(bob) == []
    assert (await mia.call("GET", "/v1/moderation/reports")).json()["total"] == 1
    assert (await mia.call("POST", f"/v1/moderation/{path}", body)).status_code == 200
    await settle(app)
    assert await app.services.reporters.of(site.site.id, UserId(bob.id)) == Record(dismissed=1)


@pytest.mark.parametrize("deed", ["dismiss", "approve", "reject", "spam", "delete"])
async def test_what_the_only_moderator_does_with_reports_about_themselves_is_no_verdict_on_who_reported(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, deed: str
) -> None:
    bob, mo = await create(http, new_site, "bob"), await staff(app, http, new_site)
    comment = await write(mo, "rude")
    await report(bob, comment)
    path = f"reports/{comment['i']}/dismiss" if deed == "dismiss" else f"{deed}/{comment['i']}"
    assert (await mo.call("POST", f"/v1/moderation/{path}")).status_code == 200
    await settle(app)
    assert await outcomes(bob) == [(comment["i"], "stays" if deed in ("dismiss", "approve") else "removed")]
    assert await app.services.reporters.of(new_site.site.id, UserId(bob.id)) == Record()


@pytest.mark.parametrize("is_at_once", [True, False])
async def test_reports_that_others_close_between_two_pages_skip_none(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, is_at_once: bool
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    people = [await create(http, new_site, f"reader-{number}") for number in range(3)]
    comments = [await write(ada, f"comment {number}") for number in range(3)]
    for comment in comments:
        for person in people:
            await report(person, comment)
            clock.advance(seconds=0 if is_at_once else 1)
    first = (await mo.call("GET", "/v1/moderation/reports?limit=4")).json()
    await mo.call("POST", f"/v1/moderation/reports/{first['items'][0]['comment_id']}/dismiss")
    second = (await mo.call("GET", f"/v1/moderation/reports?limit=4&cursor={first['next']}")).json()
    third = (await mo.call("GET", f"/v1/moderation/reports?limit=4&cursor={second['next']}")).json()
    seen = [(one["comment_id"], one["reporter"]["id"]) for page in (first, second, third) for one in page["items"]]
    assert len(seen) == len(set(seen)) == 9
    assert "next" not in third
    assert (await mo.call("GET", "/v1/moderation/reports?cursor=nonsense")).status_code == 400
