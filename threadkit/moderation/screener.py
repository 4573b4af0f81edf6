"""From an attempt to a verdict: gathers the facts in one round trip or two, asks the screens, then those outside."""

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import structlog
from msgspec.structs import replace

from threadkit.clock import Clock
from threadkit.errors import ThreadKitError
from threadkit.ids import CommentId, SiteId
from threadkit.moderation.authors import AuthorRecords
from threadkit.moderation.filter import LearningFilter
from threadkit.moderation.learning_scripts import RememberText
from threadkit.moderation.likeness import Sketch, sketch
from threadkit.moderation.model import (
    LOOKED_AT_FIRST,
    PASS,
    Attempt,
    Facts,
    History,
    Judgement,
    Kind,
    Reason,
    Remembered,
    Verdict,
)
from threadkit.moderation.screening import screen
from threadkit.moderation.tokens import Reading, read
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.text import aside

log = structlog.get_logger()

OUTSIDE_S = 1.5
"""The last line: each outside check has a second of its own, all at the same time."""
NOBODYS = "-"
MOST_UNTAUGHT = 10_000


class Said(Protocol):
    """A reason from outside."""

    @property
    def code(self) -> str: ...
    @property
    def sentence(self) -> str: ...
    @property
    def told(self) -> str: ...


class Finding(Protocol):
    """A verdict from outside. A `pass` with reasons is a note for moderators."""

    @property
    def kind(self) -> Kind: ...
    @property
    def reasons(self) -> Sequence[Said]: ...
    @property
    def notes(self) -> Sequence[str]: ...


class OutsideChecks(Protocol):
    async def check(self, attempt: Attempt, facts: Facts, visitor: Any = None) -> Finding | None:
        """What the checks that the owner switched on say; None when they say nothing."""


class Screener:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        learning: LearningFilter,
        outside: OutsideChecks | None = None,
        outside_s: float = OUTSIDE_S,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._learning = learning
        self._outside = outside
        self._outside_s = outside_s
        self._authors = AuthorRecords(redis=redis, keys=keys)
        self._remember = RememberText(redis, keys)
        self._untaught: set[SiteId] = set()

    async def screen(self, attempt: Attempt, visitor: Any = None) -> Verdict:
        """`visitor` is passed on to the outside checks, which alone know what it is."""
        if attempt.is_staff:
            return PASS
        facts = await self.facts(attempt)
        verdict = await aside(attempt.text, lambda: screen(facts, attempt.site.settings.screening))
        if verdict.kind == "refuse" or self._outside is None:
            return verdict
        return _together(verdict, await self._ask_outside(self._outside, attempt, facts, visitor))

    async def facts(self, attempt: Attempt) -> Facts:
        """Everything the screens need."""
        site_id, now_ms = attempt.site.id, self._clock.now_ms()
        asked = _UNREAD
        if site_id not in self._untaught:
            reading = await aside(attempt.text, lambda: read(attempt.text))
            # Whether the author is new is only known with the answers, so both are asked for.
            asked = replace(reading, features=reading.features | {"#new": "new author", "#known": "known author"})
        people = self._who(attempt)
        async with self._redis.pipeline(transaction=False) as pipe:
            self._learning.ask(pipe, site_id, asked)
            for who in people:
                pipe.zrange(self._keys.site(site_id).recent_texts(who), 0, -1, withscores=True)
            if attempt.author:
                self._authors.ask(pipe, site_id, attempt.author.id, now_ms=now_ms)
            answers = await pipe.execute()
        about_text, remembered, about_author = answers[:3], answers[3 : 3 + len(people)], answers[3 + len(people) :]
        if self._is_taught(attempt, about_text) and asked is _UNREAD:
            return await self.facts(attempt)
        history, is_known = History(), False
        if attempt.author:
            history, is_known = await self._authors.answer(
                site_id, about_author, now_ms=now_ms, besides=attempt.comment_id
            )
        return Facts(
            attempt=attempt,
            now_ms=now_ms,
            is_known=is_known,
            history=history,
            recent=[_remembered(text, ms) for found in remembered for text, ms in found],
            judgement=self._judgement(asked, about_text, is_known=is_known),
        )

    async def after_post(self, attempt: Attempt, comment_id: CommentId) -> None:
        """Remember a text that was written or edited, to know it when it comes again."""
        text = f"{comment_id} {attempt.page_id or NOBODYS} {sketch(attempt.text).encode()}"
        now_ms = self._clock.now_ms()
        if attempt.is_staff:
            return
        for who in self._who(attempt):
            await self._remember(attempt.site.id, who, text, now_ms=now_ms)

    def _is_taught(self, attempt: Attempt, about_text: Sequence[Any]) -> bool:
        """Whether the site's filter has learnt enough to be asked; until then texts need not be read for it."""
        totals, site_id = self._learning.totals_in(about_text), attempt.site.id
        is_taught = min(totals.approved, totals.rejected) >= attempt.site.settings.screening.learning.least
        if is_taught:
            self._untaught.discard(site_id)
        elif len(self._untaught) < MOST_UNTAUGHT:
            self._untaught.add(site_id)
        return is_taught

    def _judgement(self, asked: Reading, answers: Sequence[Any], *, is_known: bool) -> Judgement:
        features = {name: words for name, words in asked.features.items() if name != ("#new" if is_known else "#known")}
        totals, vocabulary, texts = answers
        kept = [
            text for name, text in zip(asked.all, texts, strict=True) if not name.startswith("#") or name in features
        ]
        return self._learning.answer(Reading(asked.tokens, features), (totals, vocabulary, kept))

    def _who(self, attempt: Attempt) -> list[str]:
        """Under whose names texts are remembered: the author's, and for guests their address's too."""
        people = [str(attempt.author.id)] if attempt.author else []
        if attempt.is_guest and attempt.client:
            people.append(attempt.client)
        return people

    async def _ask_outside(
        self, outside: OutsideChecks, attempt: Attempt, facts: Facts, visitor: Any
    ) -> Finding | None:
        """Whoever fails to answer lets known authors pass, and holds newcomers."""
        try:
            async with asyncio.timeout(self._outside_s):
                return await outside.check(attempt, facts, visitor)
        except ThreadKitError:
            raise
        except Exception as error:
            log.warning("outside_checks_failed", site_id=attempt.site.id, why=str(error) or repr(error))
            return None if facts.is_known else _UNASKED


_UNREAD = Reading(["-"], {})  # no word is written so, and a question must be about one at least
_UNASKED = Verdict(
    kind="hold",
    reasons=[
        Reason(
            code="outside_check_failed",
            sentence="an outside check could not be asked, and the author is new here",
            told=LOOKED_AT_FIRST,
        )
    ],
)


def _together(ours: Verdict, theirs: Finding | None) -> Verdict:
    if theirs is None:
        return ours
    if theirs.kind == "pass":
        return Verdict(kind=ours.kind, reasons=ours.reasons, notes=[reason.sentence for reason in theirs.reasons])
    said = [Reason(code=reason.code, sentence=reason.sentence, told=reason.told) for reason in theirs.reasons]
    if theirs.kind == "refuse":
        return Verdict(kind="refuse", reasons=said)
    return Verdict(kind="hold", reasons=[*ours.reasons, *said], notes=theirs.notes)


def _remembered(text: str, ms: float) -> Remembered:
    comment_id, page_id, rest = text.split(" ", 2)
    return Remembered(comment_id=CommentId(comment_id), page_id=page_id, at_ms=int(ms), sketch=Sketch.decode(rest))
