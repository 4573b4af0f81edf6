"""`threadkit outbox`: what an owner sees and can do."""

import json
import subprocess

import httpx
from redis.asyncio import Redis

from tests.integration.outbox.entries import Flaky, Owner, add, numbers
from tests.integration.server.program import THREADKIT
from tests.make import ManualClock
from tests.people import Person
from threadkit.app import Application
from threadkit.sites.model import NewSite


async def test_an_owner_sees_what_waits_what_is_tried_again_and_what_is_dead(
    app: Application, new_site: NewSite, redis: Redis, owner: Owner
) -> None:
    assert "Everything has been carried out." in (await owner.types("outbox")).stdout
    app.services.outbox.handlers.on("rang", "bell", Flaky(failures=9))
    for kind in ("rang", "strange", "strange"):
        await add(redis, new_site, kind)
    await app.services.outbox.drain()
    await add(redis, new_site, "rang")
    (shown,) = await owner.reads("outbox")
    assert (shown["site"], shown["waiting"], shown["retrying"], shown["dead"]) == ("Blog", 1, 1, 2)
    assert shown["site_id"] == new_site.site.id
    assert shown["oldest_waits_since"].endswith("Z")
    assert shown["next_try"].startswith("2025-12-06T"), "the clock of the test"
    text = (await owner.types("outbox", "show", "--site", "Blog")).stdout
    assert "1 (the oldest for " in text
    assert "1 (next now)" in text
    assert "threadkit outbox dead" in text


async def test_without_sites_there_is_a_sentence(app: Application, owner: Owner) -> None:
    assert "There is no site yet" in (await owner.types("outbox")).stdout
    assert (await owner.types("outbox", "dead")).stdout == "There are no dead letters.\n"
    assert await owner.reads("outbox") == []
    assert await owner.reads("outbox", "dead") == []


async def test_dead_letters_are_listed_put_back_and_dropped(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, owner: Owner, ada: Person
) -> None:
    for change in ("one", "two", 3):
        await add(redis, new_site, "karma", user_id=ada.id, change=change)
    await redis.xadd(f"site:{new_site.site.id}:outbox:dead", {"event": "\x1b[31mfrom an older server"})
    await app.services.outbox.drain()
    old, one, two = await owner.reads("outbox", "dead")
    assert old["event"] == "\x1b[31mfrom an older server"
    assert (one["site"], one["handler"], one["tries"]) == ("Blog", "karma", 0)
    assert "Expected `int`" in one["why"]
    assert one["given_up"].endswith("Z")
    assert json.loads(one["event"])["change"] == "one"
    listed = (await owner.types("outbox", "dead", "--limit", "2")).stdout
    assert one["id"] in listed
    assert two["id"] in listed
    assert old["id"] not in listed
    assert "1 older ones are not shown" in listed

    assert await owner.reads("outbox", "retry", one["id"]) == {"put_back": 1}
    assert await redis.xlen(f"site:{new_site.site.id}:outbox") == 1
    assert (await owner.types("outbox", "drop", old["id"], "--yes")).stdout == "1 dead letter removed.\n"
    assert [letter["id"] for letter in await owner.reads("outbox", "dead")] == [two["id"]]
    assert (await owner.types("outbox", "retry", "--all", "--site", "Blog")).stdout == "1 dead letter put back.\n"
    await app.services.outbox.drain()
    assert await owner.reads("outbox", "drop", "--all", "--yes") == {"dropped": 2}
    assert (await owner.types("outbox", "retry", "--all")).stdout == "There are no dead letters.\n"
    assert await numbers(http, ada) == (3, 0)


async def test_dropping_asks_first(app: Application, new_site: NewSite, redis: Redis, owner: Owner) -> None:
    await add(redis, new_site, "strange")
    await app.services.outbox.drain()
    command = [*THREADKIT, "outbox", "drop", "--all", *owner._where]
    for answer, code, left in (("n\n", 1, 1), ("", 1, 1), ("y\n", 0, 0)):
        result = subprocess.run(  # noqa: ASYNC221 - nothing else goes on
            command, input=answer, capture_output=True, text=True, timeout=60, env=owner._env
        )
        assert "Remove 1 dead letter for good?" in result.stderr
        assert result.returncode == code
        assert "Traceback" not in result.stderr
        assert await redis.xlen(f"site:{new_site.site.id}:outbox:dead") == left


async def test_a_wrong_word_is_one_sentence(
    app: Application, new_site: NewSite, redis: Redis, owner: Owner, clock: ManualClock
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    for site in (new_site, other):
        await redis.xadd(f"site:{site.site.id}:outbox:dead", {"event": "x"}, id="5-1")
    for words, sentence in (
        (["retry"], "Name dead letters by their ids, or say --all."),
        (["retry", "5-1", "--all"], "Name dead letters by their ids, or say --all."),
        (["drop", "7-7"], "There is no dead letter 7-7."),
        (["drop", "everything"], "is not the id of a dead letter"),
        (["drop", "5-1"], "More than one site has a dead letter 5-1. Say which site."),
        (["dead", "--site", "nope"], "There is no site 'nope'."),
    ):
        result = await owner.types("outbox", *words)
        assert result.returncode == 1
        assert result.stderr.startswith("Error: ")
        assert sentence in result.stderr
        assert "Traceback" not in result.stderr
    assert await owner.reads("outbox", "drop", "5-1", "--site", "Other", "--yes") == {"dropped": 1}
