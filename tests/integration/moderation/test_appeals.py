"""The author sees why a comment is not shown and asks once for another look; somebody else decides."""

from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import outline, read, write
from tests.integration.moderation.test_decisions import decide, queued, staff
from tests.integration.moderation.test_people import log_of
from tests.integration.moderation.test_reports import outcomes, report
from tests.integration.moderation.test_screened import blog
from tests.integration.notifications.inbox import inbox, settle
from tests.integration.users.test_profiles import everything
from tests.make import ManualClock
from tests.people import Person, create
from threadkit.app import Application
from threadkit.comments.model import Comment
from threadkit.ids import UserId
from threadkit.sites.model import NewSite, Site
from threadkit.sites.roles import Role


async def second_moderator(app: Application, http: httpx.AsyncClient, site: NewSite) -> Person:
    person = await create(http, site, "the other")
    await app.services.roles.grant(site.site.id, UserId(person.id), Role.MODERATOR)
    return person


async def appeal(person: Person, comment: dict[str, Any], text: str = "please look again") -> httpx.Response:
    return await person.call("POST", f"/v1/comments/{comment['i']}/appeal", {"text": text})


async def ruled(person: Person, comment: dict[str, Any], decision: str, reason: str | None = None) -> httpx.Response:
    body = {"decision": decision, "reason": reason}
    return await person.call("POST", f"/v1/moderation/appeals/{comment['i']}", body)


async def waiting(person: Person, query: str = "") -> list[dict[str, Any]]:
    answer = await person.call("GET", f"/v1/moderation/appeals{query}")
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    assert answer.json()["total"] == len(items)
    return items


async def own(person: Person) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await person.call("GET", "/v1/users/me/comments")).json()["comments"]
    return items


async def test_the_author_sees_the_reason_and_nobody_else_does(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    comment = await write(ada, "rude words")
    assert set((await own(ada))[0]) == {"page_id", "comment", "page_url"}, "nothing to say about what is shown"
    await decide(mo, "reject", comment["i"], reason="rude")
    (item,) = await own(ada)
    assert (item["comment"]["s"], item["reasons"], item["may_appeal"]) == ("rejected", ["rude"], True)
    headers = {"projectid": new_site.site.api_key_public}
    assert (await http.get(f"/v1/users/{ada.id}/comments", headers=headers)).json()["comments"] == []


async def test_the_author_is_not_told_how_to_get_around_a_screen(app: Application, http: httpx.AsyncClient) -> None:
    site = await blog(app, hold=("casino",))
    ada, mo = await create(http, site, "ada"), await staff(app, http, site)
    await write(ada, "my casino")
    (item,) = await own(ada)
    assert item["reasons"] == ["there is a word in the text that this site does not accept"]
    assert item["may_appeal"] is False, "somebody will look anyway"
    (queued_one,) = (await mo.call("GET", "/v1/moderation/queue")).json()["items"]
    assert "casino" in queued_one["reasons"][0]
    fine = await write(ada, "fine")
    await ada.call("PUT", f"/v1/comments/{fine['i']}", {"content": "now a casino"})
    await settle(app)
    (notice,) = (await inbox(ada))["notifications"]
    assert (notice["action"], notice["reason"]) == (
        "hide",
        "there is a word in the text that this site does not accept",
    )
    export = (await ada.call("GET", "/v1/users/me/export")).json()
    assert all("casino" not in str(one["held_for"]) for one in export["comments"])


async def test_another_moderator_grants_and_the_comment_is_shown(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    other = await second_moderator(app, http, new_site)
    comment = await write(ada, "misread")
    await decide(mo, "reject", comment["i"], reason="spam?")
    assert (await appeal(ada, comment, "it is about **my** shop")).status_code == 204
    assert (await mo.call("GET", "/v1/moderation/counts")).json()["appeals"] == 1
    (item,) = await waiting(mo)
    assert (item["comment"]["i"], item["text"]) == (comment["i"], "it is about **my** shop")
    assert (item["reasons"], item["decided_by"]["id"], item["may_decide"]) == (["spam?"], mo.id, False)
    refused = await ruled(mo, comment, "grant")
    assert (refused.status_code, refused.json()["code"]) == (403, "decided_before")
    assert (await waiting(other))[0]["may_decide"] is True
    assert (await ruled(other, comment, "grant", "sorry")).status_code == 200
    assert outline(await read(http, new_site)) == ["misread"]
    assert await waiting(mo) == []
    await settle(app)
    told = [(one["action"], one["reason"]) for one in (await inbox(ada))["notifications"]]
    assert sorted(told) == [("appeal_granted", "sorry"), ("reject", "spam?")]
    entries = (await log_of(mo))[::-1]
    assert [(one["action"], one["by"]) for one in entries] == [
        ("appeal_granted", other.id),
        ("appeal", ada.id),
        ("reject", mo.id),
    ]
    assert (entries[0]["before"], entries[0]["after"]) == ("rejected", "approved")
    late = await ruled(other, comment, "decline")
    assert (late.status_code, late.json()["code"]) == (409, "no_open_appeal")
    assert (await own(ada))[0]["appeal"] == "granted"
    assert await disagreements(redis) == []


async def test_a_declined_appeal_leaves_it_and_was_the_only_one(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    other = await second_moderator(app, http, new_site)
    comment = await write(ada, "rude")
    await decide(mo, "spam", comment["i"])
    assert (await appeal(ada, comment)).status_code == 204
    again = await appeal(ada, comment, "and another thing")
    assert (again.status_code, again.json()["code"]) == (409, "already_appealed")
    assert (await ruled(other, comment, "decline", "it is rude")).status_code == 200
    assert outline(await read(http, new_site)) == []
    await settle(app)
    assert ("appeal_declined", "it is rude") in [
        (n["action"], n["reason"]) for n in (await inbox(ada))["notifications"]
    ]
    again = await appeal(ada, comment)
    assert (again.status_code, again.json()["code"]) == (409, "already_appealed")
    (item,) = await own(ada)
    assert (item["appeal"], item["may_appeal"]) == ("declined", False)
    assert await waiting(mo) == []
    entry = (await mo.call("GET", "/v1/moderation/log?limit=1")).json()["entries"][0]
    assert (entry["action"], entry["by"], entry["user_id"], entry["reason"]) == (
        "appeal_declined",
        other.id,
        ada.id,
        "it is rude",
    )
    assert await disagreements(redis) == []


async def test_what_reports_have_hidden_can_be_appealed_about_before_anybody_has_looked(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    people = [await create(http, new_site, f"p{number}") for number in range(6)]
    comment = await write(ada, "unloved")
    unfit = await appeal(ada, comment)
    assert (unfit.status_code, unfit.json()["code"]) == (409, "nothing_to_appeal")
    for person in people:
        await report(person, comment)
    (item,) = await own(ada)
    assert (item["reasons"], item["may_appeal"]) == (["reported by several people"], True)
    assert (await appeal(ada, comment)).status_code == 204
    (waits,) = await waiting(mo)
    assert (waits["reports"], waits["decided_by"], waits["may_decide"]) == (3.0, None, True)
    assert (await ruled(mo, comment, "grant")).status_code == 200
    await settle(app)
    assert await outcomes(people[0]) == [(comment["i"], "stays")]
    assert await queued(mo) == []
    assert outline(await read(http, new_site)) == ["unloved"]


async def test_a_site_with_one_moderator_lets_that_one_think_again(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    comment = await write(ada, "hm")
    await decide(mo, "reject", comment["i"])
    await appeal(ada, comment)
    assert (await waiting(mo))[0]["may_decide"] is True
    assert (await ruled(mo, comment, "grant")).status_code == 200


async def test_nobody_decides_their_own_appeal(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    mo, admin = await staff(app, http, new_site), await staff(app, http, new_site, Role.ADMIN)
    comment = await write(mo, "mine")
    await decide(admin, "reject", comment["i"])
    await appeal(mo, comment)
    refused = await ruled(mo, comment, "grant")
    assert (refused.status_code, refused.json()["code"]) == (403, "own_appeal")
    assert (await ruled(admin, comment, "decline")).status_code == 200, "there is nobody else"


async def test_only_the_author_appeals_and_only_with_words(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, bob, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site),
    )
    comment = await write(ada, "rude")
    await decide(mo, "reject", comment["i"])
    stranger = await appeal(bob, comment)
    assert (stranger.status_code, stranger.json()["code"]) == (404, "comment_not_found")
    moderator = await appeal(mo, comment)
    assert (moderator.status_code, moderator.json()["code"]) == (403, "not_your_comment")
    for text, status in (("", 422), (" \n\t ", 400), ("x" * 1001, 422)):
        assert (await appeal(ada, comment, text)).status_code == status, text[:5]
    assert (await ada.call("POST", f"/v1/comments/{comment['i']}/appeal", {})).status_code == 422
    unknown = await appeal(ada, {"i": "0197b0a0-0000-7000-8000-000000000000"})
    assert unknown.status_code == 404
    assert (await ruled(mo, comment, "maybe")).status_code == 422
    none = await ruled(mo, comment, "grant")
    assert (none.status_code, none.json()["code"]) == (409, "no_open_appeal")
    assert await waiting(mo) == []


async def test_another_sites_moderators_have_no_say(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    stranger = await create(http, other, "stranger")
    await app.services.roles.grant(other.site.id, UserId(stranger.id), Role.OWNER)
    comment = await write(ada, "rude")
    await decide(mo, "reject", comment["i"])
    await appeal(ada, comment)
    assert (await ruled(stranger, comment, "grant")).status_code == 404
    assert await waiting(stranger) == []
    assert len(await waiting(mo)) == 1


async def test_appeals_wait_in_order_and_a_page_at_a_time(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    comments = []
    for number in range(5):
        comments.append(await write(ada, f"comment {number}"))
        await decide(mo, "reject", comments[-1]["i"])
    for comment in reversed(comments):
        clock.advance(seconds=1)
        await appeal(ada, comment)
    ids = [comment["i"] for comment in reversed(comments)]
    assert [one["comment"]["i"] for one in await waiting(mo)] == ids
    assert [one["comment"]["i"] for one in await waiting(mo, "?offset=1&limit=2")] == ids[1:3]
    first = (await mo.call("GET", "/v1/moderation/appeals?limit=2")).json()
    assert first["waiting"] == 5
    await ruled(mo, first["items"][0]["comment"], "decline")
    rest = await waiting(mo, f"?cursor={first['next']}")
    assert [one["comment"]["i"] for one in rest] == ids[2:], "none is skipped because one has left"


async def test_approving_in_the_queue_grants_and_taking_it_back_opens_the_appeal_again(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    comment = await write(ada, "hm")
    await decide(mo, "reject", comment["i"])
    await appeal(ada, comment)
    done = await decide(mo, "approve", comment["i"])
    assert await waiting(mo) == []
    assert (await mo.call("POST", f"/v1/moderation/undo/{done['undo']}")).status_code == 200
    assert [one["comment"]["i"] for one in await waiting(mo)] == [comment["i"]]
    granted = await ruled(mo, comment, "grant")
    assert (await mo.call("POST", f"/v1/moderation/undo/{granted.json()['entry']}")).status_code == 200
    assert [one["comment"]["i"] for one in await waiting(mo)] == [comment["i"]]


@pytest.mark.parametrize("how", ["the author deletes it", "a moderator deletes it", "the account is deleted"])
async def test_an_appeal_goes_with_its_comment(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, how: str
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    comment = await write(ada, "hm")
    await decide(mo, "reject", comment["i"])
    await appeal(ada, comment, "my very own words")
    await settle(app)
    match how:
        case "the author deletes it":
            assert (await ada.call("DELETE", f"/v1/comments/{comment['i']}")).status_code == 204
        case "a moderator deletes it":
            assert (await mo.call("DELETE", f"/v1/comments/{comment['i']}")).status_code == 204
        case _:
            assert (await ada.call("DELETE", "/v1/users/me")).status_code == 200
    assert await waiting(mo) == []
    assert not await redis.exists(f"site:{new_site.site.id}:appeals")
    record = await redis.hgetall(f"comment:{comment['i']}")
    assert not {"appeal", "appealed_ms", "appeal_state"} & record.keys()
    assert (await ruled(mo, comment, "grant")).status_code in (404, 409)
    if how != "a moderator deletes it":  # which can be undone for half a minute
        assert "my very own words" not in await everything(redis)


async def test_a_filter_learns_from_a_granted_appeal_as_from_any_approval(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    comment = await write(ada, "words to learn from")
    await decide(mo, "spam", comment["i"])
    await settle(app)
    totals = await app.services.learning_filter.totals(new_site.site.id)
    await appeal(ada, comment)
    await ruled(mo, comment, "grant")
    await settle(app)
    now = await app.services.learning_filter.totals(new_site.site.id)
    assert totals != now


async def test_nobody_approves_their_own_comment_that_was_turned_down(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    boss, mo = await staff(app, http, new_site, Role.OWNER), await staff(app, http, new_site)
    comment = await write(mo, "rude")
    done = await decide(boss, "reject", comment["i"])
    approved = await mo.call("POST", f"/v1/moderation/approve/{comment['i']}", {})
    assert (approved.status_code, approved.json()["code"]) == (403, "own_comment")
    outcome = (await mo.call("POST", "/v1/moderation/bulk", {"action": "approve", "ids": [comment["i"]]})).json()
    assert outcome == {"done": {}, "failed": {comment["i"]: "own_comment"}}
    undone = await mo.call("POST", f"/v1/moderation/undo/{done['undo']}")
    assert (undone.status_code, undone.json()["code"]) == (403, "own_comment")
    deleted = await decide(boss, "delete", comment["i"])
    undone = await mo.call("POST", f"/v1/moderation/undo/{deleted['undo']}")
    assert (undone.status_code, undone.json()["code"]) == (403, "own_comment")
    assert outline(await read(http, new_site)) == []
    # What one turned down oneself one can still take back.
    own_one = await write(mo, "regretted")
    done = await decide(mo, "reject", own_one["i"])
    assert (await mo.call("POST", f"/v1/moderation/undo/{done['undo']}")).status_code == 200
    # Not even when it is turned down between the look and the deed.
    case = app.services.decisions._case

    async def turned_down_meanwhile(site: Site, found: Comment, verdict: Any) -> Any:
        made = await case(site, found, verdict)
        monkeypatch.undo()
        await decide(boss, "reject", own_one["i"])
        return made

    monkeypatch.setattr(app.services.decisions, "_case", turned_down_meanwhile)
    assert (await mo.call("POST", f"/v1/moderation/approve/{own_one['i']}", {})).status_code == 409
    assert outline(await read(http, new_site)) == []


@pytest.mark.parametrize("action", ["approve", "delete", "DELETE", "bulk approve", "bulk delete"])
async def test_while_an_appeal_waits_whoever_decided_before_neither_approves_nor_deletes(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, action: str
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    other = await second_moderator(app, http, new_site)
    comment = await write(ada, "misread")
    await decide(mo, "reject", comment["i"])
    await appeal(ada, comment)

    async def act(person: Person) -> tuple[int, str | None]:
        if action == "DELETE":
            answer = await person.call("DELETE", f"/v1/comments/{comment['i']}")
            return answer.status_code, answer.json()["code"] if answer.content else None
        if action.startswith("bulk"):
            body = {"action": action.removeprefix("bulk "), "ids": [comment["i"]]}
            failed = (await person.call("POST", "/v1/moderation/bulk", body)).json()["failed"]
            return (403, failed[comment["i"]]) if failed else (200, None)
        answer = await person.call("POST", f"/v1/moderation/{action}/{comment['i']}", {})
        return answer.status_code, answer.json().get("code")

    assert await act(mo) == (403, "decided_before")
    assert len(await waiting(mo)) == 1
    assert (await act(other))[1] is None
    assert await waiting(mo) == []


async def test_the_only_one_on_the_staff_decides_about_everything(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    boss, ada = await staff(app, http, new_site, Role.OWNER), await create(http, new_site, "ada")
    own_one, theirs = await write(boss, "mine"), await write(ada, "theirs")
    for comment, author in ((own_one, boss), (theirs, ada)):
        await decide(boss, "reject", comment["i"])
        await decide(boss, "approve", comment["i"])
        await decide(boss, "reject", comment["i"])
        assert (await appeal(author, comment)).status_code == 204
        await decide(boss, "approve", comment["i"])
    assert outline(await read(http, new_site)) == ["mine", "theirs"]
