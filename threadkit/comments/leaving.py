"""What happens to somebody's comments and votes when they leave."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec

from threadkit.clock import Clock
from threadkit.comments.model import DELETED_TEXT, Comment, CommentChanged, deleted_fields
from threadkit.comments.queries import CommentQueries
from threadkit.comments.scripts import AnonymiseComment, DeleteComment, UnnameComment
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.pages.service import PageService
from threadkit.sites.queries import SiteQueries
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.model import DELETED_USER
from threadkit.votes.scripts import ForgetVotes

BATCH = 200
MOST_TRIES = 5


class Notices(Protocol):
    """What others were told of the person, and the person of others."""

    async def forget_author(self, site_id: SiteId, author_id: UserId, comments: Sequence[Comment]) -> None:
        """Before the author's name is taken from these."""

    async def forget_voter(self, site_id: SiteId, voter: UserId, comment_ids: Sequence[CommentId]) -> None:
        """Before the votes on these are forgotten."""

    async def export(self, user_id: UserId) -> dict[str, Any]:
        """What the person was told."""


class Learning(Protocol):
    """What moderation remembers of an author."""

    async def forget_author(self, site_id: SiteId, user_id: UserId) -> None: ...

    async def forget_texts(self, site_id: SiteId, comment_ids: Sequence[CommentId]) -> None: ...


class Reporters(Protocol):
    """What moderation remembers of somebody who reported others."""

    async def forget_reporter(self, site_id: SiteId, user_id: UserId) -> None: ...

    async def export(self, site_id: SiteId, user_id: UserId) -> list[dict[str, str]]: ...


class Deeds(Protocol):
    """What was done by a moderator, or to somebody by one."""

    async def forget(self, site_id: SiteId, user_id: UserId) -> None: ...

    async def export(self, site_id: SiteId, user_id: UserId) -> list[dict[str, Any]]: ...


class Leaving:
    """Every step can be repeated: whoever was interrupted starts again and finds only what is left."""

    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        queries: CommentQueries,
        site_queries: SiteQueries,
        pages: PageService,
        notices: Notices,
        learning: Learning,
        reporters: Reporters,
        deeds: Deeds,
        on_deletion: Literal["anonymise", "erase"],
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._queries = queries
        self._site_queries = site_queries
        self._pages = pages
        self._notices = notices
        self._learning = learning
        self._reporters = reporters
        self._deeds = deeds
        self._erases = on_deletion == "erase"
        self._anonymise = AnonymiseComment(redis, keys)
        self._delete = DeleteComment(redis, keys)
        self._unname = UnnameComment(redis, keys)
        self._forget_votes = ForgetVotes(redis, keys)

    async def forget(self, user_id: UserId) -> tuple[int, int]:
        """How many comments lost their author, and how many votes were forgotten."""
        comments = votes = 0
        for site in await self._site_queries.all():
            comments += await self._forget_comments(site.id, user_id)
            votes += await self._forget_votes_on(site.id, user_id)
            await self._learning.forget_author(site.id, user_id)
            await self._reporters.forget_reporter(site.id, user_id)
            await self._forget_in_others(site.id, user_id)
            await self._deeds.forget(site.id, user_id)
        return comments, votes

    async def export(self, user_id: UserId) -> dict[str, Any]:
        """Every comment, vote, report and notification, and what moderators did."""
        comments: list[dict[str, Any]] = []
        votes: list[dict[str, str]] = []
        reports: list[dict[str, str]] = []
        moderation: list[dict[str, Any]] = []
        for site in await self._site_queries.all():
            offset = 0
            while ids := await self._queries.ids_by_author(site.id, user_id, offset=offset, limit=BATCH):
                found = await self._queries.by_ids(site.id, ids)
                comments += [_exported(comment) for comment in found if comment.author_id == user_id]
                offset += BATCH
            reports += await self._reporters.export(site.id, user_id)
            moderation += await self._deeds.export(site.id, user_id)
            keys = self._keys.site(site.id)
            for page_id in await self._redis.smembers(keys.voted_pages(user_id)):
                cast = await self._redis.hgetall(keys.page_votes(user_id, page_id))
                # On a single server the list of pages has those of every site.
                votes += [
                    {"site_id": site.id, "comment_id": comment.id, "vote": cast[comment.id].rstrip("?")}
                    for comment in await self._queries.by_ids(site.id, [CommentId(one) for one in cast])
                ]
        made = {"comments": comments, "votes": votes, "reports": reports, "moderation": moderation}
        return {**made, **await self._notices.export(user_id)}

    async def _forget_comments(self, site_id: SiteId, user_id: UserId) -> int:
        done = 0
        while ids := await self._queries.ids_by_author(site_id, user_id, offset=0, limit=BATCH):
            found = await self._queries.by_ids(site_id, ids)
            await self._notices.forget_author(site_id, user_id, found)
            if self._erases:
                await self._learning.forget_texts(site_id, ids)
            for comment in found:
                done += await self._forget_comment(comment, user_id)
            # Whatever is left in the list has no record any more.
            await self._redis.zrem(self._keys.site(site_id).comments_of(user_id), *ids)
        return done

    async def _forget_comment(self, comment: Comment, user_id: UserId) -> int:
        for _ in range(MOST_TRIES):
            try:
                return await self._forget_as_it_is(comment, user_id)
            except CommentChanged:  # its page is being merged
                await self._pages.bring(comment.site_id, comment)
                comment = await self._queries.by_id(comment.site_id, comment.id) or comment
        raise CommentChanged

    async def _forget_as_it_is(self, comment: Comment, user_id: UserId) -> int:
        now_ms = self._clock.now_ms()
        is_deleted = comment.is_gone
        if self._erases and not is_deleted:
            ancestors = await self._queries.ancestors(comment)
            await self._delete(comment, ancestors, fields=deleted_fields(), by=user_id, now_ms=now_ms)
        nobody = {"author_id": DELETED_USER, "author_name": DELETED_TEXT, "author_karma": "0"}
        anonymised = await self._anonymise(comment, user_id, fields=nobody, now_ms=now_ms)
        return int(anonymised or (self._erases and not is_deleted))

    async def _forget_in_others(self, site_id: SiteId, user_id: UserId) -> None:
        """What others wrote about them, or they decided. Only somebody who leaves needs it: no index is kept for that."""
        keys, start = self._keys.site(site_id), 0
        while ids := await self._redis.zrange(keys.comments(), start, start + BATCH - 1):
            async with self._redis.pipeline(transaction=False) as pipe:
                for comment_id in ids:
                    pipe.hmget(keys.comment(comment_id), "mentions", "decided_by")
                answers = await pipe.execute()
            naming = [
                comment_id
                for comment_id, (mentions, decided_by) in zip(ids, answers, strict=True)
                if user_id in (mentions or "") or decided_by == user_id
            ]
            for comment in await self._queries.by_ids(site_id, naming):
                await self._unname(comment, user_id)
            start += BATCH

    async def _forget_votes_on(self, site_id: SiteId, user_id: UserId) -> int:
        keys = self._keys.site(site_id)
        forgotten = 0
        for page_id in await self._redis.smembers(keys.voted_pages(user_id)):
            voted = list(await self._redis.hkeys(keys.page_votes(user_id, page_id)))
            for start in range(0, len(voted), BATCH):
                batch = [CommentId(comment_id) for comment_id in voted[start : start + BATCH]]
                await self._notices.forget_voter(site_id, user_id, batch)
                forgotten += await self._forget_votes(site_id, user_id, page_id, batch)
        return forgotten


def _exported(comment: Comment) -> dict[str, Any]:
    """A comment as its author may see it: not whether others do, nor what is for moderators."""
    hidden = ("is_shadowed", "held_for", "told_why", "decided_by", "decided_in", "flags", "report_weight")
    shown = {name: value for name, value in msgspec.to_builtins(comment).items() if name not in hidden}
    return shown | {"held_for": comment.told_why or comment.held_for}
