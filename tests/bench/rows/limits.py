"""What limiting costs: the same server with limits that nobody reaches, and without any."""

from tests.bench.duel import Side, duel
from tests.bench.figures import Figure
from tests.bench.rows.vote import COMMENTS, VOTERS, vote_requests
from tests.bench.stage import Caller, Stage, Subject, get_page, pages

READ_GOAL = 0.95
WRITE_GOAL = 0.90


def limits(stage: Stage) -> list[Figure]:
    (page,) = pages("limits", 1, COMMENTS)
    with stage.new_subject(THREADKIT_LIMITS_ENABLED="false") as free:
        for subject in (stage.subject, free):
            subject.load([page])
        read = get_page(page.url)
        sides = [Side(subject.running, [read]) for subject in (stage.subject, free)]
        for subject in (stage.subject, free):
            _make_known(subject, read)
        reads = duel(stage, "limits", "limiting a warm read", sides[0], sides[1], goal=READ_GOAL)
        votes = [
            Side(
                subject.running,
                vote_requests(subject.people(VOTERS), subject.comment_ids(page.url)),
                after=subject.rest,
            )
            for subject in (stage.subject, free)
        ]
        return [reads, duel(stage, "limits", "limiting a vote", votes[0], votes[1], goal=WRITE_GOAL)]


def _make_known(subject: Subject, read: bytes) -> None:
    caller = Caller(subject.port)
    try:
        for _ in range(2):
            caller.ask(read)
    finally:
        caller.close()
