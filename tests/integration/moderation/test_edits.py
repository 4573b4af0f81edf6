"""Edits and moderators at the same time: nobody publishes a text that nobody has looked at."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import outline, read, write
from tests.integration.comments.test_votes import vote
from tests.integration.moderation.test_decisions import decide, queued, staff
from tests.integration.moderation.test_screened import blog
from tests.people import Person, create
from threadkit.app import Application
from threadkit.sites.model import NewSite


async def edit(person: Person, comment_id: str, content: str) -> httpx.Response:
    return await person.call("PUT", f"/v1/comments/{comment_id}", {"content": content})


async def in_queue(mo: Person) -> dict[str, Any]:
    (item,) = (await mo.call("GET", "/v1/moderation/queue")).json()["items"]
    found: dict[str, Any] = item
    return found


def while_it_is_judged(
    app: Application, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], Awaitable[object]]
) -> None:
    screen = app.services.screener.screen

    async def slow(*args: Any, **kwargs: Any) -> Any:
        await happens()
        return await screen(*args, **kwargs)

    monkeypatch.setattr(app.services.screener, "screen", slow)


async def test_an_approval_while_an_edit_is_judged_shows_the_text_that_was_approved(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await app.services.sites.change(new_site.site.id, settings={"moderation_mode": "pre"})
    comment = await write(ada, "harmless")
    while_it_is_judged(app, monkeypatch, lambda: decide(mo, "approve", comment["i"]))
    answer = await edit(ada, comment["i"], "unseen")
    assert (answer.status_code, answer.json()["code"]) == (409, "approved_already")
    assert outline(await read(http, new_site)) == ["harmless"]


async def test_what_happens_elsewhere_while_an_edit_is_judged_does_not_stop_it(
    app: Application, http: httpx.AsyncClient, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await blog(app, hold=("casino",))
    ada, eve, mo = await create(http, site, "ada"), await create(http, site, "eve"), await staff(app, http, site)
    voted, hidden = await write(ada, "one"), await write(ada, "two")
    while_it_is_judged(app, monkeypatch, lambda: vote(eve, voted["i"], "up"))
    assert (await edit(ada, voted["i"], "casino one")).json()["s"] == "pending"
    monkeypatch.undo()
    while_it_is_judged(app, monkeypatch, lambda: decide(mo, "reject", hidden["i"]))
    assert (await edit(ada, hidden["i"], "casino two")).json()["s"] == "rejected"
    assert outline(await read(http, site)) == []
    assert await queued(mo) == [voted["i"]]
    assert await disagreements(redis, shadowed=()) == []


async def test_two_edits_at_once_leave_the_text_of_one_and_tell_the_other(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await create(http, new_site, "ada")
    comment = await write(ada, "first")
    has_begun = False

    async def other_tab() -> None:
        nonlocal has_begun
        if not has_begun:
            has_begun = True
            await edit(ada, comment["i"], "from the other tab")

    while_it_is_judged(app, monkeypatch, other_tab)
    answer = await edit(ada, comment["i"], "from this tab")
    assert (answer.status_code, answer.json()["code"]) == (409, "comment_changed")
    assert outline(await read(http, new_site)) == ["from the other tab"]


async def test_an_edit_that_a_lock_refuses_hides_nothing(
    app: Application, http: httpx.AsyncClient, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await blog(app, hold=("casino",))
    ada = await create(http, site, "ada")
    comment = await write(ada, "harmless")
    page_id = (await read(http, site))["page_id"]
    while_it_is_judged(app, monkeypatch, lambda: app.services.pages.lock(site.site, page_id, locked=True, by=None))
    assert (await edit(ada, comment["i"], "casino")).status_code == 403
    assert outline(await read(http, site)) == ["harmless"]
    assert await disagreements(redis, shadowed=()) == []


async def test_the_queue_says_what_is_wrong_with_the_newest_text(app: Application, http: httpx.AsyncClient) -> None:
    site = await blog(app, hold=("casino", "lottery"))
    ada, mo = await create(http, site, "ada"), await staff(app, http, site)
    comment = await write(ada, "casino")
    assert (await edit(ada, comment["i"], "lottery")).json()["s"] == "pending"
    item = await in_queue(mo)
    assert item["comment"]["t"] == "lottery"
    assert ["casino" in item["reasons"][0], "lottery" in item["reasons"][1]] == [True, True]
    (own,) = (await ada.call("GET", "/v1/users/me/comments")).json()["comments"]
    assert len(own["reasons"]) == 1, "authors are told of a word, not of which"


@pytest.mark.parametrize("action", ["approve", "reject", "spam", "delete"])
async def test_a_moderator_does_not_decide_about_a_text_they_have_not_seen(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, action: str
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    await app.services.sites.change(new_site.site.id, settings={"moderation_mode": "pre"})
    comment = await write(ada, "harmless")
    seen = (await in_queue(mo))["updated_at"]
    assert (await edit(ada, comment["i"], "swapped")).status_code == 200
    answer = await mo.call("POST", f"/v1/moderation/{action}/{comment['i']}", {"seen": seen})
    assert (answer.status_code, answer.json()["code"]) == (409, "comment_changed")
    body = {"action": action, "ids": [comment["i"]], "seen": {comment["i"]: seen}}
    outcome = (await mo.call("POST", "/v1/moderation/bulk", body)).json()
    assert outcome == {"done": {}, "failed": {comment["i"]: "comment_changed"}}
    assert await queued(mo) == [comment["i"]]
    await decide(mo, action, comment["i"], seen=(await in_queue(mo))["updated_at"])
    assert await queued(mo) == []
    assert await disagreements(redis, shadowed=()) == []


async def test_whose_comments_appear_at_once_may_edit_them_too(app: Application, http: httpx.AsyncClient) -> None:
    site = await blog(app)
    await app.services.sites.change(site.site.id, settings={"moderation_mode": "pre", "auto_approve_verified": True})
    ada = await create(http, site, "ada", "ada@example.org")
    comment = await write(ada, "first")
    assert "s" not in comment
    edited = await edit(ada, comment["i"], "second")
    assert (edited.status_code, edited.json()["t"]) == (200, "second")


async def test_edits_votes_and_decisions_in_a_crowd_leave_everything_in_agreement(
    app: Application, http: httpx.AsyncClient, redis: Redis
) -> None:
    site = await blog(app, hold=("casino",))
    await app.services.sites.change(
        site.site.id, settings={"screening.repeated.enabled": False, "screening.too_fast.enabled": False}
    )
    ada, eve, mo = await create(http, site, "ada"), await create(http, site, "eve"), await staff(app, http, site)
    root = await write(ada, "root")
    comments = [root, *[await write(ada, f"reply {n}", under=[root["i"]]) for n in range(5)]]

    async def turmoil(number: int) -> list[int]:
        comment_id = comments[number % len(comments)]["i"]
        deeds = [
            edit(ada, comment_id, f"{'casino' if number % 2 else 'garden'} {number}"),
            mo.call("POST", f"/v1/moderation/{'approve' if number % 3 else 'reject'}/{comment_id}", {}),
            eve.call("POST", f"/v1/comments/{comment_id}/vote", {"direction": "up"}),
        ]
        return [answer.status_code for answer in await asyncio.gather(*deeds)]

    answers = await asyncio.gather(*(turmoil(number) for number in range(36)))
    assert {status for each in answers for status in each} <= {200, 404, 409}
    assert any(each[0] == 200 for each in answers)
    assert await disagreements(redis, shadowed=()) == []
