"""People who write without a pause, and a book of what they were told is saved."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import httpx
from redis.exceptions import RedisError

from tests.integration.live.ears import Ear
from tests.integration.topologies.servers import Server, has_all_of
from tests.people import Person
from threadkit.app import Application
from threadkit.ids import SiteId

PAUSE_S = 0.05


@dataclass
class Load:
    """Each posts, votes for what they posted, and edits it, over and over.

    A change is *replicated* when the replica had it before the primary died: it was confirmed to the writer, and then
    the replica was seen to have everything that the primary had confirmed until then.
    """

    people: list[Person]
    page: str
    confirmed: list[tuple[str, str]] = field(default_factory=list)
    """Comment, and what it then said; an empty text is a vote."""
    confirmed_at: list[float] = field(default_factory=list)
    """When each of these was."""
    replicated: int = 0
    """How many of these."""
    refused: int = 0
    begun: int = 0
    """How many comments somebody has begun to post."""
    slowest_s: float = 0
    """How long somebody waited for an answer, whatever it was."""
    _is_over: bool = False

    @contextlib.asynccontextmanager
    async def running(self, primary: Server, *replicas: Server) -> AsyncIterator[None]:
        """Write until the block is left."""
        tasks = [asyncio.create_task(self._write(person)) for person in self.people]
        tasks.append(asyncio.create_task(self._watch(primary, *replicas)))
        try:
            yield
        finally:
            self._is_over = True
            await asyncio.gather(*tasks)

    def is_confirmed_since(self, begun: int) -> bool:
        """Whether one of the comments was, that were begun after so many others."""
        return any(text and int(text.split()[1]) >= begun for _, text in self.confirmed)

    def longest_pause_s(self, since: float) -> float:
        """Between two confirmations, since some moment."""
        times = [since, *(at for at in self.confirmed_at if at > since)]
        return max((later - earlier for earlier, later in itertools.pairwise(times)), default=0.0)

    async def lost(self, app: Application, site_id: SiteId) -> tuple[int, int]:
        """How many confirmed changes are gone, of those that were replicated and of the others."""
        gone = await self.gone(app, site_id)
        early = sum(number < self.replicated for number in gone)
        return early, len(gone) - early

    async def gone(self, app: Application, site_id: SiteId) -> list[int]:
        """Which of the confirmed changes are not there."""
        keys, redis = app.services.keys.site(site_id), app.services.store.redis
        gone = []
        for number, (comment_id, text) in enumerate(self.confirmed):
            record = await redis.hgetall(keys.comment(comment_id))
            later = {told for other, told in self.confirmed[number:] if other == comment_id and told}
            is_there = record.get("content") in later | {f"{text} edited"} if text else record.get("upvotes") == "1"
            if not is_there:
                gone.append(number)
        return gone

    def _note(self, comment_id: str, text: str) -> None:
        self.confirmed.append((comment_id, text))
        self.confirmed_at.append(time.monotonic())

    async def _write(self, person: Person) -> None:
        while not self._is_over:
            text = f"number {self.begun}"
            self.begun += 1
            posted = await self._told(person, "POST", "/v1/comments", {"page_url": self.page, "content": text})
            if posted is None:
                continue
            comment_id = str(posted.json()["comment"]["i"])
            self._note(comment_id, text)
            body = {"page_url": self.page, "path": [comment_id], "direction": "up"}
            if await self._told(person, "POST", f"/v1/comments/{comment_id}/vote", body):
                self._note(comment_id, "")
            edited = f"{text} edited"
            if await self._told(person, "PUT", f"/v1/comments/{comment_id}", {"content": edited}):
                self._note(comment_id, edited)
            await asyncio.sleep(PAUSE_S)

    async def _told(self, person: Person, method: str, path: str, body: object) -> httpx.Response | None:
        """The answer, if it is that all went well. What a replica has not received can neither be voted for nor edited."""
        asked_at = time.monotonic()
        answer = await person.call(method, path, body)
        self.slowest_s = max(self.slowest_s, time.monotonic() - asked_at)
        if answer.status_code == 200:
            return answer
        assert answer.status_code == 503 or (answer.status_code == 404 and path != "/v1/comments"), answer.text
        self.refused += answer.status_code == 503
        await asyncio.sleep(PAUSE_S)
        return None

    async def _watch(self, primary: Server, *replicas: Server) -> None:
        with contextlib.suppress(RedisError, OSError):  # until the primary is gone
            while not self._is_over:
                until_here = len(self.confirmed)
                if all([await asyncio.to_thread(has_all_of, replica, primary) for replica in replicas]):
                    self.replicated = until_here
                await asyncio.sleep(0.01)


class Reader:
    """An open page: applies what it hears, and looks at everything again when it is told to."""

    def __init__(self, http: httpx.AsyncClient, ear: Ear, key: str, page: str) -> None:
        self.comments: set[str] = set()
        self.told: list[str] = []
        self._http = http
        self._ear = ear
        self._key = key
        self._page = page

    async def thread(self) -> set[str]:
        """The comments that are there; asks until it is answered."""
        while True:
            answer = await self._http.get(
                "/v1/comments", params={"page_url": self._page, "sort": "new"}, headers={"projectid": self._key}
            )
            if answer.status_code == 200:
                return {comment["i"] for comment in answer.json()["tree"]["c"]}
            assert answer.status_code == 503, answer.text
            await asyncio.sleep(PAUSE_S)

    @contextlib.asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._read())
        try:
            yield
        finally:
            while not task.done():  # the client library of the store has been seen to swallow a cancellation
                task.cancel()
                await asyncio.wait({task}, timeout=1)
        if not task.cancelled():
            task.result()

    async def _read(self) -> None:
        while True:
            method, params = await self._ear.hear(seconds=60)
            if method == "new_comment":
                self.comments.add(params["comment"]["i"])
            elif method == "resync":
                self.comments = await self.thread()
            self.told.append(method)
