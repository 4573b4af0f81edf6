"""Somebody leaves: what they were told goes, and others are no longer told of them. Contract 4.4."""

from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.integration.comments.test_votes import vote
from tests.integration.notifications.inbox import answer, inbox, kept, settle, told
from tests.integration.users.test_profiles import everything
from tests.people import Person
from threadkit.app import Application


async def much_between(ada: Person, eve: Person, bob: Person) -> None:
    root = await write(ada, "root")
    mine = await answer(eve, root, "hello @bob from eve")
    await answer(bob, root, "hello")
    await answer(ada, mine, "hello @bob")
    await vote(eve, root["i"], "up")
    await vote(bob, root["i"], "up")
    await vote(ada, mine["i"], "up")


async def test_nothing_of_who_left_is_left_and_the_others_are_counted_right(
    app: Application, redis: Redis, ada: Person, eve: Person, bob: Person
) -> None:
    await much_between(ada, eve, bob)
    await settle(app)
    assert [len(await kept(redis, person)) for person in (ada, eve, bob)] == [3, 2, 2]
    assert (await ada.call("DELETE", "/v1/users/me")).status_code == 200
    assert ada.id not in await everything(redis)
    assert [await told(person) for person in (eve, bob)] == [
        [("upvote", "hello @bob from eve")],
        [("mention", "hello @bob from eve")],
    ]
    (notice,) = (await inbox(eve))["notifications"]
    assert (notice["from_user_id"], notice["from_user"], notice["count"]) == (None, None, 1)
    assert [len(await kept(redis, person)) for person in (eve, bob)] == [1, 1]


async def test_a_voter_who_left_is_not_named_by_what_comes_after(
    app: Application, redis: Redis, ada: Person, eve: Person, bob: Person
) -> None:
    comment = await write(ada, "like me")
    await vote(eve, comment["i"], "up")
    await settle(app)
    await eve.call("DELETE", "/v1/users/me")
    assert eve.id not in await everything(redis)
    await vote(bob, comment["i"], "up")
    await settle(app)
    (notice,) = (await inbox(ada))["notifications"]
    assert (notice["count"], notice["from_user_id"]) == (2, bob.id)


async def test_what_waited_when_somebody_left_is_not_told(
    app: Application, redis: Redis, ada: Person, eve: Person, bob: Person
) -> None:
    await much_between(ada, eve, bob)
    await ada.call("DELETE", "/v1/users/me")
    await settle(app)
    assert await told(eve) == []
    assert await told(bob) == [("mention", "hello @bob from eve")]
    assert ada.id not in await everything(redis)
    assert [len(await kept(redis, person)) for person in (eve, bob)] == [0, 1]


async def test_an_export_has_what_one_was_told_and_what_one_chose(app: Application, ada: Person, eve: Person) -> None:
    root = await write(ada, "root")
    reply = await answer(eve, root, "hello")
    await ada.call("PUT", "/v1/notifications/settings", {"mention": False})
    await settle(app)
    export = (await ada.call("GET", "/v1/users/me/export")).json()
    (notice,) = export["notifications"]
    assert (notice["notification_type"], notice["comment_id"], notice["read"]) == ("reply", reply["i"], False)
    assert export["unread_notifications"] == 1
    everything = {"reply": True, "mention": False, "upvote": True, "mod_action": True, "report_outcome": True}
    assert export["notification_settings"] == everything
