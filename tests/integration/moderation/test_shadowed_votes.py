"""The votes of somebody shadow-banned: only they see them, in every answer, and they count when the ban is lifted."""

from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import URL, outline, read, write
from tests.integration.comments.test_votes import vote
from tests.integration.moderation.test_decisions import decide, staff
from tests.people import Person, create
from threadkit.app import Application
from threadkit.comments.model import CommentDraft
from threadkit.ids import CommentId, UserId
from threadkit.sites.model import NewSite
from threadkit.users.viewer import Viewer
from threadkit.votes import recounting


async def seen_by(person: Person, asked: str = "") -> dict[str, Any]:
    answer = await person.call("GET", f"/v1/comments?page_url={URL}{asked}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def counts(nodes: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    return {node["t"]: (node["u"], node["d"]) for node in nodes} | {
        text: both for node in nodes for text, both in counts(node.get("r", [])).items()
    }


async def shadowed(app: Application, site: NewSite, person: Person) -> Viewer:
    """Somebody who was found shadow-banned a moment ago, and is not any more."""
    claims = app.services.sessions.claims_of(person.token)
    assert claims is not None
    viewer = await app.services.user_queries.viewer(UserId(person.id), claims.session_id, site.site.id)
    assert viewer is not None
    return replace(viewer, is_shadowed=True)


async def test_the_voter_finds_their_vote_counted_wherever_they_look_and_nobody_else_does(
    http: httpx.AsyncClient, app: Application, new_site: NewSite
) -> None:
    ada, eve, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "eve"),
        await staff(app, http, new_site),
    )
    root = await write(ada, "root")
    reply = await write(ada, "reply", under=[root["i"]])
    before = (await read(http, new_site))["version"]
    await mo.call("POST", f"/v1/moderation/shadowban/{eve.id}")
    assert (await vote(eve, root["i"], "up"))["upvotes"] == 1
    assert (await vote(eve, reply["i"], "down"))["downvotes"] == 1
    own = await write(eve, "own")
    await vote(eve, own["i"], "up")
    expected = {"root": (1, 0), "reply": (0, 1), "own": (1, 0)}
    assert counts((await seen_by(eve))["tree"]["c"]) == expected
    assert counts((await seen_by(eve, "&limit=5"))["tree"]["c"]) == expected
    assert counts((await seen_by(eve, f"&around={reply['i']}"))["tree"]["c"]) == {"root": (1, 0), "reply": (0, 1)}
    (mine,) = (await eve.call("GET", "/v1/users/me/comments")).json()["comments"]
    assert mine["comment"]["u"] == 1
    below = (await eve.call("GET", f"/v1/comments/{root['i']}/replies")).json()["replies"]
    assert counts(below) == {"reply": (0, 1)}
    await ada.call("PUT", f"/v1/comments/{root['i']}", {"content": "root"})
    changed = (await eve.call("GET", f"/v1/changes?page_url={URL}&since={before}")).json()["comments"]
    assert counts(changed) == {"root": (1, 0)}
    assert set(counts((await seen_by(ada))["tree"]["c"]).values()) == {(0, 0)}
    assert set(counts((await read(http, new_site))["tree"]["c"]).values()) == {(0, 0)}


async def test_votes_count_when_the_ban_is_lifted_also_on_what_is_hidden(
    http: httpx.AsyncClient, app: Application, new_site: NewSite, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recounting, "STEP", 2)
    ada, eve, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "eve"),
        await staff(app, http, new_site),
    )
    written = [await write(ada, f"number {number}") for number in range(5)]
    await mo.call("POST", f"/v1/moderation/shadowban/{eve.id}")
    for comment in written:
        await vote(eve, comment["i"], "up")
    await decide(mo, "reject", written[0]["i"])
    await ada.call("DELETE", f"/v1/comments/{written[1]['i']}")
    await mo.call("DELETE", f"/v1/moderation/shadowban/{eve.id}")
    await app.services.outbox.drain()
    await decide(mo, "approve", written[0]["i"])
    assert set(counts((await read(http, new_site))["tree"]["c"]).values()) == {(1, 0)}
    assert (await http.get(f"/v1/users/{ada.id}", headers={"projectid": ada.key})).json()["karma"] == 4
    assert (await vote(eve, written[2]["i"], "up"))["upvotes"] == 0, "taken back like any other"
    assert await disagreements(redis, shadowed=()) == []


async def test_what_comes_in_while_the_ban_is_lifted_is_not_left_in_the_shadow(
    http: httpx.AsyncClient, app: Application, new_site: NewSite
) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    root = await write(ada, "root")
    viewer = await shadowed(app, new_site, eve)
    draft = CommentDraft("too late", page_url=URL)
    await app.services.comments.post(new_site.site, draft, author=viewer, request_key=None)
    await app.services.votes.cast(new_site.site, CommentId(root["i"]), "up", voter=viewer)
    assert outline(await read(http, new_site)) == ["root"]
    await app.services.outbox.drain()
    assert counts((await read(http, new_site))["tree"]["c"]) == {"root": (1, 0), "too late": (0, 0)}


@pytest.mark.parametrize("fate", ["rejected", "deleted"])
async def test_a_reply_from_the_shadow_follows_what_it_hangs_on_like_any_other(
    http: httpx.AsyncClient, app: Application, new_site: NewSite, redis: Redis, fate: str
) -> None:
    ada, eve, mo = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "eve"),
        await staff(app, http, new_site),
    )
    root = await write(ada, "root")
    await mo.call("POST", f"/v1/moderation/shadowban/{eve.id}")
    reply = await write(eve, "reply", under=[root["i"]])
    await write(eve, "to myself", under=[root["i"], reply["i"]])
    if fate == "rejected":
        await decide(mo, "reject", root["i"])
    else:
        await ada.call("DELETE", f"/v1/comments/{root['i']}")
    await mo.call("DELETE", f"/v1/moderation/shadowban/{eve.id}")
    await app.services.outbox.drain()
    if fate == "rejected":
        assert outline(await read(http, new_site)) == []
        assert await disagreements(redis) == []
        await decide(mo, "approve", root["i"])
        await app.services.outbox.drain()
    shown = "root" if fate == "rejected" else "[deleted]"
    assert outline(await read(http, new_site)) == [(shown, [("reply", ["to myself"])])]
    assert (await app.services.deep_doctor.run()).found == []
    assert await disagreements(redis) == []


async def test_a_decision_in_the_very_moment_leaves_nothing_in_the_shadow(
    http: httpx.AsyncClient, app: Application, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    eve, mo = await create(http, new_site, "eve"), await staff(app, http, new_site)
    await mo.call("POST", f"/v1/moderation/shadowban/{eve.id}")
    comment = await write(eve, "hello")
    await decide(mo, "reject", comment["i"])
    decisions = app.services.decisions
    whole, moments = decisions._decide.__call__, iter("approve")

    async def meanwhile(case: Any) -> Any:
        if case.entry["action"] == "unshadow" and next(moments, None) == "a":
            await redis_is(app, comment["i"], "approved")
        return await whole(case)

    monkeypatch.setattr(decisions, "_decide", meanwhile)
    await mo.call("DELETE", f"/v1/moderation/shadowban/{eve.id}")
    await app.services.outbox.drain()
    assert outline(await read(http, new_site)) == ["hello"]


async def redis_is(app: Application, comment_id: str, status: str) -> None:
    """Somebody who looked before the ban was lifted decides now: it stays in the shadow."""
    await app.services.store.redis.hset(f"comment:{comment_id}", "status", status)
