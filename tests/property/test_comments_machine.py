"""Any sequence of posts, replies, edits, votes, deletions and pins by all kinds of people equals a plain model.

S3-10…S3-18, S3-30, S3-31. The application runs in process over a real store; the model is in `comments_model.py`.
`THREADKIT_SOAK=1` looks for longer, and elsewhere each time.
"""

import asyncio
import contextlib
import os
import random
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from redis.asyncio import Redis

from tests.conftest import NOTHING_HELD
from tests.integration.comments.agreement import compared, everything_about_comments
from tests.keyspace import assert_keys_are_known
from tests.make import ManualClock
from tests.people import Person, create, guest
from tests.property.comments_model import ALL_SORTS, HELD_WORD, Comments, Said, Somebody, Status
from tests.stores import client_of
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.moderation.rules import HistoryRule, LearningRule, WordsRule
from threadkit.settings import Settings
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.sites.roles import Role
from threadkit.storage.bundled import BundledStore

IS_SOAK = os.environ.get("THREADKIT_SOAK") == "1"
PAGES = ("https://blog.example.org/post", "https://blog.example.org/other")
# Answers are compared at every step, the store and somebody's view at every fourth, everything at the end.
LOOK_EVERY = 4
MOST_MS = 300 * 86_400_000
NOT_COMPARED = ("content_html", "render_version", "decided_in")
T = TypeVar("T")
# Moderators decide much here; what they think of an author must not hold the next comment behind the model's back.
ONE_WORD_HELD = msgspec.structs.replace(
    NOTHING_HELD,
    history=HistoryRule(enabled=False),
    learning=LearningRule(enabled=False),
    words=WordsRule(hold=(HELD_WORD,)),
)

PEOPLE = ("normal", "author", "moderator", "shadow", "blocker", "guest", "nobody")
# How often each verb comes; a verb is a method of the machine.
VERBS = {
    "post": 3,
    "reply": 5,
    "edit": 1,
    "edit_ones_own": 4,
    "vote": 10,
    "vote_again": 5,
    "delete": 1,
    "delete_ones_own": 3,
    "pin": 2,
    "moderate": 6,
    "hold_new_ones": 1,
    "hold_nothing": 3,
    "block_or_unblock": 1,
    "wait": 3,
}


@dataclass(frozen=True)
class Deed:
    """What somebody does next. Every verb takes from it what it needs."""

    verb: str
    who: str
    pick: int
    way: str
    text: str
    seconds: float
    is_sane: bool


def _deed(throw: str) -> Deed:
    dice = random.Random(throw)
    return Deed(
        verb=dice.choices(list(VERBS), list(VERBS.values()))[0],
        who=dice.choice(PEOPLE),
        pick=dice.choice([0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 5, 8, 13]),
        way=dice.choice(["up", "down"]),
        text=dice.choice(["ah", "oh", "yes", "no", "really", "well", "maybe", HELD_WORD]),
        seconds=dice.choice([0.001, 0.999, 1, 60, 899.999, 900, 900.001, 3600, 86_400, 2_592_000]),
        is_sane=dice.random() < 0.8,
    )


throws = st.integers(0, 2**64)


class CommentsMachine(RuleBasedStateMachine):
    """One run: one application, one site, six people and nobody."""

    def __init__(self, begin: Callable[[], Application], client: Callable[[], Redis]) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._stack = contextlib.AsyncExitStack()
        self._begin, self._client = begin, client
        self._looks = 0

    def _run(self, what: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(what)

    def teardown(self) -> None:
        try:
            self._run(self._look_everywhere())
        finally:
            self._run(self._stack.aclose())
            self._runner.close()

    # The set-up.

    @initialize(holds=st.booleans())
    def open(self, holds: bool) -> None:
        """Everybody has said something and been answered when it begins."""
        self._run(self._open())
        for who, other in zip(PEOPLE, PEOPLE[1:] + PEOPLE[:1], strict=True):
            self._write(who, PAGES[0], "hello", None)
            if not self.model.said[-1].is_shadowed:
                self._write(other, PAGES[0], "welcome", self.model.said[-1])
        if holds:
            self._moderate("pre")

    async def _open(self) -> None:
        self.redis = await self._stack.enter_async_context(contextlib.aclosing(self._client()))
        await self.redis.flushall()
        self.app = self._begin()
        clock = self.app.services.clock
        assert isinstance(clock, ManualClock)
        self.clock = clock
        await self._stack.enter_async_context(self.app.lifespan())
        # Nothing is lost here if the machine falls over, so the disk need not be waited for.
        await self.redis.config_set("appendfsync", "no")
        self._stack.push_async_callback(self.redis.config_set, "appendfsync", "always")
        transport = httpx.ASGITransport(self.app)
        self.http = await self._stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://t"))
        auth = SiteSettings(auth=AuthSettings(anonymous=True), screening=ONE_WORD_HELD)
        self.site: NewSite = await self.app.services.sites.create("Blog", "blog.example.org", settings=auth)
        names = ("normal", "author", "moderator", "shadow", "blocker")
        self.people: dict[str, Person] = {name: await create(self.http, self.site, name) for name in names}
        self.people["guest"] = await guest(self.http, self.site, "visitor")
        site_id, moderator = self.site.site.id, self.people["moderator"].id
        await self.app.services.roles.grant(site_id, moderator, Role.MODERATOR)  # type: ignore[arg-type]
        await self.redis.sadd(f"site:{site_id}:shadowbanned", self.people["shadow"].id)
        self.model = Comments([Somebody(person.id, person.name) for person in self.people.values()])
        self._somebody("moderator").is_moderator = True  # type: ignore[union-attr]
        self._somebody("shadow").is_shadowed = True  # type: ignore[union-attr]
        self.page_ids = {page: (await self._get(None, page, "new"))["page_id"] for page in PAGES}
        await self._toggle_block("blocker", "author")

    # What people do. One rule for all of it: hypothesis leaves rules out at random, and most runs would say nothing.

    @rule(throw=throws)
    def somebody_does(self, throw: int) -> None:
        # Hypothesis likes to repeat itself; with the number of the step a repeated throw is another deed.
        deed = _deed(f"{throw} {self._looks}")
        note(str(deed))
        getattr(self, deed.verb)(deed)

    def post(self, deed: Deed) -> None:
        self._write(deed.who, PAGES[deed.pick >= 8], deed.text, None)

    def reply(self, deed: Deed) -> None:
        """Now and then on the wrong page."""
        parent = self._pick(deed)
        page = next(page for page in PAGES if (page == parent.page) != (not deed.is_sane))
        self._write(deed.who, page, deed.text, parent)

    def edit(self, deed: Deed) -> None:
        self._edit(deed.who, self._pick(deed), deed.text)

    def edit_ones_own(self, deed: Deed) -> None:
        """Often so that it has to wait."""
        said = self._pick(deed)
        self._edit(self._name_of(said.author_id), said, HELD_WORD if deed.way == "down" else deed.text)

    def vote(self, deed: Deed) -> None:
        self._vote(deed.who, self._pick(deed), deed.way)

    def vote_again(self, deed: Deed) -> None:
        """Somebody who voted takes it back or switches."""
        if self.model.votes:
            voter, comment_id = list(self.model.votes)[-1 - deed.pick % len(self.model.votes)]
            said = next(said for said in self.model.said if said.id == comment_id)
            self._vote(self._name_of(voter), said, deed.way)

    def delete(self, deed: Deed) -> None:
        self._delete(deed.who, self._pick(deed))

    def delete_ones_own(self, deed: Deed) -> None:
        said = self._pick(deed)
        self._delete(self._name_of(said.author_id), said)

    def pin(self, deed: Deed) -> None:
        who = deed.who if deed.way == "down" else "moderator"
        said = self._pick(deed)
        expected, state = self.model.pin(said, self._somebody(who), self.clock.now_ms())
        answer = self._call(who, "POST", f"/v1/comments/{said.id}/pin", {"page_url": said.page, "path": _path(said)})
        assert answer.status_code == expected, answer.text
        if expected == 200:
            assert answer.json() == state

    def moderate(self, deed: Deed) -> None:
        who = deed.who if deed.pick == 13 else "moderator"
        said = self._pick(deed)
        status: Status = "approved" if deed.way == "up" else "rejected"
        expected = self.model.moderate(said, self._somebody(who), status)
        action = {"approved": "approve", "rejected": "reject" if deed.is_sane else "spam"}[status]
        answer = self._call(who, "POST", f"/v1/moderation/{action}/{said.id}", {})
        assert answer.status_code == expected, answer.text

    def hold_new_ones(self, _: Deed) -> None:
        self._moderate("pre")

    def hold_nothing(self, _: Deed) -> None:
        self._moderate("none")

    def block_or_unblock(self, deed: Deed) -> None:
        who = {"normal": "normal", "shadow": "shadow"}.get(deed.who, "blocker")
        self._run(self._toggle_block(who, "author" if deed.way == "up" else "guest"))

    def wait(self, deed: Deed) -> None:
        if self.clock.now_ms() + deed.seconds * 1000 < ManualClock().now_ms() + MOST_MS:
            self.clock.advance(seconds=deed.seconds)

    # What must hold.

    @invariant()
    def store_and_one_view_agree(self) -> None:
        if not hasattr(self, "page_ids"):
            return
        self._looks += 1
        if self._looks % LOOK_EVERY:
            return
        names = [*self.people, "nobody"]
        who, sort = names[self._looks // LOOK_EVERY % len(names)], ALL_SORTS[self._looks // LOOK_EVERY % len(ALL_SORTS)]
        self._run(self._look([who], [sort], [PAGES[0]]))

    async def _look_everywhere(self) -> None:
        if not hasattr(self, "page_ids"):
            return
        everybody = [*self.people, "nobody"]
        await self._look(everybody, ALL_SORTS, PAGES[:1])
        await self._look(everybody, ["new"], PAGES[1:])
        for name, person in self.people.items():
            await self._look_at_profile(name, person)
        await assert_keys_are_known(self.redis)

    async def _look(self, names: Iterable[str], sorts: Iterable[str], urls: Iterable[str]) -> None:
        await self._settled()
        await self._look_at_store()
        for name in names:
            for page in urls:
                await self._look_at_page(name, page, sorts)

    async def _settled(self) -> None:
        await until(self._is_settled, "effects on people", seconds=60)

    async def _is_settled(self) -> bool:
        await self.app.services.outbox.drain()
        return not await self.redis.xlen(f"site:{self.site.site.id}:outbox")

    async def _look_at_store(self) -> None:
        found = await everything_about_comments(self.redis)
        shadowed = {person.id for person in self.model.people.values() if person.is_shadowed}
        assert list(compared(found, shadowed=shadowed)) == []
        totals = {
            page: int(found.pop(f"page:{page_id}", {}).get("comments", 0)) for page, page_id in self.page_ids.items()
        }
        assert totals == {page: self.model.total(page) for page in PAGES}
        expected = self.model.store(self.site.site.id, self.page_ids)
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            if isinstance(value, dict) and "status" in value:
                record = {name: text for name, text in found[key].items() if name not in NOT_COMPARED}
                assert record == value, key
            elif isinstance(value, dict) and all(isinstance(score, int | float) for score in value.values()):
                assert found[key] == pytest.approx(value, abs=1e-9), key
            elif isinstance(value, dict):
                # A question mark says that a vote was not counted, which the counts show as well.
                assert {name: str(way).rstrip("?") for name, way in found[key].items()} == value, key
            else:
                assert found[key] == value, key

    async def _look_at_page(self, name: str, page: str, sorts: Iterable[str]) -> None:
        viewer = self._somebody(name)
        for sort in sorts:
            thread = await self._get(name, page, sort)
            roots, total = self.model.tree(page, viewer, sort)
            assert _without_html(thread["tree"]["c"]) == roots, (name, sort)
            assert thread["total"] == total
            pinned = [(comment_id, ms) for comment_id, ms in thread.get("pinned", [])]
            assert set(pinned) == self.model.pinned(page)
            assert [ms for _, ms in pinned] == sorted((ms for _, ms in pinned), reverse=True)
        counts = await self.http.get("/v1/counts", params={"url": list(PAGES)}, headers=self._headers(None))
        assert counts.json() == {"counts": {url: self.model.total(url) for url in PAGES}}
        if viewer:
            votes = await self.people[name].call("GET", f"/v1/pages/my_votes?page_url={page}")
            assert votes.json() == {"votes": self.model.my_votes(viewer, page)}

    async def _look_at_profile(self, name: str, person: Person) -> None:
        somebody = self._somebody(name)
        assert somebody is not None
        profile = (await self.http.get(f"/v1/users/{person.id}", headers=self._headers(None))).json()
        assert (profile["karma"], profile["total_comments"]) == (somebody.karma, somebody.posted), name
        for is_own, path in ((True, "/v1/users/me/comments"), (False, f"/v1/users/{person.id}/comments")):
            headers = self._headers(name if is_own else None)
            listed = (await self.http.get(path, params={"limit": 100}, headers=headers)).json()
            ids = [item["comment"]["i"] for item in listed["comments"]]
            expected = self.model.listed_by(somebody, is_own=is_own)
            assert sorted(ids) == sorted(expected), (name, path)
            times = [item["comment"]["x"] for item in listed["comments"]]
            assert times == sorted(times, reverse=True)

    # The hands.

    def _somebody(self, name: str) -> Somebody | None:
        return self.model.people[self.people[name].id] if name in self.people else None

    def _name_of(self, user_id: str) -> str:
        return next((name for name, person in self.people.items() if person.id == user_id), "moderator")

    def _pick(self, deed: Deed) -> Said:
        """Counted from the newest, so that things happen to the same few comments, and mostly to those that are there."""
        there = [said for said in self.model.said if said.status == "approved"]
        choice = there if there and deed.is_sane else self.model.said
        return choice[-1 - deed.pick % len(choice)]

    def _headers(self, name: str | None) -> dict[str, str]:
        headers = {"projectid": self.site.site.api_key_public}
        if name in self.people:
            headers["authorization"] = f"Bearer {self.people[name].token}"
        return headers

    def _call(self, name: str, method: str, path: str, body: object) -> httpx.Response:
        return self._run(self.http.request(method, path, json=body, headers=self._headers(name)))

    async def _get(self, name: str | None, page: str, sort: str) -> dict[str, Any]:
        answer = await self.http.get(
            "/v1/comments", params={"page_url": page, "sort": sort}, headers=self._headers(name)
        )
        assert answer.status_code == 200, answer.text
        thread: dict[str, Any] = answer.json()
        return thread

    def _write(self, who: str, page: str, text: str, parent: Said | None) -> None:
        # A comment carries its author's karma, which follows the votes a little later.
        self._run(self._settled())
        author = self._somebody(who)
        body = {"page_url": page, "content": text, "parent_path": _path(parent) if parent else None}
        answer = self._call(who, "POST", "/v1/comments", body | {"author_name": "passer-by"})
        assert answer.status_code == self.model.may_post(page, author, parent), answer.text
        if answer.status_code != 200:
            assert answer.json()["error"] == "Parent comment not found"
            return
        comment = answer.json()["comment"]
        now_ms = self.clock.now_ms()
        said = self.model.post(comment["i"], page, author, "passer-by", text, parent, now_ms)
        assert _without_html([comment]) == [self.model.wire(said)]

    def _edit(self, who: str, said: Said, text: str) -> None:
        expected = self.model.edit(said, self._somebody(who), text, self.clock.now_ms())
        body = {"page_url": said.page, "content": text, "path": _path(said)}
        answer = self._call(who, "PUT", f"/v1/comments/{said.id}", body)
        assert answer.status_code == expected, answer.text
        if expected == 200:
            assert _without_html([answer.json()]) == [self.model.wire(said, self._somebody(who))]

    def _vote(self, who: str, said: Said, way: str) -> None:
        expected, result = self.model.vote(said, self._somebody(who), way)
        body = {"page_url": said.page, "path": _path(said), "direction": way}
        answer = self._call(who, "POST", f"/v1/comments/{said.id}/vote", body)
        assert answer.status_code == expected, answer.text
        if expected == 200:
            assert answer.json() == result | {"version": self._run(self._version(said.page))}

    async def _version(self, page: str) -> int:
        return int(await self.redis.hget(f"page:{self.page_ids[page]}", "version") or 0)

    def _delete(self, who: str, said: Said) -> None:
        expected = self.model.delete(said, self._somebody(who))
        body = {"page_url": said.page, "path": _path(said)}
        answer = self._call(who, "DELETE", f"/v1/comments/{said.id}", body)
        assert answer.status_code == expected, answer.text

    def _moderate(self, mode: str) -> None:
        if self.model.holds_new_ones != (mode == "pre"):
            self.model.holds_new_ones = mode == "pre"
            self._run(self.app.services.sites.change(self.site.site.id, settings={"moderation_mode": mode}))

    async def _toggle_block(self, who: str, whom: str) -> None:
        somebody, other = self._somebody(who), self.people[whom].id
        assert somebody is not None
        method = "DELETE" if other in somebody.blocked else "POST"
        answer = await self.people[who].call(method, f"/v1/users/{other}/block")
        assert answer.status_code == 200, answer.text
        somebody.blocked ^= {other}


def _path(said: Said) -> list[str]:
    path = [said.id]
    while said.parent:
        said = said.parent
        path.insert(0, said.id)
    return path


def _without_html(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The nodes as the model has them; the HTML is the text in a paragraph, since all words here are plain."""
    plain = []
    for node in nodes:
        kept = dict(node)
        assert kept.pop("h").strip() == f"<p>{node['t']}</p>"
        if "r" in kept:
            kept["r"] = _without_html(kept["r"])
        plain.append(kept)
    return plain


@pytest.mark.timeout(3600 if IS_SOAK else 180)
def test_any_sequence_of_what_people_do_equals_a_plain_model(
    bundled: BundledStore, settings: Settings, keyring: Keyring
) -> None:
    accounts = msgspec.structs.replace(settings.accounts, access_token_hours=8760, session_days=365)
    patient = msgspec.structs.replace(settings, accounts=accounts)

    def machine() -> CommentsMachine:
        return CommentsMachine(
            lambda: create_app(patient, bundled.address, keyring, clock=ManualClock()),
            lambda: client_of(bundled),
        )

    run_state_machine_as_test(machine, settings=RUNS)  # type: ignore[arg-type]  # any maker of one will do


RUNS = settings(
    max_examples=500 if IS_SOAK else 9,
    stateful_step_count=200 if IS_SOAK else 100,
    derandomize=not IS_SOAK,
    database=None,
    deadline=None,
    # Making a failure small takes minutes; the steps that led to it are printed anyway.
    phases=[Phase.generate, Phase.shrink] if IS_SOAK else [Phase.generate],
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
