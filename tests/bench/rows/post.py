"""Writing a comment of 300 characters, against a bare handler that renders it and makes the one call of Lua."""

from tests.bench.duel import Side, duel
from tests.bench.figures import Figure
from tests.bench.stage import SITE_ID, Person, Stage, page_url, request

GOAL = 0.50
WRITERS = 32
LENGTH = 300
SPREAD = 40
"""Pages, so that none gets long."""


def post(stage: Stage) -> list[Figure]:
    subject = stage.subject
    urls = [page_url(f"post-{number}") for number in range(SPREAD)]
    sent = post_requests(subject.people(WRITERS), urls)
    with (
        stage.store() as folder,
        stage.floor("post", {"data": str(folder), "site_id": SITE_ID}) as bare,
    ):
        ours, floor = Side(subject.running, sent, after=subject.rest), Side(bare, sent)
        figure = duel(stage, "post", f"post of {LENGTH} characters", ours, floor, goal=GOAL)
        # With all that follows from it: its effects are carried out when the server has had its rest.
        before = subject.store_cpu_s()
        answered = stage.client.run(subject.port, sent, seconds=stage.pace.seconds * 3).answered
        subject.rest()
        figure.notes["store_cpu_us"] = round((subject.store_cpu_s() - before) / max(1, answered) * 1e6, 3)
        return [figure]


def post_requests(people: list[Person], urls: list[str], count: int = 2000) -> list[bytes]:
    """Comments of different people with different words."""
    return [
        request(
            "POST",
            "/v1/comments",
            body={"page_url": urls[number % len(urls)], "content": comment_text(number)},
            token=people[number % len(people)].token,
        )
        for number in range(count)
    ]


def comment_text(number: int) -> str:
    words = (
        f"Number {number} tried **both** ways, and _neither_ works as the manual says: `run --all` stops half way. "
        "See https://docs.example/run for what it should do.\n\nPerhaps it is only me, but between such things people "
        "mostly write sentences, as they would in a letter, and hope that somebody has an answer to that by tomorrow."
    )
    return words[:LENGTH]
