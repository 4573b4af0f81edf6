"""People who write all day and know exactly what was acknowledged: of ten deeds four comments, three votes, an edit, a
moderator's decision, and a report or a deletion. K1."""

import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from redis.asyncio import Redis

# What somebody else did meanwhile: the comment or what it hangs on is gone, hidden or decided.
REFUSED = (404, 409)
RECENT = 50


@dataclass(frozen=True)
class World:
    """What may be true of one comment."""

    text: str
    status: str = "approved"
    is_reported: bool = False

    def __str__(self) -> str:
        return f"{self.status} {self.text!r}{', reported' if self.is_reported else ''}"


GONE = World("", "deleted")
NOWHERE = World("", "not there")
Change = Callable[[World], World]


@dataclass(frozen=True)
class Place:
    """Where people write, and who is on the staff."""

    site_id: str
    key: str
    moderator: str
    """A token."""
    reporter: str
    reporter_id: str


@dataclass
class Thread:
    """The page of one life, and what can be replied to and voted on."""

    url: str
    shown: list[str] = field(default_factory=list)


@dataclass
class Writer:
    """Somebody with a moderator and a reporter who look at their comments only, so that what becomes of a comment comes
    in one order. Where an answer never came there are two things that may be true, and both are kept."""

    number: int
    id: str
    token: str
    place: Place
    dice: random.Random
    comments: dict[str, set[World]] = field(default_factory=dict)
    votes: dict[str, set[str | None]] = field(default_factory=dict)
    unsure: dict[str, tuple[dict[str, Any], str | None]] = field(default_factory=dict)
    """Texts of posts without an answer: what was sent, and the idempotency key if there was one."""
    touched: set[str] = field(default_factory=set)
    """Comments whose record or vote this life may have changed."""
    recent: list[str] = field(default_factory=list)
    done: int = 0
    refused: int = 0
    _arrived: dict[str, str] = field(default_factory=dict)
    """Of the unsure posts, those that are there."""
    _serial: int = 0

    async def work(self, http: httpx.AsyncClient, thread: Thread) -> None:
        """Until the server is gone."""
        with contextlib.suppress(httpx.TransportError):
            while True:
                if await self._one(http, thread):
                    self.done += 1
                else:
                    self.refused += 1

    async def _one(self, http: httpx.AsyncClient, thread: Thread) -> bool:
        self._serial += 1
        text, chance = f"writer {self.number} says {self._serial}", self.dice.random()
        mine = self.dice.choice(self.recent) if self.recent else None
        if chance < 0.4 or mine is None:
            return await self._post(http, thread, text)
        if chance < 0.7:
            return await self._vote(http, self.dice.choice(thread.shown or self.recent))
        if self._status(mine) == "rejected":  # and then nobody but a moderator can do anything
            return await self._decide(http, mine, "approve")
        if chance < 0.8:
            return await self._edit(http, mine, text)
        if chance < 0.9:
            return await self._decide(http, mine, self.dice.choice(["reject", "spam"]))
        return await (self._report if chance < 0.95 else self._delete)(http, mine)

    async def _post(self, http: httpx.AsyncClient, thread: Thread, text: str) -> bool:
        body: dict[str, Any] = {"page_url": thread.url, "content": text}
        key: str | None = f"key-{self.number}-{self._serial}"
        if thread.shown and self.dice.random() < 0.5:
            body["parent_path"], key = [self.dice.choice(thread.shown[-RECENT:])], None
        self.unsure[text] = body, key
        answer = await self._send(http, body, key)
        del self.unsure[text]
        if answer is None:
            return False
        self._keep(answer.json()["comment"]["i"], {World(text)})
        thread.shown.append(answer.json()["comment"]["i"])
        return True

    async def _send(self, http: httpx.AsyncClient, body: dict[str, Any], key: str | None) -> httpx.Response | None:
        headers = {"idempotency-key": key} if key else {}
        return await self._call(http, "POST", "/v1/comments", body, **headers)

    async def _vote(self, http: httpx.AsyncClient, comment_id: str) -> bool:
        way = self.dice.choice(["up", "down"])
        before = self.votes.get(comment_id, {None})
        self.touched.add(comment_id)
        self.votes[comment_id] = before | {None if state == way else way for state in before}
        answer = await self._call(http, "POST", f"/v1/comments/{comment_id}/vote", {"direction": way})
        self.votes[comment_id] = before if answer is None else {answer.json()["user_vote"]}
        return answer is not None

    async def _edit(self, http: httpx.AsyncClient, comment_id: str, text: str) -> bool:
        return await self._change(
            http,
            comment_id,
            lambda world: World(text, world.status, world.is_reported),
            *("PUT", f"/v1/comments/{comment_id}", {"content": text}),
        )

    async def _decide(self, http: httpx.AsyncClient, comment_id: str, deed: str) -> bool:
        status = "approved" if deed == "approve" else "rejected"
        return await self._change(
            http,
            comment_id,
            lambda world: World(world.text, status),
            *("POST", f"/v1/moderation/{deed}/{comment_id}", {}, self.place.moderator),
        )

    async def _report(self, http: httpx.AsyncClient, comment_id: str) -> bool:
        return await self._change(
            http,
            comment_id,
            lambda world: World(world.text, world.status, is_reported=True),
            *("POST", f"/v1/comments/{comment_id}/report", {"reason": "spam"}, self.place.reporter),
        )

    async def _delete(self, http: httpx.AsyncClient, comment_id: str) -> bool:
        self.recent.remove(comment_id)
        return await self._change(http, comment_id, lambda _: GONE, "DELETE", f"/v1/comments/{comment_id}", None)

    async def _change(
        self,
        http: httpx.AsyncClient,
        comment_id: str,
        change: Change,
        method: str,
        path: str,
        body: object,
        token: str | None = None,
    ) -> bool:
        before = self.comments[comment_id]
        after = {change(world) for world in before}
        self.touched.add(comment_id)
        self.comments[comment_id] = before | after
        answer = await self._call(http, method, path, body, token)
        self.comments[comment_id] = before if answer is None else after
        return answer is not None

    async def _call(
        self,
        http: httpx.AsyncClient,
        method: str,
        path: str,
        body: object,
        token: str | None = None,
        **headers: str,
    ) -> httpx.Response | None:
        """None when it was refused."""
        known = {"projectid": self.place.key, "authorization": f"Bearer {token or self.token}"}
        answer = await http.request(method, path, json=body, headers=known | headers)
        if answer.status_code == 503:  # the store is away: as with no answer, either may be true
            raise httpx.RemoteProtocolError(answer.text)
        if answer.status_code in REFUSED:
            return None
        assert answer.status_code in (200, 204), f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    def _status(self, comment_id: str) -> str:
        (world,) = self.comments[comment_id]
        return world.status

    def _keep(self, comment_id: str, worlds: set[World]) -> None:
        self.comments[comment_id] = worlds
        self.touched.add(comment_id)
        self.recent = [*self.recent[1 - RECENT :], comment_id]

    async def look(self, store: Redis, *, older: int | None) -> tuple[int, list[str]]:
        """How many were looked at, and what is not as it was acknowledged: of all this life touched, and so many older
        ones or all. What was unsure is known from now on."""
        known = sorted(self.comments.keys() | self.votes.keys())
        if older is None or older >= len(known):
            looked_at = known
        else:
            looked_at = sorted(self.touched | set(self.dice.sample(known, older)))
        wrong = []
        for comment_id, (world, vote) in zip(looked_at, await self._found(store, looked_at), strict=True):
            if worlds := self.comments.get(comment_id):
                if world not in worlds:
                    wrong.append(f"comment {comment_id} is {world} instead of {' or '.join(map(str, worlds))}")
                self.comments[comment_id] = {world}
            ways = self.votes.get(comment_id, {None})
            if vote not in ways:
                wrong.append(f"the vote of {self.number} on {comment_id} is {vote} instead of {ways}")
            if comment_id in self.votes:
                self.votes[comment_id] = {vote}
        wrong += await self._strangers(store, newest=None if older is None else len(self.touched) + 1)
        self.recent = [each for each in self.recent if self._status(each) != "deleted"]
        self.touched.clear()
        return len(looked_at), wrong

    async def _found(self, store: Redis, ids: list[str]) -> list[tuple[World, str | None]]:
        async with store.pipeline(transaction=False) as pipe:
            for comment_id in ids:
                pipe.hmget(f"comment:{comment_id}", "status", "content")
                pipe.hexists(f"comment:{comment_id}:reports", self.place.reporter_id)
                pipe.get(f"vote:{self.id}:{comment_id}")
            said = await pipe.execute()
        return [
            (_world(*record, is_reported=is_reported), vote)
            for record, is_reported, vote in zip(said[::3], said[1::3], said[2::3], strict=True)
        ]

    async def _strangers(self, store: Redis, *, newest: int | None) -> list[str]:
        """Comments of this person that nobody acknowledged. A post without an answer may be there, once."""
        listed = f"user:{self.id}:{self.place.site_id}:comments"
        ids = [str(i) for i in await store.zrevrange(listed, 0, -1 if newest is None else newest)]
        wrong = []
        for comment_id in [each for each in ids if each not in self.comments]:
            text = str(await store.hget(f"comment:{comment_id}", "content"))
            if text in self.unsure and text not in self._arrived:
                self._arrived[text] = comment_id
                self._keep(comment_id, {World(text)})
            else:
                wrong.append(f"comment {comment_id} says {text!r}, which was refused, or is there twice")
        return wrong

    async def settle(self, http: httpx.AsyncClient, store: Redis) -> list[str]:
        """A post without an answer is repeated with its key: then it is there once, whether or not it was before."""
        for text, (body, key) in self.unsure.items():
            if key is None:
                continue
            answers = [await self._send(http, body, key) for _ in range(2)]
            told = {answer.json()["comment"]["i"] for answer in answers if answer is not None}
            comment_id = self._arrived.get(text) or next(iter(told))
            assert told == {comment_id}, f"{text}: {told} instead of {comment_id}"
            if comment_id not in self.comments:
                self._keep(comment_id, {World(text)})
        wrong = await self._strangers(store, newest=10)
        self.unsure.clear()
        self._arrived.clear()
        return wrong


def _world(status: str | None, content: str | None, *, is_reported: bool) -> World:
    match status:
        case None:
            return NOWHERE
        case "deleted":
            return GONE
    return World(str(content), status, bool(is_reported))
