"""connection_tests and subscription_tests of contract 14.2, one to one, over real sockets, with one worker and with two.

Where we differ on purpose: a wrong key is refused at the handshake; `presence` also says how many `viewers` there are,
and `viewers` messages follow; nobody is told of their own joining and writing.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from websockets.exceptions import InvalidStatus

from tests.conftest import SECRET
from tests.integration.live.ears import Ear, LiveServer, serving
from tests.integration.live.houses import DOMAIN, House, two_workers
from tests.make import ManualClock
from tests.stores import emptied
from tests.wait import until
from threadkit.app import create_app
from threadkit.ids import new_uuid
from threadkit.keyring import Keyring
from threadkit.settings import LimitSettings, Settings
from threadkit.storage.bundled import BundledStore

# One server for all of them, in one loop: what each does must not depend on what the others left.
pytestmark = pytest.mark.asyncio(loop_scope="module")

ACTIVE = "threadkit_live_connections"
TOTAL = "threadkit_live_connections_opened_total"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def one_server(real_store: BundledStore, short_folder: Path) -> AsyncIterator[House]:
    settings = Settings(
        data=str(short_folder / "store"),
        secret=SECRET,
        log_level="error",
        access_log=False,
        limits=LimitSettings(enabled=False),
    )
    clock = ManualClock()
    async with emptied(real_store):
        app = create_app(settings, real_store.address, Keyring(SECRET.encode()), clock=clock)
        async with app.lifespan(), serving(app) as live:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}") as web:
                yield House(await app.services.sites.create("Blog", DOMAIN), web, live.port, clock)
            await until(lambda: app.services.hub.connections == 0, "everybody to have left")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def several_workers() -> AsyncIterator[House]:
    with two_workers() as program:
        async with httpx.AsyncClient(base_url=program.server.url) as web:
            yield House(program.site, web, program.server.port)


@pytest.fixture(params=["one_server", "several_workers"])
def house(request: pytest.FixtureRequest) -> House:
    found: House = request.getfixturevalue(request.param)
    return found


async def said_error(ear: Ear) -> dict[str, Any]:
    method, params = await ear.hear()
    assert method == "error"
    return params


async def is_at(house: House, metric: str, value: float) -> None:
    async def holds() -> bool:
        return await house.metric(metric) == value

    await until(holds, f"{metric} to be {value}")


async def heard_typing(ear: Ear, seconds: float) -> bool:
    try:
        await ear.hear_of("typing", seconds=seconds)
    except TimeoutError:
        return False
    return True


# --- connection_tests.rs ----------------------------------------------------------------------------------------------


async def test_connection_lifecycle(house: House) -> None:
    await is_at(house, ACTIVE, 0)
    before = await house.metric(TOTAL)
    async with LiveServer.at(house.port, house.key) as ear:
        assert await ear.hear() == ("connected", {"user_id": None})
        await is_at(house, ACTIVE, 1)
        assert await house.metric(TOTAL) == before + 1
    await is_at(house, ACTIVE, 0)
    assert await house.metric(TOTAL) == before + 1


async def test_authenticated_connection(house: House) -> None:
    ada = await house.create("ada")
    async with LiveServer.at(house.port, house.key, ada.token) as ear:
        assert await ear.hear() == ("connected", {"user_id": ada.id})


async def test_invalid_api_key(house: House) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with LiveServer.at(house.port, "tk_pub_of_nobody_at_all"):
            pass
    assert refused.value.response.status_code == 401


async def test_expired_jwt_token(house: House) -> None:
    ada = await house.create("ada")
    head, claims, _ = ada.token.split(".")
    for token in ("nonsense", f"{head}.{claims}.AAAA", ada.refresh_token):
        async with LiveServer.at(house.port, house.key, token) as ear:
            assert await ear.hear() == ("connected", {"user_id": None})


async def test_multiple_connections(house: House) -> None:
    await is_at(house, ACTIVE, 0)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(5):
            await stack.enter_async_context(house.ear())
        await is_at(house, ACTIVE, 5)
    await is_at(house, ACTIVE, 0)


async def test_ping_pong(house: House) -> None:
    async with house.ear() as ear:
        await ear.say("ping")
        assert await ear.hear() == ("pong", {})
        await ear.connection.send('{"jsonrpc":"2.0","method":"ping"}')
        assert await ear.hear() == ("pong", {})


async def test_invalid_json_rpc_version(house: House) -> None:
    async with house.ear() as ear:
        await ear.connection.send('{"jsonrpc":"1.0","method":"ping","params":{}}')
        error = await said_error(ear)
        assert error["code"] == "invalid_method"
        assert error["message"]
        await ear.nothing_but()


async def test_unknown_method(house: House) -> None:
    async with house.ear() as ear:
        await ear.say("dance")
        error = await said_error(ear)
        assert error["code"] == "invalid_method"
        assert "Unknown" in error["message"]
        await ear.nothing_but()


async def test_malformed_json(house: House) -> None:
    async with house.ear() as ear:
        await ear.connection.send("{not json")
        assert (await said_error(ear))["code"] == "invalid_json"
        await ear.nothing_but()


async def test_message_metrics(house: House) -> None:
    received, sent = "threadkit_live_messages_total", "threadkit_live_deliveries_total"
    before = await house.metric(received), await house.metric(sent)
    async with house.ear() as ear:
        for _ in range(3):
            await ear.say("ping")
            assert await ear.hear() == ("pong", {})
        assert await house.metric(received) == before[0] + 3
        assert await house.metric(sent) == before[1] + 3


# --- subscription_tests.rs --------------------------------------------------------------------------------------------


async def test_subscribe_to_page(house: House) -> None:
    page_id = new_uuid()
    async with house.ear() as ear:
        await ear.say("subscribe", page_id=page_id)
        assert await ear.hear() == ("presence", {"page_id": page_id, "users": [], "viewers": 1})


async def test_subscribe_with_presence(house: House) -> None:
    page_id, ada = new_uuid(), await house.create("ada")
    async with house.ear(ada) as ear:
        await ear.say("subscribe", page_id=page_id)
        method, params = await ear.hear()
        assert method == "presence"
        assert [user["id"] for user in params["users"]] == [ada.id]
        await ear.nothing_but("viewers")


async def test_multiple_users_presence(house: House) -> None:
    page_id, ada, bob = new_uuid(), await house.create("ada"), await house.create("bob")
    async with house.ear(ada) as first, house.ear(bob) as second:
        await first.subscribe(page_id)
        users = (await second.subscribe(page_id))["users"]
        assert {user["id"] for user in users} == {ada.id, bob.id}
        joined = await first.hear_of("user_joined")
        assert joined["page_id"] == page_id
        assert joined["user"] == next(user for user in users if user["id"] == bob.id)


async def test_unsubscribe_from_page(house: House) -> None:
    page_id, ada = new_uuid(), await house.create("ada")
    async with house.ear(ada) as ear:
        await ear.subscribe(page_id)
        await ear.say("unsubscribe", page_id=page_id)
        await ear.nothing_but()


async def test_user_left_notification(house: House) -> None:
    page_id, ada, bob = new_uuid(), await house.create("ada"), await house.create("bob")
    async with house.ear(ada) as first, house.ear(bob) as second:
        await first.subscribe(page_id)
        await second.subscribe(page_id)
        await second.say("unsubscribe", page_id=page_id)
        assert await first.hear_of("user_left") == {"page_id": page_id, "user_id": bob.id}


async def test_max_subscriptions_limit(house: House) -> None:
    async with house.ear() as ear:
        for _ in range(5):
            await ear.subscribe(new_uuid())
    async with house.ear() as ear:
        pages = [new_uuid() for _ in range(11)]
        for page_id in pages[:9]:
            await ear.subscribe(page_id)
        # Nine so far; the limit of ten messages a second must not hide the limit of ten pages.
        again = await self_paced(house, ear, pages[9:])
        assert again[0][0] == "presence"
        assert again[1][0] == "error"
        assert again[1][1]["code"] == "subscription_limit"
        assert "Too many" in again[1][1]["message"]


async def self_paced(house: House, ear: Ear, pages: list[str]) -> list[tuple[str, dict[str, Any]]]:
    """Subscribe to each page, saying it again when that was too fast."""
    answers = []
    for page_id in pages:
        while True:
            await ear.say("subscribe", page_id=page_id)
            try:
                answer = await ear.hear(seconds=0.3)
                while answer[0] == "viewers":
                    answer = await ear.hear(seconds=0.3)
            except TimeoutError:
                house.tick()
                continue
            if answer[1].get("code") != "rate_limit":
                answers.append(answer)
                break
            house.tick()
    return answers


async def test_duplicate_subscription(house: House) -> None:
    page_id = new_uuid()
    async with house.ear() as ear:
        await ear.subscribe(page_id)
        await ear.say("subscribe", page_id=page_id)
        await ear.nothing_but("viewers")


async def test_subscribe_multiple_pages(house: House) -> None:
    pages = [new_uuid() for _ in range(3)]
    async with house.ear() as ear:
        for page_id in pages:
            await ear.say("subscribe", page_id=page_id)
        assert [(await ear.hear_of("presence"))["page_id"] for _ in pages] == pages


async def test_presence_cleanup_on_disconnect(house: House) -> None:
    page_id, ada, bob = new_uuid(), await house.create("ada"), await house.create("bob")
    async with house.ear(ada) as first:
        await first.subscribe(page_id)
        async with house.ear(bob) as second:
            await second.subscribe(page_id)
        assert await first.hear_of("user_left") == {"page_id": page_id, "user_id": bob.id}
        async with house.ear(bob) as third:
            await third.subscribe(page_id)
            third.connection.transport.abort()  # without a goodbye
            assert await first.hear_of("user_left") == {"page_id": page_id, "user_id": bob.id}


async def test_typing_indicator(house: House) -> None:
    page_id, ada, bob = new_uuid(), await house.create("ada"), await house.create("bob")
    async with house.ear(ada) as first, house.ear(bob) as second:
        await first.subscribe(page_id)
        await second.subscribe(page_id)
        await second.say("typing", page_id=page_id)
        heard = await first.hear_of("typing")
        assert (heard["page_id"], heard["user"]["id"], heard["reply_to"]) == (page_id, bob.id, None)
        await second.nothing_but("viewers", "user_joined")


async def test_typing_indicator_with_reply_to(house: House) -> None:
    page_id, ada, bob = new_uuid(), await house.create("ada"), await house.create("bob")
    comment_id = new_uuid()
    async with house.ear(ada) as first, house.ear(bob) as second:
        await first.subscribe(page_id)
        await second.subscribe(page_id)
        await second.say("typing", page_id=page_id, reply_to=comment_id)
        assert (await first.hear_of("typing"))["reply_to"] == comment_id


async def test_typing_debounce(house: House) -> None:
    page_id, ada, bob = new_uuid(), await house.create("ada"), await house.create("bob")
    async with house.ear(ada) as first, house.ear(bob) as second:
        await first.subscribe(page_id)
        await second.subscribe(page_id)
        loop = asyncio.get_running_loop()
        started = loop.time()
        await second.say("typing", page_id=page_id)
        await second.say("typing", page_id=page_id)
        assert await heard_typing(first, 5)
        assert not await heard_typing(first, 0.3)
        while not await heard_typing(first, 0.2):
            await second.say("typing", page_id=page_id)
            house.tick()
            assert loop.time() - started < 5


async def test_unauthenticated_typing_ignored(house: House) -> None:
    page_id = new_uuid()
    async with house.ear() as first, house.ear() as second:
        await first.subscribe(page_id)
        await second.subscribe(page_id)
        await second.say("typing", page_id=page_id)
        await second.nothing_but("viewers")
        await first.nothing_but("viewers")


async def test_typing_only_on_subscribed_page(house: House) -> None:
    page_id, ada, bob = new_uuid(), await house.create("ada"), await house.create("bob")
    async with house.ear(ada) as first, house.ear(bob) as second:
        await first.subscribe(page_id)
        await second.say("typing", page_id=page_id)
        await second.nothing_but()
        await first.nothing_but("viewers")
