"""From a deed to what people are told of it: replies, mentions, votes, and what moderators did. Contract 4.4, S3-50."""

import httpx
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import URL, read, write
from tests.integration.comments.test_votes import vote
from tests.integration.notifications.inbox import answer, inbox, kept, settle, told
from tests.make import ManualClock
from tests.people import Person, guest, post
from threadkit.app import Application
from threadkit.clock import iso
from threadkit.ids import UserId
from threadkit.notifications.model import ModAction
from threadkit.sites.model import NewSite


async def test_whoever_is_answered_is_told_as_the_contract_says(
    app: Application, new_site: NewSite, clock: ManualClock, ada: Person, eve: Person
) -> None:
    root = await write(ada, "root")
    reply = await answer(eve, root, "I **do** agree\n\n> with <this> & that")
    await settle(app)
    page = await inbox(ada)
    (notice,) = page["notifications"]
    assert (page["unread_count"], page["has_more"]) == (1, False)
    person = notice.pop("from_user")
    assert (person["id"], person["name"], person["karma"]) == (eve.id, "eve", 0)
    assert notice == {
        "id": notice["id"],
        "notification_type": "reply",
        "comment_id": reply["i"],
        "from_user_id": eve.id,
        "read": False,
        "created_at": iso(clock.now_ms()),
        "from_name": "eve",
        "count": 1,
        "site_id": new_site.site.id,
        "page_id": notice["page_id"],
        "page_url": URL,
        "excerpt": "I do agree with <this> & that",
        "action": None,
        "reason": None,
        "outcome": None,
    }
    assert (await ada.call("GET", "/v1/users/me")).json()["unread_notifications"] == 1
    assert (await inbox(eve)) == {"notifications": [], "unread_count": 0, "has_more": False}


async def test_the_store_has_the_six_fields_and_no_words_of_others_s3_50(
    app: Application, redis: Redis, ada: Person, eve: Person
) -> None:
    await answer(eve, await write(ada, "root"), "my words")
    await settle(app)
    (member,) = await kept(redis, ada)
    assert next(iter(member)) == "id"
    six = {"id", "notification_type", "comment_id", "from_user_id", "read", "created_at"}
    assert set(member) == six | {"site_id"}


async def test_whoever_is_named_is_told_and_whoever_is_answered_too_only_once(
    app: Application, ada: Person, eve: Person, bob: Person
) -> None:
    root = await write(ada, "root")
    await answer(eve, root, "what do you say, @bob and @ada?")
    await settle(app)
    assert await told(bob) == [("mention", "what do you say, @bob and @ada?")]
    assert await told(ada) == [("reply", "what do you say, @bob and @ada?")]


async def test_whoever_is_answered_is_told_however_deep_the_thread_is_s3_17(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person, eve: Person, bob: Person
) -> None:
    chain = [await write(bob, "0")]
    for number in range(1, 101):
        chain.append(await answer(eve if number == 100 else bob, chain[-1], str(number)))
    reply = await answer(ada, chain[-1], "to eve")
    further = await answer(eve, reply, "back to ada")
    assert [reply["q"], further["q"]] == [chain[100]["i"], reply["i"]]
    await settle(app)
    assert ("reply", "to eve") in await told(eve)
    assert await told(ada) == [("reply", "back to ada")]
    assert ("reply", "to eve") not in await told(bob), "it hangs on his comment, but does not answer it"
    level = (await read(http, new_site))["tree"]["c"]
    for _ in range(100):
        level = level[0]["r"]
    assert [(node["t"], node["q"]) for node in level] == [
        ("100", chain[99]["i"]),
        ("to eve", chain[100]["i"]),
        ("back to ada", reply["i"]),
    ]
    assert (await eve.call("DELETE", f"/v1/comments/{further['i']}")).status_code == 204
    await settle(app)
    assert await told(ada) == []
    assert await disagreements(redis, shadowed=()) == []


async def test_an_edit_tells_those_it_names_anew_and_takes_it_from_those_it_names_no_longer(
    app: Application, redis: Redis, ada: Person, eve: Person, bob: Person
) -> None:
    root = await write(ada, "root")
    comment = await answer(eve, root, "hello @bob")
    await settle(app)
    await eve.call("PUT", f"/v1/comments/{comment['i']}", {"content": "hello @ada"})
    await settle(app)
    assert await kept(redis, bob) == []
    assert await told(ada) == [("reply", "hello @ada")], "told once, with the words of now"
    await eve.call("PUT", f"/v1/comments/{comment['i']}", {"content": "hello @bob again"})
    await settle(app)
    assert await told(bob) == [("mention", "hello @bob again")]


async def test_a_long_comment_is_cut_and_always_plain_text(app: Application, ada: Person, eve: Person) -> None:
    await answer(eve, await write(ada, "root"), "<script>alert(1)</script> **wo**rd " * 50)
    await settle(app)
    ((_, excerpt),) = await told(ada)
    assert len(excerpt) <= 140
    assert excerpt.startswith("<script>alert(1)</script> word <script>")
    assert excerpt.endswith("…")


async def test_a_reply_without_an_account_has_the_name_that_was_given(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, ada: Person
) -> None:
    root = await write(ada, "root")
    body = {"page_url": URL, "content": "hi", "author_name": "Passer-by", "parent_path": [root["i"]]}
    assert (await post(http, new_site, "/v1/comments", body)).status_code == 200
    await settle(app)
    (notice,) = (await inbox(ada))["notifications"]
    assert (notice["from_user"], notice["from_name"]) == (None, "Passer-by")


async def test_a_guest_with_a_session_is_told_as_anybody(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, ada: Person
) -> None:
    visitor = await guest(http, new_site, "visitor")
    await answer(ada, await write(visitor, "root"), "welcome")
    await settle(app)
    assert await told(visitor) == [("reply", "welcome")]


async def test_a_vote_up_is_told_with_ones_own_words(app: Application, ada: Person, eve: Person, bob: Person) -> None:
    comment = await write(ada, "vote on me")
    await vote(eve, comment["i"], "up")
    await vote(bob, comment["i"], "down")
    await settle(app)
    (notice,) = (await inbox(ada))["notifications"]
    assert (notice["notification_type"], notice["excerpt"], notice["count"]) == ("upvote", "vote on me", 1)
    assert notice["from_user"]["name"] == "eve"


async def test_a_deed_of_a_moderator_is_told_without_the_moderators_name(
    app: Application, new_site: NewSite, clock: ManualClock, ada: Person, eve: Person
) -> None:
    comment = await write(ada, "rude words")
    deed = ModAction(
        user_id=UserId(ada.id),
        action="comment_rejected",
        comment_id=comment["i"],
        by=UserId(eve.id),
        reason="Be kind",
        excerpt="rude words",
        at_ms=clock.now_ms(),
    )
    await app.services.notifications.tell_mod_action(new_site.site.id, deed)
    await eve.call("POST", f"/v1/users/{ada.id}/block")
    await ada.call("POST", f"/v1/users/{eve.id}/block")
    await settle(app)
    (notice,) = (await inbox(ada))["notifications"]
    assert (notice["notification_type"], notice["action"], notice["reason"]) == (
        "mod_action",
        "comment_rejected",
        "Be kind",
    )
    assert (notice["from_user_id"], notice["from_user"], notice["excerpt"]) == (None, None, "rude words")
    assert eve.id not in str(notice)


async def test_a_moderator_does_not_hear_of_their_own_deed(app: Application, new_site: NewSite, ada: Person) -> None:
    deed = ModAction(user_id=UserId(ada.id), action="comment_rejected", by=UserId(ada.id))
    await app.services.notifications.tell_mod_action(new_site.site.id, deed)
    await settle(app)
    assert await told(ada) == []


async def test_a_deleted_comment_takes_what_was_told_of_it_along(
    app: Application, redis: Redis, ada: Person, eve: Person, bob: Person
) -> None:
    root = await write(ada, "root")
    comment = await answer(eve, root, "hello @bob")
    await vote(bob, comment["i"], "up")
    await vote(bob, root["i"], "up")
    await settle(app)
    assert [len(await kept(redis, person)) for person in (ada, eve, bob)] == [2, 1, 1]
    assert (await eve.call("DELETE", f"/v1/comments/{comment['i']}")).status_code == 204
    await settle(app)
    assert [len(await kept(redis, person)) for person in (ada, eve, bob)] == [1, 0, 0]
    assert await told(ada) == [("upvote", "root")]
    assert [key async for key in redis.scan_iter(f"user:{eve.id}:upvoters:*")] == []


async def test_a_comment_deleted_before_anybody_was_told_is_never_told(
    app: Application, redis: Redis, ada: Person, eve: Person
) -> None:
    comment = await answer(eve, await write(ada, "root"), "sorry")
    await eve.call("DELETE", f"/v1/comments/{comment['i']}")
    await settle(app)
    assert await kept(redis, ada) == []
