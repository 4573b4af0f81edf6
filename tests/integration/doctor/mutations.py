"""One thing in the store made wrong, of everything that follows from something else; and what the store holds."""

import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

from redis.asyncio import Redis

from threadkit.doctor.deep.names import AllNames, Known
from threadkit.ids import new_uuid
from threadkit.storage.keys import Keys

Dump = dict[str, tuple[bool, Any]]

# Nobody: made long ago, and never there.
NOBODY = "00000000-0001-7000-8000-000000000001"
SORTED = (
    *("page_new", "page_top", "page_hot", "roots", "replies", "replies_by"),
    *("unlisted", "comments", "comments_of", "modqueue"),
)
ENTRIES = ("email", "username", "look_alike", "provider")
PASSING_S = 86_400
BY_ITSELF = ("site.page_changes", "site.ranking", "shared.erasure_journals")


async def every_key(redis: Redis) -> list[Known]:
    names = AllNames(Keys())
    found = [names.parse(str(key)) async for key in redis.scan_iter(count=1000)]
    return sorted((name for name in found if name is not None), key=lambda name: name.key)


async def dump(redis: Redis) -> Dump:
    """Every key with its value and whether it ends, without what nothing says any more: versions of pages, when they were
    written on last, whose a deleted comment was, which votes did not count."""
    # What comes and goes by itself is left out, and so is what the server writes by itself.
    names = [
        name
        for name in await every_key(redis)
        if name.of not in BY_ITSELF
        and name.entry.writers != "counters"
        and (name.entry.ttl_s is None or name.entry.ttl_s > PASSING_S)
    ]
    values = await _values(redis, [name.key for name in names])
    found: Dump = {}
    for name in names:
        ends, value = values[name.key]
        match name.of:
            case "site.page":
                value = {field: said for field, said in value.items() if field not in ("version", "changes_from")}
            case "site.pages" | "shared.sites":
                value = set(value)
            case "site.page_votes":
                value = {comment_id: way.rstrip("?") for comment_id, way in value.items()}
            case "site.comments_of":
                value = {i: at for i, at in value.items() if values[f"comment:{i}"][1]["status"] != "deleted"}
        if value:
            found[name.key] = (ends, value)
    return found


async def _values(redis: Redis, keys: list[str]) -> Dump:
    """Of each key whether it ends, and what it holds."""
    async with redis.pipeline(transaction=False) as pipe:
        for key in keys:
            pipe.type(key)
            pipe.ttl(key)
        facts = await pipe.execute()
        for key, kind in zip(keys, facts[::2], strict=True):
            match kind:
                case "string":
                    pipe.get(key)
                case "hash":
                    pipe.hgetall(key)
                case "set":
                    pipe.smembers(key)
                case "stream":
                    pipe.xrange(key)
                case _:
                    pipe.zrange(key, 0, -1, withscores=True)
        answers = await pipe.execute()
    values = [dict(answer) if kind == "zset" else answer for kind, answer in zip(facts[::2], answers, strict=True)]
    return {key: (ttl != -1, value) for key, ttl, value in zip(keys, facts[1::2], values, strict=True)}


class Mutator:
    """Makes one random thing wrong, and says what."""

    def __init__(self, redis: Redis, dice: random.Random) -> None:
        self._redis = redis
        self._dice = dice
        self._of: dict[str, list[Known]] = {}
        self._verbs: list[tuple[str, Callable[[], Awaitable[str]]]] = [
            *(
                (f"{of} {how}", self._sorted(of, how))
                for of in SORTED
                for how in ("drop", "stray", "score", "type", "end")
            ),
            *(
                (f"{of} {how}", self._entry(of, how))
                for of in ENTRIES
                for how in ("drop", "other", "type", "stray", "end")
            ),
            *((verb.__name__, verb) for verb in self._plain()),
        ]

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self._verbs]

    async def strike(self, kind: str) -> str:
        """'' when there is nothing of the kind to strike."""
        self._of = {}
        for name in await every_key(self._redis):
            self._of.setdefault(name.of.partition(".")[2] if name.of != "user.blocked" else "user_blocked", []).append(
                name
            )
        done = await dict(self._verbs)[kind]()
        return f"{kind}: {done}" if done else ""

    def _some(self, of: str) -> str:
        found = self._of.get(of, [])
        return self._dice.choice(found).key if found else ""

    async def _some_index(self, of: str) -> tuple[str, dict[str, float]]:
        """One that has members; of a person's comments only those that still say whose they are."""
        for name in self._dice.sample(self._of.get(of, []), len(self._of.get(of, []))):
            members: dict[str, float] = dict(await self._redis.zrange(name.key, 0, -1, withscores=True))  # type: ignore[arg-type]
            for member in list(members) if of == "comments_of" else []:
                if await self._redis.hget(f"comment:{member}", "author_id") != name.parts["user_id"]:
                    del members[member]
            if members:
                return name.key, members
        return "", {}

    def _sorted(self, of: str, how: str) -> Callable[[], Awaitable[str]]:
        async def strike() -> str:
            key, members = await self._some_index(of)
            if not members:
                return ""
            member = self._dice.choice(sorted(members))
            match how:
                case "drop":
                    return await self._do("zrem", key, member)
                case "stray":
                    return await self._do("zadd", key, {new_uuid(): 5.0})
                case "score":
                    return await self._do("zadd", key, {member: members[member] + self._dice.choice([-3.5, 1, 1e6])})
                case "type":
                    return await self._retype(key)
            return await self._do("expire", key, 1000)

        return strike

    def _entry(self, of: str, how: str) -> Callable[[], Awaitable[str]]:
        async def strike() -> str:
            key = self._some(of)
            if not key:
                return ""
            holder = await self._redis.get(key)
            others = [name.parts["user_id"] for name in self._of["profile"] if name.parts["user_id"] != holder]
            match how:
                case "drop":
                    return await self._do("delete", key)
                case "other":
                    return await self._do("set", key, self._dice.choice([*others, NOBODY, "nonsense"]))
                case "type":
                    await self._redis.delete(key)
                    return await self._do("sadd", key, "no entry any more")
                case "stray":
                    other = "provider:github:77" if of == "provider" else f"{of.replace('_', '')}:{new_uuid()}"
                    return await self._do("set", other, self._dice.choice([*others, NOBODY]))
            return await self._do("expire", key, 1000)

        return strike

    def _plain(self) -> list[Callable[[], Awaitable[str]]]:
        return [
            *(self.comment_number, self.comment_html, self.record_end, self.page_number, self.page_version),
            *(self.pages_drop, self.pinned_stray, self.changes_type),
            *(self.voted_pages_drop, self.voted_pages_stray, self.page_votes_wrong, self.page_votes_drop),
            *(self.session_without_end, self.sessions_drop, self.sessions_short, self.sessions_type),
            *(
                self.unread_wrong,
                self.unread_drop,
                self.unread_type,
                self.unread_by_site_wrong,
                self.unread_by_site_drop,
            ),
            *(self.blocked_by_drop, self.reports_drop, self.reports_stray, self.reports_score, self.reports_type),
            *(self.appeals_drop, self.appeals_stray, self.appeals_score),
            *(self.request_stray, self.sites_drop, self.api_key_drop, self.api_key_other, self.api_key_stray),
        ]

    async def comment_number(self) -> str:
        return await self._do("hset", self._some("comment"), self._dice.choice(["reply_count", "depth"]), "97")

    async def comment_html(self) -> str:
        for _ in range(50):
            key = self._some("comment")
            if await self._redis.hget(key, "status") != "deleted":
                return await self._do("hset", key, "content_html", "<p>something else</p>")
        return ""

    async def record_end(self) -> str:
        records = ("comment", "page", "vote", "profile", "config", "modlog", "notifications", "stamp")
        of = self._dice.choice([record for record in records if record in self._of])
        return await self._do("expire", self._some(of), 1000)

    async def page_number(self) -> str:
        return await self._do("hset", self._some("page"), "comments", "97")

    async def page_version(self) -> str:
        key = self._some("page_changes")
        return await self._do("hset", key.removesuffix(":changes"), "version", "0") if key else ""

    async def pages_drop(self) -> str:
        key = self._some("pages")
        for page_id in await self._redis.zrange(key, 0, -1) if key else []:
            if await self._redis.exists(f"page:{page_id}:comments:new"):
                return await self._do("zrem", key, page_id)
        return ""

    async def pinned_stray(self) -> str:
        key = self._some("pinned")
        return await self._do("zadd", key, {new_uuid(): 5.0}) if key else ""

    async def changes_type(self) -> str:
        return await self._retype(self._some("page_changes"))

    async def voted_pages_drop(self) -> str:
        key = self._some("voted_pages")
        return await self._do("srem", key, self._dice.choice(sorted(await self._redis.smembers(key))))

    async def voted_pages_stray(self) -> str:
        return await self._do("sadd", self._some("voted_pages"), new_uuid())

    async def page_votes_wrong(self) -> str:
        key = self._some("page_votes")
        return await self._do("hset", key, self._dice.choice(sorted(await self._redis.hkeys(key))), "sideways")

    async def page_votes_drop(self) -> str:
        key = self._some("page_votes")
        return await self._do("hdel", key, self._dice.choice(sorted(await self._redis.hkeys(key))))

    async def session_without_end(self) -> str:
        return await self._do("persist", self._some("session"))

    async def sessions_drop(self) -> str:
        key = self._some("sessions")
        return await self._do("srem", key, self._dice.choice(sorted(await self._redis.smembers(key))))

    async def sessions_short(self) -> str:
        key = self._some("sessions")
        return await (self._do("expire", key, 1000) if self._dice.random() < 0.5 else self._do("persist", key))

    async def sessions_type(self) -> str:
        return await self._retype(self._some("sessions"))

    async def unread_wrong(self) -> str:
        return await self._do("incrby", self._some("unread"), 3)

    async def unread_drop(self) -> str:
        return await self._do("delete", self._some("unread"))

    async def unread_type(self) -> str:
        key = self._some("unread")
        await self._redis.delete(key)
        return await self._do("sadd", key, "no number any more")

    async def unread_by_site_wrong(self) -> str:
        return await self._do("hset", self._some("unread_by_site"), self._dice.choice([NOBODY, new_uuid()]), "3")

    async def unread_by_site_drop(self) -> str:
        return await self._do("delete", self._some("unread_by_site"))

    async def blocked_by_drop(self) -> str:
        return await self._do("delete", self._some("blocked_by"))

    async def reports_drop(self) -> str:
        key = self._some("reports")
        return await self._do("zrem", key, (await self._redis.zrange(key, 0, 0))[0])

    async def reports_stray(self) -> str:
        report = {"comment_id": new_uuid(), "reporter_id": new_uuid(), "created_at": "2025-01-01T00:00:00.000Z"}
        return await self._do("zadd", self._some("reports"), {json.dumps(report): 5.0})

    async def reports_score(self) -> str:
        key = self._some("reports")
        return await self._do("zadd", key, {(await self._redis.zrange(key, 0, 0))[0]: 5.0})

    async def reports_type(self) -> str:
        return await self._retype(self._some("reports"))

    async def appeals_drop(self) -> str:
        return await self._do("delete", self._some("appeals"))

    async def appeals_stray(self) -> str:
        key = self._some("appeals")
        for _ in range(50):
            comment_id = self._some("comment").removeprefix("comment:")
            if await self._redis.zscore(key, comment_id) is None:
                return await self._do("zadd", key, {comment_id: 5.0})
        return ""

    async def appeals_score(self) -> str:
        key = self._some("appeals")
        return await self._do("zadd", key, {(await self._redis.zrange(key, 0, 0))[0]: 5.0})

    async def request_stray(self) -> str:
        return await self._do("set", f"idempotency:{new_uuid()}", new_uuid(), 1000)

    async def sites_drop(self) -> str:
        return await self._do("zrem", "sites:index", (await self._redis.zrange("sites:index", 0, 0))[0])

    async def api_key_drop(self) -> str:
        return await self._do("delete", self._some("api_key_site"))

    async def api_key_other(self) -> str:
        return await self._do("set", self._some("api_key_site"), NOBODY)

    async def api_key_stray(self) -> str:
        return await self._do("set", "apikey:tk_pub_nobodyhasthis:site", NOBODY)

    async def _retype(self, key: str) -> str:
        """SET also takes away an end that the key had."""
        return await self._do("set", key, "something else now") if key else ""

    async def _do(self, verb: str, *words: Any) -> str:
        await getattr(self._redis, verb)(*words)
        return f"{verb} {words}"
