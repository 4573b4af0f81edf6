"""A site of 1,000,000 comments, against the same site at 10,000 (row S3-96): reading and voting must not notice."""

from tests.bench.client import Sent
from tests.bench.figures import Figure, Rounds, at_most, figure
from tests.bench.rows.post import post_requests
from tests.bench.rows.vote import vote_requests
from tests.bench.stage import DOMAIN, Caller, Person, Stage, Subject, get_page, pages
from threadkit.loadgen.service import skewed_pages
from threadkit.loadgen.shapes import MadePage

GOAL = 2.0
FEW, MANY, MANY_WHEN_QUICK = 10_000, 1_000_000, 50_000
LISTED = 40


def million(stage: Stage) -> list[Figure]:
    many = MANY_WHEN_QUICK if stage.pace.is_quick else MANY
    with stage.new_subject() as subject:
        first = pages("listed", LISTED, 50)
        subject.load([*first, *_spread(FEW - LISTED * 50)], users=FEW // 4)
        people = subject.people(16)
        before = _times(stage, subject, people, first[: LISTED // 2])
        small_mb = subject.memory() / 1e6
        subject.load(_spread(many - FEW), users=many // 20)
        after = _times(stage, subject, people, first[LISTED // 2 :])
        large_mb = subject.memory() / 1e6
    figures = []
    for name, now in after.items():
        rounds = Rounds(ours=[now.p50_ms], floor=[before[name].p50_ms])
        notes = {"p99_ms": now.p99_ms, "floor_p99_ms": before[name].p99_ms, "mb": large_mb, "floor_mb": small_mb}
        work = f"{name} at {many:,} comments (floor: at {FEW:,})"
        figures.append(figure("million", work, rounds, unit="ms", judge=at_most, goal=GOAL, notes=notes))
    return figures


def _spread(comments: int) -> tuple[MadePage, ...]:
    return skewed_pages(DOMAIN, comments, max(1, comments // 40), f"million {comments}")


def _times(stage: Stage, subject: Subject, people: list[Person], unread: tuple[MadePage, ...]) -> dict[str, Sent]:
    """How long it takes now. `unread` are pages of 50 that nobody has read yet."""
    client, seconds = stage.client, stage.pace.seconds * stage.pace.rounds
    url = unread[0].url
    votes = vote_requests(people, subject.comment_ids(url))
    posts = post_requests(people, [page.url for page in unread])
    times = {"listing 50, cold": _cold(subject, unread)}
    client.run(subject.port, [get_page(url)], seconds=min(1.0, seconds))
    times["listing 50, warm"] = client.run(subject.port, [get_page(url)], seconds=seconds)
    times["voting"] = client.run(subject.port, votes, seconds=seconds)
    subject.rest()
    times["posting"] = client.run(subject.port, posts, seconds=seconds)
    subject.rest()
    return times


def _cold(subject: Subject, unread: tuple[MadePage, ...]) -> Sent:
    caller = Caller(subject.port)
    took = sorted(caller.ask(get_page(page.url))[1] * 1000 for page in unread)
    caller.close()
    return Sent(1000 * len(took) / sum(took), took[len(took) // 2], took[-1])
