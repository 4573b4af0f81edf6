"""`make soak`, or `python -m tests.soak --minutes 30`: mixed traffic for a long time, and nothing may grow."""

import argparse
import asyncio
import contextlib
import json
import random
import sys
from pathlib import Path

import httpx

from tests.folders import quick_folder
from tests.integration.server.program import Server, environment, run, serving
from tests.soak.gauges import Gauges, Verdict
from tests.soak.traffic import PAGES, Site, Traffic

RULES = ("auth.anonymous=true", *(f"screening.{name}.enabled=false" for name in ("too_fast", "repeated", "links")))
MB_AN_HOUR = 20.0


async def soak(minutes: float, *, people: int, seed: int) -> tuple[list[Verdict], Traffic]:
    env = environment(THREADKIT_LIVE_SOCKETS_PER_ADDRESS="10000")
    with (
        quick_folder() as folder,
        serving(Path(folder) / "d", "--workers", "2", env=env) as server,
    ):
        traffic = Traffic(server.url, await _site(server), random.Random(seed), people=people)
        gauges = Gauges(server)
        looking = asyncio.create_task(_look(gauges, every_s=max(1.0, minutes * 60 / 120), traffic=traffic))
        await traffic.run(minutes * 60)
        looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await looking
        if "Traceback" in server.said:
            traffic.faults.append(server.said[server.said.index("Traceback") :][:2000])
        return gauges.verdicts(most_mb=max(10.0, MB_AN_HOUR * minutes / 60)), traffic


async def _site(server: Server) -> Site:
    """A site with a thread on every page, and somebody who moderates it."""
    data = ("--data", str(server.folder))
    made = json.loads(run("site", "create", "Blog", "blog.example.org", "--json", *data).stdout)
    done = run("site", "set", made["id"], *RULES, *data)
    assert done.returncode == 0, done.stdout + done.stderr
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        people = []
        for name in ("mona", "ada"):
            answer = await http.post(
                "/v1/admin/create-user", json={"name": name}, headers={"projectid": made["api_key_secret"]}
            )
            people.append(answer.json())
        mona, ada = people
        done = run("role", "grant", made["id"], "mona", "moderator", *data)
        assert done.returncode == 0, done.stdout + done.stderr
        headers = {"projectid": made["api_key_public"], "authorization": f"Bearer {ada['token']}"}
        for page in PAGES:
            for number in range(10):
                body = {"page_url": page, "content": f"Comment {number} of many on this page."}
                (await http.post("/v1/comments", json=body, headers=headers)).raise_for_status()
    return Site(made["id"], made["api_key_public"], made["api_key_secret"], mona["token"])


async def _look(gauges: Gauges, *, every_s: float, traffic: Traffic) -> None:
    while True:
        reading = await asyncio.to_thread(gauges.read, posted=traffic.posted)
        if sys.stdout.isatty():
            stories = sum(traffic.done.values())
            print(f"\r{stories} stories, {len(traffic.faults)} faults, {reading}   ", end="", flush=True)
        await asyncio.sleep(every_s)


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--people", type=int, default=8, help="of each kind, at the same time")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    asked = parser.parse_args()
    verdicts, traffic = asyncio.run(soak(asked.minutes, people=asked.people, seed=asked.seed))
    print(f"\n{asked.minutes:g} minutes, seed {asked.seed}: {dict(traffic.done)}, {len(traffic.faults)} faults")
    for verdict in verdicts:
        state = "flat" if verdict.holds else "GROWS"
        print(f"  {verdict.name:10} {verdict.early:9.1f} → {verdict.late:9.1f}  (allowed +{verdict.most:g})  {state}")
    for fault in traffic.faults[:10]:
        print(f"  fault: {fault}")
    return 0 if all(verdict.holds for verdict in verdicts) and not traffic.faults else 1


if __name__ == "__main__":
    raise SystemExit(main())
