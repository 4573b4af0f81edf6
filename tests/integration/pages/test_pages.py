"""Which page is meant, and what happens when articles move: issue-level stories over HTTP and the command line."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import httpx
import pytest

from tests.integration.comments.test_comments import write
from tests.make import ManualClock
from tests.people import Person, create, post
from threadkit.app import Application
from threadkit.pages.model import PageElsewhere, PageHasComments, PageNotFound, PagesAreOne
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

OLD = "https://blog.example.org/2024/old-slug"
NEW = "https://blog.example.org/posts/new-slug"


async def texts(http: httpx.AsyncClient, site: NewSite, **asked: Any) -> list[str]:
    thread = await read(http, site, **asked)
    return [root["t"] for root in thread["tree"]["c"]]


async def read(http: httpx.AsyncClient, site: NewSite, **asked: Any) -> dict[str, Any]:
    answer = await http.get(
        "/v1/comments", params={"sort": "old"} | asked, headers={"projectid": site.site.api_key_public}
    )
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def vote(person: Person, comment_id: str, direction: str) -> dict[str, Any]:
    answer = await person.call("POST", f"/v1/comments/{comment_id}/vote", {"direction": direction})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def staff(app: Application, http: httpx.AsyncClient, site: NewSite, name: str, role: Role) -> Person:
    person = await create(http, site, name)
    await app.services.roles.grant(site.site.id, person.id, role)  # type: ignore[arg-type]
    return person


async def test_an_id_of_the_sites_own_names_a_page_whatever_its_address(
    http: httpx.AsyncClient, new_site: NewSite
) -> None:
    """S3-11"""
    ada = await create(http, new_site, "ada")
    for url in (OLD, NEW, None):
        body = {"content": f"from {url}", "page_id": "article-42"} | ({"page_url": url} if url else {})
        assert (await ada.call("POST", "/v1/comments", body)).status_code == 200
    named = await read(http, new_site, page_id="article-42")
    assert named["total"] == 3
    # The id that answers carry names the page as well, and an address never does.
    assert (await read(http, new_site, page_id=named["page_id"])) == named
    assert (await read(http, new_site, page_url=OLD))["total"] == 0
    assert (await read(http, new_site, page_url="article-42"))["total"] == 0


async def test_every_call_about_a_comment_knows_its_page_by_the_sites_own_id(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    mo, bob = await staff(app, http, new_site, "mo", Role.MODERATOR), await create(http, new_site, "bob")
    place = {"page_url": OLD, "page_id": "article-42"}
    comment = (await mo.call("POST", "/v1/comments", {"content": "hi", **place})).json()["comment"]
    ours = (await read(http, new_site, page_id="article-42"))["page_id"]
    for page_id in ("article-42", ours):
        for person, method, path, body in (
            (bob, "POST", "/vote", {"direction": "up"}),
            (mo, "PUT", "", {"content": "changed"}),
            (mo, "POST", "/pin", {}),
            (bob, "POST", "/report", {"reason": "spam"}),
        ):
            named = body | place | {"page_id": page_id, "path": [comment["i"]]}
            answer = await person.call(method, f"/v1/comments/{comment['i']}{path}", named)
            assert answer.status_code < 300, (page_id, path, answer.text)
            wrong = await person.call(method, f"/v1/comments/{comment['i']}{path}", named | {"page_id": "article-43"})
            assert wrong.status_code == 404
    counts = await http.get(
        "/v1/counts",
        params={"page_id": ["article-42", "article-43", ours], "url": [OLD]},
        headers={"projectid": new_site.site.api_key_public},
    )
    assert counts.json() == {"counts": {"article-42": 1, "article-43": 0, ours: 1, OLD: 0}}


async def test_an_id_of_another_sites_page_names_a_page_of_ones_own(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "private", url=OLD)
    page_id = (await read(http, new_site, page_url=OLD))["page_id"]
    other = await app.services.sites.create("Other", "other.example.org")
    theirs = await read(http, other, page_id=page_id)
    assert (theirs["total"], theirs["page_id"] == page_id) == (0, False)


async def test_a_request_must_name_its_page(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    key = {"projectid": new_site.site.api_key_public}
    answers = [
        await http.get("/v1/comments", headers=key),
        await http.get("/v1/comments?page_url=", headers=key),
        await http.get(f"/v1/comments?page_id={'x' * 201}", headers=key),
        await ada.call("POST", "/v1/comments", {"content": "where?"}),
        await ada.call("GET", "/v1/pages/my_votes"),
    ]
    assert [answer.status_code for answer in answers] == [400] * 5


async def test_a_moved_article_keeps_its_thread_at_both_addresses(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    first = await write(ada, "before", url=OLD)
    await vote(bob, first["i"], "up")
    done = await app.services.pages.move(new_site.site, OLD, NEW, title="New title")
    assert (done.url, done.comments_moved) == (NEW, 0)
    await write(ada, "at the new address", url=NEW)
    await write(ada, "at the old one", url=OLD)
    for url in (OLD, NEW):
        assert await texts(http, new_site, page_url=url) == ["before", "at the new address", "at the old one"]
    counts = await http.get(
        "/v1/counts", params={"url": [OLD, NEW]}, headers={"projectid": new_site.site.api_key_public}
    )
    assert counts.json()["counts"] == {OLD: 3, NEW: 3}
    votes = await bob.call("GET", f"/v1/pages/my_votes?page_url={NEW}")
    assert votes.json()["votes"] == {first["i"]: "up"}
    edited = await ada.call("PUT", f"/v1/comments/{first['i']}", {"page_url": NEW, "content": "edited"})
    assert edited.status_code == 200
    # And back again: nothing is lost on the way.
    await app.services.pages.move(new_site.site, NEW, OLD)
    for url in (OLD, NEW):
        assert (await read(http, new_site, page_url=url))["total"] == 3


async def test_a_page_moves_into_an_address_without_comments_only(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "old", url=OLD)
    await write(ada, "new", url=NEW)
    with pytest.raises(PageHasComments):
        await app.services.pages.move(new_site.site, OLD, NEW)
    with pytest.raises(PageNotFound):
        await app.services.pages.move(new_site.site, "https://blog.example.org/nothing", NEW)
    assert await texts(http, new_site, page_url=OLD) == ["old"]


async def test_two_threads_become_one_with_all_that_belongs_to_them(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    mo = await staff(app, http, new_site, "mo", Role.MODERATOR)
    old = await write(ada, "old root", url=OLD)
    reply = await write(bob, "old reply", under=[old["i"]], url=OLD)
    new = await write(ada, "new root", url=NEW)
    await vote(bob, old["i"], "up")
    await vote(ada, reply["i"], "down")
    await vote(bob, new["i"], "up")
    await mo.call("POST", f"/v1/comments/{old['i']}/pin", {})
    done = await app.services.pages.merge(new_site.site, OLD, NEW)
    assert (done.url, done.comments_moved) == (NEW, 2)
    for url in (OLD, NEW):
        thread = await read(http, new_site, page_url=url)
        assert [(root["t"], root["u"]) for root in thread["tree"]["c"]] == [("old root", 1), ("new root", 1)]
        assert [answer["d"] for answer in thread["tree"]["c"][0]["r"]] == [1]
        assert [comment_id for comment_id, _ in thread["pinned"]] == [old["i"]]
        assert thread["total"] == 3
    votes = await bob.call("GET", f"/v1/pages/my_votes?page_url={OLD}")
    assert votes.json()["votes"] == {old["i"]: "up", new["i"]: "up"}
    # What was moved can be voted on, edited and deleted as before.
    assert (await vote(bob, old["i"], "up"))["user_vote"] is None
    votes = await bob.call("GET", f"/v1/pages/my_votes?page_url={NEW}")
    assert votes.json()["votes"] == {new["i"]: "up"}
    assert (await ada.call("DELETE", f"/v1/comments/{old['i']}")).status_code == 204
    assert (await bob.call("DELETE", f"/v1/comments/{reply['i']}")).status_code == 204
    assert (await read(http, new_site, page_url=OLD))["total"] == 1
    with pytest.raises(PagesAreOne):
        await app.services.pages.merge(new_site.site, NEW, NEW)


async def test_a_merge_that_was_interrupted_goes_on(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await create(http, new_site, "ada")
    for number in range(5):
        await write(ada, f"old {number}", url=OLD)
    await write(ada, "new", url=NEW)
    pages = app.services.pages
    whole = pages._move_comments

    async def die(*args: Any, **kwargs: Any) -> int:
        raise ConnectionError

    monkeypatch.setattr(pages, "_move_comments", die)
    with pytest.raises(ConnectionError):
        await pages.merge(new_site.site, OLD, NEW)
    await write(ada, "meanwhile", url=OLD)
    monkeypatch.setattr(pages, "_move_comments", whole)
    done = await pages.merge(new_site.site, OLD, NEW)
    assert done.comments_moved == 5
    assert (await read(http, new_site, page_url=OLD))["total"] == 7


async def interrupted(app: Application, monkeypatch: pytest.MonkeyPatch, merging: Awaitable[Any]) -> None:
    """No comment is moved: the process dies where a page leads elsewhere already and its comments are still on it."""

    async def die(*args: Any, **kwargs: Any) -> int:
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(app.services.pages, "_move_comments", die)
        with pytest.raises(ConnectionError):
            await merging


async def test_an_interrupted_merge_of_a_page_that_has_moved_goes_on(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, pages = await create(http, new_site, "ada"), app.services.pages
    third = "https://blog.example.org/third"
    await write(ada, "old", url=OLD)
    await write(ada, "third", url=third)
    await pages.move(new_site.site, OLD, NEW)
    await interrupted(app, monkeypatch, pages.merge(new_site.site, NEW, third))
    assert (await pages.merge(new_site.site, NEW, third)).comments_moved == 1
    for url in (OLD, NEW, third):
        assert sorted(await texts(http, new_site, page_url=url)) == ["old", "third"]
    assert (await app.services.deep_doctor.run()).found == []


async def test_a_merge_picks_up_what_an_interrupted_one_before_it_left(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob, pages = await create(http, new_site, "ada"), await create(http, new_site, "bob"), app.services.pages
    third = "https://blog.example.org/third"
    left = await write(ada, "left", url=OLD)
    await vote(bob, left["i"], "up")
    await write(ada, "new", url=NEW)
    await write(ada, "third", url=third)
    await interrupted(app, monkeypatch, pages.merge(new_site.site, OLD, NEW))
    await pages.merge(new_site.site, NEW, third)
    assert (await pages.merge(new_site.site, OLD, third)).comments_moved == 1
    assert sorted(await texts(http, new_site, page_url=OLD)) == ["left", "new", "third"]
    votes = await bob.call("GET", f"/v1/pages/my_votes?page_url={third}")
    assert votes.json()["votes"] == {left["i"]: "up"}


async def test_an_interrupted_move_takes_along_what_waits_at_the_new_address(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site, "mo", Role.MODERATOR)
    await write(ada, "old", url=OLD)
    waiting = await write(ada, "waits", url=NEW)
    await mo.call("POST", f"/v1/moderation/reject/{waiting['i']}")
    await interrupted(app, monkeypatch, app.services.pages.move(new_site.site, OLD, NEW))
    await app.services.pages.move(new_site.site, OLD, NEW)
    await mo.call("POST", f"/v1/moderation/approve/{waiting['i']}")
    assert sorted(await texts(http, new_site, page_url=NEW)) == ["old", "waits"]


async def test_a_merged_page_stays_out_of_the_list_whatever_moderators_decide_meanwhile(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, mo = await create(http, new_site, "ada"), await staff(app, http, new_site, "mo", Role.MODERATOR)
    rejected, deleted = await write(ada, "rejected", url=OLD), await write(ada, "deleted", url=OLD)
    await write(ada, "new", url=NEW)
    await mo.call("POST", f"/v1/moderation/reject/{rejected['i']}")
    entry = (await mo.call("POST", f"/v1/moderation/delete/{deleted['i']}")).json()["undo"]
    await interrupted(app, monkeypatch, app.services.pages.merge(new_site.site, OLD, NEW))
    assert (await mo.call("POST", f"/v1/moderation/approve/{rejected['i']}")).status_code == 200
    assert (await mo.call("POST", f"/v1/moderation/undo/{entry}")).status_code == 200
    listed = (await mo.call("GET", f"/v1/admin/sites/{new_site.site.id}/pages")).json()["pages"]
    assert [page["url"] for page in listed] == [NEW]
    await app.services.pages.merge(new_site.site, OLD, NEW)
    assert sorted(await texts(http, new_site, page_url=NEW)) == ["deleted", "new", "rejected"]


async def test_what_a_merge_has_not_come_to_yet_can_be_answered_deleted_and_decided_about(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    mo = await staff(app, http, new_site, "mo", Role.MODERATOR)
    await write(ada, "new", url=NEW)
    root = await write(ada, "root", url=OLD)
    reply = await write(bob, "reply", under=[root["i"]], url=OLD)
    other = await write(ada, "other", url=OLD)
    below = await write(bob, "below", under=[other["i"]], url=OLD)
    await interrupted(app, monkeypatch, app.services.pages.merge(new_site.site, OLD, NEW))
    for url in (OLD, NEW):
        answer = await write(bob, f"at {url}", under=[root["i"], reply["i"]], url=url)
        place = {"page_url": url, "direction": "up"}
        assert (await ada.call("POST", f"/v1/comments/{other['i']}/vote", place)).status_code == 200
        assert (await ada.call("POST", f"/v1/comments/{answer['i']}/vote", place)).status_code == 200
    assert (await ada.call("DELETE", f"/v1/comments/{other['i']}")).status_code == 204
    assert (await bob.call("DELETE", f"/v1/comments/{below['i']}")).status_code == 204
    assert (await mo.call("POST", f"/v1/moderation/reject/{root['i']}")).status_code == 200
    await app.services.outbox.drain()
    await app.services.pages.merge(new_site.site, OLD, NEW)
    await app.services.outbox.drain()
    assert await texts(http, new_site, page_url=OLD) == ["new"]
    assert (await mo.call("POST", f"/v1/moderation/approve/{root['i']}")).status_code == 200
    await app.services.outbox.drain()
    thread = await read(http, new_site, page_url=NEW)
    assert thread["total"] == 5
    assert (await app.services.deep_doctor.run()).found == []


async def test_merging_in_a_crowd_loses_nothing(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    people = [await create(http, new_site, f"p{number}") for number in range(10)]
    roots = [(await write(ada, f"old {number}", url=OLD))["i"] for number in range(20)]
    await write(ada, "new", url=NEW)

    async def busy(person: Person) -> int:
        written = 0
        for number in range(10):
            await write(person, f"by {person.name} {number}", url=OLD)
            written += 1
            answer = await person.call("POST", f"/v1/comments/{roots[number]}/vote", {"direction": "up"})
            assert answer.status_code in (200, 409), answer.text  # 409: it moved in this very moment
            if answer.status_code == 409:
                assert (await vote(person, roots[number], "up"))["user_vote"] == "up"
        return written

    results = await asyncio.gather(
        *(busy(person) for person in people), app.services.pages.merge(new_site.site, OLD, NEW)
    )
    thread = await read(http, new_site, page_url=NEW)
    assert thread["total"] == len(thread["tree"]["c"]) == 21 + sum(results[:-1])  # type: ignore[arg-type]
    ups = {root["i"]: root["u"] for root in thread["tree"]["c"]}
    assert [ups[comment_id] for comment_id in roots[:10]] == [10] * 10
    ranked = await read(http, new_site, page_url=NEW, sort="top", limit=10)
    assert {root["i"] for root in ranked["tree"]["c"]} == set(roots[:10])


async def test_a_locked_page_says_so_and_takes_nothing(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await create(http, new_site, "ada")
    admin = await staff(app, http, new_site, "boss", Role.ADMIN)
    comment = await write(ada, "hi", url=OLD)
    thread = await read(http, new_site, page_url=OLD)
    assert "locked" not in thread
    path = f"/v1/admin/pages/{thread['page_id']}/posting"
    assert (await admin.call("GET", path)).json() == {"disabled": False}
    assert (await admin.call("PUT", path, {"disabled": True})).json() == {"disabled": True}
    assert (await admin.call("GET", path)).json() == {"disabled": True}
    refused = await ada.call("POST", "/v1/comments", {"page_url": OLD, "content": "more"})
    assert (refused.status_code, refused.json()["error"]) == (403, "Posting is disabled on this page")
    edit = await ada.call("PUT", f"/v1/comments/{comment['i']}", {"content": "changed"})
    assert edit.status_code == 403
    assert (await read(http, new_site, page_url=OLD))["locked"] is True
    await admin.call("PUT", path, {"disabled": False})
    await write(ada, "more", url=OLD)
    unknown = await admin.call(
        "PUT", "/v1/admin/pages/0197b0a0-0000-7000-8000-000000000000/posting", {"disabled": True}
    )
    assert unknown.status_code == 404


async def test_a_page_can_be_locked_before_anybody_wrote(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    await app.services.pages.lock_named(new_site.site, OLD, locked=True)
    answer = await post(http, new_site, "/v1/comments", {"page_url": OLD, "content": "first!", "author_name": "eve"})
    assert answer.status_code == 403
    assert (await read(http, new_site, page_url=OLD))["locked"] is True


async def test_moderators_see_the_pages_people_wrote_on(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada = await create(http, new_site, "ada")
    mo = await staff(app, http, new_site, "mo", Role.MODERATOR)
    path = f"/v1/admin/sites/{new_site.site.id}/pages"
    assert (await mo.call("GET", path)).json() == {"pages": [], "has_more": False}
    for number in range(3):
        body = {"page_url": f"https://blog.example.org/{number}", "content": "hi", "title": f"Post {number}"}
        await ada.call("POST", "/v1/comments", body)
        clock.advance(seconds=1)
    await ada.call("POST", "/v1/comments", {"page_url": "https://blog.example.org/0", "content": "again"})
    first = (await mo.call("GET", f"{path}?limit=2")).json()
    assert [(page["url"][-1], page["comments"], page["title"]) for page in first["pages"]] == [
        ("0", 2, "Post 0"),
        ("2", 1, "Post 2"),
    ]
    assert first["has_more"] is True
    rest = (await mo.call("GET", f"{path}?offset=2")).json()
    assert ([page["url"][-1] for page in rest["pages"]], rest["has_more"]) == (["1"], False)
    other = await mo.call("GET", "/v1/admin/sites/0197b0a0-0000-7000-8000-000000000000/pages")
    assert other.status_code == 403


async def test_lists_name_the_address_a_page_has_now(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "hi", url=OLD)
    await app.services.pages.move(new_site.site, OLD, NEW)
    (item,) = (await ada.call("GET", "/v1/users/me/comments")).json()["comments"]
    assert item["page_url"] == NEW


@pytest.mark.parametrize(
    "lure",
    [
        "https://evil.example/login",
        "HTTPS://Evil.example:443/login",
        "https://blog.example.org@evil.example/",
        "https://blog.example.org.evil.example/",
        "http:/\\evil.example",
        "https:///evil.example/login",
    ],
)
@pytest.mark.parametrize("name", ["article-1", None])
async def test_a_page_leads_nowhere_but_to_its_own_site_whoever_writes_first(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, lure: str, name: str | None
) -> None:
    eve, mo = await create(http, new_site, "eve"), await staff(app, http, new_site, "mo", Role.MODERATOR)
    place = {"page_url": lure} | ({"page_id": name} if name else {})
    root = (await eve.call("POST", "/v1/comments", {"content": "first!", "title": "Sign in", **place})).json()[
        "comment"
    ]
    reply = {"content": "and then?", "parent_path": [root["i"]], **place}
    assert (await mo.call("POST", "/v1/comments", reply)).status_code == 200
    await app.services.outbox.drain()
    await eve.call("POST", f"/v1/comments/{root['i']}/report", {})
    asked: dict[str, str] = {"page_id": name} if name else {"page_url": lure}
    seen = [
        await eve.call("GET", "/v1/notifications"),
        await eve.call("GET", "/v1/users/me/comments"),
        await mo.call("GET", f"/v1/admin/sites/{new_site.site.id}/pages"),
        await mo.call("GET", f"/v1/admin/sites/{new_site.site.id}/comments"),
        await http.get("/v1/feed.rss", params={"key": new_site.site.api_key_public}),
        await http.get("/v1/feed.atom", params={"key": new_site.site.api_key_public} | asked),
    ]
    assert [answer.status_code for answer in seen] == [200] * 6
    for answer in seen:
        assert "evil.example" not in answer.text.lower(), answer.text
    assert (await read(http, new_site, **asked))["total"] == 2


async def test_a_named_page_has_the_first_address_that_is_the_sites_and_owners_can_set_another(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, boss = await create(http, new_site, "ada"), await staff(app, http, new_site, "boss", Role.ADMIN)
    for url in ("https://evil.example/", OLD, NEW):
        await ada.call("POST", "/v1/comments", {"content": "hi", "page_id": "article-1", "page_url": url})
    path = f"/v1/admin/sites/{new_site.site.id}/pages"
    (page,) = (await boss.call("GET", path)).json()["pages"]
    assert page["url"] == OLD
    address = f"/v1/admin/pages/{page['page_id']}/address"
    changed = await boss.call("PUT", address, {"url": NEW, "title": "An article"})
    assert (changed.json()["url"], changed.json()["title"]) == (NEW, "An article")
    elsewhere = await boss.call("PUT", address, {"url": "https://evil.example/"})
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (400, "page_elsewhere")
    items = (await ada.call("GET", "/v1/users/me/comments")).json()["comments"]
    assert {item["page_url"] for item in items} == {NEW}
    assert await texts(http, new_site, page_url=NEW) == [], "found by its name, as before"


async def test_commands_know_pages_by_their_ids_too(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, pages, site = await create(http, new_site, "ada"), app.services.pages, new_site.site
    for name in ("one", "two", "three"):
        await ada.call("POST", "/v1/comments", {"content": name, "page_id": name})
    ours = (await read(http, new_site, page_id="three"))["page_id"]
    assert (await pages.lock_named(site, "one", locked=True)).page.locked
    assert (await read(http, new_site, page_id="one"))["locked"] is True
    await pages.lock_named(site, "one", locked=False)
    await pages.merge(site, "two", "one")
    await pages.merge(site, ours, "one")
    await pages.move(site, "one", NEW)
    assert sorted(await texts(http, new_site, page_url=NEW)) == ["one", "three", "two"]
    assert sorted(await texts(http, new_site, page_id="two")) == ["one", "three", "two"]
    with pytest.raises(PageElsewhere):
        await pages.move(site, "one", "https://evil.example/")
