"""Undoing what moderators did: deletions in every shape, and what nobody may get back. Row S3-80."""

import asyncio
import random
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import URL, outline, read, write
from tests.integration.comments.test_votes import vote
from tests.integration.moderation.test_decisions import decide, queued, staff
from tests.integration.moderation.test_people import log_of
from tests.integration.moderation.test_screened import blog
from tests.make import ManualClock
from tests.people import Person, create
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import NewSite, SiteSettings
from threadkit.sites.roles import Role


@pytest.fixture
async def careful(app: Application) -> NewSite:
    """A site where a moderator looks first."""
    return await app.services.sites.create("Careful", "blog.example.org", settings=SiteSettings(moderation_mode="pre"))


async def remove(person: Person, comment_id: str) -> str:
    """Delete somebody's comment the ordinary way; the answer's header undoes it."""
    answer = await person.call("DELETE", f"/v1/comments/{comment_id}")
    assert (answer.status_code, answer.content) == (204, b"")
    return str(answer.headers["x-undo"])


async def undo(person: Person, entry_id: str) -> httpx.Response:
    return await person.call("POST", f"/v1/moderation/undo/{entry_id}")


async def undone(person: Person, entry_id: str) -> None:
    answer = await undo(person, entry_id)
    assert answer.status_code == 200, answer.text


async def everything(redis: Redis) -> dict[str, Any]:
    """All there is about comments, without what only counts up or tells."""
    found: dict[str, Any] = {}
    for key in sorted([str(key) async for key in redis.scan_iter(count=1000)]):
        if not key.startswith(("comment:", "page:", "vote")) or key.endswith((":changes", ":claims")):
            continue
        match await redis.type(key):
            case "hash":
                fields = await redis.hgetall(key)
                counting = {"version", "updated_ms", "changes_from"}
                found[key] = {name: value for name, value in fields.items() if name not in counting}
            case "zset":
                found[key] = await redis.zrange(key, 0, -1, withscores=True)
    return found


async def test_a_leaf_comes_back_as_it_was_with_its_votes(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    ada, bob, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site),
    )
    comment = await write(ada, "hello @bob")
    await vote(bob, comment["i"], "up")
    await app.services.outbox.drain()
    before, thread = await everything(redis), await read(http, new_site)
    entry = await remove(mo, comment["i"])
    assert outline(await read(http, new_site)) == []
    assert await disagreements(redis) == []
    clock.advance(seconds=5)
    await undone(mo, entry)
    assert await everything(redis) == before
    now = await read(http, new_site)
    assert (now["tree"]["c"], now["total"]) == (thread["tree"]["c"], 1)
    assert await disagreements(redis, shadowed=[]) == []
    assert (await app.services.rebuild.run(is_check=True)).is_clean
    await app.services.outbox.drain()
    assert (await ada.call("GET", f"/v1/users/{ada.id}")).json()["total_comments"] == 1
    kinds = [one["notification_type"] for one in (await bob.call("GET", "/v1/notifications")).json()["notifications"]]
    assert kinds == ["mention"]
    told = [one["action"] for one in (await ada.call("GET", "/v1/notifications")).json()["notifications"]]
    assert [action for action in told if action] == ["undo_delete", "delete"]


@pytest.mark.parametrize("how", ["undo", "approve"])
async def test_the_last_reply_to_a_deleted_comment_comes_back_with_its_place(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, how: str
) -> None:
    """Two places above it, which went when it was rejected."""
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    root = await write(ada, "root")
    middle = await write(ada, "middle", under=[root["i"]])
    leaf = await write(ada, "leaf", under=[root["i"], middle["i"]])
    below = await write(ada, "below", under=[root["i"], middle["i"], leaf["i"]])
    for comment in (root, middle):
        await ada.call("DELETE", f"/v1/comments/{comment['i']}")
    before, thread = await everything(redis), await read(http, new_site)
    assert outline(thread) == [("[deleted]", [("[deleted]", [("leaf", ["below"])])])]
    entry = (await decide(mo, "reject", leaf["i"]))["undo"]
    assert outline(await read(http, new_site)) == []
    assert await disagreements(redis) == []
    if how == "undo":
        await undone(mo, entry)
        assert await everything(redis) == before
    else:
        await decide(mo, "approve", leaf["i"])
    now = await read(http, new_site)
    assert (now["tree"]["c"], now["total"]) == (thread["tree"]["c"], 4)
    assert await disagreements(redis) == []
    assert (await app.services.rebuild.run(is_check=True)).is_clean
    await vote(mo, below["i"], "up")


async def test_a_last_reply_comes_back_hidden_where_what_is_above_it_was_hidden_meanwhile(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    root = await write(ada, "root")
    middle = await write(ada, "middle", under=[root["i"]])
    leaf = await write(ada, "leaf", under=[root["i"], middle["i"]])
    await ada.call("DELETE", f"/v1/comments/{middle['i']}")
    whole = outline(await read(http, new_site))
    entry = (await decide(mo, "reject", leaf["i"]))["undo"]
    above = (await decide(mo, "reject", root["i"]))["undo"]
    await undone(mo, entry)
    assert outline(await read(http, new_site)) == []
    assert await disagreements(redis) == []
    await undone(mo, above)
    assert outline(await read(http, new_site)) == whole
    assert await disagreements(redis) == []
    assert (await app.services.rebuild.run(is_check=True)).is_clean


async def test_every_shape_comes_back(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    """With replies; under a place; the last reply of a place; pinned; hidden with what is above."""
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    root = await write(ada, "root")
    reply = await write(ada, "reply", under=[root["i"]])
    leaf = await write(ada, "leaf", under=[root["i"], reply["i"]])
    pinned = await write(ada, "pinned")
    await mo.call("POST", f"/v1/comments/{pinned['i']}/pin", {"page_url": URL, "path": [pinned["i"]]})
    whole = await everything(redis)

    entry = await remove(mo, root["i"])
    assert outline(await read(http, new_site)) == [("[deleted]", [("reply", ["leaf"])]), "pinned"]
    await undone(mo, entry)
    assert await everything(redis) == whole

    places = [await remove(mo, root["i"]), await remove(mo, reply["i"])]
    assert outline(await read(http, new_site)) == [("[deleted]", [("[deleted]", ["leaf"])]), "pinned"]
    with_places = await everything(redis)
    entry = await remove(mo, leaf["i"])
    assert (outline(await read(http, new_site)), (await read(http, new_site))["total"]) == (["pinned"], 1)
    assert await disagreements(redis) == []
    await undone(mo, entry)
    now = await everything(redis)
    assert {key: now[key] for key in now if not key.endswith(":kept")} == with_places
    assert await disagreements(redis) == []
    for entry in reversed(places):
        await undone(mo, entry)
        assert await disagreements(redis) == []
    assert await everything(redis) == whole

    # Everything at once, from below and back in any order.
    entries = [await remove(mo, one["i"]) for one in (leaf, reply, root, pinned)]
    assert (await read(http, new_site))["total"] == 0
    for entry in random.Random(6).sample(entries, len(entries)):
        await undone(mo, entry)
        assert await disagreements(redis) == []
    assert await everything(redis) == whole
    assert [one for one, _ in (await read(http, new_site))["pinned"]] == [pinned["i"]]

    # Hidden together with what it hangs on, and back while that is still hidden.
    await decide(mo, "reject", root["i"])
    hidden = await everything(redis)
    for one in (reply, leaf, root):
        entry = await remove(mo, one["i"])
        assert await disagreements(redis) == []
        await undone(mo, entry)
        assert await disagreements(redis) == []
        assert await everything(redis) == hidden
    await decide(mo, "approve", root["i"])
    assert outline(await read(http, new_site)) == [("root", [("reply", ["leaf"])]), "pinned"]


async def test_what_waits_waits_again_and_what_is_shadowed_stays_so(
    app: Application, http: httpx.AsyncClient, careful: NewSite, redis: Redis
) -> None:
    """S3-80"""
    ada, eve, mo = (
        await create(http, careful, "ada"),
        await create(http, careful, "eve"),
        await staff(app, http, careful),
    )
    await redis.sadd(f"site:{careful.site.id}:shadowbanned", eve.id)
    held, shadowed = await write(ada, "held"), await write(eve, "shadowed")
    before = await everything(redis)
    for comment in (held, shadowed):
        entry = await remove(mo, comment["i"])
        assert await disagreements(redis) == []
        await undone(mo, entry)
        assert await everything(redis) == before
        assert await disagreements(redis) == []
    assert await queued(mo) == [held["i"]]
    assert outline(await read(http, careful, person=eve)) == ["shadowed"]
    await decide(mo, "approve", held["i"])
    await app.services.outbox.drain()
    assert (await ada.call("GET", f"/v1/users/{ada.id}")).json()["total_comments"] == 1


async def test_what_happened_meanwhile_stays(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, clock: ManualClock
) -> None:
    ada, bob, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site),
    )
    root = await write(ada, "root")
    reply = await write(bob, "reply", under=[root["i"]])
    entry = await remove(mo, root["i"])
    await write(ada, "deeper", under=[root["i"], reply["i"]])
    await vote(ada, reply["i"], "up")
    await undone(mo, entry)
    assert outline(await read(http, new_site)) == [("root", [("reply", ["deeper"])])]
    assert await disagreements(redis, shadowed=[]) == []

    # What it hangs on is gone, and only a place by now; or it is hidden.
    leaf = await write(ada, "leaf", under=[root["i"]])
    for deed in ("delete", "reject"):
        entry = await remove(mo, leaf["i"])
        above = await decide(mo, deed, root["i"])
        await undone(mo, entry)
        assert await disagreements(redis) == []
        await undone(mo, above["undo"])
        assert outline(await read(http, new_site)) == [("root", [("reply", ["deeper"]), "leaf"])]
        assert await disagreements(redis) == []

    # The place went with its last reply.
    one = await write(ada, "one")
    only = await write(bob, "only", under=[one["i"]])
    entry = await remove(mo, one["i"])
    await bob.call("DELETE", f"/v1/comments/{only['i']}")
    await undone(mo, entry)
    assert outline(await read(http, new_site))[1:] == ["one"]
    assert await disagreements(redis) == []

    # Its page moved.
    await remove(mo, one["i"])
    await write(ada, "elsewhere", url="https://blog.example.org/other")
    entry = await remove(mo, leaf["i"])
    await app.services.pages.merge(new_site.site, URL, "https://blog.example.org/other")
    await undone(mo, entry)
    assert await disagreements(redis) == []


async def test_undoing_is_once_in_time_and_not_over_somebody_elses_decision(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock, redis: Redis
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    comment = await write(ada, "hi")
    first = await remove(mo, comment["i"])
    assert 0 < await redis.ttl(f"comment:{comment['i']}:kept") <= 30
    answer = await undo(mo, first)
    assert await redis.exists(f"comment:{comment['i']}:kept") == 0
    redo = await undo(mo, answer.json()["undo"])
    assert (redo.status_code, redo.json()["code"]) == (404, "nothing_to_undo")
    again = await undo(mo, first)
    assert (again.status_code, again.json()["code"]) == (409, "too_late_to_undo")
    second = await remove(mo, comment["i"])
    assert (await undo(mo, first)).status_code == 409
    clock.advance(seconds=31)
    late = await undo(mo, second)
    assert (late.status_code, late.json()["code"]) == (409, "too_late_to_undo")
    assert (await undo(ada, second)).status_code == 403
    assert outline(await read(http, new_site)) == []
    log = (await log_of(mo))[::-1]
    assert [(one["action"], one["before"], one["after"]) for one in log] == [
        ("delete", "approved", "deleted"),
        ("undo_delete", "deleted", "approved"),
        ("delete", "approved", "deleted"),
    ]
    assert {one["user_id"] for one in log} == {ada.id}


async def test_what_people_delete_themselves_is_gone_at_once(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    """Nothing of what authors delete is kept, and nothing of somebody who leaves."""
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    for person in (ada, mo):
        comment = await write(person, "my secret")
        answer = await person.call("DELETE", f"/v1/comments/{comment['i']}")
        assert (answer.status_code, "x-undo" in answer.headers) == (204, False)
    comment = await write(ada, "my secret")
    entry = await remove(mo, comment["i"])
    assert "my secret" in str(await redis.get(f"comment:{comment['i']}:kept"))
    assert (await ada.call("DELETE", "/v1/users/me")).status_code in (200, 204)
    assert [key async for key in redis.scan_iter(match="*:kept")] == []
    assert (await undo(mo, entry)).json()["code"] == "too_late_to_undo"
    assert await disagreements(redis) == []


async def test_a_decision_taken_back_says_again_what_was_said_before(
    app: Application, http: httpx.AsyncClient, careful: NewSite
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    comment = await write(ada, "hi")

    async def reasons() -> list[str]:
        (item,) = (await mo.call("GET", "/v1/moderation/queue")).json()["items"]
        found: list[str] = item["reasons"]
        return found

    before = await reasons()
    for action, reason in (("reject", "rude"), ("approve", None), ("spam", "casino"), ("delete", "worse")):
        done = await decide(mo, action, comment["i"], reason=reason)
        await undone(mo, done["undo"])
        assert await reasons() == before
    entries = (await mo.call("GET", "/v1/moderation/log")).json()["entries"]
    assert all("said" not in entry for entry in entries)


async def test_many_delete_and_undo_at_once_and_all_agrees(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    rng = random.Random(6)
    paths: list[list[str]] = []
    for number in range(30):
        above = rng.choice(paths) if paths and rng.random() < 0.8 else []
        paths.append([*above, (await write(ada, f"comment {number}", under=above))["i"]])
    ids = [path[-1] for path in paths]

    async def flicker(comment_id: str) -> None:
        answer = await mo.call("POST", f"/v1/moderation/delete/{comment_id}", {})
        if answer.status_code == 200:
            await undo(mo, answer.json()["undo"])

    await asyncio.gather(*(flicker(rng.choice(ids)) for _ in range(90)))
    assert await disagreements(redis) == []
    answer = await mo.call("POST", "/v1/moderation/bulk", {"action": "delete", "ids": ids})
    done = answer.json()["done"]
    assert await disagreements(redis) == []
    assert (await read(http, new_site))["total"] == 0
    await asyncio.gather(*(undo(mo, entry) for entry in done.values()))
    assert await disagreements(redis) == []
    assert (await read(http, new_site))["total"] == len(done) == 30


async def test_what_was_done_to_people_and_reports_is_undone_too(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    """S3-40, S3-81"""
    ada, bob, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site),
    )
    comment = await write(ada, "hi")

    async def status() -> int:
        return (await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "?"})).status_code

    banned = await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {})
    assert (banned.json(), await status()) == ({"comments_deleted": 0}, 403)
    await undone(mo, banned.headers["x-undo"])
    assert await status() == 200
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": 24})
    lifted = await mo.call("POST", f"/v1/moderation/unban/{ada.id}")
    assert await status() == 200
    await undone(mo, lifted.headers["x-undo"])
    assert await status() == 403
    await mo.call("POST", f"/v1/moderation/unban/{ada.id}")
    again = await mo.call("POST", f"/v1/moderation/unban/{ada.id}")
    assert "x-undo" not in again.headers  # nothing was done

    for method in ("POST", "DELETE"):
        deed = await mo.call(method, f"/v1/moderation/shadowban/{ada.id}")
        await undone(mo, deed.headers["x-undo"])
        before = (await read(http, new_site))["total"]
        assert await status() == 200
        is_seen = (await read(http, new_site))["total"] > before
        assert is_seen == (method == "POST")
        await mo.call("POST", f"/v1/moderation/shadowban/{ada.id}")

    await bob.call("POST", f"/v1/comments/{comment['i']}/report", {"reason": "spam", "details": "look"})
    dismissed = await mo.call("POST", f"/v1/moderation/reports/{comment['i']}/dismiss")
    assert (await mo.call("GET", "/v1/moderation/reports")).json()["items"] == []
    await undone(mo, dismissed.json()["undo"])
    (item,) = (await mo.call("GET", "/v1/moderation/reports")).json()["items"]
    assert (item["comment_id"], item["details"], item["reporter"]["id"]) == (comment["i"], "look", bob.id)


async def test_only_the_newest_decision_can_be_undone_and_once(
    app: Application, http: httpx.AsyncClient, careful: NewSite, redis: Redis
) -> None:
    """Also when somebody came to the same status in between."""
    ada, mo, mia = [await create(http, careful, name) for name in ("ada", "mo", "mia")]
    for person in (mo, mia):
        await app.services.roles.grant(careful.site.id, UserId(person.id), Role.MODERATOR)
    comment = await write(ada, "hm")
    first = (await decide(mo, "reject", comment["i"]))["undo"]
    second = (await decide(mia, "approve", comment["i"]))["undo"]
    third = (await decide(mia, "spam", comment["i"]))["undo"]
    late = await undo(mo, first)
    assert (late.status_code, late.json()["code"]) == (409, "too_late_to_undo")
    assert await redis.hget(f"comment:{comment['i']}", "status") == "rejected"
    # Backwards, one by one, each of them once.
    for entry, status in ((third, "approved"), (second, "rejected"), (first, "pending")):
        await undone(mo, entry)
        assert await redis.hget(f"comment:{comment['i']}", "status") == status
        assert (await undo(mo, entry)).status_code == 409
    await decide(mia, "reject", comment["i"])
    assert (await undo(mo, first)).status_code == 409
    assert await redis.hget(f"comment:{comment['i']}", "status") == "rejected"
    # A deletion that was taken back leaves what was decided before as it was.
    fourth = (await decide(mo, "approve", comment["i"]))["undo"]
    await undone(mo, (await decide(mo, "delete", comment["i"]))["undo"])
    await undone(mo, fourth)
    assert await disagreements(redis) == []


async def test_many_at_once_undo_a_decision_once(
    app: Application, http: httpx.AsyncClient, careful: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    comment = await write(ada, "hm")
    entry = (await decide(mo, "approve", comment["i"]))["undo"]
    answers = await asyncio.gather(*(undo(mo, entry) for _ in range(10)))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 9
    assert [one["action"] for one in await log_of(mo)] == ["approve", "undo_approve"]


async def test_a_declined_appeal_waits_again_when_that_is_undone(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, mo, mia = [await create(http, new_site, name) for name in ("ada", "mo", "mia")]
    for person in (mo, mia):
        await app.services.roles.grant(new_site.site.id, UserId(person.id), Role.MODERATOR)
    comment = await write(ada, "bad")
    await decide(mo, "reject", comment["i"])
    await ada.call("POST", f"/v1/comments/{comment['i']}/appeal", {"text": "why?"})
    before, waiting = await everything(redis), (await mia.call("GET", "/v1/moderation/appeals")).json()

    async def decline() -> str:
        answer = await mia.call("POST", f"/v1/moderation/appeals/{comment['i']}", {"decision": "decline"})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["entry"])

    entry = await decline()
    await undone(mia, entry)
    assert await everything(redis) == before
    assert (await mia.call("GET", "/v1/moderation/appeals")).json() == waiting
    assert (await undo(mia, entry)).json()["code"] == "too_late_to_undo"
    await app.services.outbox.drain()
    told = [one["action"] for one in (await ada.call("GET", "/v1/notifications")).json()["notifications"]]
    assert set(told) == {"reject", "appeal_declined", "undo_appeal_declined"}
    entry = await decline()
    await decide(mo, "approve", comment["i"])
    assert (await undo(mia, entry)).json()["code"] == "too_late_to_undo"


async def test_a_ban_from_everywhere_is_undone_by_who_could_do_it(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    ada, boss, mo = (
        await create(http, new_site, "ada"),
        await staff(app, http, new_site, Role.OWNER),
        await staff(app, http, new_site),
    )
    await app.services.roles.grant(other.site.id, UserId(boss.id), Role.OWNER)
    path = f"/v1/admin/users/{ada.id}/ban"
    banned = (await boss.call("POST", path, {})).headers["x-undo"]
    assert (await undo(mo, banned)).json()["code"] == "not_owner_everywhere"
    await undone(boss, banned)
    assert (await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "hi"})).status_code == 200
    assert (await undo(boss, banned)).json()["code"] == "stands_otherwise"
    await boss.call("POST", path, {})
    assert (await undo(boss, banned)).json()["code"] == "stands_otherwise", "that was another ban"
    await undone(boss, (await boss.call("DELETE", path)).headers["x-undo"])
    assert (await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "hi"})).status_code == 403
    for site in (new_site, other):
        entries = await app.services.moderation_log.newest(site.site.id, before=None, limit=10)
        assert [(entry.action, entry.before, entry.after) for entry in reversed(entries) if entry.job_id] == [
            ("ban_everywhere", "off", "on"),
            ("undo_ban_everywhere", "on", "off"),
            ("ban_everywhere", "off", "on"),
            ("unban_everywhere", "on", "off"),
            ("undo_unban_everywhere", "off", "on"),
        ]


@pytest.mark.parametrize("action", ["approve", "reject", "delete"])
async def test_a_bulk_action_is_undone_in_one_call(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, action: str
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    root = await write(ada, "root")
    reply = await write(ada, "reply", under=[root["i"]])
    leaf = await write(ada, "leaf", under=[root["i"], reply["i"]])
    others = [await write(ada, f"other {number}") for number in range(20)]
    ids = [one["i"] for one in (leaf, root, reply, *others)]
    before = await everything(redis)
    answer = await mo.call("POST", "/v1/moderation/bulk", {"action": action, "ids": ids})
    entries = list(answer.json()["done"].values())
    random.Random(6).shuffle(entries)
    answer = await mo.call("POST", "/v1/moderation/undo", {"ids": [*entries, "1-1", "nonsense", entries[0]]})
    assert answer.status_code == 200, answer.text
    assert answer.json()["done"].keys() == set(entries)
    assert answer.json()["failed"] == {"1-1": "nothing_to_undo", "nonsense": "nothing_to_undo"}
    assert await everything(redis) == before
    assert await disagreements(redis) == []
    again = (await mo.call("POST", "/v1/moderation/undo", {"ids": entries})).json()
    assert (again["done"], again["failed"].keys()) == ({}, set(entries))
    for ids in ([], ["1-1"] * 1001):
        assert (await mo.call("POST", "/v1/moderation/undo", {"ids": ids})).status_code == 422


async def test_of_several_decisions_about_one_comment_the_newest_is_undone_first(
    app: Application, http: httpx.AsyncClient, careful: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    comment = await write(ada, "hm")
    entries = [(await decide(mo, deed, comment["i"]))["undo"] for deed in ("reject", "approve", "spam")]
    banned = (await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {})).headers["x-undo"]
    answer = (await mo.call("POST", "/v1/moderation/undo", {"ids": [*entries, banned]})).json()
    assert (answer["done"].keys(), answer["failed"]) == ({*entries, banned}, {})
    assert await queued(mo) == [comment["i"]]
    assert (await ada.call("POST", "/v1/comments", {"page_url": URL, "content": "hi"})).status_code == 200


@pytest.mark.parametrize("back", ["undo", "approve", "undo of what it hangs on", "approval of an edit"])
async def test_a_pin_comes_back_with_its_comment(
    app: Application, http: httpx.AsyncClient, redis: Redis, back: str
) -> None:
    site = await blog(app, hold=("casino",))
    ada, mo = await create(http, site, "ada"), await staff(app, http, site)
    root = await write(ada, "root")
    reply = await write(ada, "reply", under=[root["i"]])
    await mo.call("POST", f"/v1/comments/{reply['i']}/pin", {})
    pins = (await read(http, site))["pinned"]
    assert [one for one, _ in pins] == [reply["i"]]
    before = await everything(redis)
    hidden = root["i"] if back == "undo of what it hangs on" else reply["i"]
    if back == "approval of an edit":
        assert (await ada.call("PUT", f"/v1/comments/{hidden}", {"content": "casino"})).json()["s"] == "pending"
    else:
        entry = (await decide(mo, "reject", hidden))["undo"]
    assert not (await read(http, site)).get("pinned")
    assert await disagreements(redis, shadowed=()) == []
    if back.startswith("undo"):
        await undone(mo, entry)
        assert await everything(redis) == before
    else:
        await decide(mo, "approve", hidden)
    assert (await read(http, site))["pinned"] == pins
    assert (await app.services.rebuild.run(is_check=True)).is_clean


async def test_a_pin_is_deleted_and_restored_with_a_comment_that_is_hidden(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    comment = await write(ada, "pinned")
    await mo.call("POST", f"/v1/comments/{comment['i']}/pin", {})
    await decide(mo, "reject", comment["i"])
    await undone(mo, await remove(mo, comment["i"]))
    await decide(mo, "approve", comment["i"])
    assert [one for one, _ in (await read(http, new_site))["pinned"]] == [comment["i"]]


@pytest.mark.parametrize("how", ["by its author", "by a moderator", "by a job"])
@pytest.mark.parametrize("showing", ["approve", "bulk", "undo", "delete"])
async def test_what_was_erased_while_it_was_hidden_never_comes_back_as_a_comment_of_nobody(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, how: str, showing: str
) -> None:
    ada, bob, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site),
    )
    root = await write(ada, "root")
    await write(bob, "reply", under=[root["i"]])
    entry = (await decide(mo, "reject", root["i"]))["undo"]
    if how == "by its author":
        await ada.call("DELETE", f"/v1/comments/{root['i']}")
    elif how == "by a moderator":
        await remove(mo, root["i"])
    else:
        await mo.call("POST", f"/v1/moderation/users/{ada.id}/delete-comments")
        await app.services.outbox.drain()
    calls: dict[str, tuple[str, Any]] = {
        "approve": (f"approve/{root['i']}", {}),
        "bulk": ("bulk", {"action": "approve", "ids": [root["i"]]}),
        "undo": (f"undo/{entry}", None),
        "delete": (f"delete/{root['i']}", {}),
    }
    answer = await mo.call("POST", f"/v1/moderation/{calls[showing][0]}", calls[showing][1])
    assert "comment_not_found" in answer.text
    assert outline(await read(http, new_site)) == []
    assert await disagreements(redis) == []
    listed = (await mo.call("GET", f"/v1/admin/sites/{new_site.site.id}/comments")).json()["comments"]
    assert {one["comment"]["i"]: one["comment"]["s"] for one in listed if "s" in one["comment"]} == {
        root["i"]: "deleted"
    }


async def test_a_deletion_of_what_was_hidden_is_taken_back_and_it_can_be_approved(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    root = await write(ada, "root")
    await write(ada, "reply", under=[root["i"]])
    await decide(mo, "reject", root["i"])
    await undone(mo, await remove(mo, root["i"]))
    await decide(mo, "approve", root["i"])
    assert outline(await read(http, new_site)) == [("root", ["reply"])]
    assert await disagreements(redis) == []
