"""What hangs on a comment goes and comes back with it, also where that is more than one step can take."""

import asyncio
import random

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import outline, read, write
from tests.integration.moderation.test_decisions import decide, staff
from tests.people import create
from threadkit.app import Application
from threadkit.moderation import burying, decisions
from threadkit.sites.model import NewSite


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "MOST_UNDER", 3)
    monkeypatch.setattr(burying, "STEP", 4)
    monkeypatch.setattr(burying, "BATCH", 2)


async def test_a_large_thread_goes_and_comes_back_whole(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    root, beside = await write(ada, "root"), await write(ada, "beside")
    for number in range(6):
        reply = await write(ada, f"reply {number}", under=[root["i"]])
        path = [root["i"], reply["i"]]
        for depth in range(number % 3):
            leaf = await write(ada, f"leaf {number} {depth}", under=path)
            path.append(leaf["i"])
        await write(ada, f"last {number}", under=[root["i"], reply["i"]])
    whole = await read(http, new_site)
    for _ in range(2):
        done = await decide(mo, "reject", root["i"])
        assert outline(await read(http, new_site)) == ["beside"], "nothing hangs in the air while it is being done"
        await app.services.outbox.drain()
        assert (outline(await read(http, new_site)), (await read(http, new_site))["total"]) == (["beside"], 1)
        assert await disagreements(redis) == []
        mine = (await http.get(f"/v1/users/{ada.id}/comments", headers={"projectid": ada.key})).json()["comments"]
        assert [item["comment"]["i"] for item in mine] == [beside["i"]]
        assert (await mo.call("POST", f"/v1/moderation/undo/{done['undo']}")).status_code == 200
        await app.services.outbox.drain()
        now = await read(http, new_site)
        assert (outline(now), now["total"]) == (outline(whole), whole["total"])
        assert await disagreements(redis) == []
    assert (await app.services.rebuild.run(is_check=True)).is_clean


async def test_pins_of_a_large_thread_come_back_with_it(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    """Those of the first step and those of later ones."""
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    root = await write(ada, "root")
    replies = [await write(ada, f"reply {number}", under=[root["i"]]) for number in range(8)]
    for reply in (replies[0], replies[-1]):
        await mo.call("POST", f"/v1/comments/{reply['i']}/pin", {})
    pins = (await read(http, new_site))["pinned"]
    assert len(pins) == 2
    entry = (await decide(mo, "reject", root["i"]))["undo"]
    await app.services.outbox.drain()
    assert not (await read(http, new_site)).get("pinned")
    assert await disagreements(redis) == []
    await mo.call("POST", f"/v1/moderation/undo/{entry}")
    await app.services.outbox.drain()
    assert (await read(http, new_site))["pinned"] == pins
    assert (await app.services.rebuild.run(is_check=True)).is_clean


async def test_a_reply_hidden_for_a_reason_of_its_own_stays_so_and_its_replies_with_it(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    """In any order of hiding and showing three that hang on each other."""
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    chain: list[str] = []
    for number in range(4):
        chain.append((await write(ada, f"comment {number}", under=chain))["i"])
    chance = random.Random(5)
    hidden: set[str] = set()
    for _ in range(40):
        one = chance.choice(chain[:3])
        action = "approve" if one in hidden else "reject"
        answer = await mo.call("POST", f"/v1/moderation/{action}/{one}", {})
        if answer.status_code == 200:
            hidden ^= {one}
        await app.services.outbox.drain()
        assert await disagreements(redis) == []
        shown = next((number for number, one in enumerate(chain) if one in hidden), 4)
        assert (await read(http, new_site))["total"] == shown


async def test_whatever_people_do_meanwhile_all_is_in_line_in_the_end(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site)
    root = await write(ada, "root")
    replies = [await write(ada, f"reply {number}", under=[root["i"]]) for number in range(8)]

    async def busy(number: int) -> None:
        path = [root["i"], replies[number]["i"]]
        body = {"page_url": "https://blog.example.org/post", "content": f"leaf {number}", "parent_path": path}
        await ada.call("POST", "/v1/comments", body)
        await mo.call("POST", f"/v1/comments/{replies[number]['i']}/vote", {"direction": ("up", "down")[number % 2]})

    for action in ("reject", "approve", "reject", "spam", "approve", "reject"):
        await asyncio.gather(
            mo.call("POST", f"/v1/moderation/{action}/{root['i']}", {}),
            *(busy(number) for number in range(8)),
            app.services.outbox.drain(),
            mo.call("POST", f"/v1/moderation/{'approve' if action == 'reject' else 'reject'}/{replies[0]['i']}", {}),
        )
        await app.services.outbox.drain()
        assert await disagreements(redis) == []
    assert (await read(http, new_site))["total"] == 0
