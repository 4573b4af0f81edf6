"""A random forest of comments, made through HTTP; what the store holds of it; and somebody who damages it."""

import random
from dataclasses import dataclass, field
from typing import Any

import httpx
from redis.asyncio import Redis

from tests.integration.comments.test_comments import URL
from tests.make import ManualClock
from tests.people import Person, create
from tests.wait import until
from threadkit.app import Application
from threadkit.ids import UserId, new_uuid
from threadkit.rebuild.names import INDEXES, Name, Names
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role
from threadkit.storage.keys import Keys

URLS = (URL, "https://blog.example.org/other")
Dump = dict[str, Any]


@dataclass
class Forest:
    """Comments of every kind: shown, held, shadowed, deleted with and without replies, pinned, of people who left."""

    app: Application
    http: httpx.AsyncClient
    site: NewSite
    clock: ManualClock
    redis: Redis
    dice: random.Random
    people: list[Person] = field(default_factory=list)
    paths: list[tuple[str, list[str]]] = field(default_factory=list)

    async def grow(self, size: int = 60) -> "Forest":
        names = ("ada", "bob", "cid", "dan", "eve", "mod")
        self.people = [await create(self.http, self.site, f"{name}{self.dice.randrange(10**6)}") for name in names]
        *_, shady, moderator = self.people
        await self.app.services.roles.grant(self.site.site.id, UserId(moderator.id), Role.MODERATOR)
        for _ in range(size):
            await self.step()
        await self._set(moderation_mode="pre")
        for _ in range(3):
            await self.post(self.people[0])
        await self._set(moderation_mode="none")
        await self.redis.sadd(f"site:{self.site.site.id}:shadowbanned", shady.id)
        for _ in range(3):
            await self.post(shady)
            await self.vote(shady)
        await self.redis.srem(f"site:{self.site.site.id}:shadowbanned", shady.id)
        for _ in range(3):
            url, path = self.dice.choice(self.paths)
            await moderator.call("POST", f"/v1/comments/{path[-1]}/pin", {"page_url": url})
        await self.people[1].call("DELETE", "/v1/users/me")
        del self.people[1]
        for _ in range(size // 3):
            await self.delete()
        await self.settle()
        return self

    async def step(self) -> None:
        self.clock.advance(seconds=self.dice.choice([0, 0.001, 7]))
        await self.dice.choices([self.post, self.vote, self.delete], [5, 6, 1])[0]()

    async def post(self, person: Person | None = None) -> None:
        if self.paths and self.dice.random() < 0.75:
            url, path = self.dice.choice(self.paths[-8:] if self.dice.random() < 0.5 else self.paths)
        else:
            url, path = self.dice.choice(URLS), []
        body = {"page_url": url, "content": f"words {self.dice.random()}", "parent_path": path}
        answer = await (person or self.dice.choice(self.people)).call("POST", "/v1/comments", body)
        if answer.status_code == 200:  # what it answers may be gone or hidden
            self.paths.append((url, [*path, answer.json()["comment"]["i"]]))

    async def vote(self, person: Person | None = None) -> None:
        if self.paths:
            url, path = self.dice.choice(self.paths)
            body = {"page_url": url, "direction": self.dice.choice(["up", "up", "down"])}
            await (person or self.dice.choice(self.people)).call("POST", f"/v1/comments/{path[-1]}/vote", body)

    async def delete(self) -> None:
        if self.paths:
            _, path = self.dice.choice(self.paths)
            await self.people[-1].call("DELETE", f"/v1/comments/{path[-1]}")

    async def settle(self) -> None:
        outbox = f"site:{self.site.site.id}:outbox"

        async def is_empty() -> bool:
            return not await self.redis.exists(outbox) or not await self.redis.xlen(outbox)

        await until(is_empty, "the outbox to be empty")

    async def _set(self, **settings: str) -> None:
        await self.app.services.sites.change(self.site.site.id, settings=settings)


async def dump(redis: Redis) -> Dump:
    """Every record and index, without what cannot be derived: versions, whose a deleted comment was, old page times."""
    found: Dump = {}
    names = Names(Keys())
    async for key in redis.scan_iter(count=1000):
        if name := names.parse(str(key)):
            found[name.key] = await _value(redis, name.key)
    for key, value in list(found.items()):
        name = names.parse(key)
        assert name is not None
        if isinstance(value, str):
            continue
        if name.of == "page":
            value.pop("version", None)
            value.pop("changes_from", None)
        elif name.of == "comments_of":
            found[key] = {i: at for i, at in value.items() if found.get(f"comment:{i}", {}).get("status") != "deleted"}
            if not found[key]:
                del found[key]
        elif name.of == "page_votes":  # which votes were not counted, because their voter was shadowed, is not derived
            found[key] = {i: way.rstrip("?") for i, way in value.items()}
        elif name.of == "pages":
            found[key] = set(value)
    return found


async def _value(redis: Redis, key: str) -> Any:
    match await redis.type(key):
        case "string":
            return await redis.get(key)
        case "hash":
            return await redis.hgetall(key)
        case "set":
            return await redis.smembers(key)
    return dict(await redis.zrange(key, 0, -1, withscores=True))  # type: ignore[arg-type]


class Vandal:
    """Damages what can be derived, and nothing else. Pins and votes are records, so they are only added to."""

    def __init__(self, redis: Redis, dice: random.Random) -> None:
        self._redis = redis
        self._dice = dice

    async def strike(self, times: int) -> list[str]:
        names = Names(Keys())
        found = [name async for key in self._redis.scan_iter(count=1000) if (name := names.parse(str(key)))]
        targets = sorted((name for name in found if name.of != "vote"), key=lambda name: name.key)
        return [await self._strike(self._dice.choice(targets)) for _ in range(times)]

    async def _strike(self, name: Name) -> str:
        if name.of in ("comment", "page"):
            fields = ["reply_count", "depth"] if name.of == "comment" else ["comments"]
            return await self._do("hset", name.key, self._dice.choice(fields), str(self._dice.randrange(90, 99)))
        if await self._redis.type(name.key) != name.type:
            return "nothing: struck before"
        if name.of == "voted_pages":
            return await self._strike_set(name)
        if name.of == "page_votes":
            return await self._strike_votes(name)
        if name.of == "pinned":
            return await self._do("zadd", name.key, {new_uuid(): 5.0})
        return await self._strike_index(name)

    async def _strike_index(self, name: Name) -> str:
        member = self._dice.choice(await self._redis.zrange(name.key, 0, -1))
        elsewhere = f"comment:{new_uuid()}:replies"
        match self._dice.randrange(8):
            case 0:
                return await self._do("zrem", name.key, member)
            case 1:
                return await self._do("zadd", name.key, {new_uuid(): 1.5})
            case 2 if name.of != "pages":
                return await self._do("zadd", name.key, {member: self._dice.random() * 1000})
            case 3:
                return await self._do("delete", name.key)
            case 4:
                return await self._do("set", name.key, "no index any more")
            case 5:
                return await self._do("expire", name.key, 1000)
            case 6 if name.of in INDEXES - {"pages"}:
                return await self._do("zadd", elsewhere, {member: 3.0})
        for key in await self._all("comment:*"):
            if await self._redis.hget(key, "status") != "approved" or await self._redis.hget(key, "is_shadowed"):
                return await self._do("zadd", name.key, {key.removeprefix("comment:"): 1.0})
        return "nothing: all are shown"

    async def _strike_votes(self, name: Name) -> str:
        comment_id = self._dice.choice(sorted(await self._redis.hgetall(name.key)))
        match self._dice.randrange(4):
            case 0:
                return await self._do("hset", name.key, comment_id, "sideways")
            case 1:
                return await self._do("hdel", name.key, comment_id)
            case 2:
                return await self._do("hset", name.key, new_uuid(), "up")
        return await self._do("delete", name.key)

    async def _strike_set(self, name: Name) -> str:
        if self._dice.random() < 0.5:
            return await self._do("sadd", name.key, new_uuid())
        return await self._do("srem", name.key, self._dice.choice(sorted(await self._redis.smembers(name.key))))

    async def _do(self, verb: str, *words: Any) -> str:
        await getattr(self._redis, verb)(*words)
        return f"{verb} {words}"

    async def _all(self, pattern: str) -> list[str]:
        found = [str(key) async for key in self._redis.scan_iter(pattern) if str(key).count(":") == 1]
        self._dice.shuffle(found)
        return found
