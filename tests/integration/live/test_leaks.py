"""After everybody has left, nothing of them is left."""

import asyncio
import random

import httpx
import msgspec
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import URL, write
from tests.integration.live.ears import LiveServer
from tests.integration.live.raw import RawSocket, call
from tests.people import Person, create
from tests.wait import until
from threadkit.ids import new_uuid
from threadkit.settings import LiveSettings, Settings
from threadkit.sites.model import NewSite

VISITS = 500


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return msgspec.structs.replace(settings, live=LiveSettings(sockets_per_address=1000, messages_per_second=1000))


async def test_five_hundred_visits_leave_nothing_behind(
    live: LiveServer, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    """Sockets and streams, signed in or not, closed politely, rudely, or in the middle of something."""
    services = live.app.services
    hub, listener = services.hub, services.listener
    people = [await create(http, new_site, f"visitor{number}") for number in range(10)]
    pages = [new_uuid() for _ in range(20)]
    await write(people[0], "something to look at")
    await http.get("/v1/comments", params={"page_url": URL}, headers={"projectid": people[0].key})
    await until(lambda: listener.is_listening, "the listener")

    async def channels() -> set[str]:
        return {str(channel) for channel in await redis.pubsub_channels()}

    await until(lambda: not services.snapshots._watching, "the snapshot to be watched")
    before = await channels()
    watched = set(services.snapshots._watched)
    chance = random.Random(1)
    turns = asyncio.Semaphore(25)

    async def visit(number: int) -> None:
        async with turns:
            person = people[number % len(people)] if number % 3 else None
            if number % 10 == 0:
                await stream(live.port, people[number % 7], leaves_early=number % 20 == 0)
            elif number % 4:
                await vanish(live.port, people[0].key, person, chance.sample(pages, 3), chance.randrange(4))
            else:
                async with live.ear(people[0].key, person.token if person else None) as ear:
                    for page_id in chance.sample(pages, 2):
                        await ear.subscribe(page_id)
                    if person:
                        await ear.say("typing", page_id=page_id)

    await asyncio.gather(*(visit(number) for number in range(VISITS)))
    await until(lambda: hub.connections == 0, "everybody to be forgotten", seconds=20)
    await until(lambda: not hub._errands, "the last errands")
    assert not hub._rooms
    assert not hub._clients
    assert not hub._of_user
    assert not hub._ears
    assert not hub._per_address
    assert not listener._awaited

    async def all_channels_are_left() -> bool:
        return await channels() == before

    await until(all_channels_are_left, "the store to forget the channels")
    assert set(listener._receivers) == before
    await until(lambda: set(listener._pubsub.channels) == before, "the library to forget them too")
    assert set(services.snapshots._watched) == watched
    kept = [key async for key in redis.scan_iter(match="page:*:presence*")]
    kept += [key async for key in redis.scan_iter(match="page:*:viewers")]
    assert kept == []
    for key in [key async for key in redis.scan_iter(match="page:*:typing")]:
        assert 0 < await redis.ttl(key) <= 60
    assert (live.meter("threadkit_live_connections"), live.meter("threadkit_live_pages")) == (0, 0)
    assert live.meter("threadkit_live_connections_opened_total") == VISITS


async def vanish(port: int, key: str, person: Person | None, pages: list[str], wait_for: int) -> None:
    """Say a few things at once, read some answers or none, and vanish."""
    async with await RawSocket.open(port, key) as raw:
        if person:
            await raw.send(call("authenticate", token=person.token))
        await raw.send(b"".join(call("subscribe", page_id=page_id) for page_id in pages))
        for _ in range(wait_for):
            await raw.read()


async def stream(port: int, person: Person, *, leaves_early: bool) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"projectid: {person.key}\r\nauthorization: Bearer {person.token}\r\n"
    writer.write(f"GET /v1/events?page_url={URL} HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode())
    await reader.readuntil(b"event: connected" if leaves_early else b"event: presence")
    writer.close()
