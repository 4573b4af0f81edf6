"""Appeals: an author asks once for another look at a comment that was turned down, and somebody else decides."""

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from threadkit import text as texts
from threadkit.clock import Clock
from threadkit.comments.model import Comment, CommentNotFound, NotYourComment
from threadkit.comments.queries import CommentQueries
from threadkit.comments.tree import may_know_of
from threadkit.errors import Invalid
from threadkit.ids import CommentId, SiteId
from threadkit.moderation.decision_scripts import NoOpenAppeal
from threadkit.moderation.decisions import DecisionService
from threadkit.moderation.impartiality import objection
from threadkit.moderation.log import LogEntry
from threadkit.moderation.paging import read_behind
from threadkit.moderation.report_scripts import Appeal, DeclineAppeal, ReopenAppeal
from threadkit.notifications.model import ModAction
from threadkit.sites.model import Site
from threadkit.sites.roles import RoleService
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.viewer import Viewer

Ruling = Literal["grant", "decline"]


class EmptyAppeal(Invalid):
    """An appeal needs some words."""

    code = "empty_appeal"


class Appealed(Struct, frozen=True):
    """A comment whose author asks for another look, and whether the one who reads this may decide."""

    comment: Comment
    may_decide: bool


class AppealService:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        comment_queries: CommentQueries,
        roles: RoleService,
        decisions: DecisionService,
        wake_outbox: Callable[[SiteId], None],
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._comment_queries = comment_queries
        self._roles = roles
        self._decisions = decisions
        self._wake_outbox = wake_outbox
        self._appeal = Appeal(redis, keys)
        self._decline_appeal = DeclineAppeal(redis, keys)
        self._reopen_appeal = ReopenAppeal(redis, keys)

    async def appeal(self, site: Site, comment_id: CommentId, words: str, *, by: Viewer) -> None:
        words = texts.clean_source(words)
        if not words:
            raise EmptyAppeal
        entry = self._entry(site, "appeal", comment_id, by, reason=None) | {"user_id": by.id}
        try:
            await self._appeal(site.id, comment_id, by.id, words, now_ms=self._clock.now_ms(), entry=entry)
        except NotYourComment:
            comment = await self._comment_queries.by_id(site.id, comment_id)
            if comment is None or not may_know_of(comment, by):
                raise CommentNotFound from None
            raise

    async def waiting(
        self, site: Site, *, by: Viewer, cursor: str | None, offset: int, limit: int
    ) -> tuple[list[Appealed], str | None]:
        """Oldest first; with the cursor to those behind them."""
        key = self._keys.site(site.id).appeals()
        page = await read_behind(self._redis, key, cursor, offset=offset, limit=limit)
        found = await self._comment_queries.by_ids(site.id, [CommentId(one) for one in page.members])
        staff = {user_id for user_id, _ in await self._roles.staff(site.id)}
        return [Appealed(comment, objection(comment, by.id, staff) is None) for comment in found], page.next

    async def count(self, site_id: SiteId) -> int:
        return int(await self._redis.zcard(self._keys.site(site_id).appeals()))

    async def decide(
        self,
        site: Site,
        comment_id: CommentId,
        ruling: Ruling,
        *,
        by: Viewer,
        reason: str | None,
        seen: str | None = None,
    ) -> str:
        """The id of the log entry. Without `seen` it is about the text that the appeal was about."""
        comment = await self._comment_queries.by_id(site.id, comment_id)
        if comment is None:
            raise CommentNotFound
        if comment.appeal_state != "open":
            raise NoOpenAppeal
        staff = {user_id for user_id, _ in await self._roles.staff(site.id)}
        if refusal := objection(comment, by.id, staff):
            raise refusal
        if ruling == "grant":
            return (await self._decisions.grant_appeal(site, comment_id, by=by, reason=reason, seen=seen)).entry_id
        text = comment.text_seen(seen) or comment.updated_at
        entry = self._entry(site, "appeal_declined", comment_id, by, reason) | {"user_id": comment.author_id}
        entry_id = await self._decline_appeal(site.id, comment_id, by.id, seen=text, entry=entry, event=_told(entry))
        self._wake_outbox(site.id)
        return entry_id

    async def take_back(self, site: Site, declined: LogEntry, *, by: Viewer) -> str:
        """An appeal that was declined waits again. The answer is the id of the log entry."""
        if declined.comment_id is None:
            raise CommentNotFound
        entry = self._entry(site, "undo_appeal_declined", declined.comment_id, by, reason=None)
        entry |= {"user_id": declined.user_id}
        entry_id = await self._reopen_appeal(site.id, declined.comment_id, declined, entry=entry, event=_told(entry))
        self._wake_outbox(site.id)
        return entry_id

    def _entry(self, site: Site, action: str, comment_id: CommentId, by: Viewer, reason: str | None) -> dict[str, Any]:
        facts: dict[str, Any] = {"site_id": site.id, "action": action, "comment_id": comment_id, "by": by.id}
        return facts | {"reason": reason, "at_ms": self._clock.now_ms()}


def _told(entry: dict[str, Any]) -> bytes:
    """The author hears of it."""
    facts = {name: entry[name] for name in ("user_id", "action", "comment_id", "by", "reason", "at_ms")}
    return ModAction(**facts).encoded
