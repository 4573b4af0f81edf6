"""The newest comments for feeds: only what everybody may see, however much else there is."""

from collections.abc import Iterable

from threadkit.comments.model import Comment, Status
from threadkit.comments.queries import CommentQueries
from threadkit.comments.tree import is_visible
from threadkit.ids import CommentId, PageId, SiteId
from threadkit.pages.model import Page
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.records import from_hash

MOST_SHOWN = 50
BATCH = 100
MOST_LOOKED_AT = 5_000
DEEPEST_WALK = 200


class FeedQueries:
    def __init__(self, *, redis: Commands, keys: Keys, comment_queries: CommentQueries) -> None:
        self._redis = redis
        self._keys = keys
        self._comment_queries = comment_queries

    async def newest(self, site_id: SiteId, page_id: PageId | None) -> list[Comment]:
        """Newest first, of one page or of the whole site."""
        keys = self._keys.site(site_id)
        index = keys.page_new(page_id) if page_id else keys.comments()
        shown: list[Comment] = []
        for start in range(0, MOST_LOOKED_AT, BATCH):
            ids = await self._redis.zrange(index, start, start + BATCH - 1, desc=True)
            comments = await self._comment_queries.by_ids(site_id, [CommentId(found) for found in ids])
            shown += await self._shown(site_id, comments)
            if len(ids) < BATCH or len(shown) >= MOST_SHOWN:
                break
        return shown[:MOST_SHOWN]

    async def pages(self, site_id: SiteId, page_ids: Iterable[PageId]) -> dict[PageId, Page]:
        keys, wanted = self._keys.site(site_id), list(dict.fromkeys(page_ids))
        async with self._redis.pipeline(transaction=False) as pipe:
            for page_id in wanted:
                pipe.hgetall(keys.page(page_id))
            answers = await pipe.execute() if wanted else []
        return {
            page_id: from_hash(Page, fields)
            for page_id, fields in zip(wanted, answers, strict=True)
            if fields.get("site_id") == site_id
        }

    async def _shown(self, site_id: SiteId, comments: list[Comment]) -> list[Comment]:
        """Those that stand on their page: a comment goes with the one it answers, as it does in the thread."""
        candidates = [comment for comment in comments if comment.status is Status.APPROVED and _is_public(comment)]
        known: dict[CommentId, Comment] = {comment.id: comment for comment in comments}
        missing = {comment.parent_id for comment in candidates if comment.parent_id} - set(known)
        for _ in range(DEEPEST_WALK):
            if not missing:
                break
            found = await self._comment_queries.by_ids(site_id, sorted(missing))
            known |= {comment.id: comment for comment in found}
            missing = {comment.parent_id for comment in found if comment.parent_id} - set(known)
        return [comment for comment in candidates if _all_above_are_public(comment, known)]


def _is_public(comment: Comment) -> bool:
    return is_visible(comment, None, frozenset())


def _all_above_are_public(comment: Comment, known: dict[CommentId, Comment]) -> bool:
    parent_id = comment.parent_id
    for _ in range(DEEPEST_WALK):
        if parent_id is None:
            return True
        parent = known.get(parent_id)
        if parent is None or not _is_public(parent):
            return False
        parent_id = parent.parent_id
    return False
