"""How long a writer waits at a steady pace, for a comment that is on the disk when the answer comes."""

import asyncio

from tests.bench.figures import Figure, figure, in_turns, no_more_than
from tests.bench.rows.post import post_requests
from tests.bench.stage import SITE_ID, Running, Stage, page_url
from tests.integration.ratelimit.storm import storm

GOALS_MS = {50: 50.0, 200: 150.0}
"""By posts a second, at p99."""
ROUNDS = 3
SECONDS, SECONDS_WHEN_QUICK = 10.0, 3.0
WRITERS = 200
SPREAD = 40
CONNECTIONS = 64


def pace(stage: Stage) -> list[Figure]:
    subject = stage.subject
    sent = post_requests(subject.people(WRITERS), [page_url(f"pace-{number}") for number in range(SPREAD)], count=4000)
    seconds = SECONDS_WHEN_QUICK if stage.pace.is_quick else SECONDS
    with stage.store() as folder, stage.floor("post", {"data": str(folder), "site_id": SITE_ID}) as bare:
        return [
            _at(per_second, most_ms, sent, subject.running, bare, seconds) for per_second, most_ms in GOALS_MS.items()
        ]


def _at(per_second: int, most_ms: float, sent: list[bytes], ours: Running, bare: Running, seconds: float) -> Figure:
    def p99_ms(at: Running) -> float:
        outcome = asyncio.run(storm(at.port, sent, per_second=per_second, seconds=seconds, connections=CONNECTIONS))
        assert set(outcome.took_s) == {200}, f"some were refused: { {s: len(t) for s, t in outcome.took_s.items()} }"
        assert not outcome.broken
        assert not outcome.unsent
        return outcome.p99_ms()

    rounds = in_turns(ROUNDS, lambda: p99_ms(ours), lambda: p99_ms(bare))
    work = f"durable post at {per_second}/s, p99"
    return figure("pace", work, rounds, unit="ms", judge=no_more_than(most_ms, rounds.ours, "ms"))
