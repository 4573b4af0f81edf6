"""What the key document's example takes in a fresh store: 10,000 comments, 50,000 users, 50,000 votes."""

import asyncio

import redis as sync_redis

from tests.bench.figures import Figure, Rounds, at_most, figure
from tests.bench.stage import UNTIL_MS, Stage, fill, page_url
from threadkit.loadgen.service import Load
from threadkit.loadgen.shapes import MadePage

COMMENTS, USERS, VOTES, PAGES = 10_000, 50_000, 50_000, 250
LIMIT_MB = 65.0
SHARE_WHEN_QUICK = 5


def memory(stage: Stage) -> list[Figure]:
    share = SHARE_WHEN_QUICK if stage.pace.is_quick else 1
    per_page = COMMENTS // PAGES
    pages = tuple(MadePage(page_url(f"m-{number}"), "A story", per_page) for number in range(PAGES // share))
    load = Load(pages, users=USERS // share, votes=VOTES // share, seed="memory", until_ms=UNTIL_MS)
    with (
        stage.store() as folder,
        sync_redis.Redis(unix_socket_path=str(folder / "store.sock")) as store,
    ):
        # Scripts and connections are there once, whatever the number of comments.
        asyncio.run(fill(folder, Load((MadePage(page_url("m"), "A story", 5),), 5, 5, "first", UNTIL_MS)))
        before = _used(store)
        asyncio.run(fill(folder, load))
        used_mb = (_used(store) - before) / 1e6 * share
    made = Rounds(ours=[used_mb], floor=[LIMIT_MB])
    work = f"{COMMENTS:,} comments, {USERS:,} users, {VOTES:,} votes" + (" (from a fifth)" if share > 1 else "")
    return [figure("memory", work, made, unit="MB", judge=at_most, goal=1.0)]


def _used(store: sync_redis.Redis) -> int:
    return int(store.info("memory")["used_memory"])
