"""Naive Bayes over the tokens of one site: what counts say about a text, and why. Pure, no I/O.

Multinomial with a count of one for what was never seen. Three things make it careful with few decisions. A weight says
something only beyond what chance gives a common word. The sum is divided by the root of the number of tokens, because
tokens of one text are not independent, and a text of unknown words is no suspicion. And texts that are the same count
once, so that a wave of one spam teaches no more than one.
"""

import math
from collections.abc import Mapping

from msgspec import Struct

from threadkit.moderation.model import Judgement
from threadkit.moderation.tokens import Reading, shown

CHANCE = 0.6
STEEPNESS = 2.5
"""So that the usual sureness of 0.8 is where nine of ten held comments are spam; measured, see `tests/bench`."""
MOST_REASONS = 4


class Totals(Struct, frozen=True, kw_only=True):
    """What one site's filter has learnt from. Texts are distinct ones, decisions are clicks."""

    rejected: int = 0
    approved: int = 0
    rejected_texts: int = 0
    approved_texts: int = 0
    rejected_tokens: int = 0
    approved_tokens: int = 0
    vocabulary: int = 0


class Counts(Struct, frozen=True):
    """In how many rejected and approved texts a token was."""

    rejected: int
    approved: int


def judge(reading: Reading, counts: Mapping[str, Counts], totals: Totals) -> Judgement:
    weights = {token: token_weight(counts[token], totals) for token in reading.tokens if token in counts}
    weights |= {name: feature_weight(counts[name], totals) for name in reading.features if name in counts}
    score = sum(weights.values()) / math.sqrt(max(1, len(reading.tokens) + len(reading.features)))
    return Judgement(
        sureness=1 / (1 + math.exp(-STEEPNESS * max(-50.0, min(50.0, score)))),
        why=_reasons(reading, weights),
        approved=totals.approved,
        rejected=totals.rejected,
    )


def token_weight(counts: Counts, totals: Totals) -> float:
    spam = (counts.rejected + 1) / (totals.rejected_tokens + totals.vocabulary + 1)
    ham = (counts.approved + 1) / (totals.approved_tokens + totals.vocabulary + 1)
    weight = math.log(spam / ham)
    return math.copysign(max(0.0, abs(weight) - CHANCE), weight)


def feature_weight(counts: Counts, totals: Totals) -> float:
    spam = (counts.rejected + 1) / (totals.rejected_texts + 2)
    ham = (counts.approved + 1) / (totals.approved_texts + 2)
    return math.log(spam / ham)


def _reasons(reading: Reading, weights: Mapping[str, float]) -> list[str]:
    """What weighs most, features first as people would say it; a stem or half a pair adds nothing to the other."""
    strongest = sorted((name for name in weights if weights[name] > 0), key=lambda name: -weights[name])
    chosen: list[str] = []
    for name in strongest:
        if len(chosen) == MOST_REASONS:
            break
        parts = set(name.removesuffix("~").split(" "))
        if not any(_overlap(parts, before) for before in chosen):
            chosen.append(name)
    features = [reading.features[name] for name in chosen if name in reading.features]
    return [*features, *(shown(name) for name in chosen if name not in reading.features)]


def _overlap(parts: set[str], before: str) -> bool:
    others = before.removesuffix("~").split(" ")
    return any(one.startswith(other) or other.startswith(one) for one in parts for other in others)
