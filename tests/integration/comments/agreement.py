"""Do the indexes agree with the records? Every one is computed again from the comments' hashes and compared.

Written from the contract, not from the program: `disagreements` is what a crash, a race or a repair is judged by. It reads
a store whose keys have neither prefix nor hash tags.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import Any

from redis.asyncio import Redis

DELETED = "d0000000-0000-0000-0000-000000000000"
ANONYMOUS = "a0000000-0000-0000-0000-000000000000"
SORTS = ("new", "top", "hot", "controversial")
THIRTY_DAYS_S = 2_592_000

# What is about comments and votes; sessions, profiles and keys of sites are not.
_OURS = re.compile(
    r"comment:[^:]+(:replies(:\w+)?)?|page:[^:]+(:(comments|roots):\w+|:pinned|:unlisted:[^:]+)?"
    r"|votes?:.+|site:[^:]+:(comments|modqueue)|user:[^:]+:[^:]+:comments"
)

_READING: dict[str, tuple[str, ...]] = {
    "string": ("GET",),
    "hash": ("HGETALL",),
    "set": ("SMEMBERS",),
    "zset": ("ZRANGE", "0", "-1", "WITHSCORES"),
}

Store = dict[str, Any]
Record = dict[str, str]


def hot_30_days(up: int, down: int, created_ms: int) -> float:
    """Section 8 of the seed contract, in the form of Reddit, with thirty days for a factor of ten."""
    score = up - down
    weight = math.log10(abs(score)) if abs(score) > 1 else 0.0
    return math.copysign(weight, score) + (created_ms / 1000 - 1_134_028_003) / THIRTY_DAYS_S


def ms_of(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


async def everything_about_comments(redis: Redis) -> Store:
    """Key to value, in the plain types of Python; a sorted set is a dict from member to score."""
    names = sorted([str(key) async for key in redis.scan_iter(count=1000) if _OURS.fullmatch(str(key))])
    kinds = await _all_at_once(redis, [("TYPE", name) for name in names])
    known = [(name, str(kind)) for name, kind in zip(names, kinds, strict=True) if kind in _READING]
    values = await _all_at_once(redis, [(_READING[kind][0], name, *_READING[kind][1:]) for name, kind in known])
    return {name: _plain(kind, value) for (name, kind), value in zip(known, values, strict=True) if value}


async def _all_at_once(redis: Redis, commands: list[tuple[Any, ...]]) -> list[Any]:
    found: list[Any] = []
    for start in range(0, len(commands), 2000):
        async with redis.pipeline(transaction=False) as pipe:
            for command in commands[start : start + 2000]:
                pipe.execute_command(*command)
            found += await pipe.execute()
    return found


def _plain(kind: str, value: Any) -> Any:
    if kind == "zset":
        # Depending on the protocol the scores come in pairs or in a row.
        pairs = value if value and isinstance(value[0], list | tuple) else zip(value[::2], value[1::2], strict=True)
        return {str(member): float(score) for member, score in pairs}
    return set(value) if kind == "set" else value


async def disagreements(
    redis: Redis,
    *,
    shadowed: Collection[str] | None = None,
    hot: Callable[[int, int, int], float] = hot_30_days,
) -> list[str]:
    """What does not fit, a sentence each; empty when all is well.

    With `shadowed` (ids of voters whose votes do not count) the counts of votes are checked against the single votes
    too; that holds only where nobody who voted has left.
    """
    store = await everything_about_comments(redis)
    return list(compared(store, shadowed=shadowed, hot=hot))


def compared(
    store: Store,
    *,
    shadowed: Collection[str] | None = None,
    hot: Callable[[int, int, int], float] = hot_30_days,
) -> Iterator[str]:
    records: dict[str, Record] = {
        key.removeprefix("comment:"): value for key, value in store.items() if re.fullmatch(r"comment:[^:]+", key)
    }
    shown = shown_ids(records)
    yield from _records_that_do_not_fit(records, shown)
    yield from _differences(store, expected_indexes(records, shown, hot))
    yield from _pages_that_do_not_fit(store, records, shown)
    yield from _lists_that_do_not_fit(store, records)
    yield from _votes_that_do_not_fit(store, records, shadowed)


def shown_ids(records: dict[str, Record]) -> set[str]:
    """Approved and not shadowed; a deleted one holds its place while something that is shown hangs on it."""
    shown = {i for i, record in records.items() if record["status"] == "approved" and not _is_shadowed(record)}
    waiting = list(shown)
    while waiting:
        parent = records[waiting.pop()].get("parent_id")
        if parent and parent not in shown and records.get(parent, {}).get("status") == "deleted":
            shown.add(parent)
            waiting.append(parent)
    return shown


def on_page(records: dict[str, Record], shown: Collection[str]) -> set[str]:
    """What is shown and hangs on nothing that is hidden."""
    found: set[str] = set()
    for comment_id in shown:
        above: str | None = comment_id
        while above is not None and above in shown:
            above = records[above].get("parent_id")
        if above is None:
            found.add(comment_id)
    return found


def _is_shadowed(record: Record) -> bool:
    return record.get("is_shadowed") == "true"


def expected_indexes(
    records: dict[str, Record], shown: Collection[str], hot: Callable[[int, int, int], float]
) -> dict[str, dict[str, float]]:
    """Every sorted set that can be told from the records alone."""
    indexes: dict[str, dict[str, float]] = {}
    visible = on_page(records, shown)

    def add(key: str, member: str, score: float) -> None:
        indexes.setdefault(key, {})[member] = score

    for comment_id, record in records.items():
        up, down, created_ms = int(record["upvotes"]), int(record["downvotes"]), ms_of(record["created_at"])
        page, parent = record["page_id"], record.get("parent_id")
        add(f"site:{record['site_id']}:comments", comment_id, created_ms)
        if record["status"] == "pending" and not _is_shadowed(record):
            add(f"site:{record['site_id']}:modqueue", comment_id, created_ms)
        if comment_id in shown:
            scores = {"new": created_ms, "top": up - down, "hot": hot(up, down, created_ms)}
            for sort, score in scores.items() if comment_id in visible else ():
                add(f"page:{page}:comments:{sort}", comment_id, score)
            for sort, score in (scores | {"controversial": min(up, down)}).items():
                add(_level(page, parent, sort), comment_id, score)
        elif record["status"] in ("pending", "approved") and record["author_id"] != DELETED:
            add(f"page:{page}:unlisted:{record['author_id']}", comment_id, created_ms)
    return indexes


def _level(page: str, parent: str | None, sort: str) -> str:
    if parent is None:
        return f"page:{page}:roots:{sort}"
    return f"comment:{parent}:replies" if sort == "new" else f"comment:{parent}:replies:{sort}"


def _differences(store: Store, expected: dict[str, dict[str, float]]) -> Iterator[str]:
    index = re.compile(
        r"page:[^:]+:((comments|roots):\w+|unlisted:[^:]+)|comment:[^:]+:replies(:\w+)?|site:[^:]+:(comments|modqueue)"
    )
    found = {key: value for key, value in store.items() if index.fullmatch(key)}
    for key in sorted(found.keys() | expected.keys()):
        have, want = found.get(key, {}), expected.get(key, {})
        for member in sorted(have.keys() | want.keys()):
            if member not in want:
                yield f"{key} holds {member}, which does not belong there"
            elif member not in have:
                yield f"{key} lacks {member}"
            elif abs(have[member] - want[member]) > 1e-9:
                yield f"{key} has {member} at {have[member]!r} instead of {want[member]!r}"


def _records_that_do_not_fit(records: dict[str, Record], shown: Collection[str]) -> Iterator[str]:
    replies = Counter(records[i].get("parent_id") for i in shown)
    visible = on_page(records, shown)
    for comment_id, record in records.items():
        missing = {"site_id", "page_id", "author_id", "content", "status", "created_at", "depth"} - record.keys()
        if missing or record.get("id") != comment_id:
            yield f"comment {comment_id} is not whole: {record}"
            continue
        if comment_id in shown and ("buried" in record) == (comment_id in visible):
            yield f"comment {comment_id} is hidden with what it hangs on, or not: {record}"
        if int(record["reply_count"]) != replies[comment_id]:
            yield f"comment {comment_id} counts {record['reply_count']} replies and has {replies[comment_id]}"
        parent = records.get(record.get("parent_id", ""))
        if "parent_id" in record and (parent is None or parent["page_id"] != record["page_id"]):
            yield f"comment {comment_id} hangs on nothing of its page"
        if int(record["depth"]) != (int(parent["depth"]) + 1 if parent else 0):
            yield f"comment {comment_id} has the wrong depth {record['depth']}"
        if min(int(record["upvotes"]), int(record["downvotes"])) < 0:
            yield f"comment {comment_id} has fewer than no votes"


def _pages_that_do_not_fit(store: Store, records: dict[str, Record], shown: Collection[str]) -> Iterator[str]:
    visible = on_page(records, shown)
    numbers = Counter(records[i]["page_id"] for i in visible)
    pages = {key.removeprefix("page:"): value for key, value in store.items() if re.fullmatch(r"page:[^:]+", key)}
    for page_id in sorted(pages.keys() | numbers.keys()):
        counted = int(pages.get(page_id, {}).get("comments", 0))
        if counted != numbers[page_id]:
            yield f"page {page_id} counts {counted} comments and shows {numbers[page_id]}"
    for key, pins in store.items():
        if found := re.fullmatch(r"page:([^:]+):pinned", key):
            for comment_id in pins:
                record = records.get(comment_id, {})
                if comment_id not in visible or record.get("status") != "approved" or record.get("page_id") != found[1]:
                    yield f"{key} holds {comment_id}, which is not shown"


def _lists_that_do_not_fit(store: Store, records: dict[str, Record]) -> Iterator[str]:
    """A person's list has all that is theirs; beyond that only what lost its author by being deleted."""
    lists = {key: value for key, value in store.items() if re.fullmatch(r"user:[^:]+:[^:]+:comments", key)}
    for comment_id, record in records.items():
        key = f"user:{record['author_id']}:{record['site_id']}:comments"
        if record["author_id"] != DELETED and lists.get(key, {}).get(comment_id) != ms_of(record["created_at"]):
            yield f"{key} lacks {comment_id}"
    for key, members in lists.items():
        for comment_id in members:
            author = records.get(comment_id, {}).get("author_id")
            if author not in (DELETED, key.split(":")[1]):
                yield f"{key} holds {comment_id}, which is {author}'s"


def _votes_that_do_not_fit(store: Store, records: dict[str, Record], shadowed: Collection[str] | None) -> Iterator[str]:
    single = {tuple(key.split(":")[1:]): value for key, value in store.items() if key.startswith("vote:")}
    by_page = {
        (key.split(":")[1], comment_id): way.rstrip("?")  # not counted, because its voter is shadowed
        for key, value in store.items()
        if re.fullmatch(r"votes:[^:]+:[^:]+", key) and not key.endswith(":pages")
        for comment_id, way in value.items()
    }
    if single != by_page:
        yield f"votes one by one and by page differ: {_apart(single.items(), by_page.items())}"
    where = {
        (key.split(":")[1], page)
        for key, value in store.items()
        if re.fullmatch(r"votes:[^:]+:pages", key)
        for page in value
    }
    wanted = {(user, records[comment_id]["page_id"]) for user, comment_id in single if comment_id in records}
    if where != wanted:
        yield f"pages voted on differ: {_apart(where, wanted)}"
    if shadowed is None:
        return
    counts = Counter((comment_id, way) for (user, comment_id), way in single.items() if user not in shadowed)
    for comment_id, record in records.items():
        have = (int(record["upvotes"]), int(record["downvotes"]))
        want = (counts[comment_id, "up"], counts[comment_id, "down"])
        if have != want:
            yield f"comment {comment_id} counts {have} votes, there are {want}"


def _apart(one: Iterable[Any], other: Iterable[Any]) -> str:
    return str(sorted(map(str, set(one) ^ set(other)))[:10])
