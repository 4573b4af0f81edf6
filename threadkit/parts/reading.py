"""What there is to read: comments, pages, threads, notifications, numbers."""

from dataclasses import dataclass

from threadkit.comments.queries import CommentQueries
from threadkit.comments.reading import ThreadReader
from threadkit.comments.search import CommentSearch
from threadkit.comments.snapshots import Snapshots
from threadkit.counters.queries import CounterQueries
from threadkit.counters.tally import Tally
from threadkit.counters.visitors import VisitorHashes
from threadkit.notifications.queries import NotificationQueries
from threadkit.notifications.service import NotificationService
from threadkit.notifications.telling import Telling
from threadkit.pages.queries import PageQueries
from threadkit.pages.service import PageService
from threadkit.parts.accounts import Accounts
from threadkit.parts.base import Base
from threadkit.render.form_tokens import FormTokens
from threadkit.render.queries import FeedQueries


@dataclass(frozen=True, kw_only=True)
class Reading:
    comment_queries: CommentQueries
    comment_search: CommentSearch
    page_queries: PageQueries
    pages: PageService
    snapshots: Snapshots
    threads: ThreadReader
    notifications: NotificationService
    tally: Tally
    counter_queries: CounterQueries
    feed_queries: FeedQueries
    form_tokens: FormTokens


def build_reading(base: Base, accounts: Accounts) -> Reading:
    redis, keys, clock, settings = base.redis, base.keys, base.clock, base.settings
    comments = CommentQueries(redis=redis, keys=keys)
    pages = PageQueries(redis=redis, keys=keys)
    snapshots = Snapshots(clock=clock, keys=keys, listener=base.listener)
    return Reading(
        comment_queries=comments,
        comment_search=CommentSearch(redis=redis, keys=keys, queries=comments),
        page_queries=pages,
        pages=PageService(
            redis=redis,
            keys=keys,
            clock=clock,
            queries=pages,
            comment_queries=comments,
            snapshots=snapshots,
            rule=base.page_rule,
        ),
        snapshots=snapshots,
        threads=ThreadReader(
            redis=redis,
            keys=keys,
            settings=settings,
            queries=comments,
            page_queries=pages,
            user_queries=accounts.user_queries,
            snapshots=snapshots,
        ),
        notifications=_notifications(base, accounts, comments, pages),
        tally=Tally(
            redis=redis,
            keys=keys,
            clock=clock,
            visitors=VisitorHashes(base.addresses, base.keyring),
            settings=settings.counters,
        ),
        counter_queries=CounterQueries(redis=redis, keys=keys, clock=clock),
        feed_queries=FeedQueries(redis=redis, keys=keys, comment_queries=comments),
        form_tokens=FormTokens(base.keyring.derive("form"), clock),
    )


def _notifications(base: Base, accounts: Accounts, comments: CommentQueries, pages: PageQueries) -> NotificationService:
    queries = NotificationQueries(redis=base.redis, keys=base.keys)
    Telling(
        redis=base.redis,
        keys=base.keys,
        clock=base.clock,
        queries=queries,
        comment_queries=comments,
        page_queries=pages,
        most=base.settings.notifications.most,
    ).register(base.outbox.handlers)
    return NotificationService(
        redis=base.redis,
        keys=base.keys,
        queries=queries,
        comment_queries=comments,
        page_queries=pages,
        user_queries=accounts.user_queries,
        wake_outbox=base.outbox.wake,
    )
