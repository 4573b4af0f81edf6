"""Ids of another site, thrown at everything that takes an id: answered to the byte like ids that nobody has, and nothing
changes. THREADKIT_SOAK=1 throws 100,000. T15, G9."""

import os
import random
import re
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.authorisation.routes import ROUTES
from tests.integration.comments.test_comments import write
from tests.integration.moderation.test_decisions import decide
from tests.integration.moderation.test_people import abroad
from tests.integration.test_other_sites import ANSWERS, BODIES, all_but
from tests.people import Person, create
from threadkit.app import Application
from threadkit.ids import UserId, new_uuid
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

REQUESTS = 100_000 if os.environ.get("THREADKIT_SOAK") else 1500
PLACES = ("comment_id", "page_id", "site_id", "notification_id", "session_id", "entry_id", "job_id", "note_id")
TAKES_AN_ID = [
    (method, path)
    for method, path in sorted(ROUTES)
    if path.startswith("/v1/") and re.search(rf"\{{({'|'.join(PLACES)})\}}", path)
]
# Ids that stand elsewhere than in the path; ID is put in.
ELSEWHERE: list[tuple[str, str, Any]] = [
    ("POST", "/v1/comments", {"page_url": "https://other.example/a", "content": "x", "parent_path": ["ID"]}),
    ("POST", "/v1/moderation/bulk", {"action": "approve", "comment_ids": ["ID"]}),
    ("GET", "/v1/comments?page_url=https://other.example/a&around=ID", None),
    ("GET", "/v1/comments?page_id=ID", None),
    ("GET", "/v1/changes?page_id=ID&since=0", None),
    ("GET", "/v1/pages/my_votes?page_id=ID", None),
    ("POST", "/v1/notifications/read", {"ids": ["ID"]}),
]
# The id of a page is made of the site's own and of what was asked for.
_DIFFERS = re.compile(r'"request_id":"\w+"|"undo":"[\d-]+"|"page_id":"[0-9a-f-]+"')


@dataclass
class Thrown:
    method: str
    path: str
    body: Any
    place: str


def throws() -> list[Thrown]:
    found = []
    for method, path in TAKES_AN_ID:
        if "{user_id}" in path and "note_id" not in path:
            continue  # people have one account for all sites
        body = BODIES.get(path, {}) if method in ("POST", "PUT", "PATCH") else None
        place = next(name for name in PLACES if f"{{{name}}}" in path)
        found.append(Thrown(method, path.replace(f"{{{place}}}", "ID"), body, place))
    return found + [Thrown(method, path, body, "comment_id") for method, path, body in ELSEWHERE]


def put_in(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {name: put_in(inner, text) for name, inner in value.items()}
    if isinstance(value, list):
        return [put_in(inner, text) for inner in value]
    return value.replace("ID", text) if isinstance(value, str) else value


async def theirs(app: Application, http: httpx.AsyncClient, site: NewSite, redis: Redis) -> dict[str, list[str]]:
    """Ids of everything there is on a site, comments in every state."""
    ada, bob, mo = [await create(http, site, name) for name in ("ada", "bob", "mo")]
    await app.services.roles.grant(site.site.id, UserId(mo.id), Role.OWNER)
    comments = {
        name: str((await write(ada, name))["i"]) for name in ("shown", "rejected", "deleted", "reported", "old")
    }
    await write(bob, "answer", under=[comments["shown"]])
    entry = (await decide(mo, "reject", comments["rejected"]))["undo"]
    await ada.call("DELETE", f"/v1/comments/{comments['deleted']}")
    await bob.call("POST", f"/v1/comments/{comments['reported']}/report", {})
    await ada.call("POST", f"/v1/comments/{comments['rejected']}/appeal", {"text": "why?"})
    await mo.call("POST", f"/v1/moderation/shadowban/{bob.id}", {})
    comments["shadowed"] = str((await write(bob, "in the shadow"))["i"])
    note = (await mo.call("POST", f"/v1/moderation/users/{bob.id}/notes", {"text": "theirs"})).json()["id"]
    job = (await mo.call("POST", f"/v1/moderation/users/{bob.id}/delete-comments")).json()["id"]
    await app.services.outbox.drain()
    told = (await ada.call("GET", "/v1/notifications")).json()["notifications"]
    sessions = (await bob.call("GET", "/v1/users/me/sessions")).json()["sessions"]
    return {
        "comment_id": list(comments.values()),
        "page_id": [str(page) for page in await redis.zrange(f"site:{site.site.id}:pages", 0, -1)],
        "site_id": [site.site.id],
        "notification_id": [one["id"] for one in told],
        "session_id": [one["id"] for one in sessions],
        "entry_id": [entry],
        "job_id": [job],
        "note_id": [note],
    }


async def shape(caller: Person | str, http: httpx.AsyncClient, thrown: Thrown, thing: str) -> tuple[Any, ...]:
    """All that an answer says, but for the id that was asked for and what differs between any two answers."""
    somebody = thrown.path.replace("{user_id}", "01a1e1d5-9217-7000-be42-7b27b41a2a52")
    path, body = put_in(somebody, thing), put_in(thrown.body, thing)
    if isinstance(caller, Person):
        answer = await caller.call(thrown.method, path, body)
    else:
        answer = await http.request(thrown.method, path, json=body, headers={"projectid": caller})
    assert answer.status_code < 500, (thrown, answer.text)
    headers = {name: value for name, value in answer.headers.items() if name not in ("x-request-id", "x-undo", "etag")}
    return answer.status_code, _DIFFERS.sub("", answer.text.replace(thing, "ID")), headers


async def settled(redis: Redis, other: NewSite) -> dict[str, Any]:
    """All there is; with which formula a site ranks is noted by the server itself, some seconds after it was made."""
    return {key: value for key, value in (await all_but(redis, other.site.id)).items() if not key.endswith(":ranking")}


def missing(place: str, number: int) -> str:
    """An id of that form which nobody has."""
    return f"17650000000{number % 90 + 10}-0" if place == "entry_id" else new_uuid()


@pytest.mark.timeout(3600)
async def test_foreign_ids_are_answered_like_ids_that_nobody_has(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    other = await app.services.sites.create("Other", "other.example", settings=new_site.site.settings)
    things = await theirs(app, http, new_site, redis)
    ada = Person(http, "", "", str(await redis.get("username:ada")), "ada")
    callers: list[Person | str] = [await abroad(app, http, ada, other), other.secret_key, other.site.api_key_public]
    for role in (Role.OWNER, Role.MODERATOR):
        person = await create(http, other, role.label)
        await app.services.roles.grant(other.site.id, UserId(person.id), role)
        callers.append(person)
    before = await settled(redis, other)
    chance, cases = random.Random(9), throws()
    successes, told_apart = [], []
    for_nobody: dict[tuple[int, int], tuple[Any, ...]] = {}
    for number in range(REQUESTS):
        thrown, caller = cases[number % len(cases)], chance.choice(callers)
        thing = chance.choice(things[thrown.place])
        got = await shape(caller, http, thrown, thing)
        asked = number % len(cases), callers.index(caller)
        if asked not in for_nobody:
            for_nobody[asked] = await shape(caller, http, thrown, missing(thrown.place, number))
        expected = for_nobody[asked]
        if got != expected:
            told_apart.append((thrown, thing, got[:2], expected[:2]))
        template = thrown.path.replace("ID", f"{{{thrown.place}}}")
        if got[0] < 300 and got[0] != ANSWERS.get((thrown.method, template)) and got != expected:
            successes.append((thrown, thing))
    await app.services.outbox.drain()
    assert told_apart == []
    assert successes == []
    assert await settled(redis, other) == before
    print(f"\nG9: {REQUESTS} foreign ids on {len(cases)} calls: 0 successes, 0 told from ids that nobody has")
