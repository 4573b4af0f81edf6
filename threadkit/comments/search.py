"""Looking for comments: newest first, a bounded piece of work for each call, and a cursor with which to go on."""

import re

from msgspec import Struct

from threadkit.comments.model import Comment, Status
from threadkit.comments.queries import CommentQueries
from threadkit.errors import InvalidParameter
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys, SiteKeys

MOST_LOOKED_AT = 1000
BATCH = 250
_CURSOR = re.compile(r"(\d{1,16})\.([0-9a-f-]{36})")


class SoughtComment(Struct, frozen=True, kw_only=True):
    """Which comments; what is absent is as good as any."""

    status: Status | None = None
    author_id: UserId | None = None
    page_id: PageId | None = None
    text: str | None = None

    def index(self, keys: SiteKeys) -> str:
        """The shortest list that holds all of them."""
        if self.author_id is not None:
            return keys.comments_of(self.author_id)
        if self.status is Status.PENDING:
            return keys.modqueue()
        if self.page_id is not None and self.status is Status.APPROVED:
            return keys.page_new(self.page_id)
        return keys.comments()


class Found(Struct, frozen=True):
    """`searched` is how many were looked through; without a `next` these were the last."""

    comments: list[Comment]
    searched: int
    next: str | None


class Piece(Struct, frozen=True):
    """Some entries of an index from one place on, and the place behind each."""

    ids: list[CommentId]
    cursors: list[str]


class CommentSearch:
    def __init__(self, *, redis: Commands, keys: Keys, queries: CommentQueries) -> None:
        self._redis = redis
        self._keys = keys
        self._queries = queries

    async def find(self, site_id: SiteId, sought: SoughtComment, *, cursor: str | None, limit: int) -> Found:
        """At most so many, among at most a thousand that are looked through."""
        index = sought.index(self._keys.site(site_id))
        wanted: list[CommentId] = []
        searched = 0
        while searched < MOST_LOOKED_AT:
            piece = await self.piece(index, cursor, BATCH)
            if not piece.ids:
                return Found(await self._queries.by_ids(site_id, wanted), searched, None)
            fitting = await self._fitting(site_id, piece.ids, sought)
            for comment_id, place in zip(piece.ids, piece.cursors, strict=True):
                searched, cursor = searched + 1, place
                if comment_id in fitting:
                    wanted.append(comment_id)
                    if len(wanted) == limit:
                        return Found(await self._queries.by_ids(site_id, wanted), searched, cursor)
        return Found(await self._queries.by_ids(site_id, wanted), searched, cursor)

    async def piece(self, index: str, cursor: str | None, most: int) -> Piece:
        """What follows in an index after a cursor. New comments do not move it, and neither does a lost one."""
        start = await self._place_after(index, cursor) if cursor is not None else 0
        entries = await self._redis.zrange(index, start, start + most - 1, desc=True, withscores=True)
        return Piece([CommentId(one) for one, _ in entries], [f"{score:.0f}.{one}" for one, score in entries])

    async def _place_after(self, index: str, cursor: str) -> int:
        match = _CURSOR.fullmatch(cursor)
        if match is None:
            raise InvalidParameter(name="cursor", why="is not one from an answer", field="cursor")
        rank = await self._redis.zrevrank(index, match[2])
        if rank is not None:
            return int(rank) + 1
        return int(await self._redis.zcount(index, match[1], "+inf"))

    async def _fitting(self, site_id: SiteId, ids: list[CommentId], sought: SoughtComment) -> set[CommentId]:
        keys, text = self._keys.site(site_id), sought.text.casefold() if sought.text else None
        fields = ["site_id", "status", "author_id", "page_id", *(["content"] if text else [])]
        async with self._redis.pipeline(transaction=False) as pipe:
            for comment_id in ids:
                pipe.hmget(keys.comment(comment_id), *fields)
            answers = await pipe.execute()
        return {
            comment_id
            for comment_id, (owner, status, author_id, page_id, *content) in zip(ids, answers, strict=True)
            if owner == site_id
            and sought.status in (None, status)
            and sought.author_id in (None, author_id)
            and sought.page_id in (None, page_id)
            and (text is None or text in (content[0] or "").casefold())
        }
