"""Votes and karma: contract 4.3, rows S3-13, S3-14, S3-30, S3-31; vote tests of 14.1."""

import asyncio
import random

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import URL, outline, read, write
from tests.people import Person, create, guest
from tests.wait import until
from threadkit import scoring
from threadkit.app import Application
from threadkit.clock import from_iso
from threadkit.scoring import HotFormula
from threadkit.sites.model import NewSite


async def vote(person: Person, comment_id: object, direction: str) -> dict[str, object]:
    answer = await person.call(
        "POST", f"/v1/comments/{comment_id}/vote", {"page_url": URL, "path": [comment_id], "direction": direction}
    )
    assert answer.status_code == 200, answer.text
    result: dict[str, object] = answer.json()
    return result


def said(answer: dict[str, object]) -> tuple[object, ...]:
    return answer["upvotes"], answer["downvotes"], answer["user_vote"]


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        (["up"], (1, 0, "up")),
        (["down"], (0, 1, "down")),
        (["up", "up"], (0, 0, None)),
        (["down", "down"], (0, 0, None)),
        (["up", "down"], (0, 1, "down")),
        (["down", "up"], (1, 0, "up")),
        (["up", "up", "down", "up", "up"], (0, 0, None)),
    ],
)
async def test_none_sets_same_removes_other_switches_s3_30(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, sequence: list[str], expected: tuple[int, int, str | None]
) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    comment = await write(ada, "vote on me")
    for direction in sequence:
        result = await vote(eve, comment["i"], direction)
    assert said(result) == expected
    mine = (await eve.call("GET", f"/v1/pages/my_votes?page_url={URL}")).json()["votes"]
    assert mine == ({comment["i"]: expected[2]} if expected[2] else {})
    kept = {key async for key in redis.scan_iter("vote*")}
    assert bool(kept) == bool(expected[2]), "nothing is kept of a vote that was taken back"


@pytest.mark.parametrize("then", ["up", "down"])
async def test_a_vote_from_before_a_shadow_ban_is_counted_exactly_while_it_stands(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, then: str
) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    comment = await write(ada, "vote on me")
    shadowed = f"site:{new_site.site.id}:shadowbanned"
    await vote(eve, comment["i"], "up")
    await redis.sadd(shadowed, eve.id)
    own = await vote(eve, comment["i"], then)
    assert own["version"] == (await read(http, new_site))["version"], "the page's, which has it"
    assert said(own) == (0, int(then == "down"), None if then == "up" else "down")
    node = (await read(http, new_site))["tree"]["c"][0]
    assert (node["u"], node["d"]) == (0, 0)
    assert await disagreements(redis, shadowed={eve.id}) == []
    await app.services.outbox.drain()
    assert (await http.get(f"/v1/users/{ada.id}", headers={"projectid": ada.key})).json()["karma"] == 0
    await redis.srem(shadowed, eve.id)
    assert said(await vote(eve, comment["i"], "up")) == (1, 0, "up")
    assert await disagreements(redis, shadowed=()) == []


async def test_random_votes_equal_a_plain_model_and_the_indexes_follow_s3_13_s3_14_s3_30(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    people = [await guest(http, new_site) for _ in range(8)]
    comments = [str((await write(people[0], f"comment {n}"))["i"]) for n in range(4)]
    model: dict[tuple[str, str], str] = {}
    dice = random.Random(7)

    async def one() -> None:
        person, comment_id, direction = dice.choice(people), dice.choice(comments), dice.choice(["up", "down"])
        previous = model.pop((person.id, comment_id), None)
        if previous != direction:
            model[person.id, comment_id] = direction
        await vote(person, comment_id, direction)

    for _ in range(300):
        await one()
    page = (await read(http, new_site))["page_id"]
    for comment_id in comments:
        up = sum(1 for (_, voted), way in model.items() if voted == comment_id and way == "up")
        down = sum(1 for (_, voted), way in model.items() if voted == comment_id and way == "down")
        record = await redis.hgetall(f"comment:{comment_id}")
        assert (record["upvotes"], record["downvotes"]) == (str(up), str(down))
        assert await redis.zscore(f"page:{page}:comments:top", comment_id) == up - down
        assert await redis.zscore(f"page:{page}:roots:top", comment_id) == up - down
        assert await redis.zscore(f"page:{page}:roots:controversial", comment_id) == min(up, down)
        hot = scoring.hot(HotFormula(), up, down, from_iso(str(record["created_at"])))
        for index in (f"page:{page}:comments:hot", f"page:{page}:roots:hot"):
            assert await redis.zscore(index, comment_id) == pytest.approx(hot, abs=1e-9)
    votes = {key: str(await redis.get(key)) async for key in redis.scan_iter("vote:*")}
    assert votes == {f"vote:{user}:{comment}": way for (user, comment), way in model.items()}


async def test_one_person_toggling_at_once_has_one_vote_or_none(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    comment = await write(ada, "toggle me")
    await asyncio.gather(*(vote(eve, comment["i"], "up") for _ in range(101)))
    record = await redis.hgetall(f"comment:{comment['i']}")
    assert (record["upvotes"], record["downvotes"]) == ("1", "0")
    assert await redis.get(f"vote:{eve.id}:{comment['i']}") == "up"


async def test_karma_follows_the_votes_of_others_s3_31(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, eve, bob = [await create(http, new_site, name) for name in ("ada", "eve", "bob")]
    comment = await write(ada, "mine")

    async def karma() -> int:
        return int((await ada.call("GET", "/v1/users/me")).json()["karma"])

    for person, direction, expected in (
        (eve, "up", 1),
        (bob, "up", 2),
        (eve, "down", 0),
        (bob, "up", -1),
        (eve, "down", 0),
        (eve, "down", -1),
        (eve, "up", 1),
        (ada, "up", 1),
        (eve, "up", 0),
    ):
        await vote(person, comment["i"], direction)

        async def settled(wanted: int = expected) -> bool:
            return await karma() == wanted

        await until(settled, f"karma to be {expected}")


async def test_comment_totals_follow_the_posts(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    for number in range(5):
        await write(ada, f"comment {number}")

    async def counted() -> bool:
        profile = await http.get(f"/v1/users/{ada.id}", headers={"projectid": ada.key})
        return bool(profile.json()["total_comments"] == 5)

    await until(counted, "five comments to be counted")


async def test_an_entry_that_is_carried_out_twice_counts_once(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    apply = app.services.outbox._apply
    for _ in range(3):
        await apply(ada.id, new_site.site.id, "1765000000000-3", field="karma", change=7)  # type: ignore[arg-type]
    assert await redis.hget(f"user:{ada.id}", "karma") == "7"


async def test_voting_can_be_off_or_up_only(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    comment = await write(ada, "mine")
    await app.services.sites.change(new_site.site.id, settings={"voting": "up"})
    refused = await eve.call("POST", f"/v1/comments/{comment['i']}/vote", {"direction": "down"})
    assert (refused.status_code, refused.json()["code"]) == (403, "only_upvotes")
    assert (await vote(eve, comment["i"], "up"))["upvotes"] == 1
    await app.services.sites.change(new_site.site.id, settings={"voting": "off"})
    off = await eve.call("POST", f"/v1/comments/{comment['i']}/vote", {"direction": "up"})
    assert (off.status_code, off.json()["code"]) == (403, "voting_off")


async def test_sorts_at_every_level(http: httpx.AsyncClient, new_site: NewSite, clock: object) -> None:
    people = [await guest(http, new_site) for _ in range(4)]
    first = await write(people[0], "first")
    clock.advance(seconds=60)  # type: ignore[attr-defined]
    second = await write(people[0], "second")
    replies = []
    for name in ("a", "b"):
        clock.advance(seconds=60)  # type: ignore[attr-defined]
        replies.append(await write(people[0], name, under=[str(first["i"])]))
    for person in people[:3]:
        await vote(person, first["i"], "up")
    await vote(people[3], first["i"], "down")
    await vote(people[1], replies[0]["i"], "up")
    await vote(people[2], replies[0]["i"], "up")
    expected = {
        "new": ["second", ("first", ["b", "a"])],
        "old": [("first", ["a", "b"]), "second"],
        "top": [("first", ["a", "b"]), "second"],
        "hot": [("first", ["a", "b"]), "second"],
        "controversial": [("first", ["a", "b"]), "second"],
    }
    for sort, tree in expected.items():
        assert outline(await read(http, new_site, sort=sort)) == tree, sort
    assert second["i"]


async def test_pins_toggle_and_the_newest_comes_first(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: object
) -> None:
    from threadkit.sites.roles import Role

    ada, mod = await create(http, new_site, "ada"), await create(http, new_site, "mod")
    await app.services.roles.grant(new_site.site.id, mod.id, Role.MODERATOR)  # type: ignore[arg-type]
    one, two = await write(ada, "one"), await write(ada, "two")
    body = {"page_url": URL}
    refused = await ada.call("POST", f"/v1/comments/{one['i']}/pin", body)
    assert (refused.status_code, refused.json()["error"]) == (403, "Moderator access required")
    for comment in (one, two):
        clock.advance(seconds=1)  # type: ignore[attr-defined]
        assert (await mod.call("POST", f"/v1/comments/{comment['i']}/pin", body)).json()["pinned"] is True
    pinned = (await read(http, new_site))["pinned"]
    assert [pin[0] for pin in pinned] == [two["i"], one["i"]]
    unpinned = (await mod.call("POST", f"/v1/comments/{two['i']}/pin", body)).json()
    assert unpinned == {"pinned": False, "pinned_at": None}


async def test_what_is_remembered_of_a_comment_may_be_old(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    """A server remembers where it counted a vote. Meanwhile, elsewhere, the page went into another one and many voted."""
    ada = await create(http, new_site, "ada")
    voters = [await create(http, new_site, f"voter-{number}") for number in range(20)]
    comment = await write(ada, "vote on me")
    path = f"/v1/comments/{comment['i']}/vote"
    assert (await voters[0].call("POST", path, {"direction": "up"})).json()["upvotes"] == 1
    other = "https://blog.example.org/the-other-page"
    await write(ada, "already here", url=other)
    await app.services.pages.merge(new_site.site, URL, other)
    for number, voter in enumerate(voters[1:], 2):  # named, so nothing of it is remembered
        answer = await voter.call("POST", path, {"page_url": other, "direction": "up"})
        assert answer.json()["upvotes"] == number
    answer = await voters[0].call("POST", path, {"direction": "up"})
    assert (answer.status_code, answer.json()["upvotes"], answer.json()["user_vote"]) == (200, 19, None)
    assert (await voters[0].call("GET", f"/v1/pages/my_votes?page_url={other}")).json()["votes"] == {}
    assert await disagreements(redis, shadowed=()) == []
    assert (await ada.call("DELETE", f"/v1/comments/{comment['i']}")).status_code == 204
    assert (await voters[0].call("POST", path, {"direction": "up"})).status_code == 404
    other_site = await app.services.sites.create("Other", "other.example")
    stranger = await create(http, other_site, "stranger")
    assert (await stranger.call("POST", path, {"direction": "up"})).status_code == 404
