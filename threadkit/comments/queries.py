"""What can be asked about comments and pages."""

from collections.abc import Iterable, Sequence

from threadkit.comments.model import Comment, Page
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.records import from_hash

DEEPEST_WALK = 10_000


class CommentQueries:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def by_id(self, site_id: SiteId, comment_id: CommentId) -> Comment | None:
        fields = await self._redis.hgetall(self._keys.site(site_id).comment(comment_id))
        return from_hash(Comment, fields) if fields and fields.get("site_id") == site_id else None

    async def by_ids(self, site_id: SiteId, comment_ids: Sequence[CommentId]) -> list[Comment]:
        """Those that are there, in the order asked for, in one round trip."""
        if not comment_ids:
            return []
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            for comment_id in comment_ids:
                pipe.hgetall(keys.comment(comment_id))
            answers = await pipe.execute()
        return [from_hash(Comment, fields) for fields in answers if fields and fields.get("site_id") == site_id]

    async def page(self, site_id: SiteId, page_id: PageId) -> Page | None:
        fields = await self._redis.hgetall(self._keys.site(site_id).page(page_id))
        return from_hash(Page, fields) if fields.get("site_id") == site_id else None

    async def page_comments(
        self, site_id: SiteId, page_id: PageId, *, viewer_id: UserId | None, most: int
    ) -> list[Comment]:
        """The newest comments of a page that are shown, and those that only the viewer sees."""
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.zrange(keys.page_new(page_id), -most, -1)
            if viewer_id:
                pipe.zrange(keys.unlisted(page_id, viewer_id), -most, -1)
            answers = await pipe.execute()
        found = await self.by_ids(site_id, [comment_id for ids in answers for comment_id in ids])
        # Replies whose parents are older than what fits would hang in the air: their parents come along.
        have = {comment.id for comment in found}
        while missing := sorted({comment.parent_id for comment in found if comment.parent_id} - have):
            have |= set(missing)
            found += await self.by_ids(site_id, missing)
        return found

    async def has_own_view(self, site_id: SiteId, page_id: PageId, user_id: UserId) -> bool:
        """Whether a user has blocked somebody, or has comments here that only they see."""
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.exists(self._keys.user(user_id).blocked())
            pipe.exists(self._keys.site(site_id).unlisted(page_id, user_id))
            return any(await pipe.execute())

    async def pinned(self, site_id: SiteId, page_id: PageId) -> list[tuple[CommentId, int]]:
        """Newest pin first."""
        found = await self._redis.zrange(self._keys.site(site_id).pinned(page_id), 0, 99, desc=True, withscores=True)
        return [(CommentId(comment_id), int(score)) for comment_id, score in found]

    async def ancestors(self, comment: Comment) -> list[Comment]:
        """From the parent up to the root."""
        found: list[Comment] = []
        parent_id = comment.parent_id
        while parent_id is not None and len(found) < DEEPEST_WALK:
            parent = await self.by_id(comment.site_id, parent_id)
            if parent is None:
                break
            found.append(parent)
            parent_id = parent.parent_id
        return found

    async def votes_on_page(self, site_id: SiteId, user_id: UserId, page_id: PageId) -> dict[str, str]:
        votes: dict[str, str] = await self._redis.hgetall(self._keys.site(site_id).page_votes(user_id, page_id))
        return votes

    async def ids_by_author(self, site_id: SiteId, user_id: UserId, *, offset: int, limit: int) -> list[CommentId]:
        """Newest first, every status."""
        key = self._keys.site(site_id).comments_of(user_id)
        return [CommentId(found) for found in await self._redis.zrange(key, offset, offset + limit - 1, desc=True)]

    async def counts(self, site_id: SiteId, page_ids: Iterable[PageId]) -> list[int]:
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            for page_id in page_ids:
                pipe.hget(keys.page(page_id), "comments")
            return [int(found or 0) for found in await pipe.execute()]
