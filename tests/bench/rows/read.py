"""Reading a page of 50 comments that this worker has read before: what the program does all day."""

import base64

from tests.bench.client import LoadFailed
from tests.bench.duel import Side, duel
from tests.bench.figures import Figure
from tests.bench.stage import Answer, Caller, Stage, get_page, pages

GOAL = 0.80
NOT_MODIFIED = 304
TRIES = 20


def read(stage: Stage) -> list[Figure]:
    (page,) = pages("read", 1, 50)
    stage.subject.load([page], votes=100)
    return [
        _against_floor(stage, "50-comment page, warm", get_page(page.url)),
        _against_floor(stage, "50-comment page, warm, gzip", get_page(page.url, accept_encoding="gzip, deflate, br")),
        _not_modified(stage, page.url),
    ]


def _not_modified(stage: Stage, url: str) -> Figure:
    for _ in range(TRIES):
        etag = dict(_answer(stage, get_page(url)).headers)["etag"]
        sent = get_page(url, if_none_match=etag)
        if _answer(stage, sent).status == NOT_MODIFIED:
            return _against_floor(stage, "the same with If-None-Match", sent, etag=etag)
    raise LoadFailed("the page changes faster than it can be asked for")


def _against_floor(stage: Stage, work: str, sent: bytes, *, etag: str | None = None) -> Figure:
    answer = _answer(stage, sent)
    status = answer.status if etag is None else NOT_MODIFIED
    with stage.floor_like(answer) as bare:
        ours = Side(stage.subject.running, [sent], status=status, etag=etag)
        floor = Side(bare, [sent], status=answer.status)
        notes = {"bytes": len(answer.body), "client_ceiling": _ceiling(stage, answer, sent)}
        return duel(stage, "read", work, ours, floor, goal=GOAL, notes=notes)


def _ceiling(stage: Stage, answer: Answer, sent: bytes) -> float:
    """How fast the load generator is against no server at all: far from the floor, or the numbers mean nothing."""
    with stage.floor("trivial", {"answer": base64.b64encode(answer.raw).decode()}) as nothing:
        return stage.client.run(
            nothing.port, [sent], seconds=min(1.0, stage.pace.seconds), status=answer.status
        ).per_second


def _answer(stage: Stage, sent: bytes) -> Answer:
    caller = Caller(stage.subject.port)
    try:
        # The first one makes the page known; the second is what everybody gets after that.
        caller.ask(sent)
        answer, _ = caller.ask(sent)
    finally:
        caller.close()
    assert answer.status in (200, 304), answer.raw[:600]
    return answer
