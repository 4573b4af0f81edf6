"""Posting and voting on a page of 100,000 comments, against the same on pages of 100: it must cost the same."""

import functools

from tests.bench.figures import Figure, at_most, figure, in_turns
from tests.bench.rows.post import post_requests
from tests.bench.rows.vote import vote_requests
from tests.bench.stage import Stage, pages

GOAL = 1.3
PEOPLE = 32
SMALL = 100
SMALL_PAGES = 50
LARGE, LARGE_WHEN_QUICK = 100_000, 10_000


def growth(stage: Stage) -> list[Figure]:
    subject, client, pace = stage.subject, stage.client, stage.pace
    size = LARGE_WHEN_QUICK if pace.is_quick else LARGE
    (large,) = pages("large", 1, size)
    small = pages("small", SMALL_PAGES, SMALL)
    subject.load([large, *small])
    people = subject.people(PEOPLE)
    few_ids = [found for page in small for found in subject.comment_ids(page.url)[::10]]
    many_ids = subject.comment_ids(large.url)
    many_ids = many_ids[:: max(1, len(many_ids) // len(few_ids))]
    work = {
        "vote": (vote_requests(people, many_ids), vote_requests(people, few_ids)),
        "post": (post_requests(people, [large.url]), post_requests(people, [page.url for page in small])),
    }

    def took_ms(sent: list[bytes]) -> float:
        run = client.run(subject.port, sent, seconds=pace.seconds)
        subject.rest()
        return 1000 / run.per_second

    figures = []
    for name, (on_large, on_small) in work.items():
        took_ms(on_large), took_ms(on_small)
        rounds = in_turns(pace.rounds, functools.partial(took_ms, on_large), functools.partial(took_ms, on_small))
        words = f"{name} on a page of {size:,} (floor: of {SMALL})"
        figures.append(figure("growth", words, rounds, unit="ms/request", judge=at_most, goal=GOAL))
    return figures
