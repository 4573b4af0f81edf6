"""What moderators ask: what waits, and why."""

from msgspec import Struct

from threadkit.comments.model import Comment
from threadkit.comments.queries import CommentQueries
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

BATCH = 200
MOST_LOOKED_AT = 10_000


class Wanted(Struct, frozen=True):
    """Which of those that wait."""

    page_id: PageId | None = None
    author_id: UserId | None = None
    reason: str | None = None
    reported: bool | None = None

    def fits(self, comment: Comment) -> bool:
        return (
            (self.page_id is None or comment.page_id == self.page_id)
            and (self.author_id is None or comment.author_id == self.author_id)
            and (self.reason is None or any(self.reason in why for why in comment.held_for or ()))
            and (self.reported is None or self.reported == bool(comment.report_weight))
        )


class Waiting(Struct, frozen=True):
    """Some of those that wait. `is_cut` when the search ended before the queue did."""

    comments: list[Comment]
    is_cut: bool = False


class QueueQueries:
    def __init__(self, *, redis: Commands, keys: Keys, comment_queries: CommentQueries) -> None:
        self._redis = redis
        self._keys = keys
        self._comment_queries = comment_queries

    async def waiting(self, site_id: SiteId, wanted: Wanted, *, offset: int, limit: int) -> Waiting:
        """Oldest first. With a filter only the oldest ten thousand are looked at."""
        queue = self._keys.site(site_id).modqueue()
        if wanted == Wanted():
            ids = await self._redis.zrange(queue, offset, offset + limit - 1)
            return Waiting(await self._comment_queries.by_ids(site_id, [CommentId(found) for found in ids]))
        fitting: list[Comment] = []
        is_cut = True
        for start in range(0, MOST_LOOKED_AT, BATCH):
            ids = await self._redis.zrange(queue, start, start + BATCH - 1)
            found = await self._comment_queries.by_ids(site_id, [CommentId(one) for one in ids])
            fitting += [comment for comment in found if wanted.fits(comment)]
            if len(ids) < BATCH or len(fitting) >= offset + limit:
                is_cut = False
                break
        return Waiting(fitting[offset : offset + limit], is_cut)

    async def count(self, site_id: SiteId) -> int:
        return int(await self._redis.zcard(self._keys.site(site_id).modqueue()))

    async def reports(self, site_id: SiteId) -> int:
        """How many wait, of all people and comments."""
        return int(await self._redis.zcard(self._keys.site(site_id).reports()))
