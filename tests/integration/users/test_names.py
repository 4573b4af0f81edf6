"""Names that imitate: whoever takes a name, by whatever way, can be taken for nobody else."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.users.test_host_site_users import signed
from tests.make import ManualClock
from tests.people import Letterbox, Person, create, guest, post
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

PASSWORD = "correct horse battery"
Taking = Callable[[str], Awaitable[httpx.Response]]
Vouch = Callable[[str, str], Awaitable[Person]]


@pytest.fixture(autouse=True)
def _letterbox(letterbox: Letterbox) -> Letterbox:
    return letterbox


@pytest.fixture
async def vouch(app: Application, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock) -> Vouch:
    """Users of the host site, by their id and name there."""
    secret = await app.services.sites.rotate_sso_secret(new_site.site.id)

    async def vouched(sub: str, name: str) -> Person:
        answer = await post(http, new_site, "/v1/auth/sso", {"token": signed(secret, clock, sub=sub, name=name)})
        return Person.of(http, new_site.site.api_key_public, answer.json())

    return vouched


@pytest.fixture(params=["registration", "code", "rename", "free?"])
async def take(
    request: pytest.FixtureRequest, http: httpx.AsyncClient, new_site: NewSite, letterbox: Letterbox
) -> Taking:
    """Every way in which a member gets a name; a question about it is answered as if it were one."""
    member = await create(http, new_site, "zoe")

    async def by_registration(name: str) -> httpx.Response:
        return await post(
            http, new_site, "/v1/auth/register", {"name": name, "email": "n@example.org", "password": PASSWORD}
        )

    async def by_code(name: str) -> httpx.Response:
        await post(http, new_site, "/v1/auth/send-otp", {"email": "n@example.org"})
        body = {"email": "n@example.org", "code": letterbox.newest_code(), "name": name}
        return await post(http, new_site, "/v1/auth/verify-otp", body)

    async def by_rename(name: str) -> httpx.Response:
        return await member.call("PUT", "/v1/users/me", {"name": name})

    async def by_question(name: str) -> httpx.Response:
        said = (await post(http, new_site, "/v1/users/check-username", {"username": name})).json()
        return httpx.Response(200 if said["available"] else 400, json=said)

    return {"registration": by_registration, "code": by_code, "rename": by_rename, "free?": by_question}[request.param]


@pytest.mark.parametrize("name", ["admin", "M0derator", "adm1n", "Owner", "deleted", "the-admin", "B1og"])
async def test_a_reserved_word_is_nobodys_name(take: Taking, name: str) -> None:
    answer = await take(name)
    assert answer.status_code == 400, answer.text
    assert "kept for those who run the site" in answer.json()["error"]


async def test_a_name_that_looks_like_anothers_is_taken(
    take: Taking, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    await create(http, new_site, "Paul")
    answer = await take("PauI")
    assert answer.status_code in (400, 409), answer.text
    assert "looks too much like" in answer.json()["error"]
    assert (await take("pavel")).status_code == 200


async def test_a_hundred_look_alikes_at_once_make_one_member(http: httpx.AsyncClient, new_site: NewSite) -> None:
    looks = ["lllll"[:place] + letter + "lllll"[place + 1 :] for place in range(5) for letter in "l1I"] * 7
    tries = [
        post(
            http,
            new_site,
            "/v1/auth/register",
            {"name": name, "email": f"n{number}@example.org", "password": PASSWORD},
            **{"x-forwarded-for": f"203.0.113.{number}"},
        )
        for number, name in enumerate(looks[:100])
    ]
    statuses = [answer.status_code for answer in await asyncio.gather(*tries)]
    assert (statuses.count(200), statuses.count(409)) == (1, 99)


async def test_a_name_that_was_given_up_is_free_with_all_that_looks_like_it(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    one, other = await create(http, new_site, "paul"), await create(http, new_site, "zoe")
    assert (await other.call("PUT", "/v1/users/me", {"name": "pau1"})).status_code == 409
    assert (await one.call("PUT", "/v1/users/me", {"name": "PAUL"})).status_code == 200, "one's own"
    assert (await one.call("PUT", "/v1/users/me", {"name": "karl"})).status_code == 200
    assert (await other.call("PUT", "/v1/users/me", {"name": "pau1"})).status_code == 200
    assert (await other.call("DELETE", "/v1/users/me")).status_code == 200
    assert [key async for key in redis.scan_iter("lookalike:*")] == ["lookalike:karl"]


async def test_the_secret_key_may_give_any_name_that_is_meant(http: httpx.AsyncClient, new_site: NewSite) -> None:
    async def made(name: str, **more: object) -> httpx.Response:
        headers = {"projectid": new_site.secret_key}
        return await http.post("/v1/admin/create-user", json={"name": name} | more, headers=headers)

    refused = await made("Аdministrator")
    assert refused.status_code == 400
    assert "alphabets" in refused.json()["error"]
    refused = await made("Administrator")
    assert refused.status_code == 400
    assert "allow_reserved" in refused.json()["error"]
    assert (await made("Administrator", allow_reserved=True)).status_code == 200
    assert (await made("Administrat0r", allow_reserved=True)).status_code == 400, "looks like the one that is there"
    for name in ("ad\u200bam", "a\u0336\u0336", "\u3164", "__anon-abcdefghij-x"):
        assert (await made(name, allow_reserved=True)).status_code == 400, name
    for name in ("नमस्ते", "می\u200cخواهم", "Zoë 👩\u200d💻"):
        assert (await made(name)).status_code == 200, name


@pytest.mark.parametrize("name", ["Admin", "аdmin", "m0derator", "blog", "ma\u0336\u0336ry", "\u3164", "Mona", "rn0na"])
async def test_guests_cannot_pass_for_those_who_run_the_site(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, name: str
) -> None:
    mona = await create(http, new_site, "mona")
    await app.services.roles.grant(new_site.site.id, UserId(mona.id), Role.MODERATOR)
    visitor = await guest(http, new_site, "bob")
    without_account = {"page_url": "https://blog.example.org/a", "content": "hello", "author_name": name}
    answers = [
        await post(http, new_site, "/v1/auth/anonymous", {"name": name}),
        await visitor.call("PUT", "/v1/users/me", {"name": name}),
        await post(http, new_site, "/v1/comments", without_account),
    ]
    if name in ("\u3164", "ma\u0336\u0336ry"):  # what is not a letter has always been left out of a guest's name
        answers = answers[2:]
    assert {answer.status_code for answer in answers} <= {400, 409}, [answer.text for answer in answers]


async def test_guests_may_be_called_as_members_are(http: httpx.AsyncClient, new_site: NewSite) -> None:
    await create(http, new_site, "paul")
    assert (await guest(http, new_site, "paul")).name.endswith("-paul")
    assert (await guest(http, new_site, "हिन्दी")).name.endswith("-हिन्दी")
    for name in ("Paul", "Guest", "Anonymous"):
        body = {"page_url": f"https://blog.example.org/{name}", "content": f"hello, {name}", "author_name": name}
        assert (await post(http, new_site, "/v1/comments", body, **{"user-agent": name})).status_code == 200


async def test_a_host_sites_user_is_not_called_as_its_staff(vouch: Vouch) -> None:
    for sub, name in (("1", "Admin"), ("2", "ＡＤＭＩＮ"), ("3", "moderator")):
        assert (await vouch(sub, name)).name.startswith("user-"), name
    paul, other = await vouch("4", "paul"), await vouch("5", "pau1")
    assert (paul.name, other.name[:5]) == ("paul", "pau1-")


async def test_the_name_a_host_site_gave_is_checked_when_it_is_confirmed(vouch: Vouch) -> None:
    person = await vouch("1", "Blog")
    answer = await person.call("PUT", "/v1/users/me", {"name": person.name})
    assert (answer.status_code, answer.json()["code"]) == (400, "reserved_username")


async def test_a_member_of_before_look_alikes_were_noted_is_protected_by_the_name_itself(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    await create(http, new_site, "paul")
    await redis.delete("lookalike:paul")
    answer = await post(http, new_site, "/v1/users/check-username", {"username": "PauI"})
    assert answer.json()["available"] is False
