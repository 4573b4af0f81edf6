"""How good the filter is: trained with labelled comments as with clicks, and asked about others."""

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from threadkit.clock import Clock
from threadkit.ids import SiteId, digest
from threadkit.moderation.filter import LearningFilter
from threadkit.moderation.labelled import Labelled
from threadkit.moderation.learning_scripts import stamp_of
from threadkit.moderation.rules import LearningRule
from threadkit.moderation.tokens import read


class Trained(Struct, kw_only=True):
    rows: int = 0
    learnt: int = 0
    """Rows that were news: the same file again has none."""


class Measured(Struct, kw_only=True):
    """What the filter would have done with comments of which it is known what they are."""

    held_spam: int = 0
    held_others: int = 0
    passed_spam: int = 0
    passed_others: int = 0

    @property
    def precision(self) -> float | None:
        """How much of what it holds is spam; None when it holds nothing."""
        held = self.held_spam + self.held_others
        return self.held_spam / held if held else None

    @property
    def recall(self) -> float | None:
        """How much of the spam it holds; None when there is none."""
        spam = self.held_spam + self.passed_spam
        return self.held_spam / spam if spam else None


class Measuring:
    def __init__(self, *, learning: LearningFilter, clock: Clock) -> None:
        self._learning = learning
        self._clock = clock

    async def train(self, site_id: SiteId, rows: Iterable[Labelled]) -> Trained:
        """Each row as one click, in order; a text with another label than before has the later one."""
        trained, now_ms = Trained(), self._clock.now_ms()
        copies: Counter[str] = Counter()
        for number, row in enumerate(rows):
            text = digest(row.text)[:32]
            copies[text] += 1
            trained.rows += 1
            trained.learnt += await self._learning.learn(
                site_id,
                f"file {text} {copies[text]}",
                "rejected" if row.is_spam else "approved",
                read(row.text),
                stamp=stamp_of(f"{now_ms}-{number}"),
                at_ms=now_ms,
            )
        return trained

    async def test(self, site_id: SiteId, rows: Iterable[Labelled], rule: LearningRule) -> Measured:
        measured = Measured()
        for row in rows:
            judgement = await self._learning.judge(site_id, read(row.text))
            is_ready = min(judgement.approved, judgement.rejected) >= rule.least
            is_held = is_ready and judgement.sureness >= rule.sureness
            name = f"{'held' if is_held else 'passed'}_{'spam' if row.is_spam else 'others'}"
            setattr(measured, name, getattr(measured, name) + 1)
        return measured
