"""Open pages: what happens there is told to them."""

from dataclasses import dataclass

from threadkit.live.changes import ChangeQueries
from threadkit.live.hub import Hub
from threadkit.live.lookups import Lookups
from threadkit.live.meters import LiveMeters
from threadkit.live.staff import StaffStreams
from threadkit.live.streams import Streams
from threadkit.parts.accounts import Accounts
from threadkit.parts.base import Base
from threadkit.parts.reading import Reading


@dataclass(frozen=True, kw_only=True)
class Live:
    live_meters: LiveMeters
    hub: Hub
    streams: Streams
    staff_streams: StaffStreams
    changes: ChangeQueries


def build_live(base: Base, accounts: Accounts, reading: Reading) -> Live:
    redis, keys, clock, settings = base.redis, base.keys, base.clock, base.settings.live
    comments, users = reading.comment_queries, accounts.user_queries
    meters = LiveMeters(base.metrics)
    hub = Hub(
        redis=redis,
        keys=keys,
        clock=clock,
        listener=base.listener,
        user_queries=users,
        lookups=Lookups(clock=clock, comment_queries=comments, user_queries=users),
        meters=meters,
    )
    return Live(
        live_meters=meters,
        hub=hub,
        streams=Streams(hub=hub, meters=meters, settings=settings),
        staff_streams=StaffStreams(keys=keys, hub=hub, meters=meters, settings=settings),
        changes=ChangeQueries(
            redis=redis,
            keys=keys,
            comment_queries=comments,
            page_queries=reading.page_queries,
            user_queries=users,
        ),
    )
