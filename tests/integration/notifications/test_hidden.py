"""What people were told of a comment goes while it is hidden, and comes back with it: once, as it was, and not below what
was read meanwhile."""

from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.integration.comments.test_votes import vote
from tests.integration.moderation.test_appeals import appeal
from tests.integration.moderation.test_decisions import decide, staff
from tests.integration.moderation.test_reports import report
from tests.integration.moderation.test_screened import blog
from tests.integration.moderation.test_undoing import remove, undone
from tests.integration.notifications.inbox import answer, inbox, kept, settle, told
from tests.make import ManualClock
from tests.people import Person, create
from threadkit.app import Application
from threadkit.sites.model import NewSite, SiteSettings


async def about(person: Person) -> list[tuple[str, str, bool]]:
    """Kinds, words and whether they are read, newest first, without what moderators did."""
    notices = (await inbox(person))["notifications"]
    return [
        (one["notification_type"], one["excerpt"], one["read"])
        for one in notices
        if one["notification_type"] != "mod_action"
    ]


async def edit(person: Person, comment: dict[str, Any], content: str) -> str | None:
    changed = await person.call("PUT", f"/v1/comments/{comment['i']}", {"content": content})
    assert changed.status_code == 200, changed.text
    state: str | None = changed.json().get("s")
    return state


@pytest.mark.parametrize("state", ["held by the edit", "hidden by reports", "rejected"])
async def test_a_mention_in_an_edit_that_waits_is_told_when_it_is_shown_and_not_before(
    app: Application, http: httpx.AsyncClient, redis: Redis, clock: ManualClock, state: str
) -> None:
    site = await blog(app, hold=("casino",))
    ada, bob, cleo, mo = [
        *[await create(http, site, one) for one in ("ada", "bob", "cleo")],
        await staff(app, http, site),
    ]
    comment = await write(ada, "hello @cleo")
    await settle(app)
    if state == "hidden by reports":
        await report(mo, comment)
    elif state == "rejected":
        await decide(mo, "reject", comment["i"])
        await appeal(ada, comment)
    clock.advance(seconds=60)
    text = "casino with @bob" if state == "held by the edit" else "hello @bob"
    assert await edit(ada, comment, text) == ("rejected" if state == "rejected" else "pending")
    await settle(app)
    assert await told(bob) == await told(cleo) == []
    assert await kept(redis, bob) == []
    clock.advance(seconds=60)
    read_meanwhile = await write(ada, "something else for @bob")
    await settle(app)
    await bob.call("POST", "/v1/notifications/read", {})
    clock.advance(seconds=60)
    if state == "rejected":
        seen = (await mo.call("GET", "/v1/moderation/appeals")).json()["items"][0]["updated_at"]
        body = {"decision": "grant", "seen": seen}
        assert (await mo.call("POST", f"/v1/moderation/appeals/{comment['i']}", body)).status_code == 200
    else:
        await decide(mo, "approve", comment["i"])
    await settle(app)
    assert await about(bob) == [("mention", text, False), ("mention", read_meanwhile["t"], True)]
    assert await told(cleo) == [], "who is named no more"
    await kept(redis, bob)


async def test_what_is_approved_later_is_told_as_of_then(
    app: Application, http: httpx.AsyncClient, clock: ManualClock
) -> None:
    """Above what was read while it waited."""
    settings = SiteSettings(moderation_mode="pre")
    site = await app.services.sites.create("Careful", "blog.example.org", settings=settings)
    ada, bob, mo = await create(http, site, "ada"), await create(http, site, "bob"), await staff(app, http, site)
    root = await write(ada, "root")
    await decide(mo, "approve", root["i"])
    first = await answer(bob, root, "first")
    clock.advance(seconds=60)
    second = await answer(bob, root, "second")
    await decide(mo, "approve", second["i"])
    await settle(app)
    await ada.call("POST", "/v1/notifications/read", {})
    clock.advance(seconds=60)
    await decide(mo, "approve", first["i"])
    await settle(app)
    assert await about(ada) == [("reply", "first", False), ("reply", "second", True)]


HIDINGS = ["reports", "rejection", "undone rejection", "edit", "what it hangs on", "deletion"]


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("how", HIDINGS)
async def test_what_was_told_of_a_comment_outlives_that_it_was_hidden_and_looked_for(
    app: Application, http: httpx.AsyncClient, redis: Redis, clock: ManualClock, how: str, is_read: bool
) -> None:
    """A reply, a mention and a vote, each as often and as read as before; nothing of it is listed or counted meanwhile."""
    site = await blog(app, hold=("casino",))
    ada, bob, cleo, mo = [
        *[await create(http, site, one) for one in ("ada", "bob", "cleo")],
        await staff(app, http, site),
    ]
    top = await write(mo, "top")
    root = await write(ada, "root", under=[top["i"]])
    reply = await write(bob, "reply @cleo", under=[top["i"], root["i"]])
    await vote(cleo, reply["i"], "up")
    await settle(app)
    people = (ada, bob, cleo)
    if is_read:
        for person in people:
            await person.call("POST", "/v1/notifications/read", {})
    before = [await about(person) for person in people]
    assert [[one[0] for one in notices] for notices in before] == [["reply"], ["upvote"], ["mention"]]

    entry = ""
    if how == "reports":
        await report(mo, reply)
    elif how in ("rejection", "undone rejection"):
        entry = (await decide(mo, "reject", reply["i"]))["undo"]
    elif how == "edit":
        assert await edit(bob, reply, "casino @cleo") == "pending"
    elif how == "what it hangs on":
        entry = (await decide(mo, "reject", root["i"]))["undo"]
    else:
        entry = await remove(mo, reply["i"])
    await settle(app)
    for person in (ada, cleo) if how == "what it hangs on" else people:
        assert await about(person) == []
        assert [one for one in await kept(redis, person) if one["notification_type"] != "mod_action"] == []
        await person.call("POST", "/v1/notifications/read", {})
    clock.advance(seconds=5)
    if entry and how != "rejection":
        await undone(mo, entry)
    else:
        await decide(mo, "approve", reply["i"])
    await settle(app)
    after = [await about(person) for person in people]
    words = {"edit": "casino @cleo"}.get(how, "reply @cleo")
    assert after == [[(kind, words, read) for kind, _, read in notices] for notices in before]
    for person in people:
        await kept(redis, person)


@pytest.mark.parametrize("hiding", ["reject", "reports", "delete"])
async def test_what_nobody_looked_for_while_it_was_hidden_is_told_once_and_is_where_it_was(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, hiding: str
) -> None:
    ada, bob, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site),
    )
    root = await write(ada, "root")
    reply = await answer(bob, root, "reply")
    await settle(app)
    (before,) = await kept(redis, ada)
    for _ in range(2):
        if hiding == "reports":
            await report(mo, reply)
            await decide(mo, "approve", reply["i"])
        elif hiding == "reject":
            await undone(mo, (await decide(mo, "reject", reply["i"]))["undo"])
        else:
            await undone(mo, await remove(mo, reply["i"]))
        await settle(app)
        assert await kept(redis, ada) == [before]
    assert await redis.zcard(f"user:{ada.id}:notifications") == 1


async def test_what_is_deleted_for_good_leaves_nothing_set_aside(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, bob, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site),
    )
    root = await write(ada, "root")
    reply = await answer(bob, root, "reply")
    await settle(app)
    await report(mo, reply)
    await settle(app)
    assert await about(ada) == []
    assert await redis.zcard(f"user:{ada.id}:notifications") == 1
    await bob.call("DELETE", f"/v1/comments/{reply['i']}")
    await settle(app)
    assert await redis.zcard(f"user:{ada.id}:notifications") == 0


async def test_only_the_newest_are_set_aside_and_they_crowd_nothing_out(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, bob, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site),
    )
    root = await write(ada, "root")
    stays = await answer(bob, root, "stays")
    hidden = [await answer(bob, root, f"reply {number}") for number in range(60)]
    await settle(app)
    body = {"action": "reject", "ids": [one["i"] for one in hidden]}
    done = (await mo.call("POST", "/v1/moderation/bulk", body)).json()["done"]
    assert [one[1] for one in await about(ada)] == [stays["t"]]
    assert await redis.zcard(f"user:{ada.id}:notifications") == 51
    await mo.call("POST", "/v1/moderation/undo", {"ids": list(done.values())})
    await settle(app)
    assert len(await kept(redis, ada)) == 51
