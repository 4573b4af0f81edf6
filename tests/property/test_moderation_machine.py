"""Any sequence of reports, decisions, appeals and undoing equals a plain model: the queue, what is reported and how heavy,
what is hidden, the counts, the appeals and the log.

S3-80, S3-81. The application runs in process over a real store; the model is in `moderation_model.py`.
`THREADKIT_SOAK=1` looks for longer, and elsewhere each time.
"""

import asyncio
import contextlib
import os
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from redis.asyncio import Redis

from tests.conftest import NOTHING_HELD
from tests.integration.comments.agreement import disagreements
from tests.keyspace import assert_keys_are_known
from tests.make import ManualClock
from tests.people import Person, create, guest
from tests.property.moderation_model import Case, Moderation, Somebody
from tests.stores import client_of
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.ids import UserId
from threadkit.keyring import Keyring
from threadkit.moderation.rules import HistoryRule, LearningRule, WordsRule
from threadkit.settings import Settings
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.sites.roles import Role
from threadkit.storage.bundled import BundledStore

IS_SOAK = os.environ.get("THREADKIT_SOAK") == "1"
PAGE = "https://blog.example.org/post"
EIGHT_DAYS_S = 8 * 86_400
# The lists are compared at every step, what is read by visitors and every index at every eighth and at the end.
LOOK_EVERY = 8
T = TypeVar("T")

MODERATORS = ("mo", "max")
REPORTERS = ("settled", "trusted", "newcomer", "another newcomer", "guest")
WEIGHTS = {"settled": 1.0, "trusted": 1.5, "newcomer": 0.5, "another newcomer": 0.5, "guest": 0.5}
PEOPLE = ("author", *REPORTERS, *MODERATORS)
# How often each verb comes; a verb is a method of the machine.
VERBS = {
    "post": 4,
    "report": 12,
    "moderate": 7,
    "moderate_many": 1,
    "dismiss": 2,
    "delete": 2,
    "appeal": 4,
    "judge_appeal": 4,
    "undo": 5,
    "wait": 2,
}


@dataclass(frozen=True)
class Deed:
    """What somebody does next. Every verb takes from it what it needs."""

    verb: str
    who: str
    moderator: str
    pick: int
    action: str
    is_sane: bool
    seconds: float


def _deed(throw: str) -> Deed:
    dice = random.Random(throw)
    return Deed(
        verb=dice.choices(list(VERBS), list(VERBS.values()))[0],
        who=dice.choice(PEOPLE),
        moderator=dice.choice(MODERATORS),
        pick=dice.choice([0, 0, 0, 0, 0, 1, 1, 2, 3, 5]),
        action=dice.choice(["approve", "reject", "reject", "spam", "delete"]),
        is_sane=dice.random() < 0.85,
        seconds=dice.choice([0.001, 1, 10, 29.999, 30.001, 60]),
    )


class ModerationMachine(RuleBasedStateMachine):
    """One run: one application, one site, an author, five people who report and two moderators."""

    def __init__(self, begin: Callable[[], Application], client: Callable[[], Redis]) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._stack = contextlib.AsyncExitStack()
        self._begin, self._client = begin, client
        self._looks = 0
        self._roles_given = len(MODERATORS)
        self._is_amiss = False
        """Something went wrong already, and that is what is to be told."""

    def _run(self, what: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(what)

    def teardown(self) -> None:
        try:
            if hasattr(self, "model") and not self._is_amiss:
                self._run(self._look_everywhere())
        finally:
            self._run(self._stack.aclose())
            self._runner.close()

    # The set-up.

    @initialize()
    def open(self) -> None:
        self._run(self._open())
        for who in ("author", "author", "mo", "settled"):
            self._write(who, is_held=who == "settled")

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
        screening = msgspec.structs.replace(
            NOTHING_HELD,
            words=WordsRule(hold=("casino",)),
            history=HistoryRule(enabled=False),
            learning=LearningRule(enabled=False),
        )
        site_settings = SiteSettings(auth=AuthSettings(anonymous=True), screening=screening)
        self.site: NewSite = await self.app.services.sites.create("Blog", "blog.example.org", settings=site_settings)
        old = ("author", "settled", "trusted", *MODERATORS)
        self.people: dict[str, Person] = {name: await create(self.http, self.site, name) for name in old}
        clock.advance(seconds=EIGHT_DAYS_S)
        for name in ("newcomer", "another newcomer"):
            self.people[name] = await create(self.http, self.site, name)
        self.people["guest"] = await guest(self.http, self.site, "visitor")
        await self.redis.hset(f"user:{self.people['trusted'].id}", "total_comments", "20")
        for name in MODERATORS:
            await self.app.services.roles.grant(self.site.site.id, UserId(self.people[name].id), Role.MODERATOR)
        self.model = Moderation(
            [
                Somebody(person.id, WEIGHTS.get(name, 1.0), is_moderator=name in MODERATORS, is_guest=name == "guest")
                for name, person in self.people.items()
            ]
        )

    # What people do. One rule for all of it: hypothesis leaves rules out at random, and most runs would say nothing.

    @rule(throw=st.integers(0, 2**64))
    def somebody_does(self, throw: int) -> None:
        # Hypothesis likes to repeat itself; with the number of the step a repeated throw is another deed.
        deed = _deed(f"{throw} {self._looks}")
        note(str(deed))
        self.model.now_ms = self.clock.now_ms()
        self._is_amiss = True
        getattr(self, deed.verb)(deed)
        self._is_amiss = False

    def post(self, deed: Deed) -> None:
        self._write("author" if deed.is_sane else deed.who, is_held=deed.pick > 1)

    def report(self, deed: Deed) -> None:
        # What became of earlier reports decides what this one weighs, and follows a little later.
        self._run(self._settled())
        case = self._pick(deed, [one for one in self.model.cases if one.status == "approved"])
        expected = self.model.report(case, self._somebody(deed.who))
        answer = self._call(deed.who, "POST", f"/v1/comments/{case.id}/report", {"reason": "spam"})
        assert answer.status_code == expected, answer.text

    def moderate(self, deed: Deed) -> None:
        who = deed.moderator if deed.is_sane else deed.who
        case = self._pick(deed, [one for one in self.model.cases if one.status != "deleted"])
        expected = self.model.decide(case, deed.action, self._somebody(who))
        answer = self._call(who, "POST", f"/v1/moderation/{deed.action}/{case.id}", {"reason": "because"})
        assert answer.status_code == expected, answer.text
        if expected == 200:
            self.model.log[-1].id = answer.json()["undo"]

    def moderate_many(self, deed: Deed) -> None:
        waiting = [case for case in self.model.cases if case.status == "pending"]
        body = {"action": deed.action, "ids": [case.id for case in waiting[:5]]}
        if not waiting:
            return
        answer = self._call(deed.moderator, "POST", "/v1/moderation/bulk", body)
        assert answer.status_code == 200, answer.text
        done = answer.json()["done"]
        refused = [case for case in waiting[:5] if case.id in answer.json()["failed"]]
        for case in refused:
            assert self.model.decide(case, deed.action, self._somebody(deed.moderator)) == 403
        # In which order they were done is nobody's business, but the log has it.
        for case in sorted(
            [one for one in waiting[:5] if one not in refused],
            key=lambda one: [int(part) for part in done[one.id].split("-")],
        ):
            assert self.model.decide(case, deed.action, self._somebody(deed.moderator)) == 200
            self.model.log[-1].id = done[case.id]

    def dismiss(self, deed: Deed) -> None:
        who = deed.moderator if deed.is_sane else deed.who
        case = self._pick(deed, [one for one in self.model.cases if one.reporters])
        expected, closed = self.model.dismiss(case, self._somebody(who))
        answer = self._call(who, "POST", f"/v1/moderation/reports/{case.id}/dismiss")
        assert answer.status_code == expected, answer.text
        if expected == 200:
            assert answer.json()["closed"] == closed

    def delete(self, deed: Deed) -> None:
        case = self._pick(deed, [one for one in self.model.cases if one.status != "deleted"])
        who = self._name_of(case.author) if deed.is_sane else deed.who
        expected = self.model.delete(case, self._somebody(who))
        answer = self._call(who, "DELETE", f"/v1/comments/{case.id}")
        assert answer.status_code == expected, answer.text

    def appeal(self, deed: Deed) -> None:
        case = self._pick(deed, [one for one in self.model.cases if one.may_be_appealed and not one.appeal])
        who = self._name_of(case.author) if deed.is_sane else deed.who
        expected = self.model.appeal(case, self._somebody(who))
        # The clock may stand still, and the same words at the same moment would be the same request.
        answer = self._call(who, "POST", f"/v1/comments/{case.id}/appeal", {"text": f"why? ({self._looks})"})
        assert answer.status_code == expected, answer.text

    def judge_appeal(self, deed: Deed) -> None:
        case = self._pick(deed, [one for one in self.model.cases if one.appeal == "open"])
        who = deed.moderator if deed.is_sane else deed.who
        decision = "grant" if deed.action == "approve" else "decline"
        expected = self.model.rule(case, self._somebody(who), decision)
        answer = self._call(who, "POST", f"/v1/moderation/appeals/{case.id}", {"decision": decision})
        assert answer.status_code == expected, answer.text
        if expected == 200:
            self.model.log[-1].id = answer.json()["entry"]

    def undo(self, deed: Deed) -> None:
        """One of the latest deeds, in time or too late, whether somebody has decided otherwise since or not."""
        entries = self.model.log[-4:]
        if not entries:
            return
        entry = entries[-1 - deed.pick % len(entries)]
        if not entry.id:
            ids = self._run(self._log_ids())
            entry.id = next(found for one, found in zip(self.model.log, ids, strict=True) if one is entry)
        who = deed.moderator if deed.is_sane else deed.who
        expected = self.model.undo(entry, self._somebody(who))
        answer = self._call(who, "POST", f"/v1/moderation/undo/{entry.id}")
        assert answer.status_code == expected, answer.text

    def wait(self, deed: Deed) -> None:
        self.clock.advance(seconds=deed.seconds)

    # What must hold.

    @invariant()
    def lists_agree(self) -> None:
        if not hasattr(self, "model"):
            return
        self._looks += 1
        self._run(self._look())
        if self._looks % LOOK_EVERY == 0:
            self._run(self._look_everywhere())

    async def _look(self) -> None:
        model, mo = self.model, self.people["mo"]
        queue = (await mo.call("GET", "/v1/moderation/queue?limit=100")).json()
        assert {item["comment"]["i"] for item in queue["items"]} == model.with_status("pending")
        assert queue["waiting"] == len(queue["items"])
        times = [item["comment"]["x"] for item in queue["items"]]
        assert times == sorted(times), "oldest first"
        weights = {case.id: case.weight for case in model.cases}
        assert {item["comment"]["i"]: item["reports"] for item in queue["items"]} == {
            item["comment"]["i"]: weights[item["comment"]["i"]] for item in queue["items"]
        }
        reports = (await mo.call("GET", "/v1/moderation/reports?limit=100")).json()["items"]
        assert len(reports) == len(model.open_reports()), "one for each person and comment"
        assert {(item["comment_id"], item["reporter"]["id"]) for item in reports} == model.open_reports()
        appeals = (await mo.call("GET", "/v1/moderation/appeals?limit=100")).json()
        assert {item["comment"]["i"] for item in appeals["items"]} == model.open_appeals()
        assert appeals["waiting"] == len(appeals["items"])
        assert await self.redis.xlen(f"site:{self.site.site.id}:modlog") == self._roles_given + len(model.log)
        await self._look_at_records()

    async def _look_at_records(self) -> None:
        async with self.redis.pipeline(transaction=False) as pipe:
            for case in self.model.cases:
                pipe.hmget(f"comment:{case.id}", "status", "report_weight", "decided_by", "appeal_state")
            found = await pipe.execute()
        assert [(status, float(weight or 0), by, appeal) for status, weight, by, appeal in found] == [
            (case.status, case.weight, case.decided_by, case.appeal) for case in self.model.cases
        ]

    async def _look_everywhere(self) -> None:
        await self._settled()
        headers = {"projectid": self.site.site.api_key_public}
        thread = (await self.http.get("/v1/comments", params={"page_url": PAGE}, headers=headers)).json()
        assert {node["i"] for node in thread["tree"]["c"]} == self.model.with_status("approved")
        assert thread["total"] == len(thread["tree"]["c"])
        entries = (await self.people["mo"].call("GET", "/v1/moderation/log?limit=200")).json()["entries"]
        expected = [(one.action, one.case.id, one.before, one.after) for one in self.model.log[-200:]]
        entries = [one for one in entries if one["action"] != "role"]
        assert [(one["action"], one["comment_id"], one.get("before"), one.get("after")) for one in entries][
            ::-1
        ] == expected
        for somebody in self.model.people.values():
            record = await self.app.services.reporters.of(self.site.site.id, UserId(somebody.id))
            verdicts = list(somebody.verdicts.values())
            assert (record.upheld, record.dismissed) == (verdicts.count("upheld"), verdicts.count("dismissed"))
        assert await disagreements(self.redis) == []
        await assert_keys_are_known(self.redis)

    async def _log_ids(self) -> list[str]:
        found = await self.redis.xrange(f"site:{self.site.site.id}:modlog")
        return [str(entry_id) for entry_id, _ in found or ()][self._roles_given :]

    async def _settled(self) -> None:
        await until(self._is_settled, "effects on people", seconds=60)

    async def _is_settled(self) -> bool:
        await self.app.services.outbox.drain()
        return not await self.redis.xlen(f"site:{self.site.site.id}:outbox")

    # The hands.

    def _write(self, who: str, *, is_held: bool) -> None:
        words = f"{'casino' if is_held else 'word'} {len(self.model.cases)}"
        answer = self._call(who, "POST", "/v1/comments", {"page_url": PAGE, "content": words})
        assert answer.status_code == 200, answer.text
        self.model.post(answer.json()["comment"]["i"], self._somebody(who), is_held=is_held)

    def _pick(self, deed: Deed, fitting: list[Case]) -> Case:
        """Counted from the newest, so that things happen to the same few comments, and mostly to those that fit."""
        choice = fitting if fitting and deed.is_sane else self.model.cases
        return choice[-1 - deed.pick % len(choice)]

    def _somebody(self, name: str) -> Somebody:
        return self.model.people[self.people[name].id]

    def _name_of(self, somebody: Somebody) -> str:
        return next(name for name, person in self.people.items() if person.id == somebody.id)

    def _call(self, who: str, method: str, path: str, body: object = None) -> httpx.Response:
        return self._run(self.people[who].call(method, path, body))


@pytest.mark.timeout(3600 if IS_SOAK else 120)
def test_any_sequence_of_what_moderators_and_reporters_do_equals_a_plain_model(
    bundled: BundledStore, settings: Settings, keyring: Keyring
) -> None:
    accounts = msgspec.structs.replace(settings.accounts, access_token_hours=8760, session_days=365)
    patient = msgspec.structs.replace(settings, accounts=accounts)

    def machine() -> ModerationMachine:
        return ModerationMachine(
            lambda: create_app(patient, bundled.address, keyring, clock=ManualClock()),
            lambda: client_of(bundled),
        )

    run_state_machine_as_test(machine, settings=RUNS)  # type: ignore[arg-type]  # any maker of one will do


RUNS = settings(
    max_examples=300 if IS_SOAK else 4,
    stateful_step_count=150 if IS_SOAK else 70,
    derandomize=not IS_SOAK,
    database=None,
    deadline=None,
    # Making a failure small takes minutes; the steps that led to it are printed anyway.
    phases=[Phase.generate, Phase.shrink] if IS_SOAK else [Phase.generate],
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
