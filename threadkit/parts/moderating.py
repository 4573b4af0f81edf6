"""What moderators work with: the queue, reports, appeals, people."""

from dataclasses import dataclass

from threadkit.moderation.appeals import AppealService
from threadkit.moderation.cards import CardQueries
from threadkit.moderation.claims import ClaimService
from threadkit.moderation.desk import DeskQueries
from threadkit.moderation.everywhere import BansEverywhere
from threadkit.moderation.jobs import JobService
from threadkit.moderation.notes import NoteService
from threadkit.moderation.people import PeopleService
from threadkit.moderation.people_search import PeopleSearch
from threadkit.moderation.queries import QueueQueries
from threadkit.moderation.removing import Remover
from threadkit.moderation.reports import ReportService
from threadkit.moderation.undoing import UndoService
from threadkit.parts.accounts import Accounts
from threadkit.parts.base import Base
from threadkit.parts.judging import Judging
from threadkit.parts.reading import Reading
from threadkit.parts.writing import Writing


@dataclass(frozen=True, kw_only=True)
class Moderating:
    queue: QueueQueries
    desk: DeskQueries
    claims: ClaimService
    undo: UndoService
    reports: ReportService
    appeals: AppealService
    people: PeopleService
    people_search: PeopleSearch
    everywhere: BansEverywhere
    jobs: JobService
    notes: NoteService
    cards: CardQueries


def build_moderating(
    base: Base, accounts: Accounts, reading: Reading, judging: Judging, writing: Writing
) -> Moderating:
    redis, keys, clock, wake = base.redis, base.keys, base.clock, base.outbox.wake
    comments, users, standing = reading.comment_queries, accounts.user_queries, judging.standing
    claims = ClaimService(redis=redis, keys=keys, clock=clock, user_queries=users)
    notes = NoteService(redis=redis, keys=keys, clock=clock)
    reports, appeals = _complaints(base, reading, judging)
    people = PeopleService(redis=redis, keys=keys, clock=clock, standing=standing, wake_outbox=wake)
    everywhere = BansEverywhere(
        redis=redis,
        keys=keys,
        clock=clock,
        standing=standing,
        registry=accounts.user_registry,
        site_queries=base.site_queries,
        wake_outbox=wake,
    )
    return Moderating(
        queue=QueueQueries(redis=redis, keys=keys, comment_queries=comments),
        desk=DeskQueries(
            redis=redis,
            keys=keys,
            comment_queries=comments,
            page_queries=reading.page_queries,
            user_queries=users,
            claims=claims,
        ),
        claims=claims,
        undo=UndoService(
            clock=clock,
            log=judging.moderation_log,
            comment_queries=comments,
            impartiality=judging.impartiality,
            decisions=judging.decisions,
            deleting=judging.deleting,
            people=people,
            everywhere=everywhere,
            reports=reports,
            appeals=appeals,
        ),
        reports=reports,
        appeals=appeals,
        people=people,
        people_search=PeopleSearch(
            redis=redis, keys=keys, clock=clock, comments=reading.comment_search, user_queries=users
        ),
        everywhere=everywhere,
        jobs=_jobs(base, accounts, reading, judging),
        notes=notes,
        cards=CardQueries(
            redis=redis,
            keys=keys,
            clock=clock,
            standing=standing,
            comment_queries=comments,
            comments=writing.comments,
            user_queries=users,
            log=judging.moderation_log,
            notes=notes,
        ),
    )


def _complaints(base: Base, reading: Reading, judging: Judging) -> tuple[ReportService, AppealService]:
    reports = ReportService(
        redis=base.redis,
        keys=base.keys,
        clock=base.clock,
        comment_queries=reading.comment_queries,
        site_queries=base.site_queries,
        roles=base.roles,
        decisions=judging.decisions,
        impartiality=judging.impartiality,
        reporters=judging.reporters,
        quotas=base.quotas,
        wake_outbox=base.outbox.wake,
    )
    reports.register(base.outbox.handlers)
    appeals = AppealService(
        redis=base.redis,
        keys=base.keys,
        clock=base.clock,
        comment_queries=reading.comment_queries,
        roles=base.roles,
        decisions=judging.decisions,
        wake_outbox=base.outbox.wake,
    )
    return reports, appeals


def _jobs(base: Base, accounts: Accounts, reading: Reading, judging: Judging) -> JobService:
    remover = Remover(
        redis=base.redis,
        keys=base.keys,
        clock=base.clock,
        comment_queries=reading.comment_queries,
        snapshots=reading.snapshots,
        pages=reading.pages,
    )
    jobs = JobService(
        redis=base.redis,
        keys=base.keys,
        clock=base.clock,
        standing=judging.standing,
        user_queries=accounts.user_queries,
        remover=remover,
        wake_outbox=base.outbox.wake,
    )
    jobs.register(base.outbox.handlers)
    return jobs
