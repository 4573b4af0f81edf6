"""All parts at once: people come, write, vote, block each other, become moderators, decide, ban, and leave, over HTTP and in any
order; after every few deeds every person must see exactly what a plain model says, in each order, and at the end
`doctor --deep` finds nothing. The seed is printed, and THREADKIT_SEED repeats one; THREADKIT_SOAK=1 looks for longer."""

import os
import random
from typing import Any

import httpx
import msgspec
import pytest

from tests.conftest import NOTHING_HELD
from tests.make import ManualClock
from tests.people import Person, create
from tests.property.village_model import HELD_WORD, Remark, Village, Villager
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.moderation.rules import HistoryRule, LearningRule, WordsRule
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.sites.roles import Role

IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
VILLAGES, DEEDS = (60, 150) if IS_LONG else (3, 70)
LOOK_EVERY = 5
PAGES = ("https://blog.example.org/post", "https://blog.example.org/other")
MOST_ROOTS, MOST_PEOPLE = 20, 9
# What moderators think of an author must not hold the next comment behind the model's back.
SCREENING = msgspec.structs.replace(
    NOTHING_HELD,
    history=HistoryRule(enabled=False),
    learning=LearningRule(enabled=False),
    words=WordsRule(hold=(HELD_WORD,)),
)
# How often each comes; a verb is a method below.
VERBS = {
    "come": 2,
    "write": 12,
    "answer": 14,
    "vote": 14,
    "edit": 4,
    "delete": 3,
    "decide": 8,
    "change_ones_mind": 2,
    "block": 3,
    "unblock": 2,
    "promote": 2,
    "demote": 1,
    "ban": 2,
    "ban_and_clean_up": 1,
    "unban": 2,
    "shadow": 2,
    "unshadow": 2,
    "leave": 1,
}


class Life:
    """One village: the server's and the model's."""

    def __init__(self, app: Application, http: httpx.AsyncClient, site: NewSite, clock: ManualClock, seed: int) -> None:
        self._app = app
        self._http = http
        self._site = site
        self._clock = clock
        self._dice = random.Random(seed)
        self._village = Village()
        self._bodies: dict[str, Person] = {}
        self._texts = 0
        self.told: list[str] = []
        """What happened, for whoever looks for a fault."""

    async def begin(self) -> None:
        for _ in range(4):
            await self.come()
        await self._appoint(next(iter(self._village.people.values())))

    async def go_on(self) -> None:
        self._clock.advance(seconds=self._dice.choice([0.01, 1, 5]))  # all of it within the time in which one may edit
        verb = self._dice.choices(list(VERBS), list(VERBS.values()))[0]
        await getattr(self, verb)()

    # What people do. A verb for which there is nobody, or nothing, does nothing.

    async def come(self) -> None:
        if len(self._village.people) < MOST_PEOPLE:
            name = f"villager-{self._dice.getrandbits(40):x}"
            body = await create(self._http, self._site, name)
            self._bodies[body.id] = body
            self._village.people[body.id] = Villager(body.id, name)
            self._tell(body.id, "comes")

    async def write(self) -> None:
        if sum(remark.parent is None for remark in self._village.remarks) < MOST_ROOTS:
            await self._write(self._anybody(), self._dice.choice(PAGES), None)

    async def answer(self) -> None:
        if parent := self._something():
            await self._write(self._anybody(), parent.page, parent)

    async def _write(self, who: Villager, page: str, parent: Remark | None) -> None:
        self._texts += 1
        is_held = self._dice.random() < 0.15 and not who.is_shadowed
        text = HELD_WORD if is_held else f"text {self._texts}"
        body = {"page_url": page, "content": text, "parent_path": _path(parent) if parent else None}
        answer = await self._do(who, "POST", "/v1/comments", body)
        if answer:
            self._village.post(answer.json()["comment"]["i"], page, who, text, parent)

    async def vote(self) -> None:
        who, remark, way = self._anybody(), self._something(), self._dice.choice(["up", "up", "down"])
        if remark:
            body = {"page_url": remark.page, "path": _path(remark), "direction": way}
            if await self._do(who, "POST", f"/v1/comments/{remark.id}/vote", body):
                self._village.vote(remark, who, way)

    async def edit(self) -> None:
        own = [one for one in self._village.remarks if one.author and self._village.is_public(one)]
        if own:
            remark = self._dice.choice(own[-5:])
            assert remark.author
            self._texts += 1
            text = f"text {self._texts}, changed"
            if await self._do(remark.author, "PUT", f"/v1/comments/{remark.id}", {"content": text}):
                remark.text = text

    async def delete(self) -> None:
        if (remark := self._something()) and remark.author:
            who = remark.author if self._dice.random() < 0.6 else self._moderator() or remark.author
            if await self._do(who, "DELETE", f"/v1/comments/{remark.id}", {}, expected=204):
                self._village.delete(remark)

    async def decide(self) -> None:
        if (by := self._moderator()) and (remark := self._decidable(by)):
            action = "reject" if remark.status == "approved" else self._dice.choice(["approve", "approve", "reject"])
            if await self._do(by, "POST", f"/v1/moderation/{action}/{remark.id}", {}):
                remark.status = "approved" if action == "approve" else "rejected"

    async def change_ones_mind(self) -> None:
        """Reject, and take it back."""
        by, remark = self._moderator(), self._something()
        if by and remark:
            answer = await self._do(by, "POST", f"/v1/moderation/reject/{remark.id}", {})
            if answer:
                await self._do(by, "POST", f"/v1/moderation/undo/{answer.json()['undo']}", {})

    async def block(self) -> None:
        who, whom = self._anybody(), self._anybody()
        if who is not whom and await self._do(who, "POST", f"/v1/users/{whom.id}/block"):
            who.blocked.add(whom.id)

    async def unblock(self) -> None:
        who = self._anybody()
        if who.blocked:
            whom = self._dice.choice(sorted(who.blocked))
            if await self._do(who, "DELETE", f"/v1/users/{whom}/block"):
                who.blocked.discard(whom)

    async def promote(self) -> None:
        who = self._anybody()
        if not who.is_banned and not who.is_shadowed:
            await self._appoint(who)

    async def demote(self) -> None:
        moderators = [one for one in self._village.people.values() if one.is_moderator]
        if len(moderators) > 1:
            who = self._dice.choice(moderators)
            await self._app.services.roles.revoke(self._site.site.id, UserId(who.id))
            who.is_moderator = False
            self._tell(who.id, "is a moderator no more")

    async def ban(self, *, is_cleaned_up: bool = False) -> None:
        by, whom = self._moderator(), self._anybody()
        if by and not whom.is_moderator:
            body = {"delete_comments": is_cleaned_up}
            if await self._do(by, "POST", f"/v1/moderation/ban/{whom.id}", body):
                self._village.ban(whom, is_cleaned_up=is_cleaned_up)

    async def ban_and_clean_up(self) -> None:
        await self.ban(is_cleaned_up=True)

    async def unban(self) -> None:
        by, banned = self._moderator(), [one for one in self._village.people.values() if one.is_banned]
        if by and banned:
            whom = self._dice.choice(banned)
            if await self._do(by, "POST", f"/v1/moderation/unban/{whom.id}"):
                whom.is_banned = False

    async def shadow(self) -> None:
        by, whom = self._moderator(), self._anybody()
        if by and not whom.is_moderator and await self._do(by, "POST", f"/v1/moderation/shadowban/{whom.id}"):
            whom.is_shadowed = True

    async def unshadow(self) -> None:
        by, hidden = self._moderator(), [one for one in self._village.people.values() if one.is_shadowed]
        if by and hidden:
            whom = self._dice.choice(hidden)
            if await self._do(by, "DELETE", f"/v1/moderation/shadowban/{whom.id}"):
                await self._app.services.outbox.drain()
                self._village.unshadow(whom)

    async def leave(self) -> None:
        who = self._anybody()
        may_go = len(self._village.people) > 3 and who is not self._moderator()
        if may_go and await self._do(who, "DELETE", "/v1/users/me", is_for_banned=True):
            self._village.leave(who)

    # What everybody sees.

    async def look(self) -> None:
        await self._app.services.outbox.drain()
        viewers = [one for one in self._village.people.values() if not one.is_banned]
        for viewer in [None, *viewers]:
            for page in PAGES:
                for sort in ("new", "top"):
                    expected = self._village.thread(page, viewer, sort)
                    answer = await self._read(viewer, page, sort)
                    found = [_shape(node) for node in answer["tree"]["c"]]
                    assert found == expected, (viewer and viewer.name, page, sort)
                    assert answer["total"] == _size(expected), (viewer and viewer.name, page)

    async def end(self) -> None:
        await self.look()
        report = await self._app.services.deep_doctor.run()
        assert report.found == []

    # The hands.

    async def _do(
        self,
        who: Villager,
        method: str,
        path: str,
        body: object = None,
        *,
        expected: int = 200,
        is_for_banned: bool = False,
    ) -> httpx.Response | None:
        """The answer, if somebody may do it at all."""
        self._tell(who.id, f"{method} {path} {body}")
        answer = await self._bodies[who.id].call(method, path, body)
        if who.is_banned and not (is_for_banned or "/block" in path):
            assert answer.status_code == 403, answer.text
            return None
        assert answer.status_code == expected, answer.text
        return answer

    async def _read(self, viewer: Villager | None, page: str, sort: str) -> Any:
        headers = {"projectid": self._site.site.api_key_public}
        if viewer:
            headers["authorization"] = f"Bearer {self._bodies[viewer.id].token}"
        answer = await self._http.get("/v1/comments", params={"page_url": page, "sort": sort}, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def _appoint(self, who: Villager) -> None:
        await self._app.services.roles.grant(self._site.site.id, UserId(who.id), Role.MODERATOR)
        who.is_moderator = True
        self._tell(who.id, "is a moderator")

    def _anybody(self) -> Villager:
        return self._dice.choice(list(self._village.people.values()))

    def _moderator(self) -> Villager | None:
        return next((one for one in self._village.people.values() if one.is_moderator), None)

    def _something(self) -> Remark | None:
        """That everybody sees; mostly something new."""
        public = [remark for remark in self._village.remarks if self._village.is_public(remark)]
        return self._dice.choice(public[-8:]) if public else None

    def _decidable(self, by: Villager) -> Remark | None:
        """What hangs on something that is there. Nobody approves what was their own and rejected."""
        found = []
        for remark in self._village.remarks:
            is_there = remark.parent is None or self._village.is_public(remark.parent)
            is_open = remark.status in ("approved", "pending") or (remark.status == "rejected" and remark.author)
            if is_there and is_open and not remark.is_shadowed and remark.author is not by:
                found.append(remark)
        return self._dice.choice(found[-6:]) if found else None

    def _tell(self, user_id: str, deed: str) -> None:
        self.told.append(f"{self._village.people[user_id].name}: {deed}")


def _shape(node: dict[str, Any]) -> Any:
    return node["t"], node["n"], node["u"], node["d"], [_shape(reply) for reply in node.get("r", [])]


def _size(thread: list[Any]) -> int:
    return sum(1 + _size(replies) for *_, replies in thread)


def _path(remark: Remark) -> list[str]:
    return [*(_path(remark.parent) if remark.parent else []), remark.id]


@pytest.fixture
async def sites(app: Application) -> list[NewSite]:
    """One for each village."""
    settings = SiteSettings(auth=AuthSettings(anonymous=True), screening=SCREENING)
    return [
        await app.services.sites.create(f"Blog {n}", "blog.example.org", settings=settings) for n in range(VILLAGES)
    ]


@pytest.mark.timeout(3600 if IS_LONG else 120)
async def test_everybody_sees_what_they_should_whatever_everybody_does(
    app: Application, http: httpx.AsyncClient, sites: list[NewSite], clock: ManualClock
) -> None:
    # The short form is the same each time, so that it fails for whoever broke something.
    seed = int(os.environ.get("THREADKIT_SEED", random.randrange(1_000_000) if IS_LONG else 1))
    for number, site in enumerate(sites):
        life = Life(app, http, site, clock, seed + number)
        try:
            await life.begin()
            for deed in range(DEEDS):
                await life.go_on()
                if deed % LOOK_EVERY == 0:
                    await life.look()
            await life.end()
        except AssertionError:
            print(f"seed {seed + number}", *life.told, sep="\n")
            raise
    print(f"seed {seed}: {VILLAGES} villages, {DEEDS} deeds in each, everybody saw what they should")
