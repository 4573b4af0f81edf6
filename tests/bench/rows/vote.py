"""Voting, against a bare handler that makes the same call of Lua."""

import asyncio

from tests.bench.duel import Side, duel
from tests.bench.figures import Figure
from tests.bench.stage import SITE_ID, UNTIL_MS, Person, Stage, comment_ids, fill, pages, request
from threadkit.loadgen.service import Load

GOAL = 0.60
VOTERS = 32
COMMENTS = 200
MOST_REQUESTS = 4000


def vote(stage: Stage) -> list[Figure]:
    subject = stage.subject
    (page,) = pages("vote", 1, COMMENTS)
    subject.load([page])
    with stage.store() as folder:
        asyncio.run(fill(folder, Load((page,), users=200, votes=0, seed="floor", until_ms=UNTIL_MS)))
        needs = {"data": str(folder), "site_id": SITE_ID, "page_url": page.url, "voters": VOTERS}
        with stage.floor("vote", needs) as bare:
            people = subject.people(VOTERS)
            ours = Side(subject.running, vote_requests(people, subject.comment_ids(page.url)), after=subject.rest)
            # The bare one knows neither people nor tokens, but gets to read as many bytes.
            floor = Side(bare, vote_requests(people, comment_ids(folder, page.url)))
            return [duel(stage, "vote", "vote", ours, floor, goal=GOAL)]


def vote_requests(people: list[Person], ids: list[str]) -> list[bytes]:
    """Votes of different people on different comments; the second time around they are taken back."""
    pairs = [(person, comment_id) for comment_id in ids for person in people]
    # Spread, so that neighbours in the list are about different comments.
    step = len(people) + 1
    count = min(MOST_REQUESTS, len(pairs))
    return [
        request("POST", f"/v1/comments/{comment_id}/vote", body={"direction": "up"}, token=person.token)
        for person, comment_id in (pairs[number * step % len(pairs)] for number in range(count))
    ]
