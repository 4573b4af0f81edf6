"""What hangs on a comment goes and comes back with it, however much it is: a little with the decision itself, the rest
step by step through the outbox.

A step goes through some of it, parents before replies, and brings each in line with what its parent is by then. When a
whole round has changed nothing, everything is in line, also what somebody wrote in between. So a decision taken back
in the middle, a crash, or a step that is done twice do no harm.
"""

from collections.abc import Callable

import msgspec
import structlog
from msgspec import Struct

from threadkit import scoring
from threadkit.clock import Clock
from threadkit.comments.model import Comment, CommentChanged
from threadkit.comments.queries import CommentQueries
from threadkit.comments.snapshots import Snapshots
from threadkit.ids import CommentId, SiteId
from threadkit.moderation.decision_scripts import Ranked, SettleUnder
from threadkit.outbox.handlers import Event, Handlers
from threadkit.outbox.model import NotUnderstood
from threadkit.pages.service import PageService
from threadkit.sites.model import Site
from threadkit.sites.queries import SiteQueries
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

log = structlog.get_logger()

STEP = 1000
BATCH = 200
MOST_TRIES = 10
MOST_ROUNDS = 10


class _Place(Struct, array_like=True):
    """How far one has come among a comment's replies: those before `from_ms`, and `skip` of that millisecond."""

    comment_id: CommentId
    from_ms: int = 0
    skip: int = 0

    def passed(self, created_ms: int) -> "_Place":
        if created_ms == self.from_ms:
            return _Place(self.comment_id, created_ms, self.skip + 1)
        return _Place(self.comment_id, created_ms, 1)


class _Step(Struct, kw_only=True, omit_defaults=True, tag="settle_under", tag_field="type"):
    """The event that has the next step done. `way` leads from the comment down to where the last one ended."""

    comment_id: CommentId
    way: list[_Place] = []
    has_changed: bool = False
    round: int = 1


def settling(comment_id: CommentId) -> bytes:
    """The event that has all brought in line that hangs on a comment."""
    return msgspec.json.encode(_Step(comment_id=comment_id, way=[_Place(comment_id)]))


class Burying:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        comment_queries: CommentQueries,
        site_queries: SiteQueries,
        snapshots: Snapshots,
        pages: PageService,
        wake_outbox: Callable[[SiteId], None],
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._comment_queries = comment_queries
        self._site_queries = site_queries
        self._snapshots = snapshots
        self._pages = pages
        self._wake_outbox = wake_outbox
        self._settle_under = SettleUnder(redis, keys)

    def register(self, handlers: Handlers) -> None:
        handlers.on("settle_under", "settle_under", self.go_on)

    async def go_on(self, site_id: SiteId, _entry_id: str, event: Event) -> None:
        """One step: the handler of the outbox."""
        try:
            step = msgspec.convert(event, _Step)
        except msgspec.ValidationError as error:
            raise NotUnderstood(f"settle_under: {error}") from None
        site = await self._site_queries.by_id(site_id)
        if site is None:
            return
        way, seen = list(step.way), 0
        has_changed = step.has_changed
        while way and seen < STEP:
            found = await self._next(site_id, way)
            seen += len(found)
            has_changed = await self._settle(site, found) or has_changed
        if not way and has_changed and step.round < MOST_ROUNDS:
            after = _Step(comment_id=step.comment_id, way=[_Place(step.comment_id)], round=step.round + 1)
        elif way:
            after = _Step(comment_id=step.comment_id, way=way, has_changed=has_changed, round=step.round)
        else:
            if has_changed:
                log.warning("settling_has_no_end", site_id=site_id, comment_id=step.comment_id)
            return
        await self._redis.xadd(self._keys.site(site_id).outbox(), {"event": msgspec.json.encode(after)})
        self._wake_outbox(site_id)

    async def _next(self, site_id: SiteId, way: list[_Place]) -> list[Comment]:
        """The next replies on the way, up to the first that has replies itself: there the way leads down."""
        place = way[-1]
        key = self._keys.site(site_id).replies(place.comment_id)
        ids = await self._redis.zrange(
            key, place.from_ms, "+inf", byscore=True, offset=place.skip, num=BATCH, withscores=True
        )
        if not ids:
            way.pop()
            return []
        created = {comment_id: int(ms) for comment_id, ms in ids}
        records = {one.id: one for one in await self._comment_queries.by_ids(site_id, list(created))}
        passed: list[Comment] = []
        for comment_id, created_ms in created.items():
            way[-1] = place = place.passed(created_ms)
            if (comment := records.get(comment_id)) is None:
                continue
            passed.append(comment)
            if comment.reply_count:
                way.append(_Place(comment.id))
                break
        return passed

    async def _settle(self, site: Site, found: list[Comment]) -> bool:
        for _ in range(MOST_TRIES):
            if not found:
                return False
            page_id = found[0].page_id
            some = [self._ranked(site, one) for one in found]
            changed = await self._settle_under(page_id, some, now_ms=self._clock.now_ms())
            if changed is not None:
                self._snapshots.drop(page_id)
                return changed > 0
            for one in found:  # on its way to another page, perhaps
                await self._pages.bring(site.id, one)
            found = await self._comment_queries.by_ids(site.id, [one.id for one in found])
        raise CommentChanged

    def _ranked(self, site: Site, comment: Comment) -> Ranked:
        hot = scoring.hot(site.settings.hot, comment.upvotes, comment.downvotes, comment.created_ms)
        return Ranked(comment, scoring.as_text(hot))
