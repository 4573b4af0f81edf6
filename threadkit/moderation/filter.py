"""The filter that learns here: what moderators decide is counted per site, and nothing of it leaves the server."""

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from threadkit.ids import SiteId, UserId
from threadkit.moderation.bayes import Counts, Totals, feature_weight, judge, token_weight
from threadkit.moderation.learning_scripts import Decision, Learn, LetGo
from threadkit.moderation.model import Judgement
from threadkit.moderation.tokens import Reading, shown
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

TOTALS = ("rejected", "approved", "rejected_texts", "approved_texts", "rejected_tokens", "approved_tokens")
LEAST_SEEN = 3


class Telling(Struct, frozen=True, kw_only=True):
    """A token that says much about a text."""

    token: str
    rejected: int
    approved: int
    weight: float


class Learnt(Struct, frozen=True, kw_only=True):
    """What a site's filter has learnt, for people."""

    totals: Totals
    for_spam: Sequence[Telling]
    against_spam: Sequence[Telling]


class LearningFilter:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._learn = Learn(redis, keys)
        self._let_go = LetGo(redis, keys)

    async def judge(self, site_id: SiteId, reading: Reading) -> Judgement:
        """In one round trip, that reads only what is known of this text's tokens."""
        async with self._redis.pipeline(transaction=False) as pipe:
            self.ask(pipe, site_id, reading)
            return self.answer(reading, await pipe.execute())

    def ask(self, pipe: Any, site_id: SiteId, reading: Reading) -> int:
        """Put the questions about a text into a pipeline; says how many answers they have."""
        keys = self._keys.site(site_id)
        pipe.hmget(keys.filter_totals(), *TOTALS)
        pipe.hlen(keys.filter_tokens())
        pipe.hmget(keys.filter_tokens(), *reading.all)
        return 3

    def answer(self, reading: Reading, answers: Sequence[Any]) -> Judgement:
        counts = {token: _counts(text) for token, text in zip(reading.all, answers[2], strict=True) if text}
        return judge(reading, counts, self.totals_in(answers))

    def totals_in(self, answers: Sequence[Any]) -> Totals:
        """Of the answers about a text those that are not about it."""
        totals, vocabulary, *_ = answers
        return _totals(totals, vocabulary)

    async def learn(
        self,
        site_id: SiteId,
        comment_id: str,
        decision: Decision,
        reading: Reading,
        *,
        stamp: str,
        at_ms: int,
        author: UserId | None = None,
    ) -> bool:
        """Count a decision, instead of the one before about the same comment. Says whether it was news."""
        return await self._learn(site_id, comment_id, decision, reading, stamp=stamp, at_ms=at_ms, author=author)

    async def totals(self, site_id: SiteId) -> Totals:
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.hmget(keys.filter_totals(), *TOTALS)
            pipe.hlen(keys.filter_tokens())
            return _totals(*await pipe.execute())

    async def learnt(self, site_id: SiteId, *, most: int) -> Learnt:
        """The totals, and the tokens that say most. Goes through the whole vocabulary, so it is for the command line."""
        totals = await self.totals(site_id)
        telling = []
        async for token, text in self._redis.hscan_iter(self._keys.site(site_id).filter_tokens(), count=1000):
            counts = _counts(text)
            if counts.rejected + counts.approved >= LEAST_SEEN:
                weigh = feature_weight if token.startswith("#") else token_weight
                name = token if token.startswith("#") else shown(token)
                found = Telling(
                    token=name, rejected=counts.rejected, approved=counts.approved, weight=weigh(counts, totals)
                )
                telling.append(found)
        return Learnt(
            totals=totals,
            for_spam=[found for found in heapq.nlargest(most, telling, key=_weight) if found.weight > 0],
            against_spam=[found for found in heapq.nsmallest(most, telling, key=_weight) if found.weight < 0],
        )

    async def forget_texts(self, site_id: SiteId, comment_ids: Sequence[str]) -> None:
        """What was learnt from these cannot be taken back any more, and nobody finds out what their words were."""
        await self._let_go(site_id, comment_ids)

    async def forget_author(self, site_id: SiteId, user_id: UserId) -> None:
        """Of somebody who leaves nothing is kept that has their name on it."""
        keys = self._keys.site(site_id)
        await self._redis.unlink(
            keys.author_decisions(user_id),
            keys.author_lately(user_id),
            keys.recent_texts(user_id),
            keys.notes_about(user_id),
        )


def _weight(found: Telling) -> float:
    return found.weight


def _counts(text: str) -> Counts:
    rejected, approved, *_ = text.split(" ")
    return Counts(int(rejected), int(approved))


def _totals(values: Sequence[str | None], vocabulary: int) -> Totals:
    numbers: Mapping[str, int] = {name: int(value or 0) for name, value in zip(TOTALS, values, strict=True)}
    return Totals(**numbers, vocabulary=vocabulary)
