"""The worst that a comment's text can cost: every hostile shape the tests know, as long as a comment may be."""

import contextlib
import time

from tests.bench.figures import Figure, Rounds, at_most, figure
from tests.bench.stage import Stage
from tests.unit.test_text_cost import LENGTH, LIMIT_MS, SHAPES
from tests.unit.test_text_hostile import A_FEW
from threadkit.text import TooComplex, render, warm_up

TRIES = 5


def text_bound(_stage: Stage) -> list[Figure]:
    warm_up()
    sources = {name: make(LENGTH) for name, make in SHAPES.items()}
    sources |= {f"payload {number}": payload for number, payload in enumerate(A_FEW)}
    took = {name: min(_took_ms(source) for _ in range(TRIES)) for name, source in sources.items()}
    worst = max(took, key=lambda name: took[name])
    rounds = Rounds(ours=[took[worst]], floor=[float(LIMIT_MS)])
    work = f"worst text of {LENGTH:,} characters: {worst:.30}"
    return [figure("text", work, rounds, unit="ms", judge=at_most, goal=1.0, notes={"shapes": len(sources)})]


def _took_ms(source: str) -> float:
    # Of this thread, because it is the text that is measured and not who else is on the machine.
    started = time.thread_time()
    with contextlib.suppress(TooComplex):
        render(source)
    return (time.thread_time() - started) * 1000
