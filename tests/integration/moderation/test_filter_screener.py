"""From an attempt to a verdict: what is gathered from the store, what moderators' clicks change, and who is asked outside."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.moderation.attempts import LONG, attempt, viewer
from tests.make import ManualClock
from tests.people import Person, create, guest
from threadkit.app import Application
from threadkit.clock import iso
from threadkit.errors import Unavailable
from threadkit.ids import CommentId, UserId
from threadkit.moderation.model import Attempt, Facts, Kind, Reason, Verdict
from threadkit.moderation.screener import Finding, Screener
from threadkit.settings import Settings
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.sites.roles import Role
from threadkit.users.model import ANONYMOUS_USER

DAY_S = 86_400
WEEK_S = 7 * DAY_S


@pytest.fixture
async def new_site(app: Application) -> NewSite:
    """A site as an owner gets it."""
    return await app.services.sites.create(
        "Blog", "blog.example.org", settings=SiteSettings(auth=AuthSettings(anonymous=True))
    )


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, outbox="worker")  # tests say when it is taken forward


@pytest.fixture
async def ada(http: httpx.AsyncClient, new_site: NewSite) -> Person:
    return await create(http, new_site, "ada")


async def post(person: Person, text: str) -> str:
    answer = await person.call("POST", "/v1/comments", {"page_url": "https://blog.example.org/a", "content": text})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    return str((body.get("comment") or body)["i"])


async def click(app: Application, redis: Redis, site: NewSite, action: str, comment_id: str, user_id: str) -> None:
    """What the script of a decision leaves in the outbox."""
    at = iso(app.services.clock.now_ms())
    event = {"type": "moderated", "comment_id": comment_id, "user_id": user_id, "action": action, "by": "mod", "at": at}
    await redis.xadd(f"site:{site.site.id}:outbox", {"event": json.dumps(event)})
    await app.services.outbox.drain()


async def facts(app: Application, tried: Attempt) -> Facts:
    return await app.services.screener.facts(tried)


async def test_a_newcomer_is_known_once_a_comment_has_stood_for_a_day(
    app: Application, new_site: NewSite, ada: Person, clock: ManualClock
) -> None:
    author = await viewer(app, new_site.site, ada.id)
    tried = attempt(new_site.site, author, links=1)
    assert (await app.services.screener.screen(tried)).reasons[0].code == "links"
    await post(ada, "A first comment.")
    clock.advance(seconds=DAY_S - 1)
    assert not (await facts(app, tried)).is_known
    clock.advance(seconds=1)
    assert (await facts(app, tried)).is_known
    assert (await app.services.screener.screen(tried)).kind == "pass"


async def test_a_comment_that_was_rejected_speaks_for_nobody(
    app: Application, redis: Redis, new_site: NewSite, ada: Person, clock: ManualClock
) -> None:
    author = await viewer(app, new_site.site, ada.id)
    comment_id = await post(ada, "A first comment.")
    await redis.hset(f"comment:{comment_id}", "status", "rejected")
    clock.advance(seconds=DAY_S)
    assert not (await facts(app, attempt(new_site.site, author))).is_known


async def test_an_approval_makes_a_newcomer_known_at_once_and_undoing_it_does_not(
    app: Application, redis: Redis, new_site: NewSite, ada: Person
) -> None:
    author = await viewer(app, new_site.site, ada.id)
    comment_id = await post(ada, "A first comment.")
    await click(app, redis, new_site, "approve", comment_id, ada.id)
    known = await facts(app, attempt(new_site.site, author))
    assert (known.is_known, known.history.approved, known.history.decided_lately) == (True, 1, 1)
    await click(app, redis, new_site, "undo_approve", comment_id, ada.id)
    known = await facts(app, attempt(new_site.site, author))
    assert (known.is_known, known.history.approved, known.history.decided_lately) == (False, 0, 0)


async def test_a_bad_week_is_held_and_forgotten_after_it(
    app: Application, redis: Redis, new_site: NewSite, ada: Person, clock: ManualClock
) -> None:
    author = await viewer(app, new_site.site, ada.id)
    tried = attempt(new_site.site, author)
    for number, action in enumerate(["approve", "reject", "spam"]):
        await click(app, redis, new_site, action, await post(ada, f"Comment {number}"), ada.id)
    verdict = await app.services.screener.screen(tried)
    assert [reason.sentence for reason in verdict.reasons] == ["2 of the author's 3 comments of the week were rejected"]
    clock.advance(seconds=WEEK_S)
    assert (await facts(app, tried)).history.decided_lately == 0
    assert (await facts(app, tried)).history.rejected == 2
    assert (await app.services.screener.screen(tried)).kind == "pass"


async def test_a_click_teaches_the_filter_once_however_often_it_is_told(
    app: Application, redis: Redis, new_site: NewSite, ada: Person
) -> None:
    learning = app.services.learning_filter
    comment_id = await post(ada, "Lovely casino")
    for action in ("spam", "spam", "reject"):
        await click(app, redis, new_site, action, comment_id, ada.id)
        totals = await learning.totals(new_site.site.id)
        assert (totals.rejected, totals.approved, totals.rejected_texts) == (1, 0, 1)
    await click(app, redis, new_site, "approve", comment_id, ada.id)
    totals = await learning.totals(new_site.site.id)
    assert (totals.rejected, totals.approved, totals.rejected_tokens) == (0, 1, 0)
    for token in ("casino", "#new"):
        assert str(await redis.hget(f"site:{new_site.site.id}:filter:tokens", token)).startswith("0 1 ")
    await click(app, redis, new_site, "undo_approve", comment_id, ada.id)
    assert (await learning.totals(new_site.site.id)).rejected == 1, "back to what was decided before"


async def test_other_actions_and_other_shapes_teach_nothing(
    app: Application, redis: Redis, new_site: NewSite, ada: Person
) -> None:
    comment_id = await post(ada, "Lovely casino")
    for action in ("delete", "hide", "undo_hide", "pin"):
        await click(app, redis, new_site, action, comment_id, ada.id)
    await redis.xadd(f"site:{new_site.site.id}:outbox", {"event": json.dumps({"type": "moderated", "action": 5})})
    await app.services.outbox.drain()
    assert (await learning_numbers(app, new_site)) == (0, 0)
    dead = await app.services.dead_letters.all([new_site.site.id])
    assert "learning" in [found.letter.handler for found in dead]


async def learning_numbers(app: Application, site: NewSite) -> tuple[int, int]:
    totals = await app.services.learning_filter.totals(site.site.id)
    return totals.rejected, totals.approved


async def test_a_comment_that_is_gone_still_counts_for_its_author(
    app: Application, redis: Redis, new_site: NewSite, ada: Person
) -> None:
    await click(app, redis, new_site, "spam", "01890a5d-ac96-774b-bcce-b302099a8057", ada.id)
    author = await viewer(app, new_site.site, ada.id)
    assert (await facts(app, attempt(new_site.site, author))).history.rejected == 1
    assert await learning_numbers(app, new_site) == (0, 0)


async def test_nobodys_comments_teach_but_nobody_has_a_record(
    app: Application, redis: Redis, new_site: NewSite, http: httpx.AsyncClient
) -> None:
    body = {"page_url": "https://blog.example.org/a", "content": "Lovely casino", "author_name": "Guest"}
    answer = await http.post("/v1/comments", json=body, headers={"projectid": new_site.site.api_key_public})
    assert answer.status_code == 200, answer.text
    comment_id = (answer.json().get("comment") or answer.json())["i"]
    await click(app, redis, new_site, "spam", comment_id, ANONYMOUS_USER)
    assert await learning_numbers(app, new_site) == (1, 0)
    assert not [key async for key in redis.scan_iter(f"site:{new_site.site.id}:author:*")]


async def test_the_trained_filter_holds_with_a_readable_reason(
    app: Application, redis: Redis, new_site: NewSite, ada: Person, clock: ManualClock
) -> None:
    mallory = await create(ada.http, new_site, "mallory")
    for number in range(50):
        await redis.xadd(
            f"site:{new_site.site.id}:outbox",
            {
                "event": json.dumps(
                    event(f"s{number}", mallory, "spam", f"Best casino bonus no{number} https://luck.example/{number}")
                )
            },
        )
        await redis.xadd(
            f"site:{new_site.site.id}:outbox",
            {"event": json.dumps(event(f"h{number}", ada, "approve", f"My roses had {number} buds after the rain"))},
        )
    await app.services.outbox.drain()
    assert await learning_numbers(app, new_site) == (50, 50)
    stranger = await viewer(app, new_site.site, (await create(ada.http, new_site, "eve")).id)
    verdict = await app.services.screener.screen(
        attempt(new_site.site, stranger, "The best casino bonus is https://luck.example")
    )
    (reason,) = verdict.reasons
    assert (verdict.kind, reason.code) == ("hold", "looks_like_spam")
    assert reason.sentence.startswith("like what was rejected here: ")
    assert "1 link" in reason.sentence
    assert "`casino" in reason.sentence or "`best" in reason.sentence
    assert (
        await app.services.screener.screen(attempt(new_site.site, stranger, "After the rain my roses look sad"))
    ).kind == "pass"


def event(comment_id: str, author: Person, action: str, text: str) -> dict[str, Any]:
    return {
        "type": "moderated",
        "comment_id": comment_id,
        "user_id": author.id,
        "action": action,
        "by": "m",
        "text": text,
    }


async def test_what_somebody_wrote_is_known_when_it_comes_again_within_ten_minutes(
    app: Application, redis: Redis, new_site: NewSite, ada: Person, clock: ManualClock
) -> None:
    author = await viewer(app, new_site.site, ada.id)
    tried = attempt(new_site.site, author)
    await app.services.screener.after_post(tried, CommentId("c1"))
    again = await app.services.screener.screen(attempt(new_site.site, author, LONG + " Yes."))
    assert [reason.code for reason in again.reasons] == ["repeated_text"]
    edit = attempt(new_site.site, author, LONG + " Yes.", is_edit=True, comment_id=CommentId("c1"))
    assert (await app.services.screener.screen(edit)).kind == "pass"
    other = await viewer(app, new_site.site, (await create(ada.http, new_site, "bob")).id)
    assert (await app.services.screener.screen(attempt(new_site.site, other))).kind == "pass"
    clock.advance(seconds=600)
    assert (await app.services.screener.screen(tried)).kind == "pass"


async def test_guests_are_known_by_their_address_and_little_is_kept(
    app: Application, redis: Redis, new_site: NewSite, http: httpx.AsyncClient, clock: ManualClock
) -> None:
    site, screener = new_site.site, app.services.screener
    await screener.after_post(attempt(site, None, client="abc"), CommentId("c1"))
    named = await viewer(app, site, (await guest(http, new_site)).id)
    for author, client, kind in (
        (None, "abc", "hold"),
        (named, "abc", "hold"),
        (None, "xyz", "pass"),
        (None, "", "pass"),
    ):
        assert (await screener.screen(attempt(site, author, client=client))).kind == kind
    for number in range(30):
        clock.advance(seconds=1)
        await screener.after_post(attempt(site, None, f"{LONG} {number}", client="abc"), CommentId(f"n{number}"))
    assert await redis.zcard(f"site:{site.id}:recent:abc") == 20
    assert 0 < await redis.ttl(f"site:{site.id}:recent:abc") <= 3600


async def test_staff_leave_no_traces_and_are_asked_nothing(
    app: Application, redis: Redis, new_site: NewSite, ada: Person
) -> None:
    author = await viewer(app, new_site.site, ada.id, Role.MODERATOR)
    outside = Outside(failure=RuntimeError("never asked"))
    verdict = await screener_with(app, outside).screen(attempt(new_site.site, author, links=40, honeypot="x"))
    assert verdict == Verdict()
    assert outside.asked == []
    await app.services.screener.after_post(attempt(new_site.site, author), CommentId("c1"))
    assert await redis.exists(f"site:{new_site.site.id}:recent:{ada.id}") == 0


class Outside:
    """Checks elsewhere that say what they are told to, fail, or never answer."""

    def __init__(self, kind: Kind | None = None, failure: Exception | None = None, *, is_slow: bool = False) -> None:
        self.kind = kind
        self.failure = failure
        self.is_slow = is_slow
        self.asked: list[Facts] = []

    async def check(self, attempt: Attempt, facts: Facts, visitor: Any = None) -> Finding | None:
        self.asked.append(facts)
        if self.is_slow:
            await asyncio.Event().wait()
        if self.failure:
            raise self.failure
        return Verdict(kind=self.kind, reasons=[Reason(code="elsewhere", sentence="said so")]) if self.kind else None


def screener_with(app: Application, outside: Outside, outside_s: float = 1.5) -> Screener:
    services = app.services
    return Screener(
        redis=services.store.redis,
        keys=services.keys,
        clock=services.clock,
        learning=services.learning_filter,
        outside=outside,
        outside_s=outside_s,
    )


@pytest.mark.parametrize(
    ("links", "says", "kind", "codes"),
    [
        (0, None, "pass", []),
        (0, "pass", "pass", []),
        (0, "hold", "hold", ["elsewhere"]),
        (0, "refuse", "refuse", ["elsewhere"]),
        (1, None, "hold", ["links"]),
        (1, "pass", "hold", ["links"]),
        (1, "hold", "hold", ["links", "elsewhere"]),
        (1, "refuse", "refuse", ["elsewhere"]),
    ],
)
async def test_what_is_said_outside_joins_what_is_known_here(
    app: Application, new_site: NewSite, links: int, says: Kind | None, kind: str, codes: list[str]
) -> None:
    verdict = await screener_with(app, Outside(says)).screen(attempt(new_site.site, None, links=links))
    assert (verdict.kind, [reason.code for reason in verdict.reasons]) == (kind, codes)
    assert bool(verdict.notes) == (says == "pass"), "what only is to be known is a note"


async def test_a_refusal_here_is_asked_nowhere_else(app: Application, new_site: NewSite) -> None:
    outside = Outside("pass")
    changed = await app.services.sites.change(new_site.site.id, settings={"screening.words.refuse": ["garden"]})
    assert (await screener_with(app, outside).screen(attempt(changed, None))).kind == "refuse"
    assert outside.asked == []


@pytest.mark.parametrize("outside", [Outside(failure=OSError("away")), Outside(is_slow=True)], ids=["failing", "slow"])
async def test_when_an_outside_check_fails_known_authors_pass_and_newcomers_are_held(
    app: Application, redis: Redis, new_site: NewSite, ada: Person, outside: Outside
) -> None:
    screener = screener_with(app, outside, outside_s=0.05)
    author = await viewer(app, new_site.site, ada.id)
    verdict = await screener.screen(attempt(new_site.site, author))
    assert [reason.code for reason in verdict.reasons] == ["outside_check_failed"]
    await click(app, redis, new_site, "approve", await post(ada, "A first comment."), ada.id)
    assert (await screener.screen(attempt(new_site.site, author))).kind == "pass"


async def test_an_answer_that_is_meant_as_an_error_stays_one(app: Application, new_site: NewSite) -> None:
    with pytest.raises(Unavailable):
        await screener_with(app, Outside(failure=Unavailable())).screen(attempt(new_site.site, None))


async def test_the_real_checks_fit_and_say_nothing_by_themselves(app: Application, new_site: NewSite) -> None:
    assert (await app.services.screener.screen(attempt(new_site.site, None, "x" * 5000))).kind == "pass"


async def test_of_somebody_who_leaves_nothing_is_kept(
    app: Application, redis: Redis, new_site: NewSite, ada: Person
) -> None:
    author = await viewer(app, new_site.site, ada.id)
    await click(app, redis, new_site, "approve", await post(ada, "A first comment."), ada.id)
    await app.services.screener.after_post(attempt(new_site.site, author), CommentId("c1"))
    await app.services.learning_filter.forget_author(new_site.site.id, UserId(ada.id))
    keys = [str(key) async for key in redis.scan_iter(f"site:{new_site.site.id}:*")]
    assert not [key for key in keys if ada.id in key]
