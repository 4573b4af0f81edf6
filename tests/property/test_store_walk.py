"""Five people at once do everything there is to be done with comments, at random: write, vote, edit, delete, report, decide,
undo, pin, shadow-ban, appeal, merge, move and rebuild, and some merges are broken off half way. When all is quiet,
`doctor --deep` finds nothing, and the indexes are what can be told from the records. The seed of each walk is printed;
THREADKIT_SEED begins with another, THREADKIT_WALK_S says for how long. Ten minutes in `make prove`."""

import asyncio
import contextlib
import os
import random
import re
import time
from collections import Counter
from typing import Any

import httpx
import msgspec
import pytest
from redis.asyncio import Redis

from tests.conftest import NOTHING_HELD
from tests.integration.comments.agreement import disagreements, everything_about_comments
from tests.make import ManualClock
from tests.people import Person, create
from tests.tiers import PROVING
from threadkit.app import Application
from threadkit.errors import ThreadKitError
from threadkit.ids import UserId
from threadkit.moderation.rules import HistoryRule, LearningRule, WordsRule
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.sites.roles import Role

SECONDS = float(os.environ.get("THREADKIT_WALK_S", 600 if PROVING else 10))
FIRST_SEED = int(os.environ.get("THREADKIT_SEED", random.randrange(1_000_000) if PROVING else 1))
DEEDS = 60  # of each writer in one walk
WRITERS, MODERATORS, PAGES = 5, 2, 4
MOST_TRIES = 20
HELD_WORD = "casino"
SCREENING = msgspec.structs.replace(
    NOTHING_HELD,
    history=HistoryRule(enabled=False),
    learning=LearningRule(enabled=False),
    words=WordsRule(hold=(HELD_WORD,)),
)
# How often each comes; a verb is a method below.
VERBS = {
    "post": 10,
    "reply": 16,
    "vote": 14,
    "edit": 6,
    "delete": 6,
    "report": 8,
    "decide": 14,
    "decide_many": 2,
    "delete_as_moderator": 4,
    "dismiss": 2,
    "undo": 8,
    "pin": 4,
    "shadow_ban": 3,
    "lift": 4,
    "appeal": 6,
    "judge": 4,
    "merge": 4,
    "move": 3,
    "lock": 1,
    "rebuild": 1,
    "wait": 4,
}
# Others are at it too, so much of what one wants to do cannot be done any more.
ALLOWED = {200, 202, 204, 400, 403, 404, 409}


class Walk:
    def __init__(self, app: Application, http: httpx.AsyncClient, site: NewSite, clock: ManualClock, seed: int) -> None:
        self._app, self._http, self._site, self._clock = app, http, site, clock
        self._seed = seed
        self._people: list[Person] = []
        self._comments: list[tuple[str, int]] = []
        """Each with its author."""
        self._appealed: list[str] = []
        self._undo: list[str] = []
        self._unfinished: list[tuple[str, str, str]] = []
        self._moving = asyncio.Lock()
        self._texts = 0
        self.told: list[str] = []
        """What was answered, for whoever looks for a fault."""

    async def run(self) -> None:
        self._people = [await create(self._http, self._site, f"w{self._seed}x{n}") for n in range(WRITERS)]
        for person in self._people[:MODERATORS]:
            await self._app.services.roles.grant(self._site.site.id, UserId(person.id), Role.MODERATOR)
        await asyncio.gather(*(self._live(number) for number in range(WRITERS)))
        await self._finish()

    async def _live(self, number: int) -> None:
        dice = random.Random(f"{self._seed} {number}")
        for _ in range(DEEDS):
            self._clock.advance(seconds=dice.choice([0, 0.001, 1]))
            verb = dice.choices(list(VERBS), list(VERBS.values()))[0]
            await getattr(self, verb)(number, dice)

    async def _finish(self) -> None:
        """What was broken off is said again, in the order in which it was begun, and what waits is carried out."""
        for verb, first, second in self._unfinished:
            with contextlib.suppress(ThreadKitError):
                await getattr(self._app.services.pages, verb)(self._site.site, first, second)
        for _ in range(MOST_TRIES):
            await self._app.services.outbox.drain()
            self._clock.advance(seconds=60)
        state = await self._app.services.outbox_queries.sum()
        assert (state.waiting, state.retrying, state.dead) == (0, 0, 0), state

    async def check(self, redis: Redis) -> None:
        report = await self._app.services.deep_doctor.run()
        assert [tally.sentence(is_check=True) for tally in report.found] == []
        assert await disagreements(redis) == []
        assert await miscounted(redis) == []

    # What people do. What there is nothing for does nothing.

    async def post(self, number: int, dice: random.Random) -> None:
        await self._write(number, dice, None)

    async def reply(self, number: int, dice: random.Random) -> None:
        if self._comments:
            await self._write(number, dice, self._some(dice))

    async def _write(self, number: int, dice: random.Random, parent: str | None) -> None:
        self._texts += 1
        text = HELD_WORD if dice.random() < 0.15 else f"text {self._texts}"
        body: dict[str, Any] = {"page_url": self._page(dice), "content": text}
        if parent:
            place = await self._app.services.comment_queries.by_id(self._site.site.id, parent)  # type: ignore[arg-type]
            assert place is not None
            body |= {"page_id": place.page_id, "parent_path": [parent]}
        answer = await self._do(number, "POST", "/v1/comments", body)
        if answer.status_code == 200:
            self._comments.append((answer.json()["comment"]["i"], number))

    async def vote(self, number: int, dice: random.Random) -> None:
        await self._about(number, dice, "POST", "/vote", {"direction": dice.choice(["up", "up", "down"])})

    async def edit(self, number: int, dice: random.Random) -> None:
        self._texts += 1
        text = HELD_WORD if dice.random() < 0.2 else f"text {self._texts}, changed"
        await self._own(number, dice, "PUT", "", {"content": text})

    async def delete(self, number: int, dice: random.Random) -> None:
        await self._own(number, dice, "DELETE", "")

    async def appeal(self, number: int, dice: random.Random) -> None:
        answer = await self._own(number, dice, "POST", "/appeal", {"text": "why?"})
        if answer is not None and answer.status_code == 204:
            self._appealed.append(str(answer.request.url.path).split("/")[-2])

    async def report(self, number: int, dice: random.Random) -> None:
        await self._about(number, dice, "POST", "/report", {"reason": "spam"})

    async def pin(self, _number: int, dice: random.Random) -> None:
        await self._about(self._moderator(dice), dice, "POST", "/pin", {})

    # What moderators and owners do, who may be among the writers.

    async def decide(self, _number: int, dice: random.Random) -> None:
        if self._comments:
            action = dice.choice(["approve", "approve", "reject", "spam"])
            await self._judge(dice, "POST", f"/v1/moderation/{action}/{self._some(dice)}", {"reason": "because"})

    async def decide_many(self, _number: int, dice: random.Random) -> None:
        if self._comments:
            ids = sorted({self._some(dice) for _ in range(5)})
            body = {"action": dice.choice(["approve", "reject", "delete"]), "ids": ids}
            answer = await self._do(self._moderator(dice), "POST", "/v1/moderation/bulk", body)
            if answer.status_code == 200:
                self._undo += answer.json()["done"].values()

    async def delete_as_moderator(self, _number: int, dice: random.Random) -> None:
        if self._comments:
            await self._judge(dice, "POST", f"/v1/moderation/delete/{self._some(dice)}", {})

    async def dismiss(self, _number: int, dice: random.Random) -> None:
        if self._comments:
            await self._judge(dice, "POST", f"/v1/moderation/reports/{self._some(dice)}/dismiss", {})

    async def judge(self, _number: int, dice: random.Random) -> None:
        if self._appealed:
            body = {"decision": dice.choice(["grant", "decline"])}
            await self._judge(dice, "POST", f"/v1/moderation/appeals/{dice.choice(self._appealed[-3:])}", body)

    async def undo(self, _number: int, dice: random.Random) -> None:
        if self._undo:
            entry = self._undo[-1 - dice.randrange(min(5, len(self._undo)))]
            await self._judge(dice, "POST", f"/v1/moderation/undo/{entry}", None)

    async def shadow_ban(self, _number: int, dice: random.Random) -> None:
        await self._judge(dice, "POST", f"/v1/moderation/shadowban/{self._visitor(dice)}", {})

    async def lift(self, _number: int, dice: random.Random) -> None:
        await self._judge(dice, "DELETE", f"/v1/moderation/shadowban/{self._visitor(dice)}", None)

    async def merge(self, _number: int, dice: random.Random) -> None:
        await self._take_along("merge", self._page(dice), self._page(dice), dice)

    async def move(self, _number: int, dice: random.Random) -> None:
        self._texts += 1
        new = f"https://blog.example.org/{self._seed}/moved/{self._texts}"
        await self._take_along("move", self._page(dice), dice.choice([new, self._page(dice)]), dice)

    async def _take_along(self, verb: str, first: str, second: str, dice: random.Random) -> None:
        """One after the other, as an owner says them; some are broken off after a number of steps."""
        async with self._moving:
            self.told.append(f"{verb} {first} {second}")
            self._unfinished.append((verb, first, second))
            work = asyncio.ensure_future(getattr(self._app.services.pages, verb)(self._site.site, first, second))
            if dice.random() < 0.6:
                for _ in range(dice.randrange(1, 25)):
                    await asyncio.sleep(0)
                work.cancel()
            with contextlib.suppress(ThreadKitError, asyncio.CancelledError):
                await work
                self._unfinished.pop()

    async def lock(self, _number: int, dice: random.Random) -> None:
        page = self._page(dice)
        for is_locked in (True, False):
            await self._app.services.pages.lock_named(self._site.site, page, locked=is_locked)

    async def rebuild(self, _number: int, dice: random.Random) -> None:
        await self._app.services.rebuild.run(is_check=dice.random() < 0.5)

    async def wait(self, _number: int, dice: random.Random) -> None:
        self._clock.advance(seconds=dice.choice([1, 10, 31]))
        await self._app.services.outbox.drain()

    # The hands.

    async def _about(self, number: int, dice: random.Random, method: str, path: str, body: Any = None) -> None:
        if self._comments:
            await self._do(number, method, f"/v1/comments/{self._some(dice)}{path}", body)

    async def _own(
        self, number: int, dice: random.Random, method: str, path: str, body: Any = None
    ) -> httpx.Response | None:
        own = [comment_id for comment_id, author in self._comments if author == number]
        return await self._do(number, method, f"/v1/comments/{dice.choice(own[-8:])}{path}", body) if own else None

    async def _judge(self, dice: random.Random, method: str, path: str, body: Any) -> None:
        answer = await self._do(self._moderator(dice), method, path, body)
        said = answer.json() if answer.content else None
        if undo := answer.headers.get("x-undo") or (said or {}).get("undo") or (said or {}).get("entry"):
            self._undo.append(undo)

    async def _do(self, number: int, method: str, path: str, body: Any = None) -> httpx.Response:
        answer = await self._people[number].call(method, path, body)
        self.told.append(f"{number}: {method} {path} {body} {answer.status_code}")
        assert answer.status_code in ALLOWED, (method, path, answer.status_code, answer.text)
        return answer

    def _some(self, dice: random.Random) -> str:
        """Mostly something new."""
        return dice.choice(self._comments[-12:] if dice.random() < 0.8 else self._comments)[0]

    def _page(self, dice: random.Random) -> str:
        return f"https://blog.example.org/{self._seed}/{dice.randrange(PAGES)}"

    def _moderator(self, dice: random.Random) -> int:
        return dice.randrange(MODERATORS)

    def _visitor(self, dice: random.Random) -> str:
        return self._people[dice.randrange(MODERATORS, WRITERS)].id


async def miscounted(redis: Redis) -> list[str]:
    """Comments whose counts are not those of the votes that count: one from the shadow has a question mark."""
    store = await everything_about_comments(redis)
    lists = [votes for key, votes in store.items() if re.fullmatch(r"votes:[^:]+:(?!pages$)[^:]+", key)]
    counts = Counter(item for votes in lists for item in votes.items())
    records = {key: value for key, value in store.items() if re.fullmatch(r"comment:[^:]+", key)}
    return [
        f"{key} counts {record['upvotes']} and {record['downvotes']}"
        for key, record in records.items()
        if any(int(record[f"{way}votes"]) != counts[record["id"], way] for way in ("up", "down"))
    ]


@pytest.fixture
async def site(app: Application) -> NewSite:
    settings = SiteSettings(auth=AuthSettings(anonymous=True), screening=SCREENING)
    return await app.services.sites.create("Blog", "blog.example.org", settings=settings)


@pytest.mark.prove(also=True)
@pytest.mark.timeout(SECONDS * 3 + 120)
async def test_the_store_agrees_whatever_five_people_do_at_once(
    app: Application, http: httpx.AsyncClient, site: NewSite, clock: ManualClock, redis: Redis
) -> None:
    # Nothing is lost here if the machine falls over, so the disk need not be waited for.
    await redis.config_set("appendfsync", "no")
    try:
        await walks(app, http, site, clock, redis)
    finally:
        await redis.config_set("appendfsync", "always")


async def walks(app: Application, http: httpx.AsyncClient, site: NewSite, clock: ManualClock, redis: Redis) -> None:
    ends, seed, deeds = time.monotonic() + SECONDS, FIRST_SEED, 0
    while seed == FIRST_SEED or time.monotonic() < ends:
        walk = Walk(app, http, site, clock, seed)
        try:
            await walk.run()
            await walk.check(redis)
        except BaseException:
            print(f"seed {seed}", *walk.told, sep="\n")
            raise
        seed, deeds = seed + 1, deeds + len(walk.told)
    print(f"seeds {FIRST_SEED} to {seed - 1}: {deeds} deeds, and everything in the store agrees")
