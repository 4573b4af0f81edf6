"""Who looks and who writes: S3-60, S3-61, S3-62, with one server and with two on one store. And who may: T8."""

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.conftest import SECRET
from tests.integration.comments.test_comments import URL, write
from tests.integration.comments.test_votes import vote
from tests.integration.live.ears import Ear, LiveServer
from tests.integration.live.test_events import page_of
from tests.integration.server.program import environment
from tests.integration.server.program import serving as program_serving
from tests.make import ManualClock
from tests.people import Person, create
from tests.stores import url_of
from tests.wait import until
from threadkit.app import Application
from threadkit.ids import PageId, SiteId, UserId, new_uuid
from threadkit.live import hub, scripts
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore
from threadkit.storage.listener import Receiver


async def present(redis: Redis, page_id: str) -> set[str]:
    return {str(user_id) for user_id in await redis.smembers(f"page:{page_id}:presence")}


async def loses(ear: Ear, code: int, *, seconds: float) -> None:
    """The connection ends within this time, and says why."""
    async with asyncio.timeout(seconds):
        with pytest.raises(ConnectionClosed):
            await ear.hear_of("what never comes", seconds=seconds)
    assert ear.connection.close_code == code


@pytest.fixture
async def people(http: httpx.AsyncClient, new_site: NewSite) -> tuple[Person, Person]:
    return await create(http, new_site, "ada"), await create(http, new_site, "bob")


@pytest.fixture
async def page_id(http: httpx.AsyncClient, new_site: NewSite, people: tuple[Person, Person]) -> str:
    """A page of the site, on which something was written."""
    await write(people[0], "something to look at")
    return (await page_of(http, new_site))[0]


async def test_with_two_tabs_one_stays_until_both_are_closed(
    live: LiveServer, people: tuple[Person, Person], redis: Redis, page_id: str
) -> None:
    """S3-61"""
    ada, bob = people
    async with live.ear(bob.key, bob.token) as bobs:
        await bobs.subscribe(page_id)
        async with live.ear(ada.key, ada.token) as first:
            await first.subscribe(page_id)
            assert (await bobs.hear_of("user_joined"))["user"]["id"] == ada.id
            async with live.ear(ada.key, ada.token) as second:
                await second.subscribe(page_id)
            await until(lambda: live.app.services.hub.connections == 2, "the second tab to be forgotten")
            await bobs.nothing_but("viewers")  # joined once, and not left
            assert await present(redis, page_id) == {ada.id, bob.id}
        assert await bobs.hear_of("user_left") == {"page_id": page_id, "user_id": ada.id}
        assert await present(redis, page_id) == {bob.id}


async def test_on_two_servers_one_stays_until_both_are_closed(
    live: LiveServer, other: LiveServer, people: tuple[Person, Person], redis: Redis, page_id: str
) -> None:
    """S3-61, across workers, and in both orders."""
    ada, bob = people
    async with live.ear(bob.key, bob.token) as bobs:
        await bobs.subscribe(page_id)
        for here, there in ((live, other), (other, live)):
            async with here.ear(ada.key, ada.token) as first:
                await first.subscribe(page_id)
                assert (await bobs.hear_of("user_joined"))["user"]["id"] == ada.id
                async with there.ear(ada.key, ada.token) as second:
                    users = (await second.subscribe(page_id))["users"]
                    assert {user["id"] for user in users} == {ada.id, bob.id}

                async def is_alone() -> bool:
                    return await redis.zcard(f"page:{page_id}:presence:conns") == 2

                await until(is_alone, "the other server's entry to go")
                await bobs.nothing_but("viewers")
                assert await present(redis, page_id) == {ada.id, bob.id}
            assert await bobs.hear_of("user_left") == {"page_id": page_id, "user_id": ada.id}


async def test_how_many_look_is_right_across_servers(
    live: LiveServer, other: LiveServer, people: tuple[Person, Person], redis: Redis, page_id: str
) -> None:
    ada, _ = people
    async with contextlib.AsyncExitStack() as stack:
        watcher = await stack.enter_async_context(live.ear(ada.key))
        await watcher.subscribe(page_id)
        for server in (live, live, other, other, other):
            ear = await stack.enter_async_context(server.ear(ada.key, ada.token if server is other else None))
            await ear.subscribe(page_id)
        while (await watcher.hear_of("viewers"))["viewers"] != 6:
            pass
        async with other.ear(ada.key) as late:
            assert (await late.subscribe(page_id))["viewers"] == 7
            while (await watcher.hear_of("viewers"))["viewers"] != 7:
                pass
        while (await watcher.hear_of("viewers"))["viewers"] != 6:
            pass

    async def nothing_is_left() -> bool:
        return not await redis.exists(f"page:{page_id}:viewers", f"page:{page_id}:presence")

    await until(nothing_is_left, "the lists to be empty")


async def test_coming_back_at_once_is_counted_once(
    live: LiveServer, people: tuple[Person, Person], redis: Redis, monkeypatch: pytest.MonkeyPatch, page_id: str
) -> None:
    """A page that is closed and opened again in the same moment: the goodbye may arrive after the welcome."""
    ada, _ = people
    services = live.app.services
    may_leave, unsubscribe = asyncio.Event(), services.listener.unsubscribe

    async def slow_to_leave(channel: str, receive: Receiver) -> None:
        await may_leave.wait()
        await unsubscribe(channel, receive)

    async def is_counted() -> bool:
        return await redis.hget(f"page:{page_id}:viewers", "total") == "1"

    monkeypatch.setattr(services.listener, "unsubscribe", slow_to_leave)
    async with live.ear(ada.key) as ear:
        await ear.subscribe(page_id)
        await ear.say("unsubscribe", page_id=page_id)
        await ear.subscribe(page_id)
        await until(is_counted, "the viewer")
        may_leave.set()
        await until(lambda: not services.hub._errands, "the goodbye")
        assert await is_counted()


async def test_whoever_was_on_a_killed_server_is_gone_within_a_minute(
    http: httpx.AsyncClient,
    live: LiveServer,
    new_site: NewSite,
    redis: Redis,
    bundled: BundledStore,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    page_id: str,
) -> None:
    """S3-61: kill -9 of a real server on the same store; the clock of the other one does the waiting."""
    monkeypatch.setattr(hub, "BEAT_EVERY_S", 0.2)
    monkeypatch.setattr(hub, "CHANGES_EVERY_S", 0.1)
    assert (hub.SESSIONS_EVERY_S, scripts.GONE_AFTER_MS + 15_000 < 60_000, scripts.KEPT_S) == (30, True, 60)
    clock.advance(seconds=time.time() - clock.now_ms() / 1000)
    ada, bob = await create(http, new_site, "eve"), await create(http, new_site, "joe")  # whose sessions are of today
    env = environment(REDIS_URL=url_of(bundled), THREADKIT_SECRET=SECRET)
    with program_serving(tmp_path / "second", env=env) as doomed:
        async with live.ear(bob.key, bob.token) as bobs:
            await bobs.subscribe(page_id)
            async with LiveServer.at(doomed.port, ada.key) as nobody:
                await nobody.subscribe(page_id)
                async with LiveServer.at(doomed.port, ada.key, ada.token) as adas:
                    await adas.subscribe(page_id)
                    assert (await bobs.hear_of("user_joined"))["user"]["id"] == ada.id
                    while (await bobs.hear_of("viewers"))["viewers"] != 3:
                        pass
                    doomed.kill()
            await bobs.nothing_but("viewers")
            assert await present(redis, page_id) == {ada.id, bob.id}
            clock.advance(seconds=time.time() - clock.now_ms() / 1000 + scripts.GONE_AFTER_MS / 1000)
            assert await bobs.hear_of("user_left") == {"page_id": page_id, "user_id": ada.id}
            while (await bobs.hear_of("viewers"))["viewers"] != 1:
                pass
        assert await redis.ttl(f"page:{page_id}:presence") <= 60


async def test_a_crowd_that_comes_and_goes_on_three_workers_is_counted_exactly(
    http: httpx.AsyncClient, live: LiveServer, new_site: NewSite, people: tuple[Person, Person], redis: Redis
) -> None:
    """While the first comment makes the page the site's, and the lists go along."""
    keys, site_id = live.app.services.keys, new_site.site.id
    join, leave = scripts.JoinPage(redis, keys), scripts.LeavePage(redis, keys)
    beat, look = scripts.Beat(redis, keys), scripts.LookAtPage(redis, keys)
    page = PageId((await page_of(http, new_site))[0])
    users, workers = [UserId(new_uuid()) for _ in range(60)], ("one", "two", "three")
    async with redis.pubsub() as pubsub:
        await pubsub.subscribe(keys.site(site_id).page_channel(page))
        assert await pubsub.get_message(timeout=5)  # it is heard

        async def visit(number: int, user: UserId) -> None:
            """On all workers; every other leaves two of them, every fourth all."""
            for worker in workers:
                await join(site_id, page, user, worker=worker, now_ms=1)
            for worker in workers[: 0 if number % 2 else 3 if number % 4 else 2]:
                await leave(site_id, page, user, worker=worker)
            if number == 30:
                await write(people[0], "the first")

        await asyncio.gather(*(visit(number, user) for number, user in enumerate(users)))
        for worker in workers:
            pulse = await beat(site_id, page, worker=worker, now_ms=1, connections=20, users=[])
        assert pulse == (60, 1)
        staying = {user for number, user in enumerate(users) if number % 2 or not number % 4}
        assert set((await look(site_id, page, now_ms=1, most=100)).present) == staying == await present(redis, page)
        balance: Counter[str] = Counter()
        while message := await pubsub.get_message(ignore_subscribe_messages=True, timeout=1):
            event = json.loads(message["data"])
            balance[event.get("user_id", "")] += {"user_joined": 1, "user_left": -1}.get(event["type"], 0)
        assert +balance == dict.fromkeys(staying, 1)
        assert not -balance


async def test_the_work_of_taking_people_away_grows_with_their_number_and_not_with_its_square(
    live: LiveServer, new_site: NewSite, redis: Redis, page_id: str
) -> None:
    """The store does nothing else meanwhile: after the death of a worker with many visitors, and as they leave."""
    services = live.app.services
    beat, leave = scripts.Beat(redis, services.keys), scripts.LeavePage(redis, services.keys)
    site_id, page = new_site.site.id, PageId(page_id)

    async def busy_us(work: Awaitable[object]) -> int:
        await redis.config_resetstat()
        await work
        return int((await redis.info("commandstats"))["cmdstat_evalsha"]["usec"])

    async def with_users(number: int) -> tuple[int, int]:
        """Half of them are on a worker that dies, and half on another."""
        doomed, staying = ([UserId(new_uuid()) for _ in range(number // 2)] for _ in range(2))
        later = 2 + scripts.GONE_AFTER_MS
        await beat(site_id, page, worker="other", now_ms=later, connections=1, users=staying)
        await beat(site_id, page, worker="doomed", now_ms=1, connections=1, users=doomed)
        leaving = await busy_us(leave(site_id, page, doomed[0], worker="doomed"))
        taking = await busy_us(beat(site_id, page, worker="other", now_ms=later, connections=1, users=[]))
        assert await present(redis, page_id) == set(staying)
        await beat(site_id, page, worker="other", now_ms=2 * later, connections=0, users=[])
        return leaving, taking

    await with_users(2)  # so that the store knows the scripts
    few = [await with_users(500) for _ in range(8)]
    many = [await with_users(2000) for _ in range(8)]
    for what, number in (("leaving", 0), ("taking away", 1)):
        ratio = min(costs[number] for costs in many) / min(costs[number] for costs in few)
        assert ratio < (3 if what == "leaving" else 10), f"{what}: four times the users cost {ratio:.1f} times as much"


async def test_a_page_on_which_only_a_killed_server_was_forgets_by_itself(
    live: LiveServer, people: tuple[Person, Person], redis: Redis, page_id: str
) -> None:
    """S3-61: nobody is left who could take them away, so the store does."""
    ada, _ = people
    async with live.ear(ada.key, ada.token) as ear:
        await ear.subscribe(page_id)
        await ear.say("typing", page_id=page_id)

        async def is_written() -> bool:
            return bool(await redis.exists(f"page:{page_id}:viewers", f"page:{page_id}:typing") == 2)

        await until(is_written, "the lists")
        for name in ("presence", "presence:conns", "viewers", "typing"):
            assert 0 < await redis.ttl(f"page:{page_id}:{name}") <= 60, name


async def test_who_stopped_writing_five_seconds_ago_is_not_listed(
    live: LiveServer, people: tuple[Person, Person], redis: Redis, clock: ManualClock, page_id: str
) -> None:
    """S3-60"""
    ada, bob = people
    async with live.ear(ada.key, ada.token) as adas:
        await adas.subscribe(page_id)
        await adas.say("typing", page_id=page_id)
        async with live.ear(bob.key, bob.token) as bobs:
            await bobs.subscribe(page_id)
            assert (await bobs.hear_of("typing"))["user"]["id"] == ada.id
        clock.advance(seconds=5.1)
        async with live.ear(bob.key, bob.token) as bobs:
            await bobs.subscribe(page_id)
            await bobs.nothing_but("viewers")
            await bobs.say("typing", page_id=page_id)
            await adas.hear_of("typing")
        assert await redis.zrange(f"page:{page_id}:typing", 0, -1) == [bob.id]
        assert 0 < await redis.ttl(f"page:{page_id}:typing") <= 60


async def test_a_hundred_typing_messages_in_a_second_are_two_writes_at_most(
    live: LiveServer, people: tuple[Person, Person], redis: Redis, clock: ManualClock, page_id: str
) -> None:
    """S3-62"""
    ada, bob = people
    async with live.ear(ada.key, ada.token) as adas, live.ear(bob.key, bob.token) as bobs:
        await adas.subscribe(page_id)
        await bobs.subscribe(page_id)
        before = live.meter("threadkit_live_messages_total")
        for number in range(100):
            await adas.say("typing", page_id=page_id)
            await live.has_heard(before + number + 1)
            clock.advance(seconds=0.01)
        heard = [await adas.hear() for _ in range(2)]
        while heard[-1][0] != "error":
            heard.append(await adas.hear())
        assert heard[-1][1]["code"] == "rate_limit"
        await adas.nothing_but("viewers")  # the connection stays, and is told once
        await adas.say("stop_typing", page_id=page_id)
        writes = 0
        while (message := await bobs.hear())[0] != "stop_typing":
            writes += message[0] == "typing"
        assert 1 <= writes <= 2


async def test_writing_and_stopping_cross_servers(
    live: LiveServer, other: LiveServer, people: tuple[Person, Person], redis: Redis, page_id: str
) -> None:
    ada, bob = people
    async with live.ear(ada.key, ada.token) as adas, other.ear(bob.key, bob.token) as bobs:
        await adas.subscribe(page_id)
        await bobs.subscribe(page_id)
        await adas.say("typing", page_id=page_id)
        assert (await bobs.hear_of("typing"))["user"]["id"] == ada.id
        await adas.say("stop_typing", page_id=page_id)
        assert await bobs.hear_of("stop_typing") == {"page_id": page_id, "user_id": ada.id}
        assert not await redis.exists(f"page:{page_id}:typing")
        await adas.say("stop_typing", page_id=page_id)  # who does not write cannot stop
        await adas.nothing_but("viewers", "user_joined")
        await bobs.nothing_but("viewers")


async def test_events_cross_servers(
    live: LiveServer, other: LiveServer, http: httpx.AsyncClient, new_site: NewSite, people: tuple[Person, Person]
) -> None:
    ada, _ = people
    page_id, _ = await page_of(http, new_site)
    async with live.ear(ada.key) as here, other.ear(ada.key) as there:
        await here.subscribe(page_id)
        await there.subscribe(page_id)
        root = await write(ada, "for everybody")
        assert (await here.hear_of("new_comment"))["comment"] == root
        assert (await there.hear_of("new_comment"))["comment"] == root


async def test_signing_in_on_an_open_socket(
    live: LiveServer, people: tuple[Person, Person], redis: Redis, page_id: str
) -> None:
    """Ours, so that no token stands in an address (T8)."""
    ada, bob = people
    async with live.ear(ada.key) as adas, live.ear(bob.key, bob.token) as bobs:
        assert await adas.hear() == ("connected", {"user_id": None})
        await adas.subscribe(page_id)
        await bobs.subscribe(page_id)
        await adas.say("authenticate", token="nonsense")
        assert await adas.hear_of("connected") == {"user_id": None}
        await adas.say("authenticate", token=ada.token)
        assert await adas.hear_of("connected") == {"user_id": ada.id}
        assert (await bobs.hear_of("user_joined"))["user"]["id"] == ada.id
        await adas.say("typing", page_id=page_id)
        assert (await bobs.hear_of("typing"))["user"]["id"] == ada.id
        assert await present(redis, page_id) == {ada.id, bob.id}
        await adas.say("authenticate", token=bob.token)  # nobody becomes somebody else
        assert (await adas.hear_of("error"))["code"] == "invalid_method"
    await until(lambda: live.app.services.hub.connections == 0, "both to go")

    async def is_forgotten() -> bool:
        return not await redis.exists(f"page:{page_id}:presence")

    await until(is_forgotten, "nobody to be on the page's list")


async def test_a_token_that_is_too_old_or_of_another_site_makes_nobody(
    app: Application, http: httpx.AsyncClient, live: LiveServer, people: tuple[Person, Person], clock: ManualClock
) -> None:
    ada, _ = people
    elsewhere = await create(http, await app.services.sites.create("Other", "other.example.org"), "stranger")
    async with live.ear(ada.key, elsewhere.token) as ear:
        assert await ear.hear() == ("connected", {"user_id": None})
    clock.advance(seconds=8 * 86_400)
    async with live.ear(ada.key, ada.token) as ear:
        assert await ear.hear() == ("connected", {"user_id": None})


async def test_a_revoked_session_loses_its_sockets_on_every_server(
    live: LiveServer, other: LiveServer, people: tuple[Person, Person]
) -> None:
    """T5, T8: within a second, and other people's stay."""
    ada, bob = people
    async with (
        live.ear(ada.key, ada.token) as here,
        other.ear(ada.key, ada.token) as there,
        other.ear(bob.key, bob.token) as bobs,
    ):
        for ear in (here, there, bobs):
            await ear.subscribe(new_uuid())
        assert (await ada.call("POST", "/v1/auth/logout")).status_code == 200
        await asyncio.gather(loses(here, 4401, seconds=1), loses(there, 4401, seconds=1))
        await bobs.nothing_but("viewers")


async def test_a_session_that_ended_unheard_is_noticed_all_the_same(
    live: LiveServer, people: tuple[Person, Person], redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The word of it can be lost with a connection; every 30 s everybody is looked at (T8)."""
    ada, _ = people
    async with live.ear(ada.key, ada.token) as ear:
        await ear.subscribe(new_uuid())
        for session_id in await redis.smembers(f"user:{ada.id}:sessions"):
            async for key in redis.scan_iter(match=f"*{session_id}*"):
                await redis.delete(key)
        checking = live.app.services.hub.check(list(live.app.services.hub._clients))
        await asyncio.gather(checking, loses(ear, 4401, seconds=1))


@pytest.mark.parametrize("kind", ["socket", "stream"])
async def test_a_session_that_ends_while_its_channel_is_asked_for_does_not_stay(
    live: LiveServer, people: tuple[Person, Person], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Its token was good a moment ago, and the word of its end came before anybody listened."""
    ada, _ = people
    listener, channel = live.app.services.listener, live.app.services.keys.user(UserId(ada.id)).channel()
    subscribe = listener.subscribe

    async def too_late(wanted: str, receive: Receiver) -> None:
        if wanted == channel:
            assert (await ada.call("POST", "/v1/auth/logout")).status_code == 200
        await subscribe(wanted, receive)

    monkeypatch.setattr(listener, "subscribe", too_late)
    if kind == "socket":
        async with live.ear(ada.key, ada.token) as ear:
            await loses(ear, 4401, seconds=5)
        return
    async with asyncio.timeout(5), httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}") as web:
        headers = {"authorization": f"Bearer {ada.token}", "projectid": ada.key}
        answer = await web.get("/v1/events", params={"page_url": URL}, headers=headers)  # which comes to an end
        assert (answer.status_code, answer.text) == (200, "")


async def test_a_session_that_ended_while_nobody_listened_is_noticed_when_we_do_again(
    live: LiveServer, people: tuple[Person, Person], redis: Redis
) -> None:
    ada, bob = people
    async with live.ear(ada.key, ada.token) as ear, live.ear(bob.key, bob.token) as bobs:
        await ear.subscribe(new_uuid())
        await bobs.subscribe(new_uuid())
        for session_id in await redis.smembers(f"user:{ada.id}:sessions"):
            async for key in redis.scan_iter(match=f"*{session_id}*"):
                await redis.delete(key)
        await redis.client_kill_filter(_type="pubsub")
        await loses(ear, 4401, seconds=5)
        await bobs.nothing_but("viewers", "resync")


async def test_a_shadow_ban_hides_those_who_are_here_and_its_end_shows_them(
    app: Application, live: LiveServer, people: tuple[Person, Person], new_site: NewSite, redis: Redis, page_id: str
) -> None:
    ada, bob = people
    channel, banned = app.services.keys.user(UserId(ada.id)).channel(), f"site:{new_site.site.id}:shadowbanned"
    async with live.ear(bob.key, bob.token) as bobs:
        await bobs.subscribe(page_id)
        async with live.ear(ada.key, ada.token) as first, live.ear(ada.key, ada.token) as second:
            await first.subscribe(page_id)
            await second.subscribe(page_id)
            assert (await bobs.hear_of("user_joined"))["user"]["id"] == ada.id
            await redis.sadd(banned, ada.id)
            await redis.publish(channel, '{"type":"standing"}')
            assert (await bobs.hear_of("user_left"))["user_id"] == ada.id
            assert await present(redis, page_id) == {bob.id}
            async with live.ear(ada.key, ada.token) as third:  # never counted, so its end takes nothing away
                await third.subscribe(page_id)
            await redis.srem(banned, ada.id)
            await redis.publish(channel, '{"type":"standing"}')
            assert (await bobs.hear_of("user_joined"))["user"]["id"] == ada.id
            hers = app.services.hub._of_user[UserId(ada.id)]  # one comes back after the other
            await until(lambda: all(page_id in socket.seen_on for socket in hers), "both of hers to be counted")
            await first.connection.close()
            await until(lambda: app.services.hub.connections == 2, "the first to be forgotten")
            await bobs.nothing_but("viewers")
            assert await present(redis, page_id) == {ada.id, bob.id}
        assert (await bobs.hear_of("user_left"))["user_id"] == ada.id


async def test_one_page_with_trouble_does_not_silence_the_others(
    live: LiveServer, people: tuple[Person, Person], redis: Redis, page_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, _ = people
    nonsense, healthy = new_uuid(), new_uuid()
    beat = live.app.services.hub._beat

    async def stumble(site_id: SiteId, page: PageId, **rest: Any) -> scripts.Pulse:
        if page == nonsense:
            raise ValueError("a fault of ours")
        return await beat(site_id, page, **rest)

    monkeypatch.setattr(live.app.services.hub, "_beat", stumble)
    await redis.set(f"page:{page_id}:viewers", "of another kind")
    async with live.ear(ada.key) as ear:
        for page in (page_id, nonsense, healthy):
            await ear.subscribe(page)
        assert await ear.hear_of("viewers", seconds=5) == {"page_id": healthy, "viewers": 1}
    await redis.delete(f"page:{page_id}:viewers")


async def test_presence_comes_before_everything_else_about_a_page(
    live: LiveServer, people: tuple[Person, Person], page_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract 6. Whoever came meanwhile is on the list and not told of once more."""
    ada, bob = people
    hub = live.app.services.hub
    root = await write(ada, "to vote on")
    async with live.ear(ada.key, ada.token) as adas, live.ear(ada.key) as late, live.ear(bob.key, bob.token) as bobs:
        await adas.subscribe(page_id)
        await late.hear_of("connected")
        may_look, look = asyncio.Event(), hub._look

        async def slow_to_look(*args: Any, **rest: Any) -> scripts.Sight:
            await may_look.wait()
            return await look(*args, **rest)

        monkeypatch.setattr(hub, "_look", slow_to_look)
        await late.say("subscribe", page_id=page_id)
        (room,) = hub._rooms.values()
        await until(lambda: len(room.clients) == 2, "the newcomer")
        await bobs.say("subscribe", page_id=page_id)
        assert (await adas.hear_of("user_joined"))["user"]["id"] == bob.id
        await vote(bob, root["i"], "up")
        await adas.hear_of("vote_update")
        may_look.set()
        method, params = await late.hear()
        assert method == "presence"
        assert {user["id"] for user in params["users"]} == {ada.id, bob.id}
        heard = [await late.hear()]
        while heard[-1][0] != "vote_update":
            heard.append(await late.hear())
        assert {method for method, _ in heard} <= {"viewers", "vote_update"}
        await late.nothing_but("viewers")


async def test_a_blocked_user_is_told_and_cut_off_and_looks_on_as_nobody(
    app: Application, live: LiveServer, people: tuple[Person, Person], new_site: NewSite, redis: Redis, page_id: str
) -> None:
    ada, bob = people
    async with live.ear(ada.key, ada.token) as adas, live.ear(bob.key, bob.token) as bobs:
        await adas.subscribe(page_id)
        await bobs.subscribe(page_id)
        await redis.sadd(f"site:{new_site.site.id}:blocked", ada.id)
        channel = app.services.keys.user(UserId(ada.id)).channel()
        await redis.publish(channel, '{"type":"blocked"}')
        assert (await adas.hear_of("error", seconds=1))["code"] == "user_banned"
        await loses(adas, 4403, seconds=1)
        assert await bobs.hear_of("user_left") == {"page_id": page_id, "user_id": ada.id}
        async with live.ear(ada.key, ada.token) as again:
            assert await again.hear() == ("connected", {"user_id": None})
            await again.subscribe(page_id)
            await again.say("typing", page_id=page_id)
            await again.nothing_but("viewers")
        await bobs.nothing_but("viewers")


async def test_a_shadow_banned_user_is_seen_by_nobody(
    live: LiveServer, people: tuple[Person, Person], new_site: NewSite, redis: Redis, page_id: str
) -> None:
    ada, bob = people
    await redis.sadd(f"site:{new_site.site.id}:shadowbanned", ada.id)
    async with live.ear(bob.key, bob.token) as bobs:
        await bobs.subscribe(page_id)
        async with live.ear(ada.key, ada.token) as adas:
            await adas.subscribe(page_id)
            await adas.say("typing", page_id=page_id)
            await adas.nothing_but("viewers")
            assert await present(redis, page_id) == {bob.id}
        await bobs.nothing_but("viewers")


async def test_a_foreign_page_is_refused_at_the_handshake(live: LiveServer, new_site: NewSite) -> None:
    """T8"""
    for origin in (
        "https://evil.example",
        "null",
        "https://blog.example.org.evil.example",
        "https://evilblog.example.org",
        "https://blog.example.org@evil.example",
        "file://",
        "nonsense",
    ):
        with pytest.raises(InvalidStatus) as refused:
            async with live.ear(new_site.site.api_key_public, origin=origin):
                pass
        assert refused.value.response.status_code == 403, origin
    assert live.app.services.hub.connections == 0


async def test_the_sites_own_pages_and_holders_of_its_secret_are_let_in(live: LiveServer, new_site: NewSite) -> None:
    """A secret key is held by a server, which is no page."""
    public, secret = new_site.site.api_key_public, new_site.secret_key
    for key, origin in (
        (public, None),
        (public, "https://blog.example.org"),
        (public, "https://www.blog.example.org:8443"),
        (secret, "https://evil.example"),
    ):
        async with live.ear(key, origin=origin) as ear:
            assert await ear.hear() == ("connected", {"user_id": None})


async def test_a_handshake_that_makes_no_sense_is_refused_with_a_sentence(live: LiveServer) -> None:
    for path, status in (
        ("/ws", 400),
        ("/ws?project_id=", 400),
        ("/ws?project_id=nonsense", 401),
        ("/ws?project_id=tk_pub_%00%ff%zz", 401),
        ("/ws?project_id=tk_pub_" + "x" * 5000, 401),
        ("/ws?" + "&".join(f"p{number}=1" for number in range(30)), 400),
        ("/elsewhere?project_id=x", 404),
    ):
        with pytest.raises(InvalidStatus) as refused:
            async with connect(f"ws://127.0.0.1:{live.port}{path}"):
                pass
        assert refused.value.response.status_code == status, path
        assert refused.value.response.body, path
    assert live.app.services.hub.connections == 0
