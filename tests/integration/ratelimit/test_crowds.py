"""An honest crowd: people who write and people who read, each waiting for their answer, on a server as it is installed."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.folders import quick_folder
from tests.integration.ratelimit.storm import Outcome, crowd
from tests.integration.server.program import Server, environment, serving
from tests.tiers import PROVING
from threadkit.ids import new_uuid

PUBLIC, SECRET = "tk_pub_crowdcrowd", "tk_sec_crowdcrowd"
SECONDS = 10.0 if PROVING else 1.5
WRITERS, READERS = (256, 64) if PROVING else (64, 16)
POSTS = 8000 if PROVING else 1000
URL = "http://localhost/x"

pytestmark = [pytest.mark.prove(also=True), pytest.mark.timeout(60 + 3 * SECONDS)]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """With the room for work that a fresh install has, but with no limit for one address, which the crowd comes from."""
    env = environment(PROJECT_ID_PUBLIC=PUBLIC, THREADKIT_SECRET_KEY=SECRET, THREADKIT_LOG_LEVEL="error")
    del env["THREADKIT_LIMITS_REQUESTS_AT_ONCE"]
    with quick_folder() as folder, serving(Path(folder) / "d", env=env) as found:
        yield found


@pytest.fixture(scope="module")
def posts(server: Server) -> list[bytes]:
    """What fifty people say on one page, each time something else, or it would be held as repeated."""
    with httpx.Client(base_url=server.url, headers={"projectid": SECRET}) as http:
        made = [http.post("/v1/admin/create-user", json={"name": f"user-{number}"}).json() for number in range(50)]
    return [_post(made[number % len(made)]["token"]) for number in range(POSTS)]


def _post(token: str) -> bytes:
    body = json.dumps({"page_url": URL, "content": f"{new_uuid()} {new_uuid()}"}).encode()
    head = (
        f"POST /v1/comments HTTP/1.1\r\nhost: x\r\nprojectid: {PUBLIC}\r\nauthorization: Bearer {token}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


# What the embed asks for, and what it would have asked for of a page that nobody writes on.
CHANGED = f"GET /v1/comments?page_url={URL}&sort=default&limit=25&key={PUBLIC} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
QUIET = CHANGED.replace(URL.encode(), b"http://localhost/quiet")


async def test_nobody_of_a_crowd_is_refused_and_readers_do_not_wait_for_writers(
    server: Server, posts: list[bytes]
) -> None:
    await crowd(server.port, posts[:200] + [CHANGED] * 200, people=4, seconds=1)  # warm
    writers, readers, others = await asyncio.gather(
        crowd(server.port, posts, people=WRITERS, seconds=SECONDS),
        crowd(server.port, [CHANGED], people=READERS // 2, seconds=SECONDS),
        crowd(server.port, [QUIET], people=READERS // 2, seconds=SECONDS),
    )
    print(
        f"\nG13: {WRITERS} writers and {READERS} readers at once for {SECONDS:g} s: {_said(writers)}; "
        f"of the page they write on {_said(readers)}; of another {_said(others)}"
    )
    for outcome in (writers, readers, others):
        assert set(outcome.took_s) == {200}
        assert not outcome.broken
    # In parts of what writers wait, because the machine does other things too.
    assert readers.p99_ms() < writers.percentile_ms(0.5)
    assert others.p99_ms() < writers.percentile_ms(0.5) / 2


def _said(outcome: Outcome) -> str:
    statuses = ", ".join(f"{outcome.count(status)} × {status}" for status in sorted(outcome.took_s))
    return f"{statuses}, p50 {outcome.percentile_ms(0.5):.0f} ms, p99 {outcome.p99_ms():.0f} ms"
