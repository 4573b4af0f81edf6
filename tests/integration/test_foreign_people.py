"""People have one account for all sites, and on each they are as unknown as anybody until they do something there: whatever
is asked about somebody of another site is answered as about somebody of no site. S3-01, T15."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.fuzz.house import document
from tests.fuzz.test_naughty_strings import resolved
from tests.integration.comments.test_comments import write
from tests.integration.moderation.test_decisions import decide
from tests.integration.test_foreign_ids import Thrown, needed, put_in
from tests.people import Person, create
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

IN_QUERIES = ("author", "author_id", "by", "user_id")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ENTRY = re.compile(r"\b\d{13}-\d+\b")


def throws() -> Iterator[Thrown]:
    """Every call that takes somebody's id, in its path, its query or its body."""
    whole = document()
    for path, operations in whole["paths"].items():
        if not path.startswith("/v1/") or "note_id" in path:
            continue
        for method, operation in sorted(operations.items()):
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            body = needed(content["schema"], whole) if content else None
            if "{user_id}" in path:
                yield Thrown(method.upper(), path.replace("{user_id}", "ID"), body, "user_id")
            names = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}
            for name in sorted(names.intersection(IN_QUERIES)):
                yield Thrown(method.upper(), f"{path}?{name}=ID", body, "user_id")
            if content and "user_id" in resolved(content["schema"], whole).get("properties", {}):
                yield Thrown(method.upper(), path, {**(body or {}), "user_id": "ID"}, "user_id")


CASES = list(throws())


def test_there_are_such_calls_of_each_kind() -> None:
    paths = {f"{one.method} {one.path}" for one in CASES}
    assert "GET /v1/moderation/users/ID" in paths
    assert "GET /v1/moderation/log?by=ID" in paths
    assert "GET /v1/admin/sites/{site_id}/comments?author=ID" in paths
    assert "POST /v1/admin/sites/{site_id}/moderators" in paths
    assert len(CASES) > 20


async def busy(app: Application, http: httpx.AsyncClient, site: NewSite, name: str) -> tuple[Person, Person]:
    """Somebody about whom a site knows a good deal: what they wrote, what was decided, notes, bans. And who
    moderates there."""
    mo, person = await create(http, site, f"mo-{name}"), await create(http, site, name)
    await app.services.roles.grant(site.site.id, UserId(mo.id), Role.OWNER)
    kept, rejected, others = [await write(one, text) for one, text in ((person, "a"), (person, "b"), (mo, "c"))]
    await person.call("POST", f"/v1/comments/{others['i']}/report", {})
    await person.call("POST", f"/v1/comments/{others['i']}/vote", {"direction": "up"})
    await decide(mo, "reject", rejected["i"])
    await mo.call("POST", f"/v1/moderation/users/{person.id}/notes", {"text": "a note of theirs"})
    await mo.call("POST", f"/v1/moderation/users/{person.id}/delete-comments", {})
    await mo.call("POST", f"/v1/moderation/shadowban/{person.id}", {"reason": "a reason of theirs"})
    await mo.call("POST", f"/v1/moderation/ban/{person.id}", {"reason": "a reason of theirs"})
    await app.services.outbox.drain()
    assert kept
    return person, mo


async def twin_of(http: httpx.AsyncClient, site: NewSite, redis: Redis, person: Person, name: str) -> Person:
    """An account just like theirs, of somebody who has not been anywhere."""
    twin = await create(http, site, name)
    theirs = {str(field): str(value) for field, value in (await redis.hgetall(f"user:{person.id}")).items()}
    own = {str(field): str(value) for field, value in (await redis.hgetall(f"user:{twin.id}")).items()}
    await redis.delete(f"user:{twin.id}")
    for field, value in (own | theirs | {"id": own["id"], "name": own["name"]}).items():
        await redis.hset(f"user:{twin.id}", field, value)
    return twin


@pytest.mark.timeout(300)
async def test_somebody_of_another_site_is_answered_for_like_somebody_of_none(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    other = await app.services.sites.create("Other", "other.example", settings=new_site.site.settings)
    theirs, their_moderator = await busy(app, http, new_site, "stranger-one")
    twin = await twin_of(http, other, redis, theirs, "stranger-two")
    callers: list[Person | str] = [other.secret_key, other.site.api_key_public, await create(http, other, "eve")]
    for role in (Role.MODERATOR, Role.ADMIN, Role.OWNER):
        person = await create(http, other, role.label)
        await app.services.roles.grant(other.site.id, UserId(person.id), role)
        callers.append(person)
    # Where they are known, it can be told.
    known = Thrown("GET", "/v1/moderation/users/ID", None, "user_id")
    one, another = [
        await asked(http, their_moderator, known, somebody, own=new_site.site.id, secret="")
        for somebody in (theirs, twin)
    ]
    assert one != another
    answered = 0
    for thrown in CASES:
        for caller in callers:
            got, expected = [
                await asked(http, caller, thrown, somebody, own=other.site.id) for somebody in (theirs, twin)
            ]
            assert got == expected, (thrown, caller)
            if thrown.method != "GET":
                await app.services.outbox.drain()  # or the next answer is about what is only half done
            answered += expected[0] < 300
    assert answered > len(CASES), "most of them are answered, not refused"
    print(f"\nG9: {len(CASES)} calls about people by {len(callers)} callers: 0 told from people of no site")


async def asked(
    http: httpx.AsyncClient,
    caller: Person | str,
    thrown: Thrown,
    somebody: Person,
    *,
    own: str,
    secret: str = "of theirs",
) -> tuple[Any, ...]:
    """What is answered, but for whose name and which ids it has."""
    path = put_in(thrown.path.replace("{site_id}", own), somebody.id)
    body = json.loads(json.dumps(put_in(thrown.body, somebody.id)))
    if isinstance(caller, Person):
        answer = await caller.call(thrown.method, path, body)
    else:
        answer = await http.request(thrown.method, path, json=body, headers={"projectid": caller})
    assert answer.status_code < 500, (thrown, answer.text)
    assert not secret or secret not in answer.text, (thrown, answer.text)
    text = _ENTRY.sub("ENTRY", _UUID.sub("ID", answer.text)).replace(somebody.name, "NAME")
    return answer.status_code, re.sub(r'"request_id":"\w+"', "", text), "x-undo" in answer.headers
