"""Every decision, of every kind, names the text it is about, and none is carried out about a text that its author has
changed since."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.authorisation.routes import ROUTES
from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import URL, outline, read, write
from tests.integration.moderation.test_appeals import appeal, ruled, second_moderator, waiting
from tests.integration.moderation.test_decisions import decide, staff
from tests.integration.moderation.test_edits import edit
from tests.integration.moderation.test_people import log_of
from tests.integration.moderation.test_reports import report
from tests.integration.moderation.test_screened import blog
from tests.integration.test_other_sites import all_but
from tests.make import ManualClock
from tests.people import Person, create
from threadkit.app import Application
from threadkit.sites.model import NewSite

ABOUT_A_COMMENT = re.compile(r"/v1/.*\{comment_id\}|/v1/moderation/(bulk|undo)(/\{entry_id\})?$")
# Whose they are: the author's own, or those of everybody who reads. A claim says only who looks.
NO_DECISIONS = {
    ("PUT", "/v1/comments/{comment_id}"),
    ("PATCH", "/v1/comments/{comment_id}"),
    ("POST", "/v1/comments/{comment_id}/vote"),
    ("POST", "/v1/comments/{comment_id}/report"),
    ("POST", "/v1/comments/{comment_id}/appeal"),
    ("POST", "/v1/moderation/claim/{comment_id}"),
    ("DELETE", "/v1/moderation/claim/{comment_id}"),
}


@dataclass
class Scene:
    """A comment in some state, somebody who may decide about it, and where they look at it."""

    ada: Person
    bob: Person
    mo: Person
    other: Person
    comment: dict[str, Any]
    clock: ManualClock
    entries: dict[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return str(self.comment["i"])

    async def listed(self, path: str) -> str:
        """The text that a list for moderators shows, by its `updated_at`."""
        found = (await self.mo.call("GET", path)).json()
        items = found.get("items") or found.get("comments")
        (seen,) = [one["updated_at"] for one in items if one["comment"]["i"] == self.id]
        return str(seen)


State = Callable[[Scene], Awaitable[None]]


async def shown(scene: Scene) -> None:
    """As it was written."""


async def reported(scene: Scene) -> None:
    await report(scene.bob, scene.comment)


async def reported_away(scene: Scene) -> None:
    await report(scene.other, scene.comment)


async def rejected(scene: Scene) -> None:
    await decide(scene.other, "reject", scene.id)


async def appealed(scene: Scene) -> None:
    await rejected(scene)
    assert (await appeal(scene.ada, scene.comment)).status_code == 204


def decided(action: str, before: State) -> State:
    async def then(scene: Scene) -> None:
        await before(scene)
        scene.entries[action] = (await decide(scene.mo, action, scene.id))["undo"]

    return then


async def granted(scene: Scene) -> None:
    await appealed(scene)
    scene.entries["grant"] = (await ruled(scene.mo, scene.comment, "grant")).json()["entry"]


@dataclass
class Decision:
    route: tuple[str, str]
    state: State
    call: Callable[[Scene, str], Awaitable[httpx.Response]]
    """Decides about the text with that `updated_at`."""
    list: str = "/v1/admin/sites/{site_id}/comments"
    """Where somebody sees the comment in that state."""
    about: str = ""
    is_bound: bool = False
    """It is about the text of an earlier decision, so there is no other text that it could be about."""

    @property
    def name(self) -> str:
        return " ".join([*self.route, self.about]).strip()


def posting(path: str, **body: Any) -> Callable[[Scene, str], Awaitable[httpx.Response]]:
    async def call(scene: Scene, seen: str) -> httpx.Response:
        return await scene.mo.call("POST", path.format(comment_id=scene.id), body | {"seen": seen})

    return call


def in_bulk(action: str) -> Callable[[Scene, str], Awaitable[httpx.Response]]:
    async def call(scene: Scene, seen: str) -> httpx.Response:
        body = {"action": action, "ids": [scene.id], "seen": {scene.id: seen}}
        return await scene.mo.call("POST", "/v1/moderation/bulk", body)

    return call


async def removing(scene: Scene, seen: str) -> httpx.Response:
    return await scene.mo.call("DELETE", f"/v1/comments/{scene.id}?seen={seen}")


def undoing(action: str, *, is_one_of_many: bool) -> Callable[[Scene, str], Awaitable[httpx.Response]]:
    async def call(scene: Scene, _seen: str) -> httpx.Response:
        entry = scene.entries[action]
        if is_one_of_many:
            return await scene.mo.call("POST", "/v1/moderation/undo", {"ids": [entry]})
        return await scene.mo.call("POST", f"/v1/moderation/undo/{entry}")

    return call


ONE, BULK = "/v1/moderation/{action}/{{comment_id}}", ("POST", "/v1/moderation/bulk")
RULE, DISMISS = "/v1/moderation/appeals/{comment_id}", "/v1/moderation/reports/{comment_id}/dismiss"
PIN, DELETE = "/v1/comments/{comment_id}/pin", ("DELETE", "/v1/comments/{comment_id}")
UNDO, UNDO_ALL = ("POST", "/v1/moderation/undo/{entry_id}"), ("POST", "/v1/moderation/undo")
QUEUE, REPORTS, APPEALS = "/v1/moderation/queue", "/v1/moderation/reports", "/v1/moderation/appeals"
UNDONE = {"approve": reported_away, "reject": shown, "spam": reported_away}
DECISIONS = [
    *(
        Decision(("POST", path := ONE.format(action=action)), reported_away, posting(path), QUEUE)
        for action in ("approve", "reject", "spam", "delete")
    ),
    *(
        Decision(BULK, reported_away, in_bulk(action), QUEUE, action)
        for action in ("approve", "reject", "spam", "delete")
    ),
    Decision(BULK, shown, in_bulk("hide"), about="hide"),
    *(
        Decision(("POST", RULE), appealed, posting(RULE, decision=decision), APPEALS, decision)
        for decision in ("grant", "decline")
    ),
    Decision(("POST", DISMISS), reported, posting(DISMISS), REPORTS, "of what is shown"),
    Decision(("POST", DISMISS), reported_away, posting(DISMISS), REPORTS, "of what they have hidden"),
    Decision(("POST", PIN), shown, posting(PIN, page_url=URL)),
    Decision(DELETE, shown, removing),
    *(
        Decision(
            UNDO_ALL if many else UNDO,
            decided(action, before),
            undoing(action, is_one_of_many=many),
            about=action,
            is_bound=True,
        )
        for action, before in UNDONE.items()
        for many in (False, True)
    ),
    Decision(UNDO, granted, undoing("grant", is_one_of_many=False), about="grant", is_bound=True),
]


def test_every_route_that_decides_about_a_comment_is_tried() -> None:
    about_comments = {(method, path) for method, path in ROUTES if method != "GET" and ABOUT_A_COMMENT.match(path)}
    assert {decision.route for decision in DECISIONS} == about_comments - NO_DECISIONS
    assert about_comments >= NO_DECISIONS


@pytest.fixture
async def scene(app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock) -> Scene:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    mo, other = await staff(app, http, new_site), await second_moderator(app, http, new_site)
    return Scene(ada, bob, mo, other, await write(ada, "harmless"), clock)


def refused(answer: httpx.Response) -> str | None:
    """The code with which it was refused, of one or of the only one of many."""
    found = answer.json() if answer.content else {}
    return next(iter(found["failed"].values()), None) if "failed" in found else found.get("code")


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda decision: decision.name)
async def test_a_decision_is_refused_when_its_text_has_changed_since(
    scene: Scene, redis: Redis, new_site: NewSite, app: Application, decision: Decision
) -> None:
    path = decision.list.format(site_id=new_site.site.id)
    await decision.state(scene)
    seen = await scene.listed(path)
    scene.clock.advance(seconds=1)
    assert (await edit(scene.ada, scene.id, "swapped")).status_code == 200
    await app.services.outbox.drain()
    before = await all_but(redis, "")

    answer = await decision.call(scene, seen)
    assert refused(answer) == "comment_changed", answer.text
    await app.services.outbox.drain()
    assert await all_but(redis, "") == before
    if not decision.is_bound:
        answer = await decision.call(scene, await scene.listed(path))
        assert answer.status_code < 300, answer.text
        assert refused(answer) is None
        assert (await log_of(scene.mo))[-1]["seen"] != seen
    assert await disagreements(redis, shadowed=()) == []


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda decision: decision.name)
async def test_a_decision_about_the_text_that_was_seen_goes_through_and_the_log_names_it(
    scene: Scene, new_site: NewSite, decision: Decision
) -> None:
    await decision.state(scene)
    seen = await scene.listed(decision.list.format(site_id=new_site.site.id))
    answer = await decision.call(scene, seen)
    assert answer.status_code < 300, answer.text
    assert refused(answer) is None
    assert (await log_of(scene.mo))[-1]["seen"] == seen


# --- The stories behind it ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["grant", "decline", "approve", "bulk"])
async def test_a_rejected_comment_that_becomes_spam_after_its_appeal_is_not_shown_unread(scene: Scene, by: str) -> None:
    """By one who names no text: the decision is about the text of the appeal."""
    await appealed(scene)
    scene.clock.advance(seconds=1)
    await edit(scene.ada, scene.id, "buy pills")
    if by in ("grant", "decline"):
        answer = await ruled(scene.mo, scene.comment, by)
    elif by == "approve":
        answer = await scene.mo.call("POST", f"/v1/moderation/approve/{scene.id}", {})
    else:
        answer = await scene.mo.call("POST", "/v1/moderation/bulk", {"action": "approve", "ids": [scene.id]})
    assert refused(answer) == "comment_changed"
    assert [one["comment"]["t"] for one in await waiting(scene.mo)] == ["buy pills"]
    assert (await ruled(scene.mo, scene.comment, "decline")).status_code == 409
    seen = (await waiting(scene.mo))[0]["updated_at"]
    body = {"decision": "grant", "seen": seen}
    assert (await scene.mo.call("POST", f"/v1/moderation/appeals/{scene.id}", body)).status_code == 200


async def test_who_takes_a_rejection_back_does_not_show_what_was_written_since(
    scene: Scene, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    entry = (await decide(scene.mo, "reject", scene.id))["undo"]
    await edit(scene.ada, scene.id, "buy pills")
    answer = await scene.mo.call("POST", f"/v1/moderation/undo/{entry}")
    assert (answer.status_code, answer.json()["code"]) == (409, "comment_changed")
    assert outline(await read(http, new_site)) == []


async def test_who_takes_back_that_an_edit_was_held_does_not_show_it_unread(
    app: Application, http: httpx.AsyncClient
) -> None:
    site = await blog(app, hold=("casino",))
    ada, mo = await create(http, site, "ada"), await staff(app, http, site)
    comment = await write(ada, "harmless")
    assert (await edit(ada, comment["i"], "casino")).json()["s"] == "pending"
    (entry,) = await log_of(mo)
    answer = await mo.call("POST", f"/v1/moderation/undo/{entry['id']}")
    assert (answer.status_code, answer.json()["code"]) == (409, "comment_changed")
    assert outline(await read(http, site)) == []


async def test_what_screens_say_of_a_rejected_comments_new_text_stands_beside_its_appeal(
    app: Application, http: httpx.AsyncClient
) -> None:
    site = await blog(app, hold=("casino",))
    ada, mo = await create(http, site, "ada"), await staff(app, http, site)
    comment = await write(ada, "harmless")
    await decide(mo, "reject", comment["i"], reason="off topic")
    await appeal(ada, comment)
    await edit(ada, comment["i"], "casino")
    (item,) = await waiting(mo)
    assert item["reasons"][0] == "off topic"
    assert "casino" in item["reasons"][1]
    (own,) = (await ada.call("GET", "/v1/users/me/comments")).json()["comments"]
    assert own["reasons"] == ["off topic", "there is a word in the text that this site does not accept"]
