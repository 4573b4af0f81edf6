"""The filter that learns: any sequence of decisions leaves the counts of a plain counter."""

import asyncio
import itertools
import random
from collections import Counter
from pathlib import Path

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.integration.moderation.test_decisions import decide
from tests.integration.notifications.inbox import settle
from tests.make import ManualClock
from tests.people import create
from threadkit.app import Application
from threadkit.ids import SiteId, UserId
from threadkit.moderation.bayes import Totals
from threadkit.moderation.filter import LearningFilter
from threadkit.moderation.labelled import Labelled, labelled
from threadkit.moderation.learning_scripts import Decision, Learn, stamp_of
from threadkit.moderation.measuring import Measuring
from threadkit.moderation.rules import LearningRule
from threadkit.moderation.tokens import Reading, read, shown
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role
from threadkit.storage.keys import Keys

SPAM = Path(__file__).parents[3].parent / "shared" / "data" / "spam"
CLICKS = 200
SITE = SiteId("01a1e1d5-9217-7000-be42-7b27b41a2a52")
NOW = 1_765_000_000_000
ADA = UserId("ada")
TEXTS = [
    "win a prize at the casino",
    "win a prize",
    "I like your garden",
    "your garden https://a.example",
    "!",
    "win win",
]


@pytest.fixture
def learning(redis: Redis) -> LearningFilter:
    return LearningFilter(redis=redis, keys=Keys())


class Plain:
    """What the filter must know, kept the obvious way: the latest decision about each comment, and five before it."""

    def __init__(self) -> None:
        self.decided: dict[str, list[tuple[str, Reading]]] = {}

    def learn(self, comment: str, decision: Decision, reading: Reading) -> None:
        known = self.decided.setdefault(comment, [])
        if decision != "undo":
            self.decided[comment] = [*known[-5:], (decision, reading)]
        else:
            self.decided[comment] = known[:-1] or [("", Reading([], {}))]

    def state(self) -> tuple[dict[str, str], dict[str, int]]:
        totals: Counter[str] = Counter()
        counts: dict[str, Counter[str]] = {}
        distinct: set[tuple[str, tuple[str, ...]]] = set()
        for known in self.decided.values():
            if known and known[-1][1].all:
                label, reading = known[-1]
                totals[label] += 1
                distinct.add((label, tuple(sorted(reading.all))))
        for label, tokens in distinct:
            totals[f"{label}_texts"] += 1
            for token in tokens:
                totals[f"{label}_tokens"] += not token.startswith("#")
                counts.setdefault(token, Counter())[label] += 1
        shown = {token: f"{found['rejected']} {found['approved']}" for token, found in counts.items()}
        return shown, {name: number for name, number in totals.items() if number}


async def state(redis: Redis) -> tuple[dict[str, str], dict[str, int]]:
    tokens = await redis.hgetall(Keys().site(SITE).filter_tokens())
    totals = await redis.hgetall(Keys().site(SITE).filter_totals())
    shown = {str(token): str(text).rpartition(" ")[0] for token, text in tokens.items()}
    return shown, {str(name): int(number) for name, number in totals.items() if number != "0"}


@pytest.mark.parametrize("seed", range(6))
async def test_any_sequence_of_decisions_equals_a_plain_counter(
    learning: LearningFilter, redis: Redis, seed: int
) -> None:
    chance, plain = random.Random(seed), Plain()
    for number in range(120):
        comment = f"c{chance.randrange(8)}"
        decision: Decision = chance.choice(["approved", "rejected", "rejected", "undo"])
        reading = read(chance.choice(TEXTS), is_new=chance.random() < 0.5)
        stamp = stamp_of(f"{NOW + number}-0")
        for _ in range(chance.choice([1, 2])):  # a crash lets a decision come again
            await learning.learn(SITE, comment, decision, reading, stamp=stamp, at_ms=NOW + number)
        plain.learn(comment, decision, reading)
        assert await state(redis) == plain.state(), number


async def test_whatever_the_order_the_latest_decision_counts(learning: LearningFilter, redis: Redis) -> None:
    decisions: list[tuple[str, Decision]] = [("1-0", "approved"), ("2-0", "rejected"), ("3-0", "approved")]
    for order in itertools.permutations(decisions):
        await redis.flushall()
        for entry, decision in order:
            await learning.learn(SITE, "c", decision, read(TEXTS[0]), stamp=stamp_of(entry), at_ms=NOW, author=ADA)
        totals = await learning.totals(SITE)
        assert (totals.approved, totals.rejected) == (1, 0)
        assert await redis.hgetall(Keys().site(SITE).author_decisions(ADA)) == {"approved": "1"}
        assert await redis.zrange(Keys().site(SITE).author_lately(ADA), 0, -1) == ["c approved"]


async def test_a_decision_that_comes_after_it_was_taken_back_is_left_alone(learning: LearningFilter) -> None:
    await learning.learn(SITE, "c", "undo", Reading([], {}), stamp=stamp_of("9-0"), at_ms=NOW)
    assert not await learning.learn(SITE, "c", "rejected", read(TEXTS[0]), stamp=stamp_of("8-0"), at_ms=NOW)
    assert await learning.totals(SITE) == Totals()


async def test_a_crowd_of_decisions_at_once_is_counted_exactly(app: Application, redis: Redis) -> None:
    learning, plain, work = app.services.learning_filter, Plain(), []
    for number in range(200):
        decision: Decision = "rejected" if number % 3 else "approved"
        reading = read(f"{TEXTS[number % 4]} {number % 50}")
        plain.learn(f"c{number}", decision, reading)
        work += [(f"c{number}", decision, reading)] * 2
    random.Random(3).shuffle(work)
    changed = await asyncio.gather(
        *(learning.learn(SITE, *one, stamp=stamp_of("5-0"), at_ms=NOW, author=ADA) for one in work)
    )
    assert sum(changed) == 200
    assert await state(redis) == plain.state()
    assert await redis.hgetall(Keys().site(SITE).author_decisions(ADA)) == {"approved": "67", "rejected": "133"}


async def test_a_wave_of_one_text_teaches_no_more_than_one(learning: LearningFilter) -> None:
    for number in range(30):
        await learning.learn(SITE, f"c{number}", "rejected", read(TEXTS[0]), stamp=stamp_of("1-0"), at_ms=NOW)
    totals = await learning.totals(SITE)
    assert (totals.rejected, totals.rejected_texts, totals.rejected_tokens) == (30, 1, len(read(TEXTS[0]).tokens))


async def test_old_decisions_stay_learnt_though_they_cannot_be_taken_back(
    redis: Redis, learning: LearningFilter
) -> None:
    learn = Learn(redis, Keys())
    for number in range(10):
        reading = read(f"text number{number}")
        await learn(SITE, f"c{number}", "rejected", reading, stamp=stamp_of("1-0"), at_ms=NOW + number, most_learnt=4)
    assert await redis.zrange(Keys().site(SITE).filter_order(), 0, -1) == ["c6", "c7", "c8", "c9"]
    assert await redis.hlen(Keys().site(SITE).filter_learnt()) == 4
    assert await redis.hlen(Keys().site(SITE).filter_texts()) == 4
    assert (await learning.totals(SITE)).rejected_texts == 10
    later = NOW + 31 * 86_400_000
    await learn(SITE, "new", "approved", read("hello"), stamp=stamp_of("1-0"), at_ms=later)
    assert await redis.zrange(Keys().site(SITE).filter_order(), 0, -1) == ["new"]


async def test_rare_old_tokens_make_room_and_the_totals_follow(redis: Redis, learning: LearningFilter) -> None:
    learn = Learn(redis, Keys())
    for number in range(40):
        await learn(SITE, f"o{number}", "approved", read(f"often said {number}"), stamp=stamp_of("1-0"), at_ms=NOW)
    for number in range(120):
        words = " ".join(f"rare{number}x{word}" for word in range(10))
        await learn(SITE, f"c{number}", "rejected", read(words), stamp=stamp_of("1-0"), at_ms=NOW, most_tokens=600)
    tokens, totals = await state(redis)
    assert len(tokens) <= 600
    assert tokens["often said"] == "0 40"
    known = {name: [int(part) for part in text.split()] for name, text in tokens.items() if not name.startswith("#")}
    assert totals["rejected_tokens"] == sum(rejected for rejected, _ in known.values())
    assert totals["approved_tokens"] == sum(approved for _, approved in known.values())
    assert totals["rejected"] == 120
    for number in range(120):
        await learn(SITE, f"c{number}", "undo", Reading([], {}), stamp=stamp_of("2-0"), at_ms=NOW)
    tokens, totals = await state(redis)
    assert not any(name.startswith("rare") for name in tokens), "what was forgotten is not taken twice"
    assert not {"rejected", "rejected_texts", "rejected_tokens"} & totals.keys()


async def test_sites_do_not_learn_from_each_other(learning: LearningFilter) -> None:
    await learning.learn(SITE, "c", "rejected", read(TEXTS[0]), stamp=stamp_of("1-0"), at_ms=NOW)
    assert await learning.totals(SiteId("another")) == Totals()
    assert (await learning.judge(SiteId("another"), read(TEXTS[0]))).sureness == 0.5


async def test_it_learns_from_a_few_made_up_clicks(learning: LearningFilter, clock: ManualClock) -> None:
    """Stands for the measured data where that is not at hand."""
    measuring, chance = Measuring(learning=learning, clock=clock), random.Random(1)
    good = ["roses", "the pruning", "your soil", "compost", "these tomatoes", "the frost", "a hedge", "my lawn"]
    bad = ["cheap watches", "a casino bonus", "fast loans", "replica bags", "poker chips", "slim pills"]

    def rows(number: int) -> list[Labelled]:
        made = [
            Labelled(
                f"I wonder how {chance.choice(good)} and {chance.choice(good)} go with {chance.choice(good)}", False
            )
            for _ in range(number)
        ]
        return made + [
            Labelled(
                f"Buy {chance.choice(bad)} and {chance.choice(bad)} at https://x{chance.randrange(99)}.example", True
            )
            for _ in range(number)
        ]

    await measuring.train(SITE, rows(40))
    measured = await measuring.test(SITE, rows(50), LearningRule(least=50))
    assert (measured.precision, measured.recall) == (None, 0.0), "silent with too few decisions"
    await measuring.train(SITE, rows(60))
    measured = await measuring.test(SITE, rows(50), LearningRule())
    assert measured.precision == 1.0
    assert measured.recall == 1.0
    judgement = await learning.judge(SITE, read("Buy slim pills https://y.example"))
    assert judgement.why[0] == "1 link"
    assert any("`" in reason for reason in judgement.why)


@pytest.mark.parametrize("name", ["a", "b", "c"])
async def test_two_hundred_clicks_hold_seven_of_ten_spams_and_nine_of_ten_held_are_spam(
    learning: LearningFilter, clock: ManualClock, name: str
) -> None:
    """The files are shared between checkouts and not in this one; without them the test above stands for it."""
    if not SPAM.exists():
        pytest.skip(f"the labelled comments are not in {SPAM.name}/")
    measuring = Measuring(learning=learning, clock=clock)
    await measuring.train(SITE, itertools.islice(labelled(SPAM / f"comments-{name}.csv"), CLICKS))
    others = [row for other in "abc" if other != name for row in labelled(SPAM / f"comments-{other}.csv")]
    measured = await measuring.test(SITE, others, LearningRule())
    assert measured.precision is not None
    assert measured.recall is not None
    assert measured.precision >= 0.90, f"{measured.precision:.3f}"
    assert measured.recall >= 0.70, f"{measured.recall:.3f}"


async def test_the_filter_keeps_the_decision_that_stands_when_a_second_one_like_it_is_taken_back(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    """Also when the two were about different texts: what is learnt is the text of the one that stands."""
    ada, mo, mia = [await create(http, new_site, name) for name in ("ada", "mo", "mia")]
    for person in (mo, mia):
        await app.services.roles.grant(new_site.site.id, UserId(person.id), Role.MODERATOR)
    comment = (await write(ada, "roses and tulips"))["i"]
    await decide(mo, "approve", comment)
    await settle(app)
    await ada.call("PUT", f"/v1/comments/{comment}", {"content": "daisies and violets"})
    entry = (await decide(mia, "approve", comment))["undo"]
    await settle(app)
    learning = app.services.learning_filter
    assert (await mia.call("POST", f"/v1/moderation/undo/{entry}")).status_code == 200
    await settle(app)
    totals = await learning.totals(new_site.site.id)
    assert (totals.approved, totals.rejected) == (1, 0)
    tokens = await app.services.store.redis.hkeys(Keys().site(new_site.site.id).filter_tokens())
    assert any("tulips" in shown(str(token)) for token in tokens)
    assert not any("violets" in shown(str(token)) for token in tokens)
    card = (await mo.call("GET", f"/v1/moderation/users/{ada.id}")).json()
    assert card["counts"]["approved"] == 1


async def test_the_filter_does_not_learn_a_text_that_nobody_decided_about(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    """Its author was quicker than the outbox; the decision still counts for them."""
    ada, mo = await create(http, new_site, "ada"), await create(http, new_site, "mo")
    await app.services.roles.grant(new_site.site.id, UserId(mo.id), Role.MODERATOR)
    comment = (await write(ada, "roses and tulips"))["i"]
    await decide(mo, "spam", comment)
    await ada.call("PUT", f"/v1/comments/{comment}", {"content": "daisies and violets"})
    await settle(app)
    assert await app.services.store.redis.hkeys(Keys().site(new_site.site.id).filter_tokens()) == []
    card = (await mo.call("GET", f"/v1/moderation/users/{ada.id}")).json()
    assert card["counts"]["rejected"] == 1
