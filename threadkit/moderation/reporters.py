"""The record of those who report: how often moderators found them right. It decides how much their next report weighs."""

from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from threadkit.ids import CommentId, SiteId, UserId
from threadkit.moderation.report_scripts import CountVerdict, WithdrawReport
from threadkit.outbox.handlers import Event, Handlers
from threadkit.outbox.model import NotUnderstood
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.model import ANONYMOUS_USER, DELETED_USER

T = TypeVar("T")

BATCH = 200
NOBODY = (ANONYMOUS_USER, DELETED_USER)
LEAST = 3
"""So many verdicts of a kind say something about a person."""
MOSTLY_RIGHT = 0.6
MOSTLY_WRONG = 0.3


class Record(Struct, frozen=True):
    """Of somebody's newest hundred reports on a site, those found right and those found wrong."""

    upheld: int = 0
    dismissed: int = 0

    @property
    def weight(self) -> float | None:
        """What a report of theirs weighs; None when the record says nothing yet."""
        share = self.upheld / max(1, self.upheld + self.dismissed)
        if self.upheld >= LEAST and share >= MOSTLY_RIGHT:
            return 1.5
        if self.dismissed >= LEAST and share < MOSTLY_WRONG:
            return 0.5
        return None


class _Closed(Struct):
    comment_id: CommentId
    outcome: Literal["stays", "removed"]
    at_ms: int
    by: UserId | None = None
    is_verdict: bool = True
    reporters: list[UserId] = []


class _Reopened(Struct):
    comment_id: CommentId
    reporters: list[UserId] = []


class _Reported(Struct):
    comment_id: CommentId
    reporter_id: UserId


class ReporterRecords:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._count_verdict = CountVerdict(redis, keys)
        self._withdraw_report = WithdrawReport(redis, keys)

    def register(self, handlers: Handlers) -> None:
        handlers.on("reports_closed", "reporters", self.reports_closed)
        handlers.on("reports_reopened", "reporters", self.reports_reopened)

    async def of(self, site_id: SiteId, user_id: UserId) -> Record:
        verdicts = await self._redis.zrange(self._keys.site(site_id).reporter(user_id), 0, -1)
        upheld = sum(verdict.endswith(" upheld") for verdict in verdicts)
        return Record(upheld, len(verdicts) - upheld)

    async def was_overruled(self, site_id: SiteId, user_id: UserId, comment_id: CommentId) -> bool:
        """Whether a moderator found that a comment may stay which this person had reported."""
        key = self._keys.site(site_id).reporter(user_id)
        return await self._redis.zscore(key, f"{comment_id} dismissed") is not None

    async def reports_closed(self, site_id: SiteId, _entry_id: str, event: Event) -> None:
        """Nobody is judge of their own report."""
        closed = _understood(event, _Closed)
        if not closed.is_verdict or closed.by is None:
            return
        for reporter in closed.reporters:
            if reporter == closed.by or reporter in NOBODY:
                continue
            await self._count_verdict(
                site_id,
                reporter,
                closed.comment_id,
                "upheld" if closed.outcome == "removed" else "dismissed",
                at_ms=closed.at_ms,
            )
            # Looked at afterwards: whoever leaves meanwhile leaves nothing behind.
            if not await self._redis.exists(self._keys.user(reporter).profile()):
                await self._redis.unlink(self._keys.site(site_id).reporter(reporter))

    async def reports_reopened(self, site_id: SiteId, _entry_id: str, event: Event) -> None:
        """A decision was taken back: it says nothing any more about those whose reports are open again."""
        opened = _understood(event, _Reopened)
        keys = self._keys.site(site_id)
        for reporter in opened.reporters:
            if not await self._redis.exists(self._keys.user(reporter).profile()):  # left while it was closed
                await self._withdraw_report(site_id, opened.comment_id, reporter)
            verdicts = (f"{opened.comment_id} upheld", f"{opened.comment_id} dismissed")
            await self._redis.zrem(keys.reporter(reporter), *verdicts)

    async def export(self, site_id: SiteId, user_id: UserId) -> list[dict[str, str]]:
        """What somebody reported here, as far as it waits or its outcome is remembered."""
        keys, start = self._keys.site(site_id), 0
        found: dict[str, str] = {}
        while waiting := await self._redis.zrange(keys.reports(), start, start + BATCH - 1):
            reports = [msgspec.json.decode(text, type=_Reported) for text in waiting]
            found |= {report.comment_id: "open" for report in reports if report.reporter_id == user_id}
            start += BATCH
        for verdict in await self._redis.zrange(keys.reporter(user_id), 0, -1):
            comment_id, _, outcome = verdict.partition(" ")
            found[comment_id] = outcome
        return [{"site_id": site_id, "comment_id": comment_id, "state": state} for comment_id, state in found.items()]

    async def forget_reporter(self, site_id: SiteId, user_id: UserId) -> None:
        """Somebody leaves: their reports that still wait go, and what became of the others."""
        keys = self._keys.site(site_id)
        start = 0
        # Only the names of their own are needed, and only somebody who leaves needs them: no index is kept for that.
        while found := await self._redis.zrange(keys.reports(), start, start + BATCH - 1):
            reports = {text: msgspec.json.decode(text, type=_Reported) for text in found}
            theirs = {text: report for text, report in reports.items() if report.reporter_id == user_id}
            for report in theirs.values():
                await self._withdraw_report(site_id, report.comment_id, user_id)
            if theirs:
                await self._redis.zrem(keys.reports(), *theirs)
            start += len(found) - len(theirs)
        await self._redis.unlink(keys.reporter(user_id))


def _understood(event: Event, kind: type[T]) -> T:
    try:
        return msgspec.convert(event, kind)
    except msgspec.ValidationError as error:
        raise NotUnderstood(f"{event.get('type')}: {error}") from None
