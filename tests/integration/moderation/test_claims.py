"""Claims, and what moderators hear of each other: live, and no longer than they are moderators."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import outline, read, write
from tests.integration.live.ears import LiveServer, serving
from tests.integration.moderation.test_decisions import decide, queued, staff
from tests.make import ManualClock
from tests.people import Person, create
from tests.wait import until
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.moderation.claim_scripts import MOST_CLAIMS
from threadkit.sites.model import NewSite, SiteSettings
from threadkit.sites.roles import Role


@pytest.fixture
async def careful(app: Application) -> NewSite:
    """A site where a moderator looks first."""
    return await app.services.sites.create("Careful", "blog.example.org", settings=SiteSettings(moderation_mode="pre"))


@pytest.fixture
async def live(app: Application) -> AsyncIterator[LiveServer]:
    async with serving(app) as server:
        yield server


async def second_moderator(app: Application, http: httpx.AsyncClient, site: NewSite) -> Person:
    mia = await create(http, site, "mia")
    await app.services.roles.grant(site.site.id, UserId(mia.id), Role.MODERATOR)
    return mia


async def claim(person: Person, comment_id: str) -> httpx.Response:
    return await person.call("POST", f"/v1/moderation/claim/{comment_id}")


async def claimed_by(person: Person) -> list[Any]:
    answer = await person.call("GET", "/v1/moderation/queue")
    return [item["claimed_by"] and item["claimed_by"]["name"] for item in answer.json()["items"]]


class Ear:
    """One stream of events, read line by line."""

    def __init__(self, response: httpx.Response) -> None:
        self._lines = response.aiter_lines()

    async def hear(self) -> tuple[str, dict[str, Any]] | None:
        """The next event; None when the stream has ended."""
        event = ""
        async with asyncio.timeout(10):
            async for line in self._lines:
                if line.startswith("event: "):
                    event = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    return event, json.loads(line.removeprefix("data: "))["params"]
        return None

    async def heard(self, kind: str) -> dict[str, Any]:
        heard = await self.hear()
        assert heard is not None
        assert heard[0] == kind, heard
        return heard[1]

    async def until_queue_is(self, length: int) -> list[str]:
        """The kinds of what is heard until so many wait."""
        kinds: list[str] = []
        while (heard := await self.hear()) is not None:
            kinds.append(heard[0])
            if heard[1]["queue"] == length:
                break
        return kinds


@contextlib.asynccontextmanager
async def listening(live: LiveServer, person: Person) -> AsyncIterator[Ear]:
    headers = {"projectid": person.key, "authorization": f"Bearer {person.token}"}
    async with (
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}") as web,
        web.stream("GET", "/v1/moderation/events", headers=headers) as response,
    ):
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        ear = Ear(response)
        assert await ear.heard("connected") == {"user_id": person.id}
        yield ear


async def test_a_claim_shows_the_others_who_is_on_it(
    app: Application, http: httpx.AsyncClient, careful: NewSite, clock: ManualClock
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    mia = await second_moderator(app, http, careful)
    first, second = await write(ada, "first"), await write(ada, "second")
    assert await claimed_by(mo) == [None, None]
    answer = await claim(mo, first["i"])
    assert (answer.status_code, answer.json()["id"], answer.json()["name"]) == (200, mo.id, mo.name)
    assert sorted(map(str, await claimed_by(mia))) == ["None", mo.name]
    taken = await claim(mia, first["i"])
    assert (taken.status_code, taken.json()["code"]) == (409, "claimed_by_another")
    assert taken.json()["claimed_by"] == answer.json()
    assert mo.name in taken.json()["error"]
    release = await mia.call("DELETE", f"/v1/moderation/claim/{first['i']}")
    assert (release.status_code, release.json()["code"]) == (409, "claimed_by_another")
    counts = (await mo.call("GET", "/v1/moderation/counts")).json()
    assert counts == {"queue": 2, "reports": 0, "mine_claimed": 1, "appeals": 0}
    assert (await mia.call("GET", "/v1/moderation/counts")).json()["mine_claimed"] == 0

    # Again by the same person renews it; after a minute it is over.
    clock.advance(seconds=40)
    assert (await claim(mo, first["i"])).status_code == 200
    clock.advance(seconds=40)
    assert (await claim(mia, first["i"])).status_code == 409
    clock.advance(seconds=21)
    assert await claimed_by(mia) == [None, None]
    assert (await mo.call("GET", "/v1/moderation/counts")).json()["mine_claimed"] == 0
    assert (await claim(mia, first["i"])).status_code == 200

    # Given back, it is anybody's; giving back what one has not is no trouble.
    for _ in range(2):
        assert (await mia.call("DELETE", f"/v1/moderation/claim/{first['i']}")).status_code == 204
    assert (await claim(mo, first["i"])).status_code == 200

    # It is no lock, and any decision ends it.
    for action, comment in (("approve", first), ("delete", second)):
        await claim(mo, comment["i"])
        await decide(mia, action, comment["i"], expects="pending")
    assert (await mo.call("GET", "/v1/moderation/counts")).json() == {
        "queue": 0,
        "reports": 0,
        "mine_claimed": 0,
        "appeals": 0,
    }


async def test_what_cannot_be_claimed(
    app: Application, http: httpx.AsyncClient, careful: NewSite, new_site: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    stranger = await create(http, new_site, "stranger")
    elsewhere = await write(stranger, "elsewhere")
    gone = await write(ada, "gone")
    await ada.call("DELETE", f"/v1/comments/{gone['i']}")
    for comment_id in (elsewhere["i"], gone["i"], "0197b0a0-0000-7000-8000-000000000000"):
        answer = await claim(mo, comment_id)
        assert (answer.status_code, answer.json()["code"]) == (404, "comment_not_found")
    assert (await claim(mo, "nonsense")).status_code in (400, 404)
    assert (await claim(ada, gone["i"])).status_code == 403
    assert await redis.exists(f"site:{careful.site.id}:claims") == 0
    comments = await asyncio.gather(*(write(ada, f"comment {number}") for number in range(MOST_CLAIMS + 1)))
    answers = [(await claim(mo, comment["i"])).status_code for comment in comments]
    assert answers == [200] * MOST_CLAIMS + [429]
    assert (await claim(mo, comments[0]["i"])).status_code == 200
    assert 0 < await redis.ttl(f"site:{careful.site.id}:claims") <= 60


async def test_of_many_who_claim_at_once_one_has_it(
    app: Application, http: httpx.AsyncClient, careful: NewSite
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    mia = await second_moderator(app, http, careful)
    comment = await write(ada, "hi")
    answers = await asyncio.gather(*(claim((mo, mia)[number % 2], comment["i"]) for number in range(20)))
    assert sorted(answer.status_code for answer in answers) == [200] * 10 + [409] * 10
    assert len({answer.json()["id"] for answer in answers if answer.status_code == 200}) == 1


async def test_moderators_hear_of_claims_decisions_and_what_is_new(
    app: Application, http: httpx.AsyncClient, careful: NewSite, live: LiveServer
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    mia = await second_moderator(app, http, careful)
    async with listening(live, mia) as ear:
        comment = await write(ada, "hi")
        here = {"comment_id": comment["i"]}
        assert await ear.heard("queued") == here | {"queue": 1}
        taken = (await claim(mo, comment["i"])).json()
        assert await ear.heard("claimed") == here | {"queue": 1, "claimed_by": taken}
        await mo.call("DELETE", f"/v1/moderation/claim/{comment['i']}")
        assert await ear.heard("released") == here | {"queue": 1}
        done = await decide(mo, "approve", comment["i"])
        assert await ear.heard("decided") == here | {"queue": 0, "status": "approved", "by": mo.id}
        again = await decide(mo, "approve", comment["i"])  # nothing changed, nothing is said
        for entry in (again, done):
            assert (await mo.call("POST", f"/v1/moderation/undo/{entry['undo']}")).status_code == 200
        assert await ear.heard("queued") == here | {"queue": 1, "status": "pending", "by": mo.id}
        deleted = await decide(mo, "delete", comment["i"])
        assert await ear.heard("decided") == here | {"queue": 0, "status": "deleted", "by": mo.id}
        await mo.call("POST", f"/v1/moderation/undo/{deleted['undo']}")
        assert await ear.heard("queued") == here | {"queue": 1, "by": mo.id}
        await ada.call("DELETE", f"/v1/comments/{comment['i']}")
        assert await ear.heard("decided") == here | {"queue": 0, "status": "deleted", "by": ada.id}
        # A claim on something that does not wait ends with a decision too.
        shown = await write(mo, "shown")
        await claim(mia, shown["i"])
        await ear.heard("claimed")
        await decide(mo, "reject", shown["i"])
        assert (await ear.heard("released"))["comment_id"] == shown["i"]


async def test_after_very_much_at_once_the_list_is_to_be_loaded_again(
    app: Application, http: httpx.AsyncClient, careful: NewSite, live: LiveServer, redis: Redis
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    ids = [one["i"] for one in await asyncio.gather(*(write(ada, f"comment {number}") for number in range(100)))]
    async with listening(live, mo) as ear:
        answer = await mo.call("POST", "/v1/moderation/bulk", {"action": "approve", "ids": ids})
        assert len(answer.json()["done"]) == 100
        assert len(await ear.until_queue_is(0)) <= 100
        async with redis.pipeline(transaction=True) as pipe:  # as many as could ever come in one moment
            for number in range(1000, 0, -1):
                event = {"type": "decided", "comment_id": ids[0], "queue": number}
                pipe.publish(f"site:{careful.site.id}:staff", json.dumps(event))
            await pipe.execute()
        kinds = await ear.until_queue_is(1)
        assert "resync" in kinds
        assert len(kinds) < 500
        await redis.publish(f"site:{careful.site.id}:staff", "[1]")  # not ours, and it does no harm
        assert (await claim(mo, ids[1])).status_code == 200
        assert (await ear.heard("claimed"))["comment_id"] == ids[1]


async def test_whoever_is_no_moderator_any_more_hears_nothing_any_more(
    app: Application, http: httpx.AsyncClient, careful: NewSite, live: LiveServer
) -> None:
    ada = await create(http, careful, "ada")
    mia = await second_moderator(app, http, careful)
    async with listening(live, mia) as ear:
        await app.services.roles.revoke(careful.site.id, UserId(mia.id))
        async with asyncio.timeout(1):
            assert (await ear.heard("error"))["code"] == "role_lost"
            assert await ear.hear() is None
    await until(lambda: app.services.hub.connections == 0, "the stream to be forgotten")
    await write(ada, "for moderators only")
    headers = {"projectid": mia.key, "authorization": f"Bearer {mia.token}"}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}") as web:
        assert (await web.get("/v1/moderation/events", headers=headers)).status_code == 403


async def test_a_stream_that_is_over_leaves_nothing_behind(
    app: Application, http: httpx.AsyncClient, careful: NewSite, live: LiveServer, redis: Redis
) -> None:
    mo = await staff(app, http, careful)
    channel = f"site:{careful.site.id}:staff"
    async with listening(live, mo), listening(live, mo):
        assert dict(await redis.pubsub_numsub(channel)) == {channel: 1}

    async def is_silent() -> bool:
        return dict(await redis.pubsub_numsub(channel)) == {channel: 0}

    await until(is_silent, "nobody to listen")
    assert app.services.hub.connections == 0


async def test_the_queue_can_be_asked_for_what_was_reported(
    app: Application, http: httpx.AsyncClient, careful: NewSite
) -> None:
    ada, bob, mo = (
        await create(http, careful, "ada"),
        await create(http, careful, "bob"),
        await staff(app, http, careful),
    )
    waiting, shown = await write(ada, "waiting"), await write(ada, "shown")
    await decide(mo, "approve", shown["i"])
    for person in (bob, mo):  # a moderator's report weighs enough to hide it
        await person.call("POST", f"/v1/comments/{shown['i']}/report", {"reason": "spam"})
    assert outline(await read(http, careful)) == []
    assert await queued(mo, reported="true") == [shown["i"]]
    assert await queued(mo, reported="false") == [waiting["i"]]
    assert set(await queued(mo)) == {waiting["i"], shown["i"]}
    assert (await mo.call("GET", "/v1/moderation/counts")).json() == {
        "queue": 2,
        "reports": 2,
        "mine_claimed": 0,
        "appeals": 0,
    }
    # Closed by a decision and open again when it is taken back.
    done = await decide(mo, "approve", shown["i"])
    assert (await mo.call("GET", "/v1/moderation/counts")).json()["reports"] == 0
    await mo.call("POST", f"/v1/moderation/undo/{done['undo']}")
    assert (await mo.call("GET", "/v1/moderation/counts")).json()["reports"] == 2
    assert await queued(mo, reported="true") == [shown["i"]]
    deleted = await decide(mo, "delete", shown["i"])
    assert (await mo.call("GET", "/v1/moderation/counts")).json()["reports"] == 0
    await mo.call("POST", f"/v1/moderation/undo/{deleted['undo']}")
    assert (await mo.call("GET", "/v1/moderation/counts")).json() == {
        "queue": 2,
        "reports": 2,
        "mine_claimed": 0,
        "appeals": 0,
    }
