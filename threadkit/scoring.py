"""How comments rank: pure functions from votes and age to a number, higher first."""

import functools
import math
from typing import Literal

from msgspec import Struct

REDDIT_EPOCH_S = 1_134_028_003
DEFAULT_DECAY_S = 2_592_000
"""Thirty days of youth weigh as much as ten times the votes: good old comments stay up, new ones can rise."""


class HotFormula(Struct, frozen=True):
    """A site's choice of hot score. Stored scores of two formulas must not mix, so a change calls for a re-ranking."""

    kind: Literal["documented", "decay"] = "decay"
    decay_s: int = DEFAULT_DECAY_S

    def __post_init__(self) -> None:
        if self.decay_s <= 0:
            raise ValueError("decay_s must be more than 0")


def hot(formula: HotFormula, up: int, down: int, created_ms: int) -> float:
    if formula.kind == "documented":
        return hot_documented(up, down, created_ms / 1000)
    return hot_decay(up, down, created_ms / 1000, formula.decay_s)


def hot_documented(up: int, down: int, created_s: float) -> float:
    """The formula to the letter. Its logarithm of the time leaves almost no decay: it is `top`, with ties by age."""
    return _weight(up - down) + math.log10(max(created_s, 1)) / 45_000


def hot_decay(up: int, down: int, created_s: float, decay_s: float, epoch_s: float = REDDIT_EPOCH_S) -> float:
    """Reddit's form: `decay_s` of youth weigh as much as ten times the votes."""
    return _weight(up - down) + (created_s - epoch_s) / decay_s


def top(up: int, down: int) -> int:
    return up - down


def controversial(up: int, down: int) -> int:
    return min(up, down)


def as_text(score: float) -> str:
    """A score with all its digits; Lua would cut a number to an integer."""
    return repr(float(score))


@functools.lru_cache(maxsize=2048)
def _weight(score: int) -> float:
    """Orders of magnitude, with the sign. One vote either way weighs nothing: −1, 0 and +1 are the same."""
    return math.copysign(math.log10(max(abs(score), 1)), score)
