"""A server killed at any moment: what it acknowledged is there, and every index agrees with its record."""

import asyncio
import contextlib
import random
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as StoreConnectionError

from tests.folders import disk_folder
from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import read, write
from tests.integration.comments.test_votes import vote
from tests.integration.server.program import Server
from tests.people import create
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore
from threadkit.storage.lua import LuaScript

URL = "https://localhost/kill"
KILLS = 4
WRITERS = 8

State = str | None

pytestmark = pytest.mark.prove


@dataclass
class Writer:
    """Somebody who writes, edits, votes and deletes, and knows what was acknowledged.

    Where an answer never came there are two things that may be true; `may_be` holds them.
    """

    number: int
    key: str
    id: str
    token: str
    dice: random.Random
    texts: dict[str, set[State]] = field(default_factory=dict)
    """Own comments: what they may say now; None is deleted."""
    votes: dict[str, set[State]] = field(default_factory=dict)
    unsure_posts: list[tuple[str, str]] = field(default_factory=list)
    """Text and idempotency key of posts without an answer."""
    done: int = 0
    serial: int = 0

    async def work(self, http: httpx.AsyncClient, everything: list[str]) -> None:
        """Until the server is gone."""
        with contextlib.suppress(httpx.TransportError):
            while True:
                await self._one(http, everything)
                self.done += 1

    async def _one(self, http: httpx.AsyncClient, everything: list[str]) -> None:
        own = [comment_id for comment_id, texts in self.texts.items() if None not in texts]
        chance = self.dice.random()
        self.serial += 1
        text = f"writer {self.number} says {self.serial}"
        if chance < 0.35 or not own:
            await self._post(http, everything, text)
        elif chance < 0.75:
            await self._vote(http, self.dice.choice(everything[-20:]))
        elif chance < 0.87:
            await self._edit(http, self.dice.choice(own), text)
        else:
            await self._delete(http, self.dice.choice(own))

    async def post_again(self, http: httpx.AsyncClient, text: str, key: str) -> str:
        body = {"page_url": URL, "content": text}
        answer = await self._call(http, "POST", "/v1/comments", body, **{"idempotency-key": key})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["comment"]["i"])

    async def _post(self, http: httpx.AsyncClient, everything: list[str], text: str) -> None:
        if everything and self.dice.random() < 0.5:
            body: dict[str, Any] = {"page_url": URL, "content": text, "parent_path": [self.dice.choice(everything)]}
            answer = await self._call(http, "POST", "/v1/comments", body)
            if answer.status_code == 404:  # deleted by its author meanwhile
                return
        else:
            self.unsure_posts.append((text, f"key-{self.number}-{self.serial}"))
            answer = await self._call(
                http,
                "POST",
                "/v1/comments",
                {"page_url": URL, "content": text},
                **{"idempotency-key": self.unsure_posts[-1][1]},
            )
            self.unsure_posts.pop()
        assert answer.status_code == 200, answer.text
        comment_id = answer.json()["comment"]["i"]
        self.texts[comment_id] = {text}
        everything.append(comment_id)

    async def _edit(self, http: httpx.AsyncClient, comment_id: str, text: str) -> None:
        before = self.texts[comment_id]
        self.texts[comment_id] = before | {text}
        answer = await self._call(http, "PUT", f"/v1/comments/{comment_id}", {"content": text})
        assert answer.status_code == 200, answer.text
        self.texts[comment_id] = {text}

    async def _delete(self, http: httpx.AsyncClient, comment_id: str) -> None:
        self.texts[comment_id] = self.texts[comment_id] | {None}
        answer = await self._call(http, "DELETE", f"/v1/comments/{comment_id}", None)
        assert answer.status_code == 204, answer.text
        self.texts[comment_id] = {None}

    async def _vote(self, http: httpx.AsyncClient, comment_id: str) -> None:
        way = self.dice.choice(["up", "down"])
        before = self.votes.get(comment_id, {None})
        self.votes[comment_id] = before | {None if state == way else way for state in before}
        answer = await self._call(http, "POST", f"/v1/comments/{comment_id}/vote", {"direction": way})
        if answer.status_code == 404:
            self.votes[comment_id] = before
            return
        assert answer.status_code == 200, answer.text
        self.votes[comment_id] = {answer.json()["user_vote"]}

    async def _call(
        self, http: httpx.AsyncClient, method: str, path: str, body: object, **headers: str
    ) -> httpx.Response:
        known = {"projectid": self.key, "authorization": f"Bearer {self.token}"}
        answer = await http.request(method, path, json=body, headers=known | headers)
        if answer.status_code == 503:  # the store is away: as with no answer, either may be true
            raise httpx.RemoteProtocolError(answer.text)
        return answer

    async def check(self, store: Redis) -> list[str]:
        """What was acknowledged and is not there. What was unsure is known from now on."""
        lost = []
        for comment_id, texts in self.texts.items():
            record = await store.hgetall(f"comment:{comment_id}")
            now = None if record.get("status") == "deleted" else str(record.get("content", "nothing at all"))
            if now not in texts:
                lost.append(f"comment {comment_id} says {now!r} instead of {texts}")
            self.texts[comment_id] = {now}
        for comment_id, states in self.votes.items():
            found = await store.get(f"vote:{self.id}:{comment_id}")
            vote_now = None if found is None else str(found)
            if vote_now not in states:
                lost.append(f"vote of {self.number} on {comment_id} is {vote_now} instead of {states}")
            self.votes[comment_id] = {vote_now}
        return lost


@pytest.fixture
def folder() -> Iterator[Path]:
    with disk_folder() as parent:
        yield Path(parent) / "data"


@contextlib.asynccontextmanager
async def running(folder: Path) -> AsyncIterator[tuple[Server, httpx.AsyncClient]]:
    server = Server(folder)
    try:
        await asyncio.to_thread(server.wait_until_ready)
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
            yield server, http
    finally:
        if server.process.poll() is None:
            server.kill()


async def new_writers(http: httpx.AsyncClient, said: str) -> list[Writer]:
    public, secret = (re.findall(rf"tk_{kind}_\w+", said)[0] for kind in ("pub", "sec"))
    writers = []
    for number in range(WRITERS):
        answer = await http.post(
            "/v1/admin/create-user", json={"name": f"writer{number}"}, headers={"projectid": secret}
        )
        made = answer.json()
        writers.append(Writer(number, public, made["user"]["id"], made["token"], random.Random(number)))
    return writers


@pytest.mark.timeout(300)
async def test_whatever_moment_a_server_is_killed_at_its_data_agree_and_nothing_acknowledged_is_lost(
    folder: Path,
) -> None:
    dice = random.Random()  # a new moment each time; what must hold holds at all of them
    writers: list[Writer] = []
    everything: list[str] = []
    for cycle in range(KILLS + 1):
        async with running(folder) as (server, http), _store(folder) as store:
            if not writers:
                writers = await new_writers(http, server.said)
            # Looked at before anything repairs itself by being used.
            assert [sentence for writer in writers for sentence in await writer.check(store)] == [], (
                f"after kill {cycle}"
            )
            assert await disagreements(store, shadowed=()) == [], f"after kill {cycle}"
            for writer in writers:
                await settle_posts(writer, http, store, everything)
            if cycle == KILLS:
                await _still_readable(http, writers[0].key, store)
                return
            tasks = [asyncio.create_task(writer.work(http, everything)) for writer in writers]
            await _written(writers, dice.randrange(40, 200), tasks)
            server.kill()
            await asyncio.gather(*tasks)


async def _written(writers: list[Writer], number: int, tasks: list[asyncio.Task[None]]) -> None:
    """Until so many more writes were acknowledged; or a writer found something wrong, which shows when it is awaited."""
    before = sum(writer.done for writer in writers)

    def enough() -> bool:
        return sum(writer.done for writer in writers) >= before + number or any(task.done() for task in tasks)

    await until(enough, f"{number} writes", seconds=120)


@contextlib.asynccontextmanager
async def _store(folder: Path) -> AsyncIterator[Redis]:
    async with contextlib.aclosing(Redis(unix_socket_path=str(folder / "store.sock"), decode_responses=True)) as client:
        yield client


async def settle_posts(writer: Writer, http: httpx.AsyncClient, store: Redis, everything: list[str]) -> None:
    """A post without an answer is repeated with its key: afterwards it is there once, whether or not it was before."""
    for text, key in writer.unsure_posts:
        comment_id = await writer.post_again(http, text, key)
        assert await writer.post_again(http, text, key) == comment_id
        listed = await store.zrange(
            f"user:{writer.id}:{await store.hget(f'comment:{comment_id}', 'site_id')}:comments", 0, -1
        )
        texts = [await store.hget(f"comment:{listed_id}", "content") for listed_id in listed]
        assert texts.count(text) == 1
        writer.texts[comment_id] = {text}
        everything.append(comment_id)
    writer.unsure_posts.clear()


async def _still_readable(http: httpx.AsyncClient, key: str, store: Redis) -> None:
    for sort in ("new", "old", "top", "hot", "controversial"):
        answer = await http.get("/v1/comments", params={"page_url": URL, "sort": sort}, headers={"projectid": key})
        thread = answer.json()
        assert (answer.status_code, thread["total"] > 0) == (200, True)
        assert int(await store.hget(f"page:{thread['page_id']}", "comments") or 0) == thread["total"]


async def test_a_vote_that_was_cut_off_leaves_no_stale_rank_s3_14_s3_30(
    http: httpx.AsyncClient,
    new_site: NewSite,
    redis: Redis,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that dies right after counting a vote: count and rank agree, because they are one step."""
    people = [await create(http, new_site, name) for name in ("ada", "eve", "bob", "cleo")]
    comment = await write(people[0], "vote on me")
    for person in people[:2]:
        await vote(person, comment["i"], "up")
    run = LuaScript._once

    async def dies(script: LuaScript, *args: Any) -> Any:
        answer = await run(script, *args)
        if script.file == "cast_vote.lua":
            raise StoreConnectionError("as if the server had been killed here")
        return answer

    monkeypatch.setattr(LuaScript, "_once", dies)
    await people[2].call("POST", f"/v1/comments/{comment['i']}/vote", {"direction": "up"})
    monkeypatch.undo()
    second: Application = create_app(settings, bundled.address, keyring)
    async with second.lifespan():
        transport = httpx.ASGITransport(second)
        async with httpx.AsyncClient(transport=transport, base_url="http://second") as other:
            assert (await read(other, new_site))["tree"] is not None
        assert await disagreements(redis, shadowed=()) == []
