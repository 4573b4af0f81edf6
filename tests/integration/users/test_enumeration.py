"""Whether somebody has an account: no answer tells, nor how long it takes. THREADKIT_SOAK=1 asks 4,000 times each. G12."""

import os
import random
import re
import time
from collections.abc import Sequence

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.make import ManualClock
from tests.people import Letterbox, post
from threadkit.settings import Settings
from threadkit.sites.model import NewSite

IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
PAIRS = 4000 if IS_LONG else 150
# So few say less: what chance does with 150 pairs stays below this.
MOST = 0.55 if IS_LONG else 0.65
PASSWORD = "correct horse battery"
ASKED = {
    "/v1/auth/login": {"password": "a wrong guess"},
    "/v1/auth/forgot": {},
    "/v1/auth/send-otp": {},
    "/v1/auth/verify-otp": {"code": "000000"},
    "/v1/auth/reset": {"code": "000000", "new_password": "another horse battery"},
}

pytestmark = pytest.mark.prove


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The cheaper a password is, the more would be seen of everything else."""
    return replace(settings, accounts=replace(settings.accounts, argon2_time_cost=1, argon2_memory_kib=64))


def auc(some: Sequence[float], others: Sequence[float]) -> float:
    """How often whoever guesses by the time is right: a half is chance."""
    ranked = sorted([(value, 1) for value in some] + [(value, 0) for value in others])
    ranks = sum(place for place, (_, is_first) in enumerate(ranked, 1) if is_first)
    area = (ranks - len(some) * (len(some) + 1) / 2) / (len(some) * len(others))
    return max(area, 1 - area)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("path", ASKED)
async def test_neither_answers_nor_their_time_tell_who_is_there(
    http: httpx.AsyncClient,
    new_site: NewSite,
    letterbox: Letterbox,
    redis: Redis,
    clock: ManualClock,
    path: str,
) -> None:
    body = {"name": "grace", "email": "grace@example.org", "password": PASSWORD}
    assert (await post(http, new_site, "/v1/auth/register", body)).status_code == 200
    await redis.delete("verify:grace@example.org")  # as ten minutes do
    took: dict[bool, list[float]] = {True: [], False: []}
    said: dict[bool, set[tuple[int, int, str]]] = {True: set(), False: set()}
    for number in range(PAIRS):
        clock.advance(seconds=3601)  # every limit is as it was
        for is_known in random.sample([True, False], 2):
            asked = {"email": "grace@example.org" if is_known else f"no{number:04}@example.org"} | ASKED[path]
            started = time.perf_counter()
            answer = await post(http, new_site, path, asked, **{"x-forwarded-for": f"198.51.100.{1 + is_known}"})
            took[is_known].append(time.perf_counter() - started)
            shown = re.sub(r'"request_id":"\w+"', "", answer.text)
            said[is_known].add((answer.status_code, len(answer.content), shown))
    assert said[True] == said[False]
    assert len(said[True]) == 1
    found = auc(took[True], took[False])
    print(f"\nG12: {path}: AUC {found:.3f} over {PAIRS} pairs, bodies equal")
    assert found <= MOST
