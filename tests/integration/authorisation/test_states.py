"""Every call that is about an object: by everybody, with the object in every state, from its own site and from another.
G8. What each cell must answer stands in `rules.py`; a route without a row there fails."""

import re
from typing import Any

import httpx
import pytest

from tests.integration.authorisation.routes import ROUTES
from tests.integration.authorisation.rules import COMMENT, GROUPS, PASSKEY, ROWS, Row, expected
from tests.integration.authorisation.test_routes import routes_of
from tests.integration.authorisation.things import MAKERS, Thing
from tests.integration.authorisation.world import MAIL, Caller, Snapshot, World
from tests.tiers import PROVING
from threadkit.comments.model import CommentNotFound, NotInThisState
from threadkit.moderation.decision_scripts import TooLateToUndo
from threadkit.moderation.impartiality import OwnComment
from threadkit.moderation.people_model import HigherRole, NotOwnerEverywhere
from threadkit.moderation.undoing import NothingToUndo

# What stands in a path and names no object: files, names and providers.
NO_OBJECTS = {"path", "name", "provider", "kind"}
# With what is not there all others are compared; these two let time pass, and let what waits be done.
FIRST = ("missing", "too old", "over")
PUBLIC = ("open", "key", "user", "writer")
# What a list says of an id, in the words of the problems that single calls answer with.
STATUSES = {
    error.code: error.status
    for error in (
        CommentNotFound,
        HigherRole,
        NotInThisState,
        NotOwnerEverywhere,
        NothingToUndo,
        OwnComment,
        TooLateToUndo,
    )
}
# Can be taken back for half a minute by the clock of the store, which the tests' own does not move.
SHORT_LIVED = ("a deletion",)
# Of a site, though their names do not begin with it.
OF_ONE_SITE = ("comment:", "page:", "vote")
_DIFFERS = re.compile(r'"request_id":"\w+"')


def route_of(row: Row) -> tuple[str, str]:
    method, path = row.call.split()
    return method, path


def test_every_call_about_an_object_has_a_row() -> None:
    about_objects = {(method, path) for method, path in routes_of() if set(re.findall(r"\{(\w+)\}", path)) - NO_OBJECTS}
    assert about_objects - {route_of(row) for row in ROWS} == set(), "say in rules.py what everybody gets there"
    assert len({row.name for row in ROWS}) == len(ROWS)


LARGEST = "people"


class Sheet:
    """One row, filled in: every caller and every state."""

    def __init__(self, world: World, row: Row, *, is_whole: bool = True) -> None:
        self.is_whole = is_whole
        self.world = world
        self.row = row
        self.method, self.path = route_of(row)
        self.kind = ROUTES[self.method, self.path]
        self.wrong: list[str] = []
        self.cells = 0
        self._missing: dict[str, str] = {}

    async def fill(self) -> None:
        """The refusals first: together they may change nothing. Then what is let in, each with a new object where the one
        before changed it; and last the other site's people, who may change nothing here whatever they may do there."""
        states = sorted(self.row.states.split(", "), key=lambda state: state not in FIRST)
        if self.row.states == PASSKEY and not self.world.cookies:
            await self.world.open_desks()
        things = {state: await self._made(state) for state in states}
        before = await self.world.snapshot()
        for number, state in enumerate(states):
            thing = things[state]
            for place, caller in enumerate(await self._callers(thing)):
                if self._expected(caller, state) >= 400 and (self.is_whole or (number + place) % 2 == 0):
                    await self._ask(caller, state, thing)
        self._compare("a refusal changed", before, await self.world.snapshot())
        for state in states:
            thing = await self._made(state) if state in SHORT_LIVED else things[state]
            things[state] = await self._let_in(state, thing)
        before = await self._settled()
        mine = f"site:{self.world.here.site.id}"
        for state in states:
            thing = things[state]
            for caller in await self._callers(thing):
                if caller.is_far and self._expected(caller, state) < 400:
                    await self._ask(caller, state, thing)
        after = await self._settled()
        # What is new elsewhere they have made on their own site.
        after.values = {
            key: value for key, value in after.values.items() if key in before.values or key.startswith(mine)
        }
        self._compare("somebody of the other site changed", before, after)

    async def _settled(self) -> Snapshot:
        """What belongs to a site; and when what is done later is done."""
        if self.path.endswith("/delete-comments"):  # elsewhere it would only teach the filter to hold what comes next
            await self.world.app.services.outbox.drain()
        return await self.world.snapshot(f"site:{self.world.here.site.id}", *OF_ONE_SITE)

    async def _let_in(self, state: str, thing: Thing) -> Thing:
        """The answer is an object that nobody has changed."""
        is_used = False
        for place, caller in enumerate(await self._callers(thing)):
            if caller.is_far or self._expected(caller, state) >= 400:
                continue
            if is_used:
                thing = await self._made(state)
                caller = (await self._callers(thing))[place]  # with another object the author is another
            await self._ask(caller, state, thing)
            is_used = self.method != "GET"
        return await self._made(state) if is_used else thing

    async def _made(self, state: str) -> Thing:
        return await MAKERS[self.row.states](self.world, state)

    async def _callers(self, thing: Thing) -> list[Caller]:
        return await self.world.callers_of(thing.author, thing.author_kind, thing.far_kind)

    def _compare(self, what: str, before: Snapshot, after: Snapshot) -> None:
        if changed := before.changed_until(after):
            self.wrong.append(f"{what} {changed}")

    def _expected(self, caller: Caller, state: str) -> int:
        return caller.refusal(self.kind) or expected(self.row, caller.words, state)

    async def _ask(self, caller: Caller, state: str, thing: Thing) -> None:
        answer = await self._answer(caller, thing)
        self.cells += 1
        cell, wanted = f"{caller.name}, {state}", self._expected(caller, state)
        status = _status_in(answer) if self.row.is_list and answer.status_code == 200 else answer.status_code
        if status != wanted:
            self.wrong.append(f"{cell}: {status}, not {wanted}: {answer.text[:120]}")
        if leak := self._leak(caller, thing, answer):
            self.wrong.append(f"{cell}: told {leak}")
        if status == 404:
            said = _DIFFERS.sub("", answer.text)
            for found in thing.ids.values():
                said = said.replace(found, "")
            if said != self._missing.setdefault(caller.name, said):
                self.wrong.append(f"{cell}: {said} is not what is said of one that is not there")

    async def _answer(self, caller: Caller, thing: Thing) -> httpx.Response:
        ids = {"site_id": self.world.here.site.id, "kind": "sso"} | thing.ids
        headers = dict(caller.headers)
        if self.row.states == PASSKEY:
            token = headers.get("authorization", "").removeprefix("Bearer ")
            headers = {"origin": "http://localhost:8080"} | headers
            headers |= {"cookie": self.world.cookies[token]} if token in self.world.cookies else {}
        path = self.path.format(**ids) + (f"?{self.row.query.format(**ids)}" if self.row.query else "")
        return await self.world.http.request(self.method, path, json=_filled(self.row.body, ids), headers=headers)

    def _leak(self, caller: Caller, thing: Thing, answer: httpx.Response) -> str | None:
        """What the answer tells and should not: an address to nobody, and to whoever is refused or is not of the staff
        nothing that is hidden."""
        if MAIL in answer.text:
            return MAIL
        may_read = caller.name == "author" or (answer.status_code < 400 and self.kind not in PUBLIC)
        if thing.secret and thing.secret in answer.text and not may_read:
            return thing.secret
        return None


def _status_in(answer: httpx.Response) -> int:
    """What came of the one id that was in the list."""
    done, failed = answer.json()["done"], answer.json()["failed"]
    assert len(done) + len(failed) == 1, answer.text
    return STATUSES[next(iter(failed.values()))] if failed else 200


def _filled(body: Any, ids: dict[str, str]) -> Any:
    if isinstance(body, dict):
        return {name: _filled(value, ids) for name, value in body.items()}
    if isinstance(body, list):
        return [_filled(value, ids) for value in body]
    return body.format(**ids) if isinstance(body, str) else body


@pytest.mark.prove(also=True)
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "group", [pytest.param(group, marks=pytest.mark.prove) if group == LARGEST else group for group in GROUPS]
)
async def test_every_cell_is_as_the_rules_say(world: World, group: str) -> None:
    """In `make prove` all of them. In `make test` every second refusal, and the largest group waits for `make prove`."""
    wrong, cells = [], 0
    for row in GROUPS[group]:
        sheet = Sheet(world, row, is_whole=PROVING)
        await sheet.fill()
        wrong += [f"{row.name}: {one}" for one in sheet.wrong]
        cells += sheet.cells
    assert wrong == [], "\n".join(wrong)
    print(f"\nG8: {group}: {len(GROUPS[group])} calls, {cells} cells as the rules say")


async def test_the_sheet_notices_wrong_answers_changes_and_leaks(world: World) -> None:
    """The same machinery under rules that are not true."""
    asked = "approved, pending, missing"
    voting = Row("POST /v1/comments/{comment_id}/vote", asked, [("any", "any", 404)], body={"direction": "up"})
    looking = Row("GET /v1/moderation/comments/{comment_id}", asked, [("any", "missing", 404), ("any", "any", 200)])
    unsaid = Row("GET /v1/comments/{comment_id}/replies", asked, [("any", "approved", 200)])
    MAKERS[asked] = MAKERS[COMMENT]
    try:
        wrong = Sheet(world, voting)
        await wrong.fill()
        assert any("user, approved: 200, not 404" in one for one in wrong.wrong)
        assert any(one.startswith("a refusal changed") and "comment:" in one for one in wrong.wrong)
        leaking = Sheet(world, looking)
        leaking.kind = "key"
        await leaking.fill()
        assert any("moderator, pending: told wombat" in one for one in leaking.wrong)
        with pytest.raises(AssertionError, match="does not say what"):
            await Sheet(world, unsaid).fill()
    finally:
        del MAKERS[asked]
