"""Ids of another site, thrown at everything that takes an id: answered to the byte like ids that nobody has, and nothing
changes. THREADKIT_SOAK=1 throws 100,000. T15, G9."""

import json
import os
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus, urlencode

import httpx
import pytest
from redis.asyncio import Redis

from tests.fuzz.house import document
from tests.fuzz.test_naughty_strings import resolved, sample
from tests.integration.authorisation.routes import ROUTES, SOMEBODY
from tests.integration.comments.test_comments import URL, write
from tests.integration.moderation.test_decisions import decide
from tests.integration.moderation.test_people import abroad
from tests.integration.test_other_sites import ANSWERS, BODIES, all_but
from tests.people import Person, create
from threadkit.app import Application
from threadkit.ids import UserId, new_uuid
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

REQUESTS = 100_000 if os.environ.get("THREADKIT_SOAK") else 1500
IN_PATHS = ("comment_id", "page_id", "site_id", "notification_id", "session_id", "entry_id", "job_id", "note_id")
PLACES = (*IN_PATHS, "page_url", "cursor")
TAKES_AN_ID = [
    (method, path)
    for method, path in sorted(ROUTES)
    if path.startswith("/v1/") and re.search(rf"\{{({'|'.join(IN_PATHS)})\}}", path)
]
# Ids that stand elsewhere than in the path, by the names that parameters and fields have in the document. With `page_id` a
# site names its own pages, so there is nothing to find, only something that must not be there. Those of people are in
# test_foreign_people.py.
IN_QUERIES = {
    **dict.fromkeys(("comment_id", "around", "under", "reply"), "comment_id"),
    **{name: name for name in ("page_id", "page_url", "cursor", "entry_id", "note_id", "job_id", "site_id")},
    "before": "entry_id",
    "url": "page_url",
}
OF_PEOPLE = {"author", "author_id", "by", "user_id"}
# What else calls take in their queries: it names nothing that somebody has.
NO_IDS = {
    *("action", "browser_ms", "days", "depth", "fragment", "grace_s", "limit", "months", "offset", "page_origin"),
    *("posted", "q", "reason", "replies", "reported", "seen", "since", "sort", "standing", "status", "version"),
    *("key", "site_key", "websocket"),
}
IN_BODIES = {
    **dict.fromkeys(("path", "parent_path", "comment_id"), "comment_id"),
    **{name: name for name in ("site_id", "page_id", "page_url")},
}
LISTS = {
    "/v1/moderation/bulk": "comment_id",
    "/v1/moderation/undo": "entry_id",
    "/v1/notifications/read": "notification_id",
}
# Cursors lead behind a comment with a score; the scores are of no comment that there is.
CURSORS = ("new:1764999999999:", "old:1764999999999:", "1764999999999.")
ENDLESS = ("/v1/events", "/v1/moderation/events")
PAGE = "https://other.example/a"
# The id of a page is made of the site's own and of what was asked for.
_DIFFERS = re.compile(
    r'"request_id":"\w+"|"undo":"[\d-]+"|"page_id":"[0-9a-f-]+"|page_id=[0-9a-f-]{36}|urn:uuid:[0-9a-f-]{36}'
    r'|name="token" value="[\w.]+"'
)


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
        place = next(name for name in IN_PATHS if f"{{{name}}}" in path)
        found.append(Thrown(method, path.replace(f"{{{place}}}", "ID"), body, place))
    return found + list(from_document())


def from_document() -> Iterator[Thrown]:
    """Every call that takes an id in its query or its body, as the document of the API says."""
    whole = document()
    for path, operations in whole["paths"].items():
        if not path.startswith("/v1/") or path in ENDLESS:
            continue
        for method, operation in operations.items():
            parameters = {one["name"]: one for one in operation.get("parameters", ()) if one["in"] == "query"}
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            body = needed(content["schema"], whole) if content else None
            fields = resolved(content["schema"], whole).get("properties", {}) if content else {}
            always = {name: 0 for name, one in parameters.items() if one.get("required")}
            page = {"page_url": PAGE} if "page_url" in {**parameters, **fields} else {}
            names_page = {"page_id", "page_url"}
            for name in sorted(parameters.keys() & IN_QUERIES.keys()):
                if name not in names_page or method == "get":
                    asked = urlencode(always | (page if name not in names_page else {}) | {name: "ID"})
                    yield Thrown(method.upper(), f"{path}?{asked}", body, IN_QUERIES[name])
            for name in sorted(fields.keys() & (IN_BODIES.keys() | {"ids"})):
                if name in names_page and (path == "/v1/comments" or path.startswith("/v1/moderation/")):
                    continue  # there a page of one's own is meant (test_pages.py), here nothing: the address decides
                place = LISTS[path] if name == "ids" else IN_BODIES[name]
                is_list = "array" in json.dumps(resolved(fields[name], whole))
                yield Thrown(method.upper(), path, {**(body or {}), **page, name: ["ID"] if is_list else "ID"}, place)


def needed(schema: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """The fields that must be there."""
    schema = resolved(schema, whole)
    return {name: sample(schema["properties"][name], whole) for name in schema.get("required", ())}


def test_the_document_names_calls_that_take_ids_elsewhere_than_in_their_path() -> None:
    named = {(thrown.method, thrown.path.partition("?")[0], thrown.place) for thrown in from_document()}
    assert ("GET", "/v1/moderation/reports", "comment_id") in named
    assert ("POST", "/v1/moderation/bulk", "comment_id") in named
    assert ("POST", "/v1/comments", "comment_id") in named
    assert {place for _, _, place in named} <= set(PLACES)
    assert {"cursor", "page_url", "page_id", "entry_id"} <= {place for _, _, place in named}
    assert len(named) > 40


def test_of_every_parameter_it_is_known_whether_it_names_something() -> None:
    parameters = {
        one["name"]
        for operations in document()["paths"].values()
        for operation in operations.values()
        for one in operation.get("parameters", ())
        if one["in"] == "query"
    }
    assert parameters - IN_QUERIES.keys() - OF_PEOPLE == NO_IDS


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
        "page_url": [URL],
        "cursor": [f"{front}{comment}" for comment in comments.values() for front in CURSORS],
        "page_id": [str(page) for page in await redis.zrange(f"site:{site.site.id}:pages", 0, -1)],
        "site_id": [site.site.id],
        "notification_id": [one["id"] for one in told],
        "session_id": [one["id"] for one in sessions],
        "entry_id": [entry],
        "job_id": [job],
        "note_id": [note],
    }


async def shape(
    caller: Person | str, http: httpx.AsyncClient, thrown: Thrown, thing: str, *, own: str, about: str
) -> tuple[Any, ...]:
    """All that an answer says, but for the id that was asked for and what differs between any two answers."""
    path = re.sub(r"\{\w+\}", SOMEBODY, thrown.path.replace("{site_id}", own).replace("{comment_id}", about))
    if thrown.place == "cursor" and ":" in thing:
        path += f"&sort={thing[:3]}"
    path, body = put_in(path, thing if "?" not in path else quote(thing, safe="")), put_in(thrown.body, thing)
    if isinstance(caller, Person):
        answer = await caller.call(thrown.method, path, body)
    else:
        answer = await http.request(thrown.method, path, json=body, headers={"projectid": caller})
    assert answer.status_code < 500, (thrown, answer.text)
    headers = {name: value for name, value in answer.headers.items() if name not in ("x-request-id", "x-undo", "etag")}
    text = answer.text
    for written in (thing, quote(thing, safe=""), quote_plus(thing), thing.removeprefix("https://")):
        text = text.replace(written, "ID")
    return answer.status_code, _DIFFERS.sub("", text), headers


async def settled(redis: Redis, other: NewSite) -> dict[str, Any]:
    """All there is; with which formula a site ranks is noted by the server itself, some seconds after it was made."""
    return {key: value for key, value in (await all_but(redis, other.site.id)).items() if not key.endswith(":ranking")}


def missing(place: str, number: int) -> str:
    """An id of that form which nobody has."""
    if place == "page_url":
        return URL[:-4] + new_uuid()[-4:]  # as long, so that the answers are
    if place == "cursor":
        return CURSORS[number % len(CURSORS)] + new_uuid()
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
    # There is something on the site itself, so that wrong answers would differ.
    own = str((await write(callers[-1], "one's own", url=PAGE))["i"])  # type: ignore[arg-type]
    await app.services.outbox.drain()
    before = await settled(redis, other)
    chance, cases = random.Random(9), throws()
    successes, told_apart = [], []
    for_nobody: dict[tuple[int, int, int], tuple[Any, ...]] = {}
    for number in range(REQUESTS):
        thrown, caller = cases[number % len(cases)], chance.choice(callers)
        thing = chance.choice(things[thrown.place])
        got = await shape(caller, http, thrown, thing, own=other.site.id, about=own)
        # A cursor says in which order: others are wrong for other reasons.
        form = CURSORS.index(re.sub(r"[^:.]+$", "", thing)) if thrown.place == "cursor" else number
        asked = number % len(cases), callers.index(caller), form if thrown.place == "cursor" else 0
        if asked not in for_nobody:
            nobodys = missing(thrown.place, form)
            for_nobody[asked] = await shape(caller, http, thrown, nobodys, own=other.site.id, about=own)
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
