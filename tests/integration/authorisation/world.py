"""Two sites and everybody who could call, with what each brings along; and the whole store at a glance."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.authorisation.routes import REFUSALS
from tests.integration.moderation.test_people import abroad
from tests.integration.staff.desk import HERE, Desk, at_desk
from tests.integration.test_other_sites import OF_EVERY_REQUEST
from tests.make import ManualClock
from tests.people import Person, create, guest
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

MAIL = "@private.example"
HELD = "casino"
STAFF = ("moderator", "admin", "owner")
ROLES = {"moderator": Role.MODERATOR, "admin": Role.ADMIN, "owner": Role.OWNER}


@dataclass
class Caller:
    name: str
    kind: str
    """As `routes.py` calls them: what the door makes of them."""
    headers: dict[str, str]
    is_far: bool = False

    @property
    def words(self) -> set[str]:
        """What the rules may call them."""
        if self.is_far:
            return {self.name, "far", "any"}
        return {self.name, self.kind, "any"} | ({"staff"} if self.kind in STAFF else set())

    def refusal(self, route_kind: str) -> int | None:
        """What the door says. The server is looked after from its first site alone."""
        refusal = REFUSALS[self.kind][route_kind]
        return 403 if self.is_far and route_kind == "operator" and refusal is None else refusal


@dataclass
class World:
    app: Application
    http: httpx.AsyncClient
    here: NewSite
    other: NewSite
    redis: Redis
    clock: ManualClock
    people: dict[str, Person] = field(default_factory=dict)
    callers: list[Caller] = field(default_factory=list)
    far: dict[str, Person] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    """Of those who sit at the pages for staff too, by the token they call with."""
    numbers: "count[int]" = field(default_factory=count)

    async def person(self, name: str, role: str | None = None, *, site: NewSite | None = None) -> Person:
        """Somebody new, with an address that no answer may tell."""
        site, name = site or self.here, f"{name}{next(self.numbers)}"
        person = await create(self.http, site, name, f"{name}{MAIL}")
        if role:
            await self.app.services.roles.grant(site.site.id, UserId(person.id), ROLES[role])
        return person

    async def ban(self, person: Person, *, shadow: bool = False) -> None:
        people, user_id = self.app.services.people, UserId(person.id)
        if shadow:
            await people.shadowban(self.here.site, user_id, by=None, is_on=True)
        else:
            await people.ban(self.here.site, user_id, by=None, hours=None, reason=None)

    async def open_desks(self) -> None:
        """The pages for staff go by a cookie; everybody else comes without one."""
        for name in (*STAFF, "owner everywhere"):
            async with signed_in(self, self.people[name]) as desk:
                self.cookies[self.people[name].token] = cookie_of(desk)

    async def callers_of(self, author: Person | None, kind: str, far_kind: str) -> list[Caller]:
        """Everybody, and whose the object is if it is anybody's: here, and come from the other site."""
        if author is None:
            return self.callers
        far = await self.abroad(author)
        return [
            *self.callers,
            Caller("author", kind, _token_of(author)),
            Caller("far author", far_kind, _token_of(far), is_far=True),
        ]

    async def abroad(self, person: Person) -> Person:
        """The same person on the other site. Signed in once: of very many sessions the oldest would end."""
        if person.id not in self.far:
            self.far[person.id] = await abroad(self.app, self.http, person, self.other)
        return self.far[person.id]

    async def snapshot(self, *beginnings: str) -> "Snapshot":
        """All there is in the store, under names that begin so, but for what every request leaves behind."""
        began = time.monotonic()
        keys = [str(key) async for key in self.redis.scan_iter(count=10_000)]
        keys = [
            key
            for key in keys
            if key.startswith(beginnings or "") and not OF_EVERY_REQUEST.match(key) and not key.endswith(":ranking")
        ]
        async with self.redis.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.type(key)
                pipe.ttl(key)
            known = await pipe.execute() if keys else []
        async with self.redis.pipeline(transaction=False) as pipe:
            for key, kind in zip(keys, known[::2], strict=True):
                _READINGS.get(kind, _READINGS["none"])(pipe, key)
            values = await pipe.execute() if keys else []
        # The store rounds to seconds, and was asked some time after we began.
        ends = {key: began + ttl - 1 for key, ttl in zip(keys, known[1::2], strict=True) if ttl != -1}
        # What ended while we looked has no value; nothing in the store is empty.
        found = {key: value for key, value in zip(keys, values, strict=True) if value and value != "none"}
        return Snapshot(found, ends)


_READINGS: dict[str, Callable[[Any, str], Any]] = {
    "hash": lambda pipe, key: pipe.hgetall(key),
    "set": lambda pipe, key: pipe.smembers(key),
    "string": lambda pipe, key: pipe.get(key),
    "zset": lambda pipe, key: pipe.zrange(key, 0, -1, withscores=True),
    "stream": lambda pipe, key: pipe.xrange(key),
    "none": lambda pipe, key: pipe.type(key),
}


@dataclass
class Snapshot:
    values: dict[str, Any]
    ends: dict[str, float]
    """When what is kept for a while only may be gone by itself."""

    def changed_until(self, after: "Snapshot") -> list[str]:
        now = time.monotonic()
        differing = {key for key in self.values | after.values if self.values.get(key) != after.values.get(key)}
        return sorted(key for key in differing if key in after.values or self.ends.get(key, now + 1) > now)


def _token_of(person: Person) -> dict[str, str]:
    return {"projectid": person.key, "authorization": f"Bearer {person.token}"}


@asynccontextmanager
async def signed_in(world: World, person: Person) -> AsyncIterator[Desk]:
    """At the pages for staff, in a browser of their own."""
    async with at_desk(world.app, world.here, person.name, world.clock) as desk:
        answer = await desk.http.post("/v1/staff/session", headers=_token_of(person) | HERE)
        assert answer.status_code == 200, answer.text
        yield desk


def cookie_of(desk: Desk) -> str:
    return "; ".join(f"{name}={value}" for name, value in desk.http.cookies.items())


async def built(app: Application, http: httpx.AsyncClient, here: NewSite, redis: Redis, clock: ManualClock) -> World:
    words = {"screening.words.enabled": True, "screening.words.hold": [HELD]}
    here = replace(here, site=await app.services.sites.change(here.site.id, settings=words, strict=True))
    other = await app.services.sites.create("Other", "other.example", settings=here.site.settings)
    world = World(app, http, here, other, redis, clock)
    people = {"ada": None, "bob": None, "sid": None, "mona": "moderator", "alma": "admin"}
    for name, role in [*people.items(), *((role, role) for role in STAFF)]:
        world.people[name] = await world.person(name, role)
    await world.ban(world.people["sid"], shadow=True)
    banned, shadowed, user = await world.person("user"), await world.person("user"), await world.person("user")
    await world.ban(banned)
    await world.ban(shadowed, shadow=True)
    world.people["owner everywhere"] = everywhere = await world.person("owner", "owner")
    await app.services.roles.grant(other.site.id, UserId(everywhere.id), Role.OWNER)
    key, far_key = {"projectid": here.site.api_key_public}, {"projectid": other.site.api_key_public}
    far = [await world.person("far", role, site=other) for role in (None, "moderator", "owner")]
    world.callers = [
        Caller("nobody", "nobody", {}),
        Caller("anonymous", "anonymous", key),
        Caller("guest", "guest", _token_of(await guest(http, here))),
        Caller("user", "user", _token_of(user)),
        Caller("banned", "banned", _token_of(banned)),
        Caller("shadowed", "shadowed", _token_of(shadowed)),
        *[Caller(role, role, _token_of(world.people[role])) for role in STAFF],
        Caller("owner everywhere", "owner", _token_of(everywhere)),
        Caller("secret key", "secret key", {"projectid": here.secret_key}),
        Caller("other site's user", "other site's user", _token_of(far[0]) | key),
        Caller("foreign page", "foreign page", _token_of(user) | {"origin": "https://evil.example"}),
        Caller("far anonymous", "anonymous", far_key, is_far=True),
        Caller("far user", "user", _token_of(far[0]), is_far=True),
        Caller("far moderator", "moderator", _token_of(far[1]), is_far=True),
        Caller("far owner", "owner", _token_of(far[2]), is_far=True),
        Caller("far secret key", "secret key", {"projectid": other.secret_key}, is_far=True),
    ]
    return world
