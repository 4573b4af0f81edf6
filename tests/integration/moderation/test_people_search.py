"""Looking for people: who wrote here, who is on a list, and for admins anybody by exact name or address."""

from typing import Any

import httpx
import pytest

from tests.integration.comments.test_comments import write
from tests.make import ManualClock
from tests.people import Person, create, guest
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.moderation import people_search
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role


async def staff(app: Application, http: httpx.AsyncClient, site: NewSite, name: str, role: Role) -> Person:
    person = await create(http, site, name)
    await app.services.roles.grant(site.site.id, UserId(person.id), role)
    return person


@pytest.fixture
async def mo(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await staff(app, http, new_site, "mo", Role.MODERATOR)


@pytest.fixture
async def admin(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await staff(app, http, new_site, "boss", Role.ADMIN)


async def look(person: Person, **sought: Any) -> dict[str, Any]:
    answer = await person.call("GET", f"/v1/moderation/users?{httpx.QueryParams(sought)}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def names(answer: dict[str, Any]) -> list[str]:
    return [person["user"]["name"] for person in answer["people"]]


async def test_those_who_wrote_here_are_found_by_a_part_of_their_name(
    http: httpx.AsyncClient, new_site: NewSite, mo: Person, clock: ManualClock
) -> None:
    for name in ("Hannah", "anna", "bob"):
        person = await create(http, new_site, name)
        for _ in range(2):
            clock.advance(seconds=1)
            await write(person, "hello")
    await create(http, new_site, "joanna")
    assert names(await look(mo, q="ANN")) == ["anna", "Hannah"], "who begins with it comes first"
    assert names(await look(mo, q="Hannah")) == ["Hannah"]
    assert names(await look(mo)) == ["bob", "anna", "Hannah"]
    found = (await look(mo, q="bob"))["people"][0]
    assert (found["comments"], found["role"], found["is_banned"], found["is_guest"]) == (2, "user", False, False)


async def test_guests_are_found_by_the_name_they_gave(
    http: httpx.AsyncClient, new_site: NewSite, admin: Person
) -> None:
    await write(await guest(http, new_site, "wanda"), "hello")
    [found] = (await look(admin, q="wanda"))["people"]
    assert found["is_guest"]


async def test_only_admins_find_who_has_not_written_and_only_by_all_of_the_name_or_address(
    http: httpx.AsyncClient, new_site: NewSite, mo: Person, admin: Person
) -> None:
    silent = await create(http, new_site, "silent", "silent@example.org")
    for whole in ("silent", "Silent@Example.org", "silent@example.org"):
        assert names(await look(mo, q=whole)) == []
        assert names(await look(admin, q=whole)) == ["silent"]
    for part in ("sil", "silent@", "example.org", "silent@example.or"):
        assert names(await look(admin, q=part)) == []
    assert names(await look(mo, q=silent.id)) == names(await look(admin, q=silent.id.upper())) == ["silent"]


async def test_nobody_is_shown_an_address(
    http: httpx.AsyncClient, new_site: NewSite, mo: Person, admin: Person
) -> None:
    ada = await create(http, new_site, "ada", "ada@example.org")
    await write(ada, "hello")
    for person, sought in ((mo, "ada"), (admin, "ada@example.org")):
        answer = await person.call("GET", f"/v1/moderation/users?q={sought}")
        assert '"ada"' in answer.text
        assert "example.org" not in answer.text


async def test_lists_of_the_banned(http: httpx.AsyncClient, new_site: NewSite, mo: Person, clock: ManualClock) -> None:
    ada, bob, eve = [await create(http, new_site, name) for name in ("ada", "bob", "eve")]
    await mo.call("POST", f"/v1/moderation/ban/{ada.id}", {})
    await mo.call("POST", f"/v1/moderation/ban/{bob.id}", {"hours": 1})
    await mo.call("POST", f"/v1/moderation/shadowban/{eve.id}")
    assert sorted(names(await look(mo, standing="banned"))) == ["ada", "bob"]
    assert names(await look(mo, standing="banned", q="BO")) == ["bob"]
    assert names(await look(mo, standing="shadowbanned")) == ["eve"]
    assert (await look(mo, standing="banned", q="bob"))["people"][0]["banned_until"] is not None
    clock.advance(seconds=3601)
    assert names(await look(mo, standing="banned")) == ["ada"], "the other ban is over"


async def test_a_call_looks_through_so_many_and_the_cursor_goes_on(
    http: httpx.AsyncClient, new_site: NewSite, mo: Person, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people_search, "MOST_LOOKED_AT", 4)
    monkeypatch.setattr(people_search, "BATCH", 2)
    for number in range(6):
        clock.advance(seconds=1)
        await write(await create(http, new_site, f"writer-{number}"), "hello")
    first = await look(mo, q="writer")
    assert (names(first), first["searched"]) == (["writer-5", "writer-4", "writer-3", "writer-2"], 4)
    second = await look(mo, q="writer", cursor=first["next"])
    assert (names(second), second["next"]) == (["writer-1", "writer-0"], None)
    assert names(await look(mo, q="writer", limit=1)) == ["writer-5"]


async def test_another_sites_people_are_not_among_those_who_wrote(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, mo: Person
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    stranger = await create(http, other, "stranger")
    await stranger.call("POST", "/v1/comments", {"page_url": "https://other.example/x", "content": "theirs"})
    assert names(await look(mo, q="stranger")) == []


@pytest.mark.parametrize(
    "sought", [{"q": ""}, {"standing": "x"}, {"cursor": "x"}, {"standing": "banned", "cursor": "x"}]
)
async def test_what_cannot_be_sought_is_refused(mo: Person, sought: dict[str, str]) -> None:
    answer = await mo.call("GET", f"/v1/moderation/users?{httpx.QueryParams(sought)}")
    assert answer.status_code in (400, 422)
