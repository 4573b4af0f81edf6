"""More than can be done: refused early, and everything is well again soon. THREADKIT_SOAK=1 takes a minute for it."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.folders import quick_folder
from tests.integration.ratelimit.storm import Outcome, storm
from tests.integration.server.program import Server, environment, serving
from tests.wait import until
from threadkit.ids import new_uuid

PUBLIC, SECRET = "tk_pub_stormstorm", "tk_sec_stormstorm"
IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
SECONDS = 60.0 if IS_LONG else 6.0
URL = "http://localhost/x"

pytestmark = pytest.mark.prove


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """With the room for work that a fresh install has, but with no limit for one address, which the storm comes from."""
    env = environment(PROJECT_ID_PUBLIC=PUBLIC, THREADKIT_SECRET_KEY=SECRET, THREADKIT_LOG_LEVEL="error")
    del env["THREADKIT_LIMITS_REQUESTS_AT_ONCE"]
    with (
        quick_folder() as folder,
        serving(Path(folder) / "d", env=env) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def votes(server: Server) -> list[bytes]:
    """What each of twenty people sends to vote on each of twenty comments."""
    with httpx.Client(base_url=server.url, headers={"projectid": SECRET}) as http:
        made = [http.post("/v1/admin/create-user", json={"name": f"user-{number}"}).json() for number in range(20)]
        tokens = [one["token"] for one in made]
        own = {"projectid": PUBLIC, "authorization": f"Bearer {tokens[0]}"}
        ids = []
        for number in range(20):
            said = {"page_url": URL, "content": f"{number}: {new_uuid()} {new_uuid()}"}  # or they are held as repeated
            comment = http.post("/v1/comments", json=said, headers=own).json()["comment"]
            assert "s" not in comment
            ids.append(comment["i"])
    return [_vote(token, comment_id) for comment_id in ids for token in tokens]


def _vote(token: str, comment_id: str) -> bytes:
    body = json.dumps({"direction": "up"}).encode()
    head = (
        f"POST /v1/comments/{comment_id}/vote HTTP/1.1\r\nhost: x\r\nprojectid: {PUBLIC}\r\n"
        f"authorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def memory_mb(server: Server) -> float:
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


async def run(server: Server, votes: list[bytes], per_second: float, seconds: float) -> Outcome:
    return await storm(server.port, votes, per_second=per_second, seconds=seconds)


async def visit(server: Server, votes: list[bytes], seconds: float) -> Outcome:
    """A few people on connections of their own: what they see with nobody else there, and in the middle of the storm."""
    return await storm(server.port, votes, per_second=100, seconds=seconds, connections=20)


async def capacity_of(server: Server, votes: list[bytes]) -> float:
    """What it can take without refusing anybody."""
    capacity, rate = 0.0, 200.0
    calm = await visit(server, votes, 2)
    while True:
        tried = await run(server, votes, rate, 1)
        if tried.count(503) or tried.unsent or tried.p99_ms() > 10 * calm.p99_ms() or rate > 3000:
            return capacity or rate
        capacity, rate = rate, rate * 1.3


async def refused_by(server: Server) -> float:
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        lines = (await http.get("/metrics")).text.splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith("threadkit_refused_requests_total"))


@pytest.mark.timeout(60 + 4 * SECONDS)
async def test_ten_times_what_can_be_done(server: Server, votes: list[bytes]) -> None:
    await run(server, votes, 100, 1)  # warm
    capacity = await capacity_of(server, votes)
    unloaded = await visit(server, votes, SECONDS / 4)
    before_mb, refused_before = memory_mb(server), await refused_by(server)
    standing = asyncio.create_task(run(server, votes, capacity * 10, SECONDS))
    # The crowd at its beginning is let in, and has to wait for one another.

    async def stands() -> bool:
        return await refused_by(server) > refused_before + capacity

    await until(stands, "the storm to stand")
    guests = await visit(server, votes, SECONDS - 2)
    crowd = await standing
    grown_mb = memory_mb(server) - before_mb
    after = await visit(server, votes, 2)
    print(
        f"\nG13: capacity {capacity:.0f}/s; unloaded p99 {unloaded.p99_ms():.1f} ms of {unloaded.count(200)}; in the storm "
        f"{crowd.count(200) / SECONDS:.0f}/s accepted and {crowd.count(503) / SECONDS:.0f}/s refused; guests' p99 "
        f"{guests.p99_ms():.1f} ms of {guests.count(200)}, refused after {guests.p99_ms(503):.1f} ms; all of the crowd's p99 {crowd.p99_ms():.1f} ms, "
        f"refused after {crowd.p99_ms(503):.1f} ms; {crowd.unsent} unsent, +{grown_mb:.0f} MB; "
        f"afterwards p99 {after.p99_ms():.1f} ms, {after.count(503)} refused"
    )
    assert set(crowd.took_s) | set(guests.took_s) <= {200, 503}
    assert crowd.broken == guests.broken == 0
    assert crowd.count(503) > crowd.count(200) / 2, "or it was no storm"
    assert grown_mb <= 50
    assert after.count(503) <= after.count(200) * 0.02
    # Beside other tests the short one's numbers swing too much to be held to more.
    assert crowd.count(200) / SECONDS >= capacity * (0.5 if IS_LONG else 0.1)
    assert guests.p99_ms() <= max(3 * unloaded.p99_ms(), 0 if IS_LONG else 1000)
    assert guests.p99_ms(503) <= (50 if IS_LONG else 1000)
    assert after.p99_ms() <= max(3 * unloaded.p99_ms(), 30 if IS_LONG else 1000)


async def test_a_refusal_says_when_to_come_back_and_can_be_read_by_the_page(server: Server, votes: list[bytes]) -> None:
    """While it is full: a browser must be able to read the sentence, and /health must still answer."""
    flood = asyncio.create_task(run(server, votes, 4000, 4))
    origin = {"projectid": PUBLIC, "origin": "http://localhost:1313"}
    refused = None
    async with httpx.AsyncClient(base_url=server.url) as http:
        while refused is None and not flood.done():
            answer = await http.post("/v1/comments/preview", json={"content": "hello"}, headers=origin)
            if answer.status_code == 503:
                refused = answer
                assert (await http.get("/health")).status_code == 200
        meters = (await http.get("/metrics")).text
    await flood
    assert refused is not None
    assert refused.json()["code"] == "busy"
    assert 1 <= int(refused.headers["retry-after"]) <= 3
    assert refused.headers["access-control-allow-origin"] == origin["origin"]
    assert "threadkit_refused_requests_total" in meters
