"""`threadkit user`: bans as whoever runs the server types them."""

from functools import partial

import httpx
import pytest

from tests.integration.comments.test_comments import URL, read, write
from tests.integration.live.ears import serving
from tests.integration.moderation.test_people import abroad
from tests.integration.outbox.entries import Owner
from tests.people import create
from tests.stores import url_of
from tests.wait import until
from threadkit.app import Application
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore

DRAFT = {"page_url": URL, "content": "may I?"}


@pytest.fixture
def owner(bundled: BundledStore, settings: Settings) -> Owner:
    return Owner(url_of(bundled), settings)


async def test_somebody_is_banned_everywhere_and_let_back_in_s3_41(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, owner: Owner
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    ada = await create(http, new_site, "ada", "ada@example.org")
    far = await abroad(app, http, ada, other)
    async with serving(app) as live, live.ear(ada.key, ada.token) as here, live.ear(far.key, far.token) as there:
        for ear in (here, there):
            await ear.hear_of("connected")
        done = await owner.types("user", "ban", "--everywhere", "--reason", "spam", "ada@example.org")
        assert (done.returncode, done.stdout) == (0, "ada is banned on every site.\n"), done.stderr
        for ear in (here, there):
            assert (await ear.hear_of("error", seconds=1))["code"] == "user_banned"
    assert [(await one.call("POST", "/v1/comments", DRAFT)).status_code for one in (ada, far)] == [403, 403]
    shown = await owner.reads("user", "show", ada.id)
    assert (shown["banned_everywhere"], shown["bans"]) == (True, {})
    assert "as before" in (await owner.types("user", "ban", "--everywhere", "ada")).stdout
    done = await owner.types("user", "unban", "--everywhere", ada.id)
    assert (done.returncode, done.stdout) == (0, "ada is not banned on every site.\n")
    assert [(await one.call("POST", "/v1/comments", DRAFT)).status_code for one in (ada, far)] == [200, 200]


async def test_a_ban_of_one_site_with_an_end_and_with_all_they_wrote(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, owner: Owner
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "gone soon")
    done = await owner.types("user", "ban", "--site", "Blog", "--for", "30d", "--delete-comments", "ada")
    assert done.returncode == 0, done.stderr
    assert "1 comments are looked through" in done.stdout
    assert (await ada.call("POST", "/v1/comments", DRAFT)).status_code == 403

    async def is_empty() -> bool:
        return bool((await read(http, new_site))["total"] == 0)

    await until(is_empty, "the comment to go")
    card = await owner.reads("user", "show", "--site", "Blog", "ada")
    assert (card["ban"]["by"], card["role"], card["notes"]) == (None, "user", [])
    assert "banned until" in (await owner.types("user", "show", "--site", "Blog", "ada")).stdout
    assert list((await owner.reads("user", "show", "ada"))["bans"]) == ["Blog"]
    assert (await owner.types("user", "unban", "--site", "Blog", "ada")).stdout == "ada is not banned on Blog.\n"
    assert (await ada.call("POST", "/v1/comments", DRAFT)).status_code == 200


async def test_a_shadow_ban_is_typed_too(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, owner: Owner
) -> None:
    ada = await create(http, new_site, "ada")

    async def shows(number: int) -> bool:
        await app.services.outbox.drain()
        return bool((await read(http, new_site))["total"] == number)

    for before, words in enumerate([("--site", "Blog"), ("--everywhere",)]):
        assert "is shadow-banned on" in (await owner.types("user", "ban", "--shadow", *words, "ada")).stdout
        await write(ada, "ghost")
        assert (await read(http, new_site))["total"] == before
        assert "is not shadow-banned on" in (await owner.types("user", "unban", "--shadow", *words, "ada")).stdout
        await until(partial(shows, before + 1), "what was written under it to be shown")


async def test_what_makes_no_sense_is_said_in_a_sentence(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, owner: Owner
) -> None:
    await create(http, new_site, "ada")
    for words, expected in (
        (("ban", "ada"), "either --site SITE or --everywhere"),
        (("ban", "--site", "Blog", "--everywhere", "ada"), "either --site SITE or --everywhere"),
        (("ban", "--everywhere", "--for", "24h", "ada"), "--for"),
        (("ban", "--everywhere", "--delete-comments", "ada"), "--delete-comments"),
        (("ban", "--site", "Blog", "--reason", "x" * 501, "ada"), "500 characters"),
        (("unban", "--everywhere", "nobody"), "there is nobody"),
        (("ban", "--site", "Nowhere", "ada"), "no site"),
    ):
        done = await owner.types("user", *words)
        assert (done.returncode, expected in done.stderr, "Traceback" in done.stderr) == (1, True, False), words


async def test_whoever_runs_the_server_signs_somebody_out(
    http: httpx.AsyncClient, new_site: NewSite, owner: Owner
) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    done = await owner.types("user", "sign-out", "ada")
    assert (done.returncode, done.stdout) == (0, "ada is signed out everywhere: 1 session ended.\n"), done.stderr
    assert [(await one.call("GET", "/v1/users/me")).status_code for one in (ada, bob)] == [401, 200]
