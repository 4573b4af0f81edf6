"""Reports: what visitors find wrong, and what becomes of it."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from threadkit.clock import Clock, from_iso, iso
from threadkit.comments.model import HIDE_AT, Closing, CommentNotFound
from threadkit.comments.queries import CommentQueries
from threadkit.comments.tree import is_visible
from threadkit.errors import Invalid
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.moderation.decision_scripts import (
    AddReport,
    CloseReports,
    ReopenReports,
    TooLateToUndo,
)
from threadkit.moderation.decisions import DecisionService
from threadkit.moderation.impartiality import Impartiality
from threadkit.moderation.log import LogEntry
from threadkit.moderation.paging import read_behind
from threadkit.moderation.reporters import Record, ReporterRecords
from threadkit.outbox.handlers import Event, Handlers
from threadkit.outbox.model import NotUnderstood
from threadkit.ratelimit.quotas import Quotas, of_user
from threadkit.sites.model import Site
from threadkit.sites.queries import SiteQueries
from threadkit.sites.roles import Role, RoleService
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.viewer import Viewer

ReportReason = Literal["spam", "harassment", "hate_speech", "misinformation", "other"]
Details = Annotated[str, Meta(max_length=1000)]

NEWCOMER_MS = 7 * 86_400_000
TRUSTED_COMMENTS = 20


class CannotReportOneself(Invalid):
    """Cannot report your own comment"""

    code = "cannot_report_oneself"


class Report(Struct, kw_only=True):
    """One person's report, as it stands in the site's list."""

    comment_id: CommentId
    page_id: PageId
    reporter_id: UserId
    reason: ReportReason
    details: str | None
    created_at: str


class _Enough(Struct, kw_only=True, omit_defaults=True, tag="reported_enough", tag_field="type"):
    """The event that the reports of a comment weigh enough to hide it."""

    comment_id: CommentId
    by: UserId | None = None


class ReportService:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        comment_queries: CommentQueries,
        site_queries: SiteQueries,
        roles: RoleService,
        decisions: DecisionService,
        impartiality: Impartiality,
        reporters: ReporterRecords,
        quotas: Quotas,
        wake_outbox: Callable[[SiteId], None],
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._comment_queries = comment_queries
        self._site_queries = site_queries
        self._roles = roles
        self._decisions = decisions
        self._impartiality = impartiality
        self._reporters = reporters
        self._quotas = quotas
        self._wake_outbox = wake_outbox
        self._add_report = AddReport(redis, keys)
        self._close_reports = CloseReports(redis, keys)
        self._reopen_reports = ReopenReports(redis, keys)

    def register(self, handlers: Handlers) -> None:
        handlers.on("reported_enough", "hide", self.reported_enough)

    async def report(
        self,
        site: Site,
        comment_id: CommentId,
        *,
        by: Viewer,
        client: str,
        reason: ReportReason,
        details: str | None,
    ) -> None:
        """Kept once for each person. When enough weight comes together the comment waits for a moderator; those whom one
        has overruled about this comment weigh nothing. `client` is the address as a keyed hash."""
        comment = await self._comment_queries.by_id(site.id, comment_id)
        if comment is None or not is_visible(comment, None, frozenset()):
            raise CommentNotFound
        if comment.author_id == by.id:
            raise CannotReportOneself
        now_ms = self._clock.now_ms()
        weight = _weight(by, now_ms, await self._reporters.of(site.id, by.id))
        if by.role < Role.MODERATOR and await self._reporters.was_overruled(site.id, by.id, comment.id):
            weight = 0.0
        report = Report(
            comment_id=comment.id,
            page_id=comment.page_id,
            reporter_id=by.id,
            reason=reason,
            details=details,
            created_at=iso(now_ms),
        )
        # A moderator's report is enough, so it is theirs to answer for.
        enough = _Enough(comment_id=comment.id, by=by.id if by.role >= Role.MODERATOR else None)
        async with self._quotas.reserved("reports", of_user(by.id)):
            _, together = await self._add_report(
                site.id,
                comment.id,
                by.id,
                msgspec.json.encode(report),
                now_ms=now_ms,
                weight=weight,
                source=client if by.user.is_guest else "",
                event=msgspec.json.encode(enough),
            )
        if together >= HIDE_AT:
            await self._hide(site, enough)

    async def reported_enough(self, site_id: SiteId, _entry_id: str, event: Event) -> None:
        """Hide what is still shown though its reports weigh enough: the handler of the outbox, for whoever did not get
        that far."""
        try:
            enough = msgspec.convert(event, _Enough)
        except msgspec.ValidationError as error:
            raise NotUnderstood(f"reported_enough: {error}") from None
        site = await self._site_queries.by_id(site_id)
        if site is not None:
            await self._hide(site, enough)

    async def waiting(
        self, site_id: SiteId, *, cursor: str | None, offset: int, limit: int
    ) -> tuple[list[Report], str | None]:
        """Oldest first; with the cursor to those behind them."""
        key = self._keys.site(site_id).reports()
        found = await read_behind(self._redis, key, cursor, offset=offset, limit=limit, name=_name)
        return [msgspec.json.decode(text, type=Report) for text in found.members], found.next

    async def of_comment(self, site_id: SiteId, comment_id: CommentId) -> list[Report]:
        """The reports of one comment of this site; their key does not say whose they are."""
        if await self._comment_queries.by_id(site_id, comment_id) is None:
            return []
        found = await self._redis.hvals(self._keys.site(site_id).comment_reports(comment_id))
        return [msgspec.json.decode(text, type=Report) for text in found]

    async def dismiss(
        self, site: Site, comment_id: CommentId, *, by: Viewer, seen: str | None = None
    ) -> tuple[int, str | None]:
        """The comment stays, or comes back where its reports have hidden it; says how many people had reported it, and how
        to take that back. `seen` is the `updated_at` of the text that was looked at."""
        comment = await self._comment_queries.by_id(site.id, comment_id)
        if comment is None:
            raise CommentNotFound
        if refusal := await self._impartiality.objection(site.id, comment, by.id, "dismiss_reports"):
            raise refusal
        if comment.is_hidden_by_reports:
            people = await self._redis.hlen(self._keys.site(site.id).comment_reports(comment_id))
            decided = await self._decisions.decide(site, comment_id, "approve", by=by, seen=seen)
            return people, decided.entry_id
        entry = self._entry(site, "dismiss_reports", comment_id, by)
        is_verdict = by.id != comment.author_id
        closing = Closing(comment_id=comment_id, outcome="stays", by=by.id, at_ms=entry["at_ms"], is_verdict=is_verdict)
        closed = await self._close_reports(site.id, closing, entry=entry, seen=seen)
        self._wake_outbox(site.id)
        return closed

    async def reopen(self, site: Site, dismissal: LogEntry, *, by: Viewer) -> str:
        """Take a dismissal back. The answer is the id of the log entry."""
        if dismissal.comment_id is None:
            raise CommentNotFound
        entry = self._entry(site, "undo_dismiss_reports", dismissal.comment_id, by)
        entry_id = await self._reopen_reports(site.id, dismissal.comment_id, undoes=dismissal.id, entry=entry)
        if entry_id is None:
            raise TooLateToUndo(why="something else was decided since")
        self._wake_outbox(site.id)
        return entry_id

    def _entry(self, site: Site, action: str, comment_id: CommentId, by: Viewer) -> dict[str, Any]:
        facts: dict[str, Any] = {"site_id": site.id, "action": action, "comment_id": comment_id, "by": by.id}
        return facts | {"at_ms": self._clock.now_ms()}

    async def _hide(self, site: Site, enough: _Enough) -> None:
        """Never what the staff wrote."""
        comment = await self._comment_queries.by_id(site.id, enough.comment_id)
        staff = await self._roles.staff(site.id)
        if comment is not None and all(user_id != comment.author_id for user_id, _ in staff):
            await self._decisions.hide_reported(site, comment.id, by=enough.by)


def _name(text: str) -> str:
    report = msgspec.json.decode(text, type=Report)
    return f"{report.comment_id}:{report.reporter_id}"


def _weight(reporter: Viewer, now_ms: int, record: Record) -> float:
    """Moderators count enough. Of others it counts how often they were right, and before that is known, who they are:
    new people half, those who have written much one and a half."""
    if reporter.role >= Role.MODERATOR:
        return HIDE_AT
    if record.weight is not None:
        return record.weight
    user = reporter.user
    if user.is_guest or now_ms - from_iso(user.created_at) < NEWCOMER_MS:
        return 0.5
    return 1.5 if user.total_comments >= TRUSTED_COMMENTS and user.karma >= 0 else 1.0
