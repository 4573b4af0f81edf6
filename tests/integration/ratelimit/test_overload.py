"""More than can be done: what can be done is done, the rest is refused, and everything is well again soon.
THREADKIT_SOAK=1 takes a minute for it."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.folders import quick_folder
from tests.integration.ratelimit.storm import Outcome, crowd, storm
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


def processor_s(server: Server) -> float:
    """What the server has had of the processors, which it shares with the storm and whatever else runs here."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def run(server: Server, votes: list[bytes], per_second: float, seconds: float) -> Outcome:
    """From more connections than a server takes on requests."""
    return await storm(server.port, votes, per_second=per_second, seconds=seconds, connections=1000)


async def visit(server: Server, votes: list[bytes], seconds: float) -> Outcome:
    """A few people on connections of their own: what they see with nobody else there, and in the middle of the storm."""
    return await storm(server.port, votes, per_second=100, seconds=seconds, connections=20)


class Pace:
    """How many are done in a second, and in a second of the server's processor."""

    def __init__(self, done: int, seconds: float, processor_s: float) -> None:
        self.per_second = done / seconds
        self.per_processor_s = done / processor_s


async def capacity_of(server: Server, votes: list[bytes]) -> Pace:
    """When there is always somebody who waits, and nobody is refused."""
    seconds, had_s = SECONDS / 3, processor_s(server)
    outcome = await crowd(server.port, votes, people=64, seconds=seconds)
    assert set(outcome.took_s) == {200}
    return Pace(outcome.count(200), seconds, processor_s(server) - had_s)


async def refused_by(server: Server) -> float:
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        lines = (await http.get("/metrics")).text.splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith("threadkit_refused_requests_total"))


@pytest.mark.timeout(60 + 4 * SECONDS)
async def test_ten_times_what_can_be_done(server: Server, votes: list[bytes]) -> None:
    await run(server, votes, 100, 1)  # warm
    capacity = await capacity_of(server, votes)
    unloaded = await visit(server, votes, SECONDS / 4)
    before_mb, refused_before, had_s = memory_mb(server), await refused_by(server), processor_s(server)
    standing = asyncio.create_task(run(server, votes, capacity.per_second * 10, SECONDS))

    async def stands() -> bool:
        return await refused_by(server) > refused_before

    await until(stands, "the storm to stand")
    guests = await visit(server, votes, SECONDS - 2)
    storming = await standing
    grown_mb = memory_mb(server) - before_mb
    pace = Pace(storming.count(200) + guests.count(200), SECONDS, processor_s(server) - had_s)
    after = await visit(server, votes, 2)
    goodput = pace.per_processor_s / capacity.per_processor_s
    print(
        f"\nG13: capacity {capacity.per_second:.0f}/s; ten times that for {SECONDS:g} s: {pace.per_second:.0f}/s done "
        f"({goodput:.0%} of what the processor does of them otherwise) and "
        f"{storming.count(503) / SECONDS:.0f}/s refused; guests' p50 {guests.percentile_ms(0.5):.0f} ms and p99 {guests.p99_ms():.0f} ms, "
        f"refused after {storming.percentile_ms(0.5, 503):.0f} ms (p99 {storming.p99_ms(503):.0f} ms); +{grown_mb:.0f} MB; p99 before {unloaded.p99_ms():.0f} ms, "
        f"afterwards {after.p99_ms():.0f} ms, {after.count(503)} refused"
    )
    assert set(storming.took_s) | set(guests.took_s) <= {200, 503}
    assert storming.broken == guests.broken == 0
    assert storming.count(503) > storming.count(200) / 2, "or it was no storm"
    assert grown_mb <= 50
    assert after.count(503) == 0
    # Beside other tests the short one's numbers swing too much to be held to more.
    assert goodput >= (0.8 if IS_LONG else 0.5)
    assert storming.p99_ms(503) <= (500 if IS_LONG else 5000)
    assert after.p99_ms() <= max(3 * unloaded.p99_ms(), 30 if IS_LONG else 1000)


async def test_a_refusal_says_when_to_come_back_and_can_be_read_by_the_page(server: Server, votes: list[bytes]) -> None:
    """While it is full: a browser must be able to read the sentence, and /health must still answer."""
    flood = asyncio.create_task(run(server, votes, 4000, 4))
    origin = {"projectid": PUBLIC, "origin": "http://localhost:1313"}
    refused = None
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        while refused is None and not flood.done():
            asked = [http.post("/v1/comments/preview", json={"content": "hello"}, headers=origin) for _ in range(10)]
            answers = await asyncio.gather(*asked)
            refused = next((answer for answer in answers if answer.status_code == 503), None)
            assert (await http.get("/health")).status_code == 200
        meters = (await http.get("/metrics")).text
    await flood
    assert refused is not None
    assert refused.json()["code"] == "busy"
    assert 1 <= int(refused.headers["retry-after"]) <= 3
    assert refused.headers["access-control-allow-origin"] == origin["origin"]
    assert "threadkit_refused_requests_total" in meters
