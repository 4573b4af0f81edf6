"""Votes that somebody cast under a shadow ban count as soon as it is lifted: step by step through the outbox."""

from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct

from threadkit.comments.model import CommentChanged, CommentNotFound
from threadkit.comments.queries import CommentQueries
from threadkit.comments.snapshots import Snapshots
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.outbox.handlers import Event, Handlers
from threadkit.outbox.model import NotUnderstood
from threadkit.sites.model import Site
from threadkit.sites.queries import SiteQueries
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.votes.scripts import CastVote

STEP = 200
MOST_TRIES = 10


class _Step(Struct, tag="recount_votes", tag_field="type"):
    """The event that has the next step done. A vote that counts is no longer among those to be counted."""

    user_id: UserId


class Recounting:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        comment_queries: CommentQueries,
        site_queries: SiteQueries,
        snapshots: Snapshots,
        is_in_shadow: Callable[[SiteId, UserId], Awaitable[bool]],
        wake_outbox: Callable[[SiteId], None],
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._comment_queries = comment_queries
        self._site_queries = site_queries
        self._snapshots = snapshots
        self._is_in_shadow = is_in_shadow
        self._wake_outbox = wake_outbox
        self._cast_vote = CastVote(redis, keys)

    def register(self, handlers: Handlers) -> None:
        handlers.on("unshadow", "recount_votes", self.begin)
        handlers.on("recount_votes", "recount_votes", self.go_on)

    async def begin(self, site_id: SiteId, entry_id: str, event: Event) -> None:
        """The ban is lifted. Later steps of showing the comments have nothing to say here."""
        if not event.get("from_ms"):
            await self.go_on(site_id, entry_id, {"type": "recount_votes", "user_id": event.get("user_id")})

    async def go_on(self, site_id: SiteId, _entry_id: str, event: Event) -> None:
        try:
            step = msgspec.convert(event, _Step)
        except msgspec.ValidationError as error:
            raise NotUnderstood(f"recount_votes: {error}") from None
        site = await self._site_queries.by_id(site_id)
        if site is None or await self._is_in_shadow(site_id, step.user_id):
            return  # gone, or banned again
        keys, counted = self._keys.site(site_id), 0
        async for page_id in self._redis.sscan_iter(keys.voted_pages(step.user_id)):
            votes = await self._comment_queries.uncounted(site_id, step.user_id, PageId(page_id))
            for comment_id in votes:
                counted += await self._count(site, comment_id, step.user_id)
                if counted == STEP:
                    await self._redis.xadd(keys.outbox(), {"event": msgspec.json.encode(step)})
                    self._wake_outbox(site_id)
                    return
        self._wake_outbox(site_id)

    async def _count(self, site: Site, comment_id: CommentId, voter: UserId) -> bool:
        for _ in range(MOST_TRIES):
            place = await self._comment_queries.place(site.id, comment_id)
            if place is None:
                return False
            try:
                await self._cast_vote(
                    place, voter=voter, direction="recount", up_only=False, is_shadowed=False, formula=site.settings.hot
                )
            except CommentChanged:  # it moved
                continue
            except CommentNotFound:
                return False
            self._snapshots.drop(place.page_id)
            return True
        raise CommentChanged
