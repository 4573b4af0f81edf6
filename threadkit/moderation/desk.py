"""What moderators see of a comment before they decide: its author's record here, its page, and the thread around it."""

from collections.abc import Sequence

from msgspec import Struct

from threadkit.comments.model import Comment, Status, TreeComment
from threadkit.comments.queries import CommentQueries
from threadkit.ids import PageId, SiteId, UserId
from threadkit.moderation.claim_scripts import Claimant
from threadkit.moderation.claims import ClaimService
from threadkit.pages.queries import PageQueries
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.queries import UserQueries

MOST_BESIDE = 5
MOST_BELOW = 10


class AuthorRecord(Struct, kw_only=True):
    """An author at a glance. `comments` were ever written here; moderators approved and rejected so many by hand."""

    is_guest: bool
    created_at: str
    comments: int
    approved: int
    rejected: int


class DeskItem(Struct, kw_only=True):
    """A comment as it lies on a moderator's desk. `author` is null when the account is gone."""

    page_id: PageId
    comment: TreeComment
    page_url: str
    page_title: str | None
    status: Status
    reasons: list[str]
    flags: list[str]
    reports: float
    claimed_by: Claimant | None
    updated_at: str
    author: AuthorRecord | None


class Surroundings(Struct, kw_only=True):
    """A comment and the thread around it: the way down to it, from the root; what was answered to the same before it;
    and the first answers to it."""

    item: DeskItem
    above: list[TreeComment]
    beside: list[TreeComment]
    below: list[TreeComment]


class DeskQueries:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        comment_queries: CommentQueries,
        page_queries: PageQueries,
        user_queries: UserQueries,
        claims: ClaimService,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._comment_queries = comment_queries
        self._page_queries = page_queries
        self._user_queries = user_queries
        self._claims = claims

    async def items(self, site_id: SiteId, comments: Sequence[Comment]) -> list[DeskItem]:
        pages = await self._page_queries.faces(site_id, sorted({comment.page_id for comment in comments}))
        claims = await self._claims.of(site_id, [comment.id for comment in comments])
        authors = await self._authors(site_id, sorted({comment.author_id for comment in comments}))
        items = []
        for comment in comments:
            url, title = pages.get(comment.page_id, (None, None))
            items.append(
                DeskItem(
                    page_id=comment.page_id,
                    comment=TreeComment.of(comment),
                    page_url=_followable(url or comment.page_url),
                    page_title=title,
                    status=comment.status,
                    reasons=comment.held_for or [],
                    flags=comment.flags or [],
                    reports=comment.report_weight or 0,
                    claimed_by=claims.get(comment.id),
                    updated_at=comment.updated_at,
                    author=authors.get(comment.author_id),
                )
            )
        return items

    async def around(self, comment: Comment) -> Surroundings:
        (item,) = await self.items(comment.site_id, [comment])
        above = await self._comment_queries.ancestors(comment)
        beside = await self._comment_queries.replies_before(comment, most=MOST_BESIDE)
        below = await self._comment_queries.under(comment, most=MOST_BELOW)
        return Surroundings(
            item=item,
            above=[TreeComment.of(one) for one in reversed(above)],
            beside=[TreeComment.of(one) for one in beside],
            below=[TreeComment.of(one) for one in below],
        )

    async def _authors(self, site_id: SiteId, user_ids: Sequence[UserId]) -> dict[UserId, AuthorRecord]:
        if not user_ids:
            return {}
        users = {user.id: user for user in await self._user_queries.by_ids(user_ids)}
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            for user_id in user_ids:
                pipe.zcard(keys.comments_of(user_id))
                pipe.hmget(keys.author_decisions(user_id), "approved", "rejected")
            answers = await pipe.execute()
        return {
            user_id: AuthorRecord(
                is_guest=users[user_id].is_guest,
                created_at=users[user_id].created_at,
                comments=written,
                approved=int(approved or 0),
                rejected=int(rejected or 0),
            )
            for user_id, written, (approved, rejected) in zip(user_ids, answers[::2], answers[1::2], strict=True)
            if user_id in users
        }


def _followable(url: str) -> str:
    """Empty unless it is a web address."""
    return url if url.startswith(("https://", "http://")) else ""
