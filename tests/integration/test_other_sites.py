"""What belongs to one site is nobody's on another: every route that names such a thing, called with another site's key."""

import re
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.authorisation.routes import ROUTES
from tests.integration.comments.test_comments import write
from tests.integration.moderation.test_decisions import decide
from tests.integration.moderation.test_people import abroad
from tests.people import create
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

_NAMES_A_THING = re.compile(r"/v1/.*\{(comment_id|entry_id|job_id|note_id)\}|/v1/moderation/users/\{user_id\}(/notes)?")
CASES = sorted((method, path) for method, path in ROUTES if _NAMES_A_THING.search(path))
BODIES: dict[str, Any] = {
    "/v1/comments/{comment_id}": {"content": "something else", "text": "something else"},
    "/v1/comments/{comment_id}/vote": {"direction": "up"},
    "/v1/comments/{comment_id}/appeal": {"text": "why?"},
    "/v1/moderation/appeals/{comment_id}": {"decision": "grant"},
    "/v1/moderation/users/{user_id}/notes": {"text": "somebody of theirs"},
}
# People have one account for all sites, so these answer, with what is theirs here; a claim that is not there is as good
# as given back.
ANSWERS = {
    ("GET", "/v1/moderation/users/{user_id}"): 200,
    ("GET", "/v1/moderation/users/{user_id}/notes"): 200,
    ("POST", "/v1/moderation/users/{user_id}/notes"): 200,
    ("POST", "/v1/moderation/users/{user_id}/delete-comments"): 202,
    ("DELETE", "/v1/moderation/claim/{comment_id}"): 204,
}
OF_EVERY_REQUEST = re.compile(
    r"threadkit:probe|rate:|session:|user:[^:]+:(sessions|networks)|apikey:|site:[^:]+:(usage|visitors|day|keys|tally|viewed)|lock:"
)


async def all_but(redis: Redis, site_id: str) -> dict[str, Any]:
    """All there is, but for what that site keeps about people and what every request leaves behind."""
    found: dict[str, Any] = {}
    for key in sorted([str(key) async for key in redis.scan_iter(count=1000)]):
        if OF_EVERY_REQUEST.match(key) or re.match(f"site:{site_id}:(author:.*:notes|jobs|outbox|modlog)", key):
            continue
        match await redis.type(key):
            case "hash":
                found[key] = await redis.hgetall(key)
            case "set":
                found[key] = await redis.smembers(key)
            case "zset":
                found[key] = await redis.zrange(key, 0, -1, withscores=True)
            case "stream":
                found[key] = await redis.xrange(key)
            case "string":
                found[key] = await redis.get(key)
    return found


@pytest.mark.parametrize(("method", "path"), CASES)
async def test_another_sites_key_finds_nothing_and_changes_nothing(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, method: str, path: str
) -> None:
    """The caller wrote the comment here, and owns the site whose key they use."""
    other = await app.services.sites.create("Other", "other.example")
    ada, bob, mo = [await create(http, new_site, name) for name in ("ada", "bob", "mo")]
    await app.services.roles.grant(new_site.site.id, UserId(mo.id), Role.MODERATOR)
    reported, rejected = await write(ada, "reported"), await write(ada, "rejected")
    await bob.call("POST", f"/v1/comments/{reported['i']}/report", {})
    entry = (await decide(mo, "reject", rejected["i"]))["undo"]
    for comment in (reported, rejected):
        await mo.call("POST", f"/v1/moderation/claim/{comment['i']}")
    note = (await mo.call("POST", f"/v1/moderation/users/{bob.id}/notes", {"text": "a note of theirs"})).json()["id"]
    job = (await mo.call("POST", f"/v1/moderation/users/{bob.id}/delete-comments")).json()["id"]
    if "appeals" in path:
        assert (await ada.call("POST", f"/v1/comments/{rejected['i']}/appeal", {"text": "why?"})).status_code == 204
    await app.services.outbox.drain()
    far = await abroad(app, http, ada, other)
    await app.services.roles.grant(other.site.id, UserId(ada.id), Role.OWNER)
    before = await all_but(redis, other.site.id)

    for comment in (reported, rejected):
        named = {"comment_id": comment["i"], "entry_id": entry, "job_id": job, "note_id": note, "user_id": bob.id}
        body = BODIES.get(path, {}) if method in ("POST", "PUT", "PATCH") else None
        answer = await far.call(method, path.format(**named), body)
        assert answer.status_code == ANSWERS.get((method, path), 404), answer.text
        assert "a note of theirs" not in answer.text
        await app.services.outbox.drain()
        assert await all_but(redis, other.site.id) == before


async def test_the_same_request_is_another_one_on_another_site(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    """Keys for repeating are the senders' own, and senders write on several sites."""
    other = await app.services.sites.create("Other", "other.example", settings=new_site.site.settings)
    ada = await create(http, new_site, "ada")
    answers = []
    for person in (ada, await abroad(app, http, ada, other)):
        headers = {
            "projectid": person.key,
            "authorization": f"Bearer {person.token}",
            "idempotency-key": "the-same",
        }
        answers.append(await http.post("/v1/comments", json={"page_id": "home", "content": "hi"}, headers=headers))
    assert [answer.status_code for answer in answers] == [200, 200]
    assert len({answer.json()["comment"]["i"] for answer in answers}) == 2


async def test_an_export_names_each_vote_once_and_where_it_was_cast(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    other = await app.services.sites.create("Other", "other.example", settings=new_site.site.settings)
    ada = await create(http, new_site, "ada")
    cast = set()
    for site, person in ((new_site, ada), (other, await abroad(app, http, ada, other))):
        comment = await write(
            await create(http, site, f"author-{site.site.name}"), "hi", url=f"https://{site.site.domain}/"
        )
        await person.call("POST", f"/v1/comments/{comment['i']}/vote", {"direction": "up"})
        cast.add((site.site.id, comment["i"]))
    votes = (await ada.call("GET", "/v1/users/me/export")).json()["votes"]
    assert len(votes) == 2
    assert {(vote["site_id"], vote["comment_id"]) for vote in votes} == cast
