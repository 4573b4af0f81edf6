"""What moderators do with comments: approve, reject, call spam, and take it back."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from threadkit import scoring
from threadkit.clock import Clock, iso
from threadkit.comments.model import Comment, CommentChanged, CommentNotFound, Status
from threadkit.comments.queries import CommentQueries
from threadkit.comments.service import posted_event
from threadkit.comments.snapshots import Snapshots
from threadkit.errors import Conflict, NotFound, ThreadKitError
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.moderation.decision_scripts import Decide, Decided, Ranked
from threadkit.moderation.log import ModerationLog
from threadkit.notifications.model import ModAction
from threadkit.sites.model import Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.viewer import Viewer

Action = Literal["approve", "reject", "spam", "hide"]
MOST_UNDER = 5000
MOST_TRIES = 10
AT_A_TIME = 32
UNDO_MS = 30_000

_BECOMES = {
    "approve": Status.APPROVED,
    "reject": Status.REJECTED,
    "spam": Status.REJECTED,
    "hide": Status.PENDING,
}
_FROM = {
    "approve": (Status.PENDING, Status.REJECTED, Status.APPROVED),
    "reject": (Status.PENDING, Status.APPROVED, Status.REJECTED),
    "spam": (Status.PENDING, Status.APPROVED, Status.REJECTED),
    "hide": (Status.APPROVED,),
}


class NothingToUndo(NotFound):
    """There is no such action, or it was not one that can be undone."""

    code = "nothing_to_undo"


class TooLateToUndo(Conflict):
    """This can no longer be undone: {why}."""

    code = "too_late_to_undo"


class Outcome(Struct):
    """What came of one comment in a bulk action."""

    done: dict[CommentId, str]
    """Comment to the id under which the action can be undone."""
    failed: dict[CommentId, str]
    """Comment to the code of what went wrong."""


class DecisionService:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        comment_queries: CommentQueries,
        snapshots: Snapshots,
        log: ModerationLog,
        wake_outbox: Callable[[SiteId], None],
    ) -> None:
        self._clock = clock
        self._comment_queries = comment_queries
        self._snapshots = snapshots
        self._log = log
        self._wake_outbox = wake_outbox
        self._decide = Decide(redis, keys)

    async def decide(
        self, site: Site, comment_id: CommentId, action: Action, *, by: Viewer | None, reason: str | None = None
    ) -> Decided:
        """By a moderator, or by nobody when reports weigh enough."""
        return await self._settle(
            site, comment_id, action, _BECOMES[action], _FROM[action], by=by.id if by else None, reason=reason
        )

    async def decide_all(
        self, site: Site, comment_ids: Sequence[CommentId], action: Action, *, by: Viewer, reason: str | None = None
    ) -> Outcome:
        """Each for itself: what fails is said and holds nobody up. Parents before replies, which need them shown."""
        outcome = Outcome({}, {})
        turns = asyncio.Semaphore(AT_A_TIME)

        async def one(comment_id: CommentId) -> None:
            async with turns:
                try:
                    decided = await self.decide(site, comment_id, action, by=by, reason=reason)
                    outcome.done[comment_id] = decided.entry_id
                except ThreadKitError as error:
                    outcome.failed[comment_id] = error.code

        found = await self._comment_queries.by_ids(site.id, list(dict.fromkeys(comment_ids)))
        known = {comment.id for comment in found}
        for comment_id in comment_ids:
            if comment_id not in known:
                outcome.failed[comment_id] = CommentNotFound.code
        for depth in sorted({comment.depth for comment in found}):
            await asyncio.gather(*(one(comment.id) for comment in found if comment.depth == depth))
        return outcome

    async def undo(self, site: Site, entry_id: str, *, by: Viewer) -> Decided:
        """Within half a minute, and only if nobody has decided otherwise since."""
        entry = await self._log.entry(site.id, entry_id)
        if entry is None or entry.comment_id is None or entry.before is None or entry.after is None:
            raise NothingToUndo
        if self._clock.now_ms() - entry.at_ms > UNDO_MS:
            raise TooLateToUndo(why="half a minute is over")
        return await self._settle(
            site,
            entry.comment_id,
            f"undo_{entry.action}",
            Status(entry.before),
            (Status(entry.after),),
            by=by.id,
            reason=None,
        )

    async def _settle(
        self,
        site: Site,
        comment_id: CommentId,
        action: str,
        status: Status,
        allowed: Sequence[Status],
        *,
        by: UserId | None,
        reason: str | None,
    ) -> Decided:
        for _ in range(MOST_TRIES):
            comment = await self._comment_queries.by_id(site.id, comment_id)
            if comment is None or comment.status is Status.DELETED:
                raise CommentNotFound
            under = await self._comment_queries.under(comment, most=MOST_UNDER) if comment.reply_count else []
            now_ms = self._clock.now_ms()
            facts: dict[str, Any] = {"site_id": site.id, "action": action, "comment_id": comment.id, "by": by}
            facts |= {"user_id": comment.author_id, "reason": reason, "at_ms": now_ms}
            try:
                decided = await self._decide(
                    self._ranked(site, comment),
                    [self._ranked(site, one) for one in under],
                    await self._places_above(comment) if status is not Status.APPROVED else [],
                    status=status,
                    allowed=allowed,
                    now_ms=now_ms,
                    set_fields={"held_for": msgspec.json.encode([reason]).decode()} if reason else {},
                    remove_fields=["held_for"] if status is Status.APPROVED else [],
                    entry=facts,
                    events=_events(comment, action, by=by, reason=reason, now_ms=now_ms),
                    posted_event=posted_event(comment),
                    closes_reports=action in ("approve", "reject", "spam"),
                )
            except CommentChanged:  # somebody voted in between
                continue
            self._snapshots.drop(comment.page_id)
            self._wake_outbox(site.id)
            return decided
        raise CommentChanged

    async def _places_above(self, comment: Comment) -> list[Comment]:
        """Everything above a comment, if what is right above it is only a place that may go with it."""
        if comment.parent_id is None:
            return []
        parent = await self._comment_queries.by_id(comment.site_id, comment.parent_id)
        if parent is None or parent.status is not Status.DELETED:
            return []
        return await self._comment_queries.ancestors(comment)

    def _ranked(self, site: Site, comment: Comment) -> Ranked:
        hot = scoring.hot(site.settings.hot, comment.upvotes, comment.downvotes, comment.created_ms)
        return Ranked(comment, scoring.as_text(hot))


def _events(comment: Comment, action: str, *, by: UserId | None, reason: str | None, now_ms: int) -> list[bytes]:
    """What follows elsewhere: the filter learns, and the author hears of it."""
    moderated = {
        "type": "moderated",
        "comment_id": comment.id,
        "user_id": comment.author_id,
        "action": action,
        "by": by,
        "at": iso(now_ms),
    }
    told = ModAction(
        user_id=comment.author_id, action=action, comment_id=comment.id, by=by, reason=reason, at_ms=now_ms
    )
    return [msgspec.json.encode(moderated), told.encoded]
