"""What becomes of a comment: screens, outside services, and decisions."""

from dataclasses import dataclass

from threadkit.moderation.burying import Burying
from threadkit.moderation.decisions import DecisionService
from threadkit.moderation.deleting import Deleting
from threadkit.moderation.filter import LearningFilter
from threadkit.moderation.impartiality import Impartiality
from threadkit.moderation.learning import Learning
from threadkit.moderation.log import ModerationLog
from threadkit.moderation.outside.building import Outside, build_outside
from threadkit.moderation.outside.model import OutsideEndpoints
from threadkit.moderation.reporters import ReporterRecords
from threadkit.moderation.screener import Screener
from threadkit.moderation.standing import StandingQueries
from threadkit.moderation.unshadowing import Unshadowing
from threadkit.parts.accounts import Accounts
from threadkit.parts.base import Base
from threadkit.parts.reading import Reading


@dataclass(frozen=True, kw_only=True)
class Judging:
    outside: Outside
    learning_filter: LearningFilter
    screener: Screener
    reporters: ReporterRecords
    standing: StandingQueries
    impartiality: Impartiality
    deleting: Deleting
    decisions: DecisionService
    moderation_log: ModerationLog


def build_judging(base: Base, accounts: Accounts, reading: Reading, endpoints: OutsideEndpoints) -> Judging:
    redis, keys, clock, wake = base.redis, base.keys, base.clock, base.outbox.wake
    comments, snapshots = reading.comment_queries, reading.snapshots
    outside = build_outside(
        base.settings,
        endpoints,
        redis=redis,
        keys=keys,
        clock=clock,
        keyring=base.keyring,
        handlers=base.outbox.handlers,
        site_queries=base.site_queries,
        comment_queries=comments,
        page_queries=reading.page_queries,
    )
    learning = LearningFilter(redis=redis, keys=keys)
    standing = StandingQueries(redis=redis, keys=keys, clock=clock)
    impartiality = Impartiality(roles=base.roles)
    deleting = Deleting(
        redis=redis,
        keys=keys,
        clock=clock,
        comment_queries=comments,
        snapshots=snapshots,
        pages=reading.pages,
        wake_outbox=wake,
    )
    made = Judging(
        outside=outside,
        learning_filter=learning,
        screener=Screener(redis=redis, keys=keys, clock=clock, learning=learning, outside=outside.checks),
        reporters=ReporterRecords(redis=redis, keys=keys),
        standing=standing,
        impartiality=impartiality,
        deleting=deleting,
        decisions=DecisionService(
            redis=redis,
            keys=keys,
            clock=clock,
            comment_queries=comments,
            user_queries=accounts.user_queries,
            snapshots=snapshots,
            deleting=deleting,
            impartiality=impartiality,
            standing=standing,
            pages=reading.pages,
            wake_outbox=wake,
        ),
        moderation_log=ModerationLog(redis=redis, keys=keys),
    )
    _join_outbox(base, reading, made)
    return made


def _join_outbox(base: Base, reading: Reading, made: Judging) -> None:
    """What follows from decisions, later."""
    redis, keys, clock, handlers = base.redis, base.keys, base.clock, base.outbox.handlers
    comments = reading.comment_queries
    Learning(redis=redis, keys=keys, clock=clock, learning=made.learning_filter, comment_queries=comments).register(
        handlers
    )
    made.reporters.register(handlers)
    Burying(
        redis=redis,
        keys=keys,
        clock=clock,
        comment_queries=comments,
        site_queries=base.site_queries,
        snapshots=reading.snapshots,
        pages=reading.pages,
        wake_outbox=base.outbox.wake,
    ).register(handlers)
    Unshadowing(
        redis=redis,
        keys=keys,
        comment_queries=comments,
        site_queries=base.site_queries,
        standing=made.standing,
        decisions=made.decisions,
        wake_outbox=base.outbox.wake,
    ).register(handlers)
