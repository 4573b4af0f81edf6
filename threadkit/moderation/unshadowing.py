"""What somebody wrote while only they themselves saw it is shown to everybody when their shadow ban is lifted: step by
step through the outbox, the oldest first, because replies need what they hang on."""

from collections.abc import Callable

import msgspec
from msgspec import Struct

from threadkit.comments.queries import CommentQueries
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.moderation.decisions import DecisionService
from threadkit.moderation.standing import StandingQueries
from threadkit.outbox.handlers import Event, Handlers
from threadkit.outbox.model import NotUnderstood
from threadkit.sites.queries import SiteQueries
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

BATCH = 100


class _Step(Struct, kw_only=True, omit_defaults=True, tag="unshadow", tag_field="type"):
    """The event that has the next step done: from `from_ms` on, without the first `skip` of that millisecond."""

    user_id: UserId
    from_ms: int = 0
    skip: int = 0


def lifting(user_id: UserId) -> bytes:
    """The event that has all shown that somebody wrote while they were shadow-banned."""
    return msgspec.json.encode(_Step(user_id=user_id))


class Unshadowing:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        comment_queries: CommentQueries,
        site_queries: SiteQueries,
        standing: StandingQueries,
        decisions: DecisionService,
        wake_outbox: Callable[[SiteId], None],
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._comment_queries = comment_queries
        self._site_queries = site_queries
        self._standing = standing
        self._decisions = decisions
        self._wake_outbox = wake_outbox

    def register(self, handlers: Handlers) -> None:
        handlers.on("unshadow", "unshadow", self.go_on)

    async def go_on(self, site_id: SiteId, _entry_id: str, event: Event) -> None:
        """One step: the handler of the outbox."""
        try:
            step = msgspec.convert(event, _Step)
        except msgspec.ValidationError as error:
            raise NotUnderstood(f"unshadow: {error}") from None
        site = await self._site_queries.by_id(site_id)
        if site is None or await self._standing.is_in_shadow(site_id, step.user_id):
            return  # gone, or banned again
        found = await self._redis.zrange(
            self._keys.site(site_id).comments_of(step.user_id),
            step.from_ms,
            "+inf",
            byscore=True,
            offset=step.skip,
            num=BATCH,
            withscores=True,
        )
        for comment in await self._comment_queries.by_ids(site_id, [CommentId(one) for one, _ in found]):
            if comment.is_shadowed:
                await self._decisions.unshadow(site, comment.id)
        if len(found) < BATCH:
            return
        last = int(found[-1][1])
        skip = sum(1 for _, ms in found if int(ms) == last) + (step.skip if last == step.from_ms else 0)
        after = _Step(user_id=step.user_id, from_ms=last, skip=skip)
        await self._redis.xadd(self._keys.site(site_id).outbox(), {"event": msgspec.json.encode(after)})
        self._wake_outbox(site_id)
