"""Whatever a moderator does and takes back leaves the store as it was: one law over every deed that can be undone."""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import write
from tests.integration.comments.test_votes import vote
from tests.integration.moderation.test_appeals import appeal, second_moderator
from tests.integration.moderation.test_decisions import decide, staff
from tests.integration.moderation.test_reports import report
from tests.integration.moderation.test_screened import blog
from tests.integration.notifications.inbox import settle
from tests.integration.test_other_sites import all_but
from tests.people import Person, create
from tests.tiers import PROVING
from threadkit.app import Application

# What only counts up, tells of the deed itself, or is kept for a while.
_TELLS = re.compile(
    r"site:[^:]+:(modlog|outbox|filter:learnt|filter:order|filter:texts|ranking)$|:(version|applied|kept|closed_reports)$|repeated:|:changes$"
)
_COUNTS_UP = {"version", "updated_ms", "changes_from"}


async def whole(redis: Redis) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in (await all_but(redis, "")).items():
        if _TELLS.search(key):
            continue
        if isinstance(value, dict):
            value = {name: text for name, text in value.items() if name not in _COUNTS_UP}
            value = {name: text for name, text in value.items() if not (key.endswith("filter:totals") and text == "0")}
        if key.endswith(":notifications"):  # set aside or not, which is decided when somebody looks
            value = sorted(
                (abs(ms), text) for text, ms in value if json.loads(text)["notification_type"] != "mod_action"
            )
        if ":unread" in key:
            continue
        found[key] = value
    return {key: value for key, value in found.items() if value}


@dataclass
class Stage:
    """ada wrote the comment, bob answered it; mo does it all, and mia did what was done before."""

    ada: Person
    bob: Person
    mo: Person
    mia: Person
    root: dict[str, Any]
    reply: dict[str, Any]


async def nothing(stage: Stage) -> None:
    pass


async def pinned(stage: Stage) -> None:
    for one in (stage.root, stage.reply):
        assert (await stage.mo.call("POST", f"/v1/comments/{one['i']}/pin", {})).status_code == 200


async def reported(stage: Stage) -> None:
    await report(stage.bob, stage.root)


async def hidden(stage: Stage) -> None:
    await report(stage.bob, stage.root)
    await report(stage.mia, stage.root)


async def held(stage: Stage) -> None:
    answer = await stage.ada.call("PUT", f"/v1/comments/{stage.root['i']}", {"content": "a casino for @bob"})
    assert answer.json()["s"] == "pending"


async def rejected(stage: Stage) -> None:
    await decide(stage.mia, "reject", stage.root["i"], reason="rude")


async def approved(stage: Stage) -> None:
    await decide(stage.mia, "approve", stage.root["i"])


async def appealed(stage: Stage) -> None:
    await rejected(stage)
    await appeal(stage.ada, stage.root)


async def banned(stage: Stage) -> None:
    await stage.mia.call("POST", f"/v1/moderation/ban/{stage.ada.id}", {"hours": 24, "reason": "rude"})


async def shadowed(stage: Stage) -> None:
    await stage.mia.call("POST", f"/v1/moderation/shadowban/{stage.ada.id}", {})


def on_root(path: str, **body: Any) -> Callable[[Stage], Awaitable[str | None]]:
    async def call(stage: Stage) -> str | None:
        answer = await stage.mo.call("POST", path.format(stage.root["i"]), body)
        if answer.status_code in (403, 409):
            return None
        assert answer.status_code == 200, answer.text
        found: str | None = answer.json().get("undo") or answer.json().get("entry")
        return found

    return call


async def removed(stage: Stage) -> str | None:
    answer = await stage.mo.call("DELETE", f"/v1/comments/{stage.root['i']}")
    undo: str | None = answer.headers.get("x-undo")
    return undo


async def hide(stage: Stage) -> str | None:
    answer = await stage.mo.call("POST", "/v1/moderation/bulk", {"action": "hide", "ids": [stage.root["i"]]})
    undo: str | None = next(iter(answer.json()["done"].values()), None)
    return undo


def on_author(method: str, path: str, **body: Any) -> Callable[[Stage], Awaitable[str | None]]:
    async def call(stage: Stage) -> str | None:
        answer = await stage.mo.call(method, path.format(stage.ada.id), body or None)
        assert answer.status_code == 200, answer.text
        undo: str | None = answer.headers.get("x-undo")
        return undo

    return call


DEEDS = {
    **{
        action: on_root(f"/v1/moderation/{action}/{{}}", reason="because")
        for action in ("approve", "reject", "spam", "delete")
    },
    "remove": removed,
    "hide": hide,
    "dismiss": on_root("/v1/moderation/reports/{}/dismiss"),
    "grant": on_root("/v1/moderation/appeals/{}", decision="grant"),
    "decline": on_root("/v1/moderation/appeals/{}", decision="decline"),
    "ban": on_author("POST", "/v1/moderation/ban/{}", reason="threats"),
    "unban": on_author("POST", "/v1/moderation/unban/{}"),
    "shadowban": on_author("POST", "/v1/moderation/shadowban/{}"),
    "unshadowban": on_author("DELETE", "/v1/moderation/shadowban/{}"),
}
STATES = [appealed, hidden, banned, pinned, reported, held, rejected, approved, shadowed, nothing]


@pytest.mark.prove(also=True)
@pytest.mark.parametrize("state", STATES if PROVING else STATES[:3], ids=lambda state: state.__name__)
async def test_a_deed_that_is_taken_back_leaves_the_store_as_it_was(
    app: Application, http: httpx.AsyncClient, redis: Redis, state: Callable[[Stage], Awaitable[None]]
) -> None:
    site = await blog(app, hold=("casino",))
    ada, bob = await create(http, site, "ada"), await create(http, site, "bob")
    mo, mia = await staff(app, http, site), await second_moderator(app, http, site)
    root = await write(ada, "hello @bob")
    reply = await write(bob, "hello @ada", under=[root["i"]])
    await vote(bob, root["i"], "up")
    await vote(ada, reply["i"], "down")
    await settle(app)
    stage = Stage(ada, bob, mo, mia, root, reply)
    await state(stage)
    await settle(app)
    before, done = await whole(redis), []
    wrong: dict[str, Any] = {}
    for name, deed in DEEDS.items():
        entry = await deed(stage)
        await settle(app)
        if entry is not None:
            done.append(name)
            answer = await mo.call("POST", f"/v1/moderation/undo/{entry}")
            assert answer.status_code == 200, (name, answer.text)
            await settle(app)
        now = await whole(redis)
        different = {key: (before.get(key), now.get(key)) for key in before | now if before.get(key) != now.get(key)}
        wrong |= {name: different} if different else {}
        before = now
        assert await disagreements(redis, shadowed=()) == []
    assert len(done) >= 7
    assert wrong == {}
