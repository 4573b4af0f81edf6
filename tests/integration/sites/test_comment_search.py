"""Moderators look for comments: by status, author, page and text, a bounded piece of work at a time."""

from typing import Any

import httpx
import pytest

from tests.integration.comments.test_comments import write
from tests.integration.moderation.test_decisions import decide
from tests.make import ManualClock
from tests.people import Person, create
from threadkit.app import Application
from threadkit.comments import search
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

BREAD, BEER = "https://blog.example.org/bread", "https://blog.example.org/beer"


@pytest.fixture
async def mo(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> Person:
    person = await create(http, new_site, "mo")
    await app.services.roles.grant(new_site.site.id, UserId(person.id), Role.MODERATOR)
    return person


async def look(mo: Person, site: NewSite, **sought: Any) -> dict[str, Any]:
    query = str(httpx.QueryParams(sought))
    answer = await mo.call("GET", f"/v1/admin/sites/{site.site.id}/comments?{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def texts(answer: dict[str, Any]) -> list[str]:
    return [item["comment"]["t"] for item in answer["comments"]]


async def test_each_filter_finds_its_own_and_together_they_find_less(
    http: httpx.AsyncClient, new_site: NewSite, mo: Person, clock: ManualClock
) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    written = {}
    for person, text, url in [
        (ada, "Rye is BEST", BREAD),
        (ada, "hops", BEER),
        (bob, "straße", BREAD),
        (bob, "rye beer", BEER),
    ]:
        clock.advance(seconds=1)
        written[text] = await write(person, text, url=url)
    await decide(mo, "reject", written["hops"]["i"])

    assert texts(await look(mo, new_site, q="rye")) == ["rye beer", "Rye is BEST"]
    assert texts(await look(mo, new_site, q="STRASSE")) == ["straße"]
    assert texts(await look(mo, new_site, author=ada.id)) == ["hops", "Rye is BEST"]
    assert texts(await look(mo, new_site, page_url=BEER)) == ["rye beer", "hops"]
    assert texts(await look(mo, new_site, page_url=BEER, status="approved")) == ["rye beer"]
    page_id = (await look(mo, new_site, author=bob.id, page_url=BREAD))["comments"][0]["page_id"]
    assert texts(await look(mo, new_site, page_id=page_id)) == ["straße", "Rye is BEST"]
    assert texts(await look(mo, new_site, status="rejected")) == ["hops"]
    assert texts(await look(mo, new_site, status="rejected", author=bob.id)) == []
    assert texts(await look(mo, new_site, q="rye", author=ada.id)) == ["Rye is BEST"]
    nothing = await look(mo, new_site, q="nowhere")
    assert (nothing["comments"], nothing["has_more"], nothing["next"], nothing["searched"]) == ([], False, None, 4)


async def test_what_waits_is_found_in_the_queue(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, mo: Person
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "shown")
    await app.services.sites.change(new_site.site.id, settings={"moderation_mode": "pre"})
    await write(ada, "held")
    answer = await look(mo, new_site, status="pending")
    assert (texts(answer), answer["searched"]) == (["held"], 1), "only the queue was looked through"


async def test_a_call_looks_through_so_many_and_the_cursor_goes_on(
    http: httpx.AsyncClient, new_site: NewSite, mo: Person, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MOST_LOOKED_AT", 4)
    monkeypatch.setattr(search, "BATCH", 2)
    ada = await create(http, new_site, "ada")
    for number in range(10):
        if number % 3 == 0:
            clock.advance(seconds=1)  # the others share their millisecond
        await write(ada, f"needle {number}" if number in (0, 9) else f"hay {number}")
    first = await look(mo, new_site, q="needle")
    assert (texts(first), first["searched"], first["has_more"]) == (["needle 9"], 4, True)
    await write(ada, "needle 10, which is newer than the search")
    second = await look(mo, new_site, q="needle", cursor=first["next"])
    assert (texts(second), second["searched"], second["has_more"]) == ([], 4, True)
    third = await look(mo, new_site, q="needle", cursor=second["next"])
    assert (texts(third), third["searched"], third["next"]) == (["needle 0"], 2, None)


async def test_a_search_pages_by_its_limit(http: httpx.AsyncClient, new_site: NewSite, mo: Person) -> None:
    ada = await create(http, new_site, "ada")
    for number in range(5):
        await write(ada, f"number {number}")
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await look(mo, new_site, q="number", limit=2, **cursor)
        seen += texts(answer)
        if answer["next"] is None:
            break
        cursor = {"cursor": answer["next"]}
    assert sorted(seen) == [f"number {number}" for number in range(5)]


async def test_without_anything_sought_it_is_the_list_it_was(
    http: httpx.AsyncClient, new_site: NewSite, mo: Person
) -> None:
    await write(await create(http, new_site, "ada"), "hello")
    answer = await look(mo, new_site, offset=0, limit=1)
    assert answer.keys() == {"comments", "has_more"}
    assert texts(answer) == ["hello"]


@pytest.mark.parametrize(
    "sought", [{"q": "x"}, {"q": "x" * 101}, {"status": "lost"}, {"author": "ada"}, {"cursor": "nonsense"}]
)
async def test_what_cannot_be_sought_is_refused(
    http: httpx.AsyncClient, new_site: NewSite, mo: Person, sought: dict[str, str]
) -> None:
    answer = await mo.call("GET", f"/v1/admin/sites/{new_site.site.id}/comments?{httpx.QueryParams(sought)}")
    assert answer.status_code in (400, 422)


async def test_another_sites_page_and_people_lead_to_nothing(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, mo: Person
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    stranger = await create(http, other, "stranger")
    there = await stranger.call("POST", "/v1/comments", {"page_url": "https://other.example/x", "content": "theirs"})
    assert there.status_code == 200
    assert texts(await look(mo, new_site, author=stranger.id)) == []
    assert texts(await look(mo, new_site, page_url="https://other.example/x")) == []
    assert texts(await look(mo, new_site, q="theirs")) == []
    wrong = await mo.call("GET", f"/v1/admin/sites/{other.site.id}/comments?q=theirs")
    assert (wrong.status_code, wrong.json()["code"]) == (403, "site_mismatch")
