"""Taking away everything somebody wrote on a site, comment by comment."""

from collections.abc import Sequence

from threadkit.clock import Clock
from threadkit.comments.model import Comment, CommentChanged, Status, deleted_fields
from threadkit.comments.queries import CommentQueries
from threadkit.comments.scripts import DeleteComment
from threadkit.comments.snapshots import Snapshots
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.pages.service import PageService
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

REMOVED_TEXT = "[deleted by admin]"
MOST_TRIES = 5


class Remover:
    """Every comment that is taken away bears the id of the removal, so whoever was interrupted can still count them."""

    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        comment_queries: CommentQueries,
        snapshots: Snapshots,
        pages: PageService,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._comment_queries = comment_queries
        self._snapshots = snapshots
        self._pages = pages
        self._delete_comment = DeleteComment(redis, keys)

    async def remove(
        self,
        site_id: SiteId,
        user_id: UserId,
        comment_ids: Sequence[CommentId],
        *,
        removal: str,
        by: UserId | None,
        most: int,
    ) -> int:
        """How many of these this removal has taken away by now. Those of others are left alone."""
        for comment in await self._comment_queries.by_ids(site_id, comment_ids):
            if most <= 0:
                break
            most -= await self._remove(comment, user_id, removal, by)
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            for comment_id in comment_ids:
                pipe.hget(keys.comment(comment_id), "removal")
            return sum(found == removal for found in await pipe.execute()) if comment_ids else 0

    async def _remove(self, found: Comment, user_id: UserId, removal: str, by: UserId | None) -> bool:
        comment: Comment | None = found
        for _ in range(MOST_TRIES):
            if comment is None or comment.status is Status.DELETED or comment.author_id != user_id:
                return False
            fields = deleted_fields(REMOVED_TEXT) | {"removal": removal}
            try:
                ancestors = await self._comment_queries.ancestors(comment)
                gone = await self._delete_comment(comment, ancestors, fields=fields, now_ms=self._clock.now_ms(), by=by)
            except CommentChanged:  # its page moved
                await self._pages.bring(found.site_id, comment)
                comment = await self._comment_queries.by_id(found.site_id, found.id)
            else:
                self._snapshots.drop(comment.page_id)
                return gone is not None
        raise CommentChanged
