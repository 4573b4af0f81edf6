"""Fifty people change their minds at once, on two workers: what is counted is what is recorded. THREADKIT_SOAK=1 makes it
10,000 times. G18."""

import asyncio
import os
import random
from collections import Counter

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_crowd import all_workers_agree, crowd, http, server, store, write
from tests.integration.server.program import Server
from tests.people import Person

TOGGLES = 10_000 if os.environ.get("THREADKIT_SOAK") else 600
VOTERS, COMMENTS, AT_ONCE = 50, 5, 50
URL = "https://localhost/toggled"

pytestmark = [pytest.mark.prove, pytest.mark.timeout(900)]

__all__ = ["crowd", "http", "server", "store"]  # fixtures


async def test_after_all_changes_of_mind_counts_are_records(
    server: Server, http: httpx.AsyncClient, store: Redis, crowd: list[Person]
) -> None:
    voters = crowd[:VOTERS]
    comments = [(await write(voters[n], URL, f"comment {n}"))["i"] for n in range(COMMENTS)]
    queue = iter(range(TOGGLES))

    async def toggle() -> None:
        for _ in queue:
            person, comment_id = random.choice(voters), random.choice(comments)
            body = {"page_url": URL, "path": [comment_id], "direction": random.choice(("up", "down"))}
            answer = await person.call("POST", f"/v1/comments/{comment_id}/vote", body)
            assert answer.status_code == 200, answer.text

    await asyncio.gather(*(toggle() for _ in range(AT_ONCE)))
    recorded: Counter[tuple[str, str]] = Counter()
    for comment_id in comments:
        for person in voters:
            if way := await store.get(f"vote:{person.id}:{comment_id}"):
                recorded[comment_id, str(way)] += 1
    threads = await all_workers_agree(server, crowd[0].key, URL)
    assert all(thread == threads[0] for thread in threads), "both workers show the same"
    counted = {node["i"]: (node["u"], node["d"]) for node in threads[0]["tree"]["c"]}
    assert counted == {one: (recorded[one, "up"], recorded[one, "down"]) for one in comments}
    assert await disagreements(store, shadowed=()) == []
    print(f"\nG18: {TOGGLES} toggles by {VOTERS} people: {sum(recorded.values())} votes recorded, as many counted")
