"""The first read of a page of 1,000 comments, against the pipeline that fetches it and a plain encoding of the result."""

import itertools

from tests.bench.figures import Figure, at_most, figure, in_turns
from tests.bench.stage import SITE_ID, Caller, Stage, get_page, pages
from threadkit.loadgen.shapes import MadePage

GOAL = 2.0
COMMENTS = 1000
WARM_UP = 2
COLD_PAGES, COLD_PAGES_WHEN_QUICK = 24, 10


def cold_read(stage: Stage) -> list[Figure]:
    subject = stage.subject
    count = WARM_UP + min(COLD_PAGES_WHEN_QUICK if stage.pace.is_quick else COLD_PAGES, stage.pace.rounds * 5)
    # Each page is read once only by each side, so nothing of it can be known from before.
    cold = pages("cold", count, COMMENTS)
    subject.load(cold, votes=count * COMMENTS // 2)
    with stage.floor("cold", {"data": str(subject.folder), "site_id": SITE_ID}) as bare:
        ours, floor = _Reader(subject.port, cold), _Reader(bare.port, cold)
        for _ in range(WARM_UP):
            ours.read_next(), floor.read_next()
        rounds = in_turns(count - WARM_UP, ours.read_next, floor.read_next)
        ours.close()
        floor.close()
    notes = {"bytes": ours.size, "floor_bytes": floor.size}
    work = f"cold read of a page of {COMMENTS:,}"
    return [figure("cold", work, rounds, unit="ms", judge=at_most, goal=GOAL, notes=notes)]


class _Reader:
    """Reads page after page, each once."""

    def __init__(self, port: int, cold: tuple[MadePage, ...]) -> None:
        self._caller = Caller(port)
        self._urls = iter([page.url for page in cold])
        self.size = 0

    def read_next(self) -> float:
        (url,) = itertools.islice(self._urls, 1)
        answer, took = self._caller.ask(get_page(url))
        assert answer.status == 200, answer.raw[:600]
        self.size = len(answer.body)
        return took * 1000

    def close(self) -> None:
        self._caller.close()
