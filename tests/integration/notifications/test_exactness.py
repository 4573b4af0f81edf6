"""The number of unread ones is exact, whatever happens in which order and how often. S3-51."""

import asyncio
import json
import random
from collections.abc import Coroutine
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.integration.comments.test_votes import vote
from tests.integration.notifications.inbox import answer, inbox, kept, settle
from tests.integration.outbox.entries import add
from tests.make import ManualClock
from tests.people import Person, guest
from threadkit.app import Application
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.notifications.model import Notification, NotificationId, notification_id, view_of
from threadkit.notifications.scripts import (
    AddNotification,
    ForgetComment,
    ListNotifications,
    ReadAllNotifications,
    ReadNotification,
    RemoveNotifications,
)
from threadkit.sites.model import NewSite

SITES = (SiteId("0197b7a2-6f1c-7c3e-8a41-2d9f6c1e5b70"), SiteId("0197b7a2-6f1c-7c3e-8a41-2d9f6c1e5b71"))
MOST = 12


class Model:
    """The same as a plain list, newest first."""

    def __init__(self) -> None:
        self.kept: list[Notification] = []

    def add(self, notice: Notification) -> None:
        if all(one.id != notice.id for one in self.kept):
            # Ids begin with the time, so they sort as the store does.
            self.kept = sorted([*self.kept, notice], key=lambda one: one.id, reverse=True)[:MOST]

    def read(self, site: SiteId, notice_id: NotificationId | None = None) -> bool:
        hits = [one for one in self.kept if one.site_id == site and notice_id in (None, one.id)]
        self.kept = [replace(one, read=True) if one in hits else one for one in self.kept]
        return bool(hits)

    def drop(self, site: SiteId, notice_id: NotificationId) -> int:
        before = len(self.kept)
        self.kept = [one for one in self.kept if not (one.site_id == site and one.id == notice_id)]
        return before - len(self.kept)

    def forget(self, site: SiteId, comment: CommentId) -> None:
        self.kept = [
            one
            for one in self.kept
            if not (one.site_id == site and one.comment_id == comment and one.notification_type != "mod_action")
        ]


@pytest.mark.parametrize("seed", range(5))
async def test_any_sequence_equals_a_plain_model_s3_51(
    app: Application, redis: Redis, clock: ManualClock, ada: Person, seed: int
) -> None:
    dice = random.Random(seed)
    store, keys, user = app.services.store.redis, app.services.keys, UserId(ada.id)
    model, ever = Model(), [notification_id(clock.now_ms(), "never")]
    comments = [CommentId(f"comment{number}") for number in range(6)]

    for step in range(250):
        site, some = dice.choice(SITES), dice.choice(ever[-2 * MOST :])
        match dice.choices(("add", "again", "read", "read all", "remove", "forget"), (8, 2, 4, 0.5, 2, 1))[0]:
            case "add":
                ms = clock.now_ms() - dice.choice((0, 0, 0, 1, 5_000))
                clock.advance(seconds=dice.choice((0, 0.001, 1)))
                notice = notice_of(
                    ms, f"{seed} {step}", site, dice.choice(comments), dice.choice(("reply", "mod_action"))
                )
                ever.append(notice.id)
                model.add(notice)
                await AddNotification(store, keys)(user, notice, seen(notice), most=MOST)
            case "again" if model.kept:
                notice = replace(dice.choice(model.kept), read=False)
                model.add(notice)
                assert not await AddNotification(store, keys)(user, notice, seen(notice), most=MOST)
            case "read":
                assert await ReadNotification(store, keys)(user, site, some) == model.read(site, some)
            case "read all":
                model.read(site)
                await ReadAllNotifications(store, keys)(user, site)
            case "remove":
                assert await RemoveNotifications(store, keys)(user, site, [some]) == model.drop(site, some)
            case "forget":
                comment = dice.choice(comments)
                model.forget(site, comment)
                await ForgetComment(store, keys)(user, site, comment)
        assert [(one["id"], one["read"]) for one in await kept(redis, ada)] == [
            (one.id, one.read) for one in model.kept
        ]
        mine = [one for one in model.kept if one.site_id == site]
        listed = await ListNotifications(store, keys)(user, site, offset=2, limit=3)
        assert [one.id for one in listed.notices] == [one.id for one in mine[2:5]]
        assert (listed.unread, listed.has_more) == (sum(not one.read for one in mine), len(mine) > 5)


def notice_of(ms: int, about: str, site: SiteId, comment: CommentId, kind: Any) -> Notification:
    return Notification(
        id=notification_id(ms, about),
        notification_type=kind,
        comment_id=comment,
        from_user_id=None,
        read=False,
        created_at="2025-12-06T00:00:00.000Z",
        site_id=site,
    )


def seen(notice: Notification) -> Any:
    return replace(view_of(notice, comment=None, page_url=None, sender=None), page_id=PageId("page"))


async def test_a_hundred_replies_and_votes_at_once_are_counted_exactly(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person
) -> None:
    people = [await guest(http, new_site) for _ in range(20)]
    root = await write(ada, "root")
    liked = [await write(ada, f"like {number}") for number in range(5)]
    at_once = asyncio.Semaphore(25)  # a busy machine answers more with 503

    async def in_turn(deed: Coroutine[Any, Any, Any]) -> None:
        async with at_once:
            await deed

    await asyncio.gather(
        *(in_turn(answer(people[number % 20], root, f"answer {number}")) for number in range(100)),
        *(in_turn(vote(person, comment["i"], "up")) for person in people for comment in liked),
    )
    await asyncio.gather(*(app.services.outbox.drain() for _ in range(4)))
    await settle(app)
    found = await kept(redis, ada)
    assert sum(one["notification_type"] == "reply" for one in found) == 100
    assert [one["count"] for one in found if one["notification_type"] == "upvote"] == [20] * 5
    assert (await inbox(ada))["unread_count"] == 105


async def test_a_hundred_scripts_at_once_leave_the_newest_and_exact_counts_s3_51(
    app: Application, redis: Redis, clock: ManualClock, ada: Person
) -> None:
    store, keys, user = app.services.store.redis, app.services.keys, UserId(ada.id)
    add_one, read_all = AddNotification(store, keys), ReadAllNotifications(store, keys)
    notices = [
        notice_of(clock.now_ms() + number % 7, str(number), SITES[number % 2], CommentId("c"), "reply")
        for number in range(100)
    ]
    twice = [add_one(user, notice, seen(notice), most=60) for notice in notices * 2]
    await asyncio.gather(*twice, *(read_all(user, SITES[0]) for _ in range(5)))
    newest = sorted((notice.id for notice in notices), reverse=True)[:60]
    assert [one["id"] for one in await kept(redis, ada)] == newest


async def test_reading_and_being_told_at_once_stays_exact(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person, eve: Person
) -> None:
    root = await write(ada, "root")
    for number in range(30):
        await answer(eve, root, f"answer {number}")
    reading = [ada.call("POST", "/v1/notifications/read") for _ in range(10)]
    await asyncio.gather(app.services.outbox.drain(), *reading, *(inbox(ada) for _ in range(5)))
    await settle(app)
    found = await kept(redis, ada)
    assert len(found) == 30
    assert (await inbox(ada))["unread_count"] == sum(not one["read"] for one in found)


async def test_the_same_entry_again_tells_nobody_anything_new(
    app: Application, new_site: NewSite, redis: Redis, ada: Person, eve: Person, bob: Person
) -> None:
    """As after a crash between the effect and the moment it is settled."""
    root = await write(ada, "root")
    await answer(eve, root, "hello @bob")
    await vote(eve, root["i"], "up")
    waiting: list[Any] = list(await redis.xrange(f"site:{new_site.site.id}:outbox") or [])
    entries = [(str(entry_id), json.loads(fields["event"])) for entry_id, fields in waiting]
    assert len(entries) == 3
    await settle(app)
    before = [await kept(redis, person) for person in (ada, bob)]
    assert [len(found) for found in before] == [2, 1]
    await ada.call("POST", "/v1/notifications/read")
    for _ in range(2):
        for entry_id, event in entries:
            for handler in app.services.outbox.handlers.of(event).values():
                await handler(new_site.site.id, entry_id, event)
    assert [[one["id"] for one in await kept(redis, person)] for person in (ada, bob)] == [
        [one["id"] for one in found] for found in before
    ]
    assert (await inbox(ada))["unread_count"] == 0
    assert [one["count"] for one in await kept(redis, ada) if "count" in one] == [1]


async def test_what_an_older_server_wrote_is_understood(
    app: Application, new_site: NewSite, redis: Redis, ada: Person, eve: Person
) -> None:
    await add(redis, new_site, "karma", user_id=ada.id, change=1)
    await add(redis, new_site, "comment_posted", user_id=eve.id)
    await settle(app)
    assert await kept(redis, ada) == []
