"""What visitors do: write, vote, and leave."""

from dataclasses import dataclass

from threadkit.backup.erasures import ErasureJournal
from threadkit.backup.shared_erasures import SharedErasures
from threadkit.backup.unfinished import UnfinishedErasures
from threadkit.comments.leaving import Leaving
from threadkit.comments.service import CommentService
from threadkit.ids import SiteId
from threadkit.moderation.forgetting import Deeds
from threadkit.moderation.gate import ModerationGate
from threadkit.parts.accounts import Accounts
from threadkit.parts.base import Base
from threadkit.parts.judging import Judging
from threadkit.parts.reading import Reading
from threadkit.users.service import UserService
from threadkit.votes.recounting import Recounting
from threadkit.votes.service import VoteService


@dataclass(frozen=True, kw_only=True)
class Writing:
    comments: CommentService
    votes: VoteService
    users: UserService
    erasures: SharedErasures
    unfinished: UnfinishedErasures


def build_writing(base: Base, accounts: Accounts, reading: Reading, judging: Judging) -> Writing:
    redis, keys, clock, settings = base.redis, base.keys, base.clock, base.settings
    journal = ErasureJournal(settings.backup_folder)
    erasures = SharedErasures(journal=journal, redis=redis, keys=keys, keyring=base.keyring, clock=clock)
    users = _users(base, accounts, reading, judging, erasures)

    Recounting(
        redis=redis,
        keys=keys,
        comment_queries=reading.comment_queries,
        site_queries=base.site_queries,
        snapshots=reading.snapshots,
        is_in_shadow=judging.standing.is_in_shadow,
        wake_outbox=base.outbox.wake,
    ).register(base.outbox.handlers)

    def on_posted(site_id: SiteId) -> None:
        reading.tally.comment(site_id)
        base.outbox.wake(site_id)

    return Writing(
        comments=CommentService(
            redis=redis,
            keys=keys,
            clock=clock,
            settings=settings,
            queries=reading.comment_queries,
            user_queries=accounts.user_queries,
            page_queries=reading.page_queries,
            snapshots=reading.snapshots,
            pages=reading.pages,
            gate=ModerationGate(
                screener=judging.screener, turnstile=judging.outside.turnstile, decisions=judging.decisions
            ),
            quotas=base.quotas,
            journal=erasures,
            on_posted=on_posted,
            on_changed=base.outbox.wake,
        ),
        votes=VoteService(
            redis=redis,
            keys=keys,
            comment_queries=reading.comment_queries,
            page_queries=reading.page_queries,
            snapshots=reading.snapshots,
            wake_outbox=base.outbox.wake,
        ),
        users=users,
        erasures=erasures,
        unfinished=UnfinishedErasures(journal=journal, users=users, queries=accounts.user_queries, clock=clock),
    )


def _users(base: Base, accounts: Accounts, reading: Reading, judging: Judging, erasures: SharedErasures) -> UserService:
    redis, keys, clock = base.redis, base.keys, base.clock
    traces = Leaving(
        redis=redis,
        keys=keys,
        clock=clock,
        queries=reading.comment_queries,
        site_queries=base.site_queries,
        pages=reading.pages,
        notices=reading.notifications,
        learning=judging.learning_filter,
        reporters=judging.reporters,
        deeds=Deeds(store=base.store, keys=keys, log=judging.moderation_log),
        on_deletion=base.settings.accounts.on_deletion,
    )
    return UserService(
        redis=redis,
        keys=keys,
        clock=clock,
        queries=accounts.user_queries,
        factors=accounts.factors,
        registry=accounts.user_registry,
        names=accounts.names,
        site_queries=base.site_queries,
        roles=base.roles,
        traces=traces,
        journal=erasures,
    )
