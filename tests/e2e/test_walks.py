"""A reader, three others and a bad line: after many deeds in any order the screen says what the server says.

`make long ARGS=tests/e2e/test_walks.py` walks more often. THREADKIT_SEED=17 repeats the walk with that seed, and the ones behind it.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import PUBLIC, Host, Talk
from tests.tiers import PROVING

WALK = Path(__file__).parent / "walk.js"
SEED = int(os.environ.get("THREADKIT_SEED", "1"))
WALKS = int(os.environ.get("THREADKIT_WALKS", "300" if PROVING else "15"))
STEPS = 30 if PROVING else 12
AT_ONCE = 5


@pytest.mark.prove(also=True)
@pytest.mark.parametrize("first", range(SEED, SEED + WALKS, AT_ONCE))
async def test_after_a_random_walk_the_screen_says_what_the_server_says(
    host: Host, talk: Talk, member: Any, visit: Any, first: int
) -> None:
    names = ("walker", "ann", "ben", "mo")
    people = {name: member(name) for name in names}
    talk.appoint(people["mo"])
    visitor = await visit()
    await visitor.page.add_init_script(path=WALK)
    await visitor.sign_in(people["walker"])
    script = f'<script async src="{host.threadkit}/embed.js"></script>'
    address = host.put("/walks", '<div id="place"></div>', head=script, is_strict=False)
    wrong = {}
    for seed in range(first, min(first + AT_ONCE, SEED + WALKS)):
        await visitor.page.goto(address)
        await visitor.page.wait_for_function("() => Boolean(window.ThreadKit?.mount)")
        walked = await visitor.page.evaluate(
            "told => walk(told)",
            {
                "seed": seed,
                "steps": STEPS,
                "base": host.threadkit,
                "project": PUBLIC,
                "pages": [f"{talk.url}-{seed}-{page}" for page in "ab"],
                "people": {name: one.session for name, one in people.items()},
            },
        )
        if walked["found"]:
            wrong[seed] = [*walked["found"], " ".join(walked["trace"])]
    assert wrong == {}, "\n".join(line for seed, lines in wrong.items() for line in (f"seed {seed}:", *lines))
