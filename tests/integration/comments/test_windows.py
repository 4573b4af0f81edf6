"""Windows on a thread: roots by limit and cursor, the first replies of each, more under any comment, and permalinks."""

import asyncio
import random
from typing import Any, get_args

import httpx
import pytest

from tests.integration.comments.test_comments import URL, write
from tests.integration.comments.test_votes import vote
from tests.make import ManualClock
from tests.people import Person, create
from threadkit.app import Application
from threadkit.comments.model import Sort
from threadkit.sites.model import NewSite, SiteSettings
from threadkit.sites.roles import Role

SORTS = get_args(Sort)


async def window(http: httpx.AsyncClient, site: NewSite, by: Person | None = None, **asked: Any) -> dict[str, Any]:
    headers = {"projectid": site.site.api_key_public}
    if by:
        headers["authorization"] = f"Bearer {by.token}"
    answer = await http.get("/v1/comments", params={"page_url": URL} | asked, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def more(http: httpx.AsyncClient, site: NewSite, comment_id: str, **asked: Any) -> dict[str, Any]:
    answer = await http.get(
        f"/v1/comments/{comment_id}/replies", params=asked, headers={"projectid": site.site.api_key_public}
    )
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def all_roots(http: httpx.AsyncClient, site: NewSite, **asked: Any) -> list[str]:
    found: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = await window(http, site, **asked, **cursor)
        found += [root["i"] for root in page["tree"]["c"]]
        if "next" not in page:
            return found
        cursor = {"cursor": page["next"]}


async def write_many(people: list[Person], clock: ManualClock, count: int, dice: random.Random) -> list[str]:
    """Roots and replies in random shapes, several in the same millisecond, with random votes."""
    written: list[str] = []
    for number in range(count):
        parent = [dice.choice(written)] if written and dice.random() < 0.4 else None
        comment = await write(dice.choice(people), f"comment {number}", under=parent)
        written.append(comment["i"])
        if dice.random() < 0.5:
            clock.advance(seconds=1)
    for comment_id in written:
        for person in people:
            if dice.random() < 0.4:
                await vote(person, comment_id, dice.choice(["up", "up", "down"]))
    return written


def flat(tree: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Parent to replies in order; roots under ''."""
    found: dict[str, list[str]] = {"": [node["i"] for node in tree]}
    waiting = list(tree)
    while waiting:
        node = waiting.pop()
        found[node["i"]] = [reply["i"] for reply in node.get("r", [])]
        waiting += node.get("r", [])
    return found


async def test_paging_gives_every_root_once_in_the_order_of_the_whole_tree_s3_15(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    people = [await create(http, new_site, name) for name in ("ada", "bob", "cyd")]
    await write_many(people, clock, 120, random.Random(4))
    for sort in SORTS:
        whole = flat((await window(http, new_site, sort=sort))["tree"]["c"])
        assert await all_roots(http, new_site, sort=sort, limit=7) == whole[""]


async def test_a_thousand_roots_page_by_page_s3_15(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada = await create(http, new_site, "ada")
    written: list[str] = []
    for _ in range(20):
        answers = await asyncio.gather(*(write(ada, "root") for _ in range(50)))
        written += [answer["i"] for answer in answers]
        clock.advance(seconds=1)
    for parent in random.Random(1).sample(written, 100):
        await write(ada, "reply", under=[parent])
    for sort in ("new", "top"):
        found = await all_roots(http, new_site, sort=sort, limit=20)
        assert len(found) == 1000
        assert set(found) == set(written)


async def test_more_replies_go_on_where_a_window_stops(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    people = [await create(http, new_site, name) for name in ("ada", "bob", "cyd")]
    await write_many(people, clock, 80, random.Random(7))
    for sort in SORTS:
        whole = flat((await window(http, new_site, sort=sort))["tree"]["c"])
        page = await window(http, new_site, sort=sort, limit=100, replies=2, depth=1)
        found = {"": [root["i"] for root in page["tree"]["c"]]}
        waiting = list(page["tree"]["c"])
        while waiting:
            node = waiting.pop()
            replies = list(node.get("r", []))
            if "rn" in node:
                assert node["rc"] == len(whole[node["i"]])
            cursor = node.get("rn")
            while cursor is not None:
                answer = await more(http, new_site, node["i"], sort=sort, cursor=cursor, limit=3, replies=1, depth=1)
                replies += answer["replies"]
                cursor = answer.get("next")
            found[node["i"]] = [reply["i"] for reply in replies]
            waiting += replies
        assert found == whole


async def test_paging_stands_still_while_others_post_and_vote(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    written = [(await write(ada, f"root {number}"))["i"] for number in range(30)]
    for sort in ("new", "old", "top", "hot", "controversial"):
        page = await window(http, new_site, sort=sort, limit=10)
        seen = [root["i"] for root in page["tree"]["c"]]
        moving = seen[3]
        while "next" in page:
            await write(bob, "in between")
            await vote(bob, moving, "up")
            page = await window(http, new_site, sort=sort, limit=10, cursor=page["next"])
            seen += [root["i"] for root in page["tree"]["c"]]
        still = [one for one in seen if one in written and one != moving]
        assert sorted(still) == sorted(one for one in written if one != moving), sort


async def test_a_cursor_survives_the_comment_it_stands_behind(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    written = [(await write(ada, f"root {number}"))["i"] for number in range(6)]
    page = await window(http, new_site, sort="top", limit=3)
    last = page["tree"]["c"][-1]["i"]
    assert (await ada.call("DELETE", f"/v1/comments/{last}")).status_code == 204
    rest = await window(http, new_site, sort="top", limit=10, cursor=page["next"])
    assert [root["i"] for root in rest["tree"]["c"]] == written[3:]


@pytest.mark.parametrize("sort", ["new", "old", "top", "hot", "controversial"])
@pytest.mark.parametrize("score", ["-9e99", "9e99", "-1e999", "1e999"])
async def test_a_cursor_beyond_all_scores_gets_no_more_than_was_asked_for(
    http: httpx.AsyncClient, new_site: NewSite, sort: str, score: str
) -> None:
    ada = await create(http, new_site, "ada")
    for number in range(4):
        await write(ada, f"number {number}")
    cursor = f"{sort}:{score}:0197b0a0-0000-7000-8000-000000000000"
    found = (await window(http, new_site, sort=sort, cursor=cursor, limit=2))["tree"]["c"]
    # Behind the end is nothing, before the start all of it.
    is_before = score.startswith("-") if sort == "old" else not score.startswith("-")
    assert len(found) == (2 if is_before else 0)


async def test_a_permalink_begins_with_the_thread_that_holds_the_comment(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada = await create(http, new_site, "ada")
    roots = []
    for number in range(8):
        roots.append((await write(ada, f"root {number}"))["i"])
        clock.advance(seconds=1)
    path = [roots[4]]
    for level in range(12):
        for _ in range(6):
            await write(ada, "beside", under=path)
        path.append((await write(ada, f"level {level}", under=path))["i"])
    for sort in SORTS:
        page = await window(http, new_site, sort=sort, around=path[-1], limit=2, replies=2)
        assert page["tree"]["c"][0]["i"] == roots[4]
        node = page["tree"]["c"][0]
        for comment_id in path[1:]:
            (node,) = [reply for reply in node["r"] if reply["i"] == comment_id]
    page = await window(http, new_site, sort="old", around=path[-1], limit=2)
    assert [root["i"] for root in page["tree"]["c"]] == roots[4:7]
    assert "next" in page
    key = {"projectid": new_site.site.api_key_public}
    alone = await http.get("/v1/comments", params={"around": path[-1], "sort": "old", "limit": 2}, headers=key)
    assert alone.json()["tree"] == page["tree"]


async def test_a_permalink_to_what_is_not_there_is_404(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    gone = (await write(ada, "gone"))["i"]
    elsewhere = (await write(ada, "elsewhere", url="https://blog.example.org/other"))["i"]
    await ada.call("DELETE", f"/v1/comments/{gone}")
    key = {"projectid": new_site.site.api_key_public}
    for comment_id in (gone, elsewhere, "0197b0a0-0000-7000-8000-000000000000"):
        answer = await http.get("/v1/comments", params={"page_url": URL, "around": comment_id}, headers=key)
        assert (answer.status_code, answer.json()["code"]) == (404, "comment_not_found")
        answer = await http.get("/v1/comments", params={"page_url": URL, "around": f"{comment_id}x"}, headers=key)
        assert answer.status_code == 400


@pytest.mark.parametrize(
    "asked",
    [
        {"cursor": "nonsense"},
        {"cursor": "new", "sort": "top"},
        {"cursor": "top:1e999999:0197b0a0-0000-7000-8000-000000000000", "sort": "top"},
        {"cursor": "top:1:not-an-id", "sort": "top"},
        {"cursor": "x" * 500},
        {"limit": 0},
        {"limit": 101},
        {"limit": "many"},
        {"replies": -1},
        {"replies": 1000},
        {"depth": 101},
        {"depth": "1.5"},
    ],
)
async def test_a_window_that_makes_no_sense_is_refused(
    http: httpx.AsyncClient, new_site: NewSite, asked: dict[str, Any]
) -> None:
    for _ in range(2):  # by the ordinary way, and with a key that is known
        answer = await http.get(
            "/v1/comments", params={"page_url": URL} | asked, headers={"projectid": new_site.site.api_key_public}
        )
        assert answer.status_code == 400, answer.text


async def test_without_replies_every_comment_says_how_many_it_has(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    root = (await write(ada, "root"))["i"]
    for _ in range(3):
        await write(ada, "reply", under=[root])
    settings: list[dict[str, Any]] = [{"replies": 0}, {"depth": 0}]
    for asked in settings:
        (node,) = (await window(http, new_site, sort="old", **asked))["tree"]["c"]
        assert (node["rc"], node["rn"], "r" in node) == (3, "old", False)
        assert len((await more(http, new_site, root, sort="old", cursor=node["rn"]))["replies"]) == 3


async def test_pinned_threads_stand_in_front_of_the_first_window_only(
    http: httpx.AsyncClient, new_site: NewSite, app: Application, clock: ManualClock
) -> None:
    ada = await create(http, new_site, "ada")
    mo = await create(http, new_site, "mo")
    await app.services.roles.grant(new_site.site.id, mo.id, Role.MODERATOR)  # type: ignore[arg-type]
    written = []
    for number in range(6):
        written.append((await write(ada, f"root {number}"))["i"])
        clock.advance(seconds=1)
    for comment_id in (written[4], written[1]):
        assert (await mo.call("POST", f"/v1/comments/{comment_id}/pin", {})).json()["pinned"] is True
        clock.advance(seconds=1)
    found = await all_roots(http, new_site, sort="old", limit=2)
    assert found == [written[1], written[4], written[0], written[2], written[3], written[5]]


async def test_held_comments_are_in_their_authors_window_and_in_nobody_elses(
    http: httpx.AsyncClient, app: Application
) -> None:
    site = await app.services.sites.create(
        "Careful", "blog.example.org", settings=SiteSettings(moderation_mode="pre", auto_approve_verified=True)
    )
    ada = await create(http, site, "ada", "ada@example.org")
    bob = await create(http, site, "bob")
    root = (await write(ada, "root"))["i"]
    held = (await write(bob, "held"))["i"]
    answer = (await write(bob, "held answer", under=[root]))["i"]
    mine = flat((await window(http, site, bob, sort="old", limit=10))["tree"]["c"])
    assert set(mine[""]) == {held, root}
    assert mine[root] == [answer]
    for other in (None, ada):
        assert flat((await window(http, site, other, sort="old", limit=10))["tree"]["c"]) == {"": [root], root: []}


async def test_whoever_blocked_somebody_pages_past_them(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    for number in range(10):
        await write(ada if number % 2 else eve, f"root {number}")
    await ada.call("POST", f"/v1/users/{eve.id}/block")
    authors = set()
    page = await window(http, new_site, ada, sort="old", limit=3)
    while True:
        authors |= {root["a"] for root in page["tree"]["c"]}
        if "next" not in page:
            break
        page = await window(http, new_site, ada, sort="old", limit=3, cursor=page["next"])
    assert authors == {ada.id}


async def test_a_very_deep_thread_is_read_level_by_level(http: httpx.AsyncClient, new_site: NewSite) -> None:
    """S3-17"""
    ada = await create(http, new_site, "ada")
    path = [(await write(ada, "root"))["i"]]
    for _ in range(60):
        path.append((await write(ada, "deeper", under=path[-1:]))["i"])
    page = await window(http, new_site, sort="old", depth=100)
    node = page["tree"]["c"][0]
    for comment_id in path[1:]:
        (node,) = node["r"]
        assert node["i"] == comment_id
