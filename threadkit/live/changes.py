"""What changed on a page since a client last looked."""

from msgspec import Struct

from threadkit.comments.model import TreeComment
from threadkit.comments.queries import CommentQueries
from threadkit.comments.tree import is_visible
from threadkit.ids import CommentId, PageId, UserId
from threadkit.pages.queries import PageQueries
from threadkit.sites.model import Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.queries import UserQueries
from threadkit.users.viewer import Viewer

MOST_KEPT = 1000
MOST_TOLD = 200


class Changes(Struct, omit_defaults=True):
    """Comments as they are now, without their replies, and those that are not to be seen any more. With `resync` too
    much has happened, and the page should be loaded again."""

    page_id: PageId
    version: int
    total: int
    comments: list[TreeComment]
    removed: list[CommentId]
    pinned: list[tuple[CommentId, int]]
    locked: bool = False
    resync: bool = False


class ChangeQueries:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        comment_queries: CommentQueries,
        page_queries: PageQueries,
        user_queries: UserQueries,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._comment_queries = comment_queries
        self._page_queries = page_queries
        self._user_queries = user_queries

    async def since(self, site: Site, page_id: PageId, version: int, viewer: Viewer | None) -> Changes:
        found = await self._page_queries.now(site.id, page_id)
        page = found.page
        answer = Changes(found.id, page.version, page.comments, [], [], [])
        answer.locked = page.locked or site.settings.posting_disabled
        answer.pinned = await self._comment_queries.pinned(site.id, found.id)
        if version == page.version:
            return answer
        keys = self._keys.site(site.id)
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.zrange(keys.page_changes(found.id), f"({version}", "+inf", byscore=True, offset=0, num=MOST_TOLD + 1)
            pipe.zcard(keys.page_changes(found.id))
            pipe.zrange(keys.page_changes(found.id), 0, 0, withscores=True)
            changed, kept, oldest = await pipe.execute()
        is_forgotten = kept >= MOST_KEPT and version < oldest[0][1]
        if version > page.version or version < page.changes_from or len(changed) > MOST_TOLD or is_forgotten:
            answer.resync = True
            return answer
        await self._fill(answer, site, [CommentId(comment_id) for comment_id in changed], viewer)
        return answer

    async def _fill(self, answer: Changes, site: Site, changed: list[CommentId], viewer: Viewer | None) -> None:
        if not changed:
            return
        blocked = frozenset(await self._user_queries.blocked_by(viewer.id)) if viewer else frozenset[UserId]()
        shown = await self._comment_queries.are_shown(site.id, answer.page_id, changed)
        found = await self._comment_queries.by_ids(site.id, [one for one in changed if one in shown])
        for comment in await self._comment_queries.as_voted(found, viewer):
            if is_visible(comment, viewer.id if viewer else None, blocked):
                answer.comments.append(TreeComment.of(comment))
        visible = {comment.i for comment in answer.comments}
        answer.removed = [comment_id for comment_id in changed if comment_id not in visible]
