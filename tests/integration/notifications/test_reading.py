"""The list, reading and throwing away; contract 4.4, S3-50."""

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.integration.notifications.inbox import answer, inbox, kept, settle, told
from tests.make import ManualClock
from tests.people import Person, create
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.settings import NotificationSettings, Settings
from threadkit.sites.model import NewSite
from threadkit.users.sessions import Device


class TestAList:
    @pytest.fixture
    async def texts(self, app: Application, clock: ManualClock, ada: Person, eve: Person) -> list[str]:
        """What ada was told, newest first; some of it at the same moment."""
        root = await write(ada, "root")
        for number in range(7):
            await answer(eve, root, f"answer {number}")
            clock.advance(seconds=number % 2)
        await settle(app)
        return [text for _, text in await told(ada)]

    async def test_comes_in_pages_newest_first(self, ada: Person, texts: list[str]) -> None:
        assert len(texts) == 7
        times = [one["created_at"] for one in (await inbox(ada))["notifications"]]
        assert times == sorted(times, reverse=True)
        pages = [await inbox(ada, f"?offset={offset}&limit=3") for offset in (0, 3, 6, 9)]
        assert [[one["excerpt"] for one in page["notifications"]] for page in pages] == [
            texts[:3],
            texts[3:6],
            texts[6:],
            [],
        ]
        assert [page["has_more"] for page in pages] == [True, True, False, False]
        assert {page["unread_count"] for page in pages} == {7}
        assert (await inbox(ada, "?limit=7"))["has_more"] is False

    async def test_stays_in_order_while_it_is_read(self, ada: Person, texts: list[str]) -> None:
        for one in (await inbox(ada))["notifications"][::2]:
            await ada.call("POST", f"/v1/notifications/{one['id']}/read")
        assert [text for _, text in await told(ada)] == texts

    @pytest.mark.parametrize("query", ["?limit=-1", "?offset=-1", "?offset=x", "?limit=1.5"])
    async def test_cannot_be_asked_for_nonsense(self, ada: Person, query: str) -> None:
        assert (await ada.call("GET", f"/v1/notifications{query}")).status_code == 400

    async def test_can_be_asked_for_nothing_and_for_more_than_there_is(self, ada: Person, texts: list[str]) -> None:
        empty = await inbox(ada, "?limit=0")
        assert (empty["notifications"], empty["has_more"], empty["unread_count"]) == ([], True, 7)
        assert len((await inbox(ada, "?limit=100000"))["notifications"]) == 7


async def test_one_and_all_can_be_marked_as_read_s3_50(
    app: Application, redis: Redis, ada: Person, eve: Person
) -> None:
    root = await write(ada, "root")
    for number in range(3):
        await answer(eve, root, f"answer {number}")
    await settle(app)
    first = (await inbox(ada))["notifications"][0]
    for _ in range(2):  # again is fine
        assert (await ada.call("POST", f"/v1/notifications/{first['id']}/read")).status_code == 200
    page = await inbox(ada)
    assert [one["read"] for one in page["notifications"]] == [True, False, False]
    assert page["unread_count"] == 2
    assert (await ada.call("GET", "/v1/users/me")).json()["unread_notifications"] == 2
    for _ in range(2):
        assert (await ada.call("POST", "/v1/notifications/read")).status_code == 200
    page = await inbox(ada)
    assert ([one["read"] for one in page["notifications"]], page["unread_count"]) == ([True] * 3, 0)
    assert [one["read"] for one in await kept(redis, ada)] == [True] * 3


async def test_one_can_be_thrown_away_read_or_not(app: Application, redis: Redis, ada: Person, eve: Person) -> None:
    root = await write(ada, "root")
    for number in range(3):
        await answer(eve, root, f"answer {number}")
    await settle(app)
    first, second, _ = (await inbox(ada))["notifications"]
    await ada.call("POST", f"/v1/notifications/{first['id']}/read")
    for one, status in ((first, 204), (second, 204), (first, 404)):
        assert (await ada.call("DELETE", f"/v1/notifications/{one['id']}")).status_code == status
    assert len(await kept(redis, ada)) == 1
    assert (await inbox(ada))["unread_count"] == 1


@pytest.mark.parametrize(
    ("notice_id", "status"),
    [("01a1e1d5-9217-7000-be42-7b27b41a2a52", 404), ("x", 400)],
)
async def test_what_is_not_there_cannot_be_read_or_thrown_away(ada: Person, notice_id: str, status: int) -> None:
    assert (await ada.call("POST", f"/v1/notifications/{notice_id}/read")).status_code == status
    assert (await ada.call("DELETE", f"/v1/notifications/{notice_id}")).status_code == status


async def test_nobody_reads_or_touches_what_another_was_told(
    app: Application, redis: Redis, ada: Person, eve: Person
) -> None:
    await answer(eve, await write(ada, "root"), "for ada")
    await settle(app)
    (notice,) = (await inbox(ada))["notifications"]
    assert await told(eve) == []
    assert (await eve.call("POST", f"/v1/notifications/{notice['id']}/read")).status_code == 404
    assert (await eve.call("DELETE", f"/v1/notifications/{notice['id']}")).status_code == 404
    await eve.call("POST", "/v1/notifications/read")
    assert [one["read"] for one in await kept(redis, ada)] == [False]


async def test_each_site_has_its_own_share_and_its_own_count(
    app: Application, http: httpx.AsyncClient, redis: Redis, ada: Person, eve: Person
) -> None:
    """A user belongs to the server, a token to a site: what happened elsewhere is neither shown nor counted nor read."""
    await answer(eve, await write(ada, "root"), "here")
    other = await app.services.sites.create("Other", "other.example")
    there = await create(http, other, "stranger")
    elsewhere = await signed_in_on(app, http, other, ada)
    await answer(there, await write(elsewhere, "root"), "there")
    await settle(app)
    assert await told(ada) == [("reply", "here")]
    assert await told(elsewhere) == [("reply", "there")]
    (notice,) = (await inbox(elsewhere))["notifications"]
    assert (await ada.call("POST", f"/v1/notifications/{notice['id']}/read")).status_code == 404
    assert (await ada.call("DELETE", f"/v1/notifications/{notice['id']}")).status_code == 404
    await ada.call("POST", "/v1/notifications/read")
    assert (await inbox(ada))["unread_count"] == 0
    assert (await inbox(elsewhere))["unread_count"] == 1
    assert (await elsewhere.call("GET", "/v1/users/me")).json()["unread_notifications"] == 1
    assert (await ada.call("GET", "/v1/users/me")).json()["unread_notifications"] == 0
    assert len(await kept(redis, ada)) == 2
    stray = Person(http, other.site.api_key_public, ada.token, ada.id, "ada")
    assert (await stray.call("GET", "/v1/notifications")).status_code == 401


async def signed_in_on(app: Application, http: httpx.AsyncClient, site: NewSite, person: Person) -> Person:
    user = await app.services.users.existing(UserId(person.id))
    opened = await app.services.sessions.open(user, site.site.id, Device("test", "client"))
    return Person(http, site.site.api_key_public, opened.token, person.id, person.name)


class TestAFullBox:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return replace(settings, notifications=NotificationSettings(most=5))

    async def test_keeps_the_newest_and_counts_them_right_s3_50(
        self, app: Application, redis: Redis, clock: ManualClock, ada: Person, eve: Person
    ) -> None:
        root = await write(ada, "root")
        for number in range(8):
            clock.advance(seconds=1)
            await answer(eve, root, f"answer {number}")
            await settle(app)
            if number == 5:  # of those that stay, one is read
                (newest, *_) = (await inbox(ada))["notifications"]
                await ada.call("POST", f"/v1/notifications/{newest['id']}/read")
        assert [text for _, text in await told(ada)] == [f"answer {number}" for number in (7, 6, 5, 4, 3)]
        assert (await inbox(ada))["unread_count"] == 4
        assert len(await kept(redis, ada)) == 5

    async def test_has_no_room_for_what_is_older_than_all_of_it(
        self, app: Application, redis: Redis, clock: ManualClock, ada: Person, eve: Person
    ) -> None:
        root = await write(ada, "root")
        late = await answer(eve, root, "late")
        for number in range(6):
            clock.advance(seconds=1)
            await answer(eve, root, f"answer {number}")
        await settle(app)
        assert len(await kept(redis, ada)) == 5
        event = f'{{"type":"comment_posted","user_id":"{eve.id}","comment_id":"{late["i"]}"}}'
        await redis.xadd(f"site:{(await kept(redis, ada))[0]['site_id']}:outbox", {"event": event})
        await settle(app)
        assert "late" not in [text for _, text in await told(ada)]
        assert len(await kept(redis, ada)) == 5
