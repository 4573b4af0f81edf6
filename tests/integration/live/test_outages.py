"""The store goes away and comes back: everybody is told to look again, and events flow without a restart. G15, G17."""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from redis.asyncio import Redis

from tests.conftest import SECRET
from tests.folders import quick_folder
from tests.integration.comments.test_comments import URL, write
from tests.integration.counters.line import Line
from tests.integration.live.ears import Ear, LiveServer, serving
from tests.integration.live.test_events import page_of
from tests.people import Person, create
from tests.wait import until
from threadkit import logs
from threadkit.app import Application, create_app
from threadkit.ids import new_uuid
from threadkit.keyring import Keyring
from threadkit.settings import Settings, StoreTuning
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.storage import listener
from threadkit.storage.bundled import BundledStore
from threadkit.storage.client import StoreAddress

DEATHS = 20 if os.environ.get("THREADKIT_SOAK") else 3

pytestmark = pytest.mark.prove


@pytest.fixture
def own_settings(settings: Settings) -> Iterator[Settings]:
    with quick_folder() as folder:
        tuning = StoreTuning(command_timeout_s=0.5, wait_for_connection_s=0.5, connect_timeout_s=0.5)
        yield msgspec.structs.replace(settings, data=str(Path(folder) / "d"), store=tuning, log_level="critical")


@pytest.fixture
def store(own_settings: Settings) -> Iterator[BundledStore]:
    """A store of this test's own, which it may kill."""
    bundled = BundledStore(own_settings)
    bundled.start()
    yield bundled
    bundled.stop()


class Town:
    """A server on such a store, its site, and somebody who writes there."""

    def __init__(self, app: Application, live: LiveServer, web: httpx.AsyncClient, site: NewSite, ada: Person) -> None:
        self.app = app
        self.live = live
        self.web = web
        self.site = site
        self.ada = ada


@contextlib.asynccontextmanager
async def town_on(settings: Settings, address: StoreAddress) -> AsyncIterator[Town]:
    logs.configure(settings)
    app = create_app(settings, address, Keyring(SECRET.encode()))
    async with (
        app.lifespan(),
        serving(app) as live,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}", timeout=30) as web,
    ):
        site = await app.services.sites.create(
            "Blog", "blog.example.org", settings=SiteSettings(auth=AuthSettings(anonymous=True))
        )
        yield Town(app, live, web, site, await create(web, site, "ada"))


@pytest.fixture
async def town(own_settings: Settings, store: BundledStore) -> AsyncIterator[Town]:
    async with town_on(own_settings, store.address) as found:
        yield found


Picture = dict[str, tuple[str, int]]
"""What a page shows: the text and the upvotes of each comment."""


class Mirror:
    """A reader's own picture of the page: built from events, and fetched again when told to."""

    def __init__(self, town: Town, ear: Ear) -> None:
        self._town = town
        self._ear = ear
        self.picture: Picture = {}
        self.resyncs = 0

    async def follow(self) -> None:
        while True:
            method, params = await self._ear.hear(seconds=120)
            if method == "resync":
                self.picture = await shown(self._town)
                self.resyncs += 1
            else:
                self._apply(method, params)

    def _apply(self, method: str, params: dict[str, Any]) -> None:
        if method == "new_comment":
            comment = params["comment"]
            self.picture[comment["i"]] = comment["t"], comment["u"]
        elif params.get("comment_id") in self.picture:
            text, upvotes = self.picture.pop(params["comment_id"])
            if method != "delete_comment":
                self.picture[params["comment_id"]] = params.get("content", text), params.get("upvotes", upvotes)


class Writer:
    """Somebody who writes, votes, edits and deletes, and remembers what was confirmed."""

    def __init__(self, ada: Person) -> None:
        self._ada = ada
        self.texts: dict[str, str] = {}

    async def write(self) -> bool:
        text = new_uuid()  # never the same twice, or it would be held
        answer = await self._ada.call("POST", "/v1/comments", {"page_url": URL, "content": text})
        if is_done := _is_done(answer):
            self.texts[answer.json()["comment"]["i"]] = text
        return is_done

    async def vote(self, comment_id: str) -> None:
        _is_done(await self._ada.call("POST", f"/v1/comments/{comment_id}/vote", {"direction": "up"}))

    async def edit(self, comment_id: str) -> None:
        """Without an answer nobody knows which text it has."""
        del self.texts[comment_id]
        text = new_uuid()
        if _is_done(await self._ada.call("PUT", f"/v1/comments/{comment_id}", {"content": text})):
            self.texts[comment_id] = text

    async def delete(self, comment_id: str) -> None:
        del self.texts[comment_id]
        _is_done(await self._ada.call("DELETE", f"/v1/comments/{comment_id}"))


def _is_done(answer: httpx.Response) -> bool:
    assert answer.status_code in (200, 204, 503), answer.text
    return answer.status_code != 503


async def shown(town: Town) -> Picture:
    """What the page has now, as soon as it can be read."""
    while True:
        answer = await town.web.get(
            "/v1/comments", params={"page_url": URL}, headers={"projectid": town.site.site.api_key_public}
        )
        if answer.status_code == 200 and "warning" not in answer.headers:
            return {comment["i"]: (comment["t"], comment["u"]) for comment in answer.json()["tree"]["c"]}
        assert answer.status_code in (200, 503), answer.text
        await asyncio.sleep(0.05)


@pytest.mark.timeout(60 + 30 * DEATHS)
async def test_after_every_death_of_the_store_every_reader_has_the_right_page(town: Town, store: BundledStore) -> None:
    """Killed and restarted during traffic: within five seconds after each return all pictures are the page."""
    page_id, _ = await page_of(town.web, town.site)
    loop = asyncio.get_running_loop()
    may_write, stopping, is_quiet = asyncio.Event(), asyncio.Event(), asyncio.Event()
    may_write.set()
    writer = Writer(town.ada)
    rounds, slowest_s = 0, 0.0

    async def keep_writing() -> None:
        nonlocal rounds
        while not stopping.is_set():
            if not may_write.is_set():
                is_quiet.set()
                await may_write.wait()
                is_quiet.clear()
            if await writer.write() and await writer.write():
                for do in (writer.vote, writer.edit, writer.delete):
                    await do(random.choice(list(writer.texts)))
                rounds += 1
            await asyncio.sleep(0.02)

    async with contextlib.AsyncExitStack() as stack:
        ears = [await stack.enter_async_context(town.live.ear(town.ada.key)) for _ in range(4)]
        ears.append(await stack.enter_async_context(town.live.ear(town.ada.key, town.ada.token)))
        for ear in ears:
            await ear.subscribe(page_id)
        mirrors = [Mirror(town, ear) for ear in ears]
        for mirror in mirrors:
            mirror.picture = await shown(town)
        following = [asyncio.create_task(mirror.follow()) for mirror in mirrors]
        writing = asyncio.create_task(keep_writing())
        for death in range(1, DEATHS + 1):
            before = rounds
            await until(lambda: rounds > before + 3, "some comments", seconds=15)  # noqa: B023
            process = store._process
            assert process
            process.send_signal(signal.SIGKILL)
            await until(lambda: store._process is not process, "a new store", seconds=15)  # noqa: B023
            back = loop.time()
            await until(lambda: all(mirror.resyncs >= death for mirror in mirrors), "resync", seconds=5)  # noqa: B023
            before = rounds
            await until(lambda: rounds > before, "a comment after it", seconds=5)  # noqa: B023
            may_write.clear()
            await is_quiet.wait()
            page = await shown(town)
            assert writer.texts.items() <= {comment_id: text for comment_id, (text, _) in page.items()}.items()
            await until(lambda: all(mirror.picture == page for mirror in mirrors), "the right picture", seconds=5)  # noqa: B023
            slowest_s = max(slowest_s, loop.time() - back)
            assert slowest_s < 5, f"death {death}: it took {slowest_s:.1f} s"
            may_write.set()
        stopping.set()
        await writing
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
    assert town.app.services.listener.is_listening
    print(f"\nG15: the store died {DEATHS} times, every open page was right within {slowest_s:.1f} s")


async def test_while_the_store_is_away_everything_is_an_honest_error(
    town: Town, store: BundledStore, own_settings: Settings
) -> None:
    page_id, second = new_uuid(), new_uuid()
    hub = town.app.services.hub
    async with (
        town.live.ear(town.ada.key, town.ada.token) as ear,
        town.live.ear(town.ada.key) as nobody,
        town.live.ear(town.ada.key, town.ada.token) as leaving,
    ):
        for one in (ear, nobody, leaving):
            await one.subscribe(page_id)
        await leaving.subscribe(new_uuid())
        await asyncio.to_thread(store.stop)
        await until(lambda: not town.app.services.listener.is_listening, "the loss to be noticed")
        await ear.say("subscribe", page_id=second)
        assert (await ear.hear_of("error"))["code"] == "unavailable"
        await ear.say("typing", page_id=page_id)
        assert (await ear.hear_of("error"))["code"] == "unavailable"
        await nobody.say("authenticate", token=town.ada.token)
        assert (await nobody.hear_of("error"))["code"] == "unavailable"
        await ear.say("ping")
        assert await ear.hear() == ("pong", {})
        await leaving.connection.close()
        await until(lambda: hub.connections == 2, "the one who left to be forgotten")
        await until(lambda: all(len(room.clients) == 2 for room in hub._rooms.values()), "their pages to be left")
        assert list(hub._rooms) == [(town.site.site.id, page_id)]
        assert (await town.web.get("/health")).status_code == 503
        with pytest.raises(Exception, match="503"):
            async with town.live.ear(town.ada.key):
                pass

        again = BundledStore(own_settings)
        await asyncio.to_thread(again.start)
        try:
            await ear.hear_of("resync", seconds=5)
            await nobody.hear_of("resync", seconds=5)
            # What was refused can be asked for again, on the same connection.
            assert (await ear.subscribe(second))["page_id"] == second
            await nobody.say("authenticate", token=town.ada.token)
            assert await nobody.hear_of("connected") == {"user_id": town.ada.id}
            await ear.say("ping")
            await ear.hear_of("pong")
        finally:
            await ear.connection.close()
            await nobody.connection.close()
            await until(lambda: hub.connections == 0, "all to go")
            await asyncio.to_thread(again.stop)


class Hanging(Line):
    """A line on which, for a while, nothing moves; nobody hangs up. Who calls then gets no answer ever."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.flows = asyncio.Event()
        self.flows.set()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                await self.flows.wait()
                writer.write(data)
                await writer.drain()
        writer.close()

    _pass_answers = _pass

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.CancelledError):  # the loop of the test ends before the line does
            if self.flows.is_set():
                await super().serve(reader, writer)
            else:
                self._writers.add(writer)
                await reader.read()
                writer.close()


@contextlib.asynccontextmanager
async def hanging_line_to(path: str) -> AsyncIterator[Hanging]:
    line = Hanging(path)
    server = await asyncio.start_server(line.serve, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        line.flows.set()
        server.close()
        line.hang_up()
        await server.wait_closed()


async def test_a_store_that_hangs_is_noticed_and_found_again(
    own_settings: Settings, store: BundledStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection stays open and nothing comes: only asking finds out. New connections hang too, for a while."""
    assert listener._ASK_EVERY_S + listener._SILENT_S < 20
    monkeypatch.setattr(listener, "_ASK_EVERY_S", 0.1)
    monkeypatch.setattr(listener, "_SILENT_S", 0.5)
    assert store.address.path
    async with hanging_line_to(store.address.path) as line, town_on(own_settings, line.address) as town:
        page_id, _ = await page_of(town.web, town.site)
        async with town.live.ear(town.ada.key) as ear:
            await ear.subscribe(page_id)
            ears = town.app.services.listener
            for _ in range(2):
                line.flows.clear()
                await until(lambda: not ears.is_listening, "the silence to be noticed", seconds=3)
                await ear.say("subscribe", page_id=new_uuid())
                assert (await ear.hear_of("error", seconds=5))["code"] == "unavailable"
                line.flows.set()
                await until(lambda: ears.is_listening, "the way back", seconds=5)
                await ear.hear_of("resync")
                while True:  # on a busy machine it may seem silent once more; then there is one more `resync`
                    root = await write(town.ada, new_uuid())
                    if await hears_first(ear, "new_comment", "resync") == ("new_comment", root):
                        break


async def hears_first(ear: Ear, *methods: str) -> tuple[str, Any]:
    while True:
        method, params = await ear.hear()
        if method in methods:
            return method, params.get("comment")


async def test_a_channel_that_is_wanted_while_the_connection_is_made_is_heard(
    own_settings: Settings, store: BundledStore
) -> None:
    """Between asking for all channels and hearing of them, somebody comes to a page."""
    assert store.address.path
    async with (
        hanging_line_to(store.address.path) as line,
        town_on(own_settings, line.address) as town,
        Redis(unix_socket_path=store.address.path, decode_responses=True) as redis,
    ):
        ears = town.app.services.listener
        heard: list[str] = []
        for number in range(5):
            line.hang_up()
            await until(lambda: not ears.is_listening, "the loss to be noticed")
            # Ask again and again while it comes back, so that one falls into every gap there is.
            channels: list[str] = []
            while not ears.is_listening:
                channel = f"wanted-{number}-{len(channels)}"
                channels.append(channel)
                await ears.subscribe(channel, heard.append)
                await asyncio.sleep(0)
            found = await redis.pubsub_numsub(*channels)
            deaf = [channel for channel, count in found if count != 1]
            assert not deaf, f"{len(deaf)} of {len(channels)} are not listened to"
            for channel in channels:
                await ears.unsubscribe(channel, heard.append)
