"""People leave: the moderation log loses their ids and nothing else."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.integration.moderation.test_decisions import decide, staff
from tests.people import Person, create
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.moderation import forgetting_scripts
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

DELETED = "d0000000-0000-0000-0000-000000000000"


async def entries(redis: Redis, site: NewSite) -> dict[str, dict[str, Any]]:
    found: Any = await redis.xrange(f"site:{site.site.id}:modlog")
    return {entry_id: json.loads(fields["entry"]) for entry_id, fields in found}


async def banned(mo: Person, person: Person) -> None:
    answer = await mo.call("POST", f"/v1/moderation/ban/{person.id}", {"hours": 24, "reason": f"{person.name} again"})
    assert answer.status_code == 200, answer.text


async def test_the_log_loses_their_ids_and_what_was_said_about_them(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    mo, rude, other = (
        await staff(app, http, new_site),
        await create(http, new_site, "rude"),
        await create(http, new_site, "other"),
    )
    for person in (rude, other):
        await decide(mo, "reject", str((await write(person, "spam"))["i"]), reason="spam")
        await banned(mo, person)
    before = await entries(redis, new_site)
    for leaving in (rude, mo):
        assert (await leaving.call("DELETE", "/v1/users/me")).status_code == 200
    after = await entries(redis, new_site)
    assert list(after) == list(before), "the same entries, under the same ids"
    for entry_id, entry in before.items():
        expected = {name: DELETED if value in (rude.id, mo.id) else value for name, value in entry.items()}
        if entry["user_id"] in (rude.id, mo.id):
            expected.pop("said", None)
            expected |= {"reason": None} if "reason" in entry else {}
        assert after[entry_id] == expected


async def test_many_leave_at_once_while_others_go_on(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In batches so small that all are half-way through it at once."""
    monkeypatch.setattr(forgetting_scripts, "BATCH", 3)
    mo = await staff(app, http, new_site)
    people = [await create(http, new_site, f"leaver{number}") for number in range(10)]
    helpers = [await create(http, new_site, f"helper{number}") for number in range(5)]
    for person in people:
        await banned(mo, person)

    async def goes_on() -> None:
        for helper in helpers:
            await app.services.roles.grant(new_site.site.id, UserId(helper.id), Role.MODERATOR)

    await asyncio.gather(goes_on(), *(person.call("DELETE", "/v1/users/me") for person in people))
    found = (await entries(redis, new_site)).values()
    text = json.dumps(list(found))
    assert [person.name for person in people if person.id in text] == []
    assert [entry["action"] for entry in found].count("ban") == len(people)
    assert {helper.id for helper in helpers} <= {entry["user_id"] for entry in found if entry["action"] == "role"}
    assert await redis.exists(f"site:{new_site.site.id}:modlog:draft", f"lock:modlog:{new_site.site.id}") == 0
