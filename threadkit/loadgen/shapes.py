"""The shapes of real threads: who writes where, when, below what, and how it is voted on. Pure, and the same for a seed.

Few pages have most of the comments and few people write most of them; a page's comments come soon after it was
published; about half of them are replies, mostly to something recent and seldom deep down; few get most of the votes.
"""

import itertools
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

SPAN_MS = 365 * 86_400_000
"""Pages were published within the year before."""

REPLY_CHANCE = 0.62
DEEPER_CHANCE = 0.72
"""How likely it is that a chosen parent is kept, once per level of its depth."""
DEEPEST_MADE = 40
RECENT = 24
MEAN_DELAY_MS = 2 * 86_400_000
UP_SHARE = 0.86


@dataclass(frozen=True)
class MadePage:
    url: str
    title: str
    comments: int


@dataclass(frozen=True)
class MadeComment:
    """One comment of a page; `parent` is the number of an earlier one of the same page."""

    number: int
    created_ms: int
    parent: int | None
    author: int
    text: int


def made_uuid(rng: Random, ms: int) -> str:
    """A uuid v7 of that moment, with the seed's bits in place of random ones."""
    return str(
        uuid.UUID(int=(ms << 80) | (0x7 << 76) | (rng.getrandbits(12) << 64) | (0b10 << 62) | rng.getrandbits(62))
    )


def share_out(rng: Random, total: int, places: int, *, steepness: float = 1.05) -> list[int]:
    """So many things over so many places: the first few get most, as with everything that people choose."""
    weights = list(itertools.accumulate(1 / rank**steepness for rank in range(1, places + 1)))
    counts = [0] * places
    for place in rng.choices(range(places), cum_weights=weights, k=total):
        counts[place] += 1
    return counts


def votes_per_comment(rng: Random, votes: int, comments: int, most: int) -> list[int]:
    """How many votes each comment gets; nobody has two, so no comment gets more than there are voters."""
    if not comments:
        return []
    weights = list(itertools.accumulate(rng.paretovariate(1.1) for _ in range(comments)))
    counts = [0] * comments
    for number in rng.choices(range(comments), cum_weights=weights, k=votes):
        counts[number] += 1
    surplus = 0
    for number, count in enumerate(counts):
        surplus += max(0, count - most)
        counts[number] = min(count, most)
    for number, count in enumerate(counts):
        if not surplus:
            break
        more = min(surplus, most - count)
        counts[number] += more
        surplus -= more
    return counts


def page_thread(rng: Random, comments: int, *, users: int, texts: int, until_ms: int) -> Iterator[MadeComment]:
    """A page's comments in the order in which they were written."""
    published_ms = until_ms - 1 - int(rng.random() ** 2 * SPAN_MS)
    moments = sorted(min(published_ms + int(rng.expovariate(1 / MEAN_DELAY_MS)), until_ms) for _ in range(comments))
    depths: list[int] = []
    for number, created_ms in enumerate(moments):
        parent = _parent(rng, depths)
        depths.append(0 if parent is None else depths[parent] + 1)
        yield MadeComment(number, created_ms, parent, one_of(rng, users), rng.randrange(texts))


def one_of(rng: Random, users: int) -> int:
    """Somebody: the first ones are seen far more often."""
    return int(users * rng.random() ** 2.5)


def voters(rng: Random, count: int, users: int) -> list[tuple[int, str]]:
    """So many different people, and how each of them votes."""
    # A disputed comment now and then, most of them liked.
    up_share = UP_SHARE if rng.random() < 0.9 else 0.45
    return [(voter, "up" if rng.random() < up_share else "down") for voter in rng.sample(range(users), count)]


def _parent(rng: Random, depths: list[int]) -> int | None:
    if not depths or rng.random() > REPLY_CHANCE:
        return None
    for _ in range(4):
        is_recent = rng.random() < 0.7
        number = rng.randrange(max(0, len(depths) - RECENT), len(depths)) if is_recent else rng.randrange(len(depths))
        if depths[number] < DEEPEST_MADE and rng.random() < DEEPER_CHANCE ** depths[number]:
            return number
    return None
