"""What can be asked about comments and pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from threadkit.clock import from_iso
from threadkit.comments.model import Comment, CommentPlace, Sort
from threadkit.comments.scripts import level_index
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.records import from_hash
from threadkit.users.viewer import Viewer

DEEPEST_WALK = 10_000
LEVELS_AT_ONCE = 50


def comment_of(site_id: SiteId, fields: Mapping[str, str]) -> Comment | None:
    """A comment from its record, if it is one of this site."""
    return from_hash(Comment, fields) if fields and fields.get("site_id") == site_id else None


def pins(answer: Any) -> list[tuple[CommentId, int]]:
    if isinstance(answer, Exception):
        raise answer
    return [(CommentId(comment_id), int(score)) for comment_id, score in answer]


class CommentQueries:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def by_id(self, site_id: SiteId, comment_id: CommentId) -> Comment | None:
        fields = await self._redis.hgetall(self._keys.site(site_id).comment(comment_id))
        return comment_of(site_id, fields)

    async def made_before(self, site_id: SiteId, request_key: str) -> CommentId | None:
        """What the same request has made, if it came before."""
        found = await self._redis.get(self._keys.site(site_id).repeated(request_key))
        return CommentId(found) if found else None

    async def place(self, site_id: SiteId, comment_id: CommentId) -> CommentPlace | None:
        fields = ("site_id", "page_id", "parent_id", "created_at", "upvotes", "downvotes")
        owner, page_id, parent_id, created_at, up, down = await self._redis.hmget(
            self._keys.site(site_id).comment(comment_id), *fields
        )
        if owner != site_id:
            return None
        return CommentPlace(comment_id, site_id, page_id, parent_id, from_iso(created_at), int(up) - int(down))

    async def by_ids(self, site_id: SiteId, comment_ids: Sequence[CommentId]) -> list[Comment]:
        """Those that are there, in the order asked for, in one round trip."""
        if not comment_ids:
            return []
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            for comment_id in comment_ids:
                pipe.hgetall(keys.comment(comment_id))
            answers = await pipe.execute()
        return [comment for fields in answers if (comment := comment_of(site_id, fields))]

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

    async def unlisted(self, site_id: SiteId, page_id: PageId, viewer_id: UserId | None, *, most: int) -> list[Comment]:
        """A viewer's newest comments on a page that only they see, oldest first."""
        if viewer_id is None:
            return []
        key = self._keys.site(site_id).unlisted(page_id, viewer_id)
        return await self.by_ids(site_id, await self._redis.zrange(key, -most, -1))

    async def score(self, site_id: SiteId, page_id: PageId, comment: Comment, sort: Sort) -> str | None:
        """Where a comment stands in its level, as the store writes it; nowhere while only its author sees it."""
        key = level_index(self._keys.site(site_id), page_id, comment.parent_id, sort)
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.zscore(key, comment.id)
            (score,) = await pipe.execute()
        return None if score is None else repr(score)

    async def has_own_view(self, site_id: SiteId, page_id: PageId, viewer: Viewer) -> bool:
        """Whether a user has blocked somebody, or has comments or votes here that only they see."""
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.exists(self._keys.user(viewer.id).blocked())
            pipe.exists(self._keys.site(site_id).unlisted(page_id, viewer.id))
            if any(await pipe.execute()):
                return True
        return viewer.is_shadowed and bool(await self.uncounted(site_id, viewer.id, page_id))

    async def uncounted(self, site_id: SiteId, user_id: UserId, page_id: PageId) -> dict[CommentId, str]:
        """A user's votes on a page that count for nobody else, because they were cast under a shadow ban."""
        votes = await self._redis.hgetall(self._keys.site(site_id).page_votes(user_id, page_id))
        return {CommentId(one): vote[:-1] for one, vote in votes.items() if vote.endswith("?")}

    async def as_voted(self, comments: Sequence[Comment], viewer: Viewer | None) -> list[Comment]:
        """With the counts that a viewer expects: for somebody shadow-banned with their own votes among them."""
        if viewer is None or not viewer.is_shadowed or not comments:
            return list(comments)
        async with self._redis.pipeline(transaction=False) as pipe:
            for one in comments:
                pipe.hget(self._keys.site(one.site_id).page_votes(viewer.id, one.page_id), one.id)
            votes = await pipe.execute()
        return [
            replace(one, upvotes=one.upvotes + (vote == "up?"), downvotes=one.downvotes + (vote == "down?"))
            for one, vote in zip(comments, votes, strict=True)
        ]

    async def are_shown(self, site_id: SiteId, page_id: PageId, comment_ids: Sequence[CommentId]) -> set[CommentId]:
        """Those of them that stand on a page for everybody."""
        scores = await self._redis.zmscore(self._keys.site(site_id).page_new(page_id), list(comment_ids))
        return {comment_id for comment_id, score in zip(comment_ids, scores, strict=True) if score is not None}

    async def pinned(self, site_id: SiteId, page_id: PageId) -> list[tuple[CommentId, int]]:
        """Newest pin first."""
        async with self._redis.pipeline(transaction=False) as pipe:
            self.put_pinned(pipe, site_id, page_id)
            (found,) = await pipe.execute()
        return pins(found)

    def put_pinned(self, pipe: Any, site_id: SiteId, page_id: PageId) -> None:
        """In somebody else's round trip; `pins` reads the answer."""
        pipe.zrange(self._keys.site(site_id).pinned(page_id), 0, 99, desc=True, withscores=True)

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

    async def under(self, comment: Comment, *, most: int) -> list[Comment]:
        """What hangs on a comment, level by level, and no more than so many."""
        keys = self._keys.site(comment.site_id)
        found: list[Comment] = []
        level = [comment.id]
        while level and len(found) < most:
            ids: list[CommentId] = []
            for start in range(0, len(level), LEVELS_AT_ONCE):
                if len(found) + len(ids) >= most:
                    break
                async with self._redis.pipeline(transaction=False) as pipe:
                    for comment_id in level[start : start + LEVELS_AT_ONCE]:
                        pipe.zrange(keys.replies(comment_id), 0, most - 1)
                    ids += [reply for answer in await pipe.execute() for reply in answer]
            replies = await self.by_ids(comment.site_id, ids[: most - len(found)])
            found += replies
            level = [reply.id for reply in replies if reply.reply_count]
        return found

    async def replies_before(self, comment: Comment, *, most: int) -> list[Comment]:
        """The last shown replies before this one to the same comment, oldest first."""
        if comment.parent_id is None:
            return []
        replies = self._keys.site(comment.site_id).replies(comment.parent_id)
        before = f"({comment.created_ms}"
        found = await self._redis.zrange(replies, before, "-inf", desc=True, byscore=True, offset=0, num=most)
        return await self.by_ids(comment.site_id, [CommentId(one) for one in reversed(found)])

    async def votes_on_page(self, site_id: SiteId, user_id: UserId, page_id: PageId) -> dict[str, str]:
        votes: dict[str, str] = await self._redis.hgetall(self._keys.site(site_id).page_votes(user_id, page_id))
        return {comment_id: vote.rstrip("?") for comment_id, vote in votes.items()}

    async def ids_by_author(self, site_id: SiteId, user_id: UserId, *, offset: int, limit: int) -> list[CommentId]:
        """Newest first, every status."""
        key = self._keys.site(site_id).comments_of(user_id)
        return [CommentId(found) for found in await self._redis.zrange(key, offset, offset + limit - 1, desc=True)]
