"""What moderators do with comments: approve, reject, call spam, delete, and take it back."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
import structlog
from msgspec import Struct
from msgspec.structs import replace
from redis.exceptions import RedisError

from threadkit import scoring
from threadkit.clock import Clock, iso
from threadkit.comments.model import HIDE_AT, Closing, Comment, CommentChanged, CommentNotFound, NotInThisState, Status
from threadkit.comments.queries import CommentQueries
from threadkit.comments.scripts import difference, renamed_event
from threadkit.comments.service import posted_event
from threadkit.comments.snapshots import Snapshots
from threadkit.errors import Conflict, Forbidden, StoreUnavailable, ThreadKitError
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.moderation.burying import settling
from threadkit.moderation.decision_scripts import Case, Decide, Decided, Ranked
from threadkit.moderation.deleting import Deleting
from threadkit.moderation.impartiality import Impartiality
from threadkit.moderation.log import LogEntry
from threadkit.moderation.standing import StandingQueries
from threadkit.notifications.model import ModAction
from threadkit.pages.service import PageService
from threadkit.sites.model import Site
from threadkit.sites.roles import Role
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.records import to_hash
from threadkit.users.queries import UserQueries
from threadkit.users.viewer import Viewer

log = structlog.get_logger()

Action = Literal["approve", "reject", "spam", "hide", "delete"]
Expected = Literal["pending"]
MOST_UNDER = 1000
"""So much of what hangs on a comment changes in the same step; the rest follows through the outbox."""
MOST_TRIES = 10
BATCH = 100
AT_A_TIME = 16

_BECOMES = {
    "approve": Status.APPROVED,
    "reject": Status.REJECTED,
    "spam": Status.REJECTED,
    "hide": Status.PENDING,
}
_FROM: dict[str, Sequence[Status]] = {
    "approve": (Status.PENDING, Status.REJECTED, Status.APPROVED),
    "reject": (Status.PENDING, Status.APPROVED, Status.REJECTED),
    "spam": (Status.PENDING, Status.APPROVED, Status.REJECTED),
    "hide": (Status.APPROVED,),
}
_SAID = ("held_for", "told_why", "decided_by", "decided_in")


class AlreadyDecided(Conflict):
    """Somebody else was quicker: this comment is {status} already."""

    code = "already_decided"


class Outcome(Struct):
    """What came of one comment in a bulk action."""

    done: dict[CommentId, str]
    """Comment to the id under which the action can be undone."""
    failed: dict[CommentId, str]
    """Comment to the code of what went wrong."""


class _Verdict(Struct, frozen=True, kw_only=True):
    """What is to become of comments, and who says so."""

    action: str
    status: Status
    allowed: Sequence[Status]
    by: UserId | None
    reason: str | None = None
    told: str | None = None
    said: dict[str, str] | None = None
    """What was said of the comment before, when that is to be said again."""
    seen: str | None = None
    """The `updated_at` of the text that was looked at; another one is not decided about."""
    edit: tuple[dict[str, str], list[str]] | None = None
    """The fields that its author's edit sets and removes, when that is why it is decided about."""
    renamed: bytes = b""
    """The event that the edit names others than before."""
    undoes: str = ""
    """The entry of the log that is taken back."""
    least_reports: float = 0.0

    @property
    def fields(self) -> dict[str, Any]:
        """Which fields of the record it sets and takes away."""
        if self.edit is not None:
            return {"set_fields": self.edit[0], "remove_fields": self.edit[1]}
        if self.said is not None:
            return {"set_fields": self.said, "remove_fields": [name for name in _SAID if name not in self.said]}
        return _fields(self.status, by=self.by, reason=self.reason)


class DecisionService:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        comment_queries: CommentQueries,
        user_queries: UserQueries,
        snapshots: Snapshots,
        deleting: Deleting,
        impartiality: Impartiality,
        standing: StandingQueries,
        pages: PageService,
        wake_outbox: Callable[[SiteId], None],
    ) -> None:
        self._clock = clock
        self._comment_queries = comment_queries
        self._user_queries = user_queries
        self._snapshots = snapshots
        self._deleting = deleting
        self._impartiality = impartiality
        self._standing = standing
        self._pages = pages
        self._wake_outbox = wake_outbox
        self._decide = Decide(redis, keys)

    async def decide(
        self,
        site: Site,
        comment_id: CommentId,
        action: Action,
        *,
        by: Viewer | None,
        reason: str | None = None,
        expects: Expected | None = None,
        seen: str | None = None,
    ) -> Decided:
        """By a moderator, or by nobody when reports weigh enough. The author hears the reason. Whoever `expects` that it
        still waits is refused when somebody else was quicker, and whoever says which text they have `seen` (by its
        `updated_at`) when its author has changed it since."""
        try:
            if action == "delete":
                return await self._delete(site, comment_id, by=_doer(by), reason=reason, expects=expects, seen=seen)
            verdict = _verdict(action, by=by.id if by else None, reason=reason, expects=expects)
            return await self._settle(site, comment_id, replace(verdict, seen=seen))
        except NotInThisState as error:
            raise _plainly(error, expects) from None

    async def hold_edit(self, site: Site, before: Comment, after: Comment, *, reason: str, told: str) -> None:
        """Give a comment that is shown a new text and hide it, in one step. Raises CommentChanged when it is not as it
        was `before` any more."""
        verdict = _Verdict(
            action="hide",
            status=Status.PENDING,
            allowed=_FROM["hide"],
            by=None,
            reason=reason,
            told=told,
            seen=before.updated_at,
            edit=difference(before, after),
            renamed=b"" if before.is_unposted else renamed_event(before, after),
        )
        try:
            await self._settle(site, before.id, verdict)
        except NotInThisState:
            raise CommentChanged from None

    async def grant_appeal(
        self, site: Site, comment_id: CommentId, *, by: Viewer, reason: str | None, seen: str | None
    ) -> Decided:
        """Show a comment because its author asked for another look."""
        verdict = _Verdict(
            action="appeal_granted",
            status=Status.APPROVED,
            allowed=_FROM["approve"],
            by=by.id,
            reason=reason,
            seen=seen,
        )
        return await self._settle(site, comment_id, verdict)

    async def hide_reported(self, site: Site, comment_id: CommentId, *, by: UserId | None) -> None:
        """Take a comment off its page because of its reports, unless somebody has looked at them meanwhile."""
        reason = "reported by a moderator" if by else "reported by several people"
        verdict = _Verdict(
            action="hide",
            status=_BECOMES["hide"],
            allowed=_FROM["hide"],
            by=by,
            reason=reason,
            least_reports=HIDE_AT,
        )
        with contextlib.suppress(NotInThisState, CommentNotFound):
            await self._settle(site, comment_id, verdict)

    async def unshadow(self, site: Site, comment_id: CommentId) -> None:
        """Treat a comment like any other again: its author is not shadow-banned any more."""
        for _ in range(MOST_TRIES):
            comment = await self._comment_queries.by_id(site.id, comment_id)
            if comment is None or comment.status is Status.DELETED or not comment.is_shadowed:
                return
            verdict = _Verdict(
                action="unshadow", status=comment.status, allowed=(comment.status,), by=None, said=_said_of(comment)
            )
            with contextlib.suppress(NotInThisState, CommentNotFound):  # decided meanwhile
                await self._settle(site, comment.id, verdict)
                return
        raise CommentChanged

    async def decide_all(
        self,
        site: Site,
        comment_ids: Sequence[CommentId],
        action: Action,
        *,
        by: Viewer,
        reason: str | None = None,
        expects: Expected | None = None,
        seen: Mapping[CommentId, str] | None = None,
    ) -> Outcome:
        """Each for itself: what fails is said and holds nobody up. Parents before replies, which need them shown. Whoever
        is no moderator any more after some of it does not do the rest. `seen` as for one, where it is known."""
        seen = seen or {}
        wanted = list(dict.fromkeys(comment_ids))
        found = await self._comment_queries.by_ids(site.id, wanted)
        known = {comment.id for comment in found if not comment.is_gone}
        outcome = Outcome({}, {one: CommentNotFound.code for one in wanted if one not in known})
        ordered = sorted((one for one in found if one.id in known), key=lambda one: one.depth)
        may = True
        for start in range(0, len(ordered), BATCH):
            batch = ordered[start : start + BATCH]
            may = may and (start == 0 or await self.may_still(by))
            if not may:
                outcome.failed |= {comment.id: Forbidden.code for comment in batch}
            elif action == "delete":
                await self._delete_batch(site, batch, outcome, by=by, reason=reason, expects=expects, seen=seen)
            else:
                verdict = _verdict(action, by=by.id, reason=reason, expects=expects)
                verdicts = [replace(verdict, seen=seen.get(comment.id)) for comment in batch]
                try:
                    await self._decide_batch(site, batch, verdicts, outcome, expects=expects)
                except (RedisError, OSError) as error:  # what was done before is said all the same
                    log.warning("batch_failed", site_id=site.id, why=str(error))
                    known = outcome.done.keys() | outcome.failed.keys()
                    outcome.failed |= {one.id: StoreUnavailable.code for one in batch if one.id not in known}
        return outcome

    async def take_back(self, site: Site, entry: LogEntry, *, by: Viewer) -> Decided:
        """Only if nobody has decided otherwise since, and about the text that was decided about."""
        if entry.comment_id is None or entry.before is None or entry.after is None:
            raise CommentNotFound
        verdict = _Verdict(
            action=f"undo_{entry.action}",
            status=Status(entry.before),
            allowed=(Status(entry.after),),
            by=by.id,
            said=entry.said,
            seen=entry.seen,
            undoes=entry.id,
        )
        return await self._settle(site, entry.comment_id, verdict)

    async def _decide_batch(
        self,
        site: Site,
        batch: Sequence[Comment],
        verdicts: Sequence[_Verdict],
        outcome: Outcome,
        *,
        expects: Expected | None,
    ) -> None:
        """All in one round trip; what was voted on or moved meanwhile is decided once more by itself."""
        allowed = []
        for comment, verdict in zip(batch, verdicts, strict=True):
            try:
                allowed.append((comment, await self._checked(site, comment, verdict)))
            except ThreadKitError as error:
                outcome.failed[comment.id] = error.code
        answers = await self._decide.all([await self._case(site, comment, verdict) for comment, verdict in allowed])
        for (comment, verdict), answer in zip(allowed, answers, strict=True):
            result: Decided | ThreadKitError = answer
            if isinstance(answer, CommentChanged):
                try:
                    result = await self._settle(site, comment.id, verdict)
                except ThreadKitError as error:
                    result = error
            if isinstance(result, ThreadKitError):
                outcome.failed[comment.id] = _plainly(result, expects).code
            else:
                outcome.done[comment.id] = result.entry_id
        for page_id in {comment.page_id for comment in batch}:
            self._snapshots.drop(page_id)
        self._wake_outbox(site.id)

    async def _delete_batch(
        self,
        site: Site,
        batch: Sequence[Comment],
        outcome: Outcome,
        *,
        by: Viewer,
        reason: str | None,
        expects: Expected | None,
        seen: Mapping[CommentId, str],
    ) -> None:
        turns = asyncio.Semaphore(AT_A_TIME)

        async def one(comment_id: CommentId) -> None:
            async with turns:
                try:
                    decided = await self.decide(
                        site, comment_id, "delete", by=by, reason=reason, expects=expects, seen=seen.get(comment_id)
                    )
                    outcome.done[comment_id] = decided.entry_id
                except ThreadKitError as error:
                    outcome.failed[comment_id] = error.code
                except (RedisError, OSError) as error:
                    log.warning("decision_failed", site_id=site.id, why=str(error))
                    outcome.failed[comment_id] = StoreUnavailable.code

        await asyncio.gather(*(one(comment.id) for comment in batch))

    async def may_still(self, by: Viewer) -> bool:
        """Whether whoever began something long still moderates."""
        now = await self._user_queries.viewer(by.id, by.session.id, by.site_id)
        return now is not None and now.role >= Role.MODERATOR

    async def _settle(self, site: Site, comment_id: CommentId, verdict: _Verdict) -> Decided:
        for _ in range(MOST_TRIES):
            comment = await self._comment_queries.by_id(site.id, comment_id)
            if comment is None or comment.is_gone:
                raise CommentNotFound
            verdict = await self._checked(site, comment, verdict)
            try:
                decided = await self._decide(await self._case(site, comment, verdict))
            except CommentChanged:  # somebody voted in between, its author was at it, or its page is being merged
                await self._pages.bring(site.id, comment)
                continue
            self._snapshots.drop(comment.page_id)
            self._wake_outbox(site.id)
            return decided
        raise CommentChanged

    async def _delete(
        self,
        site: Site,
        comment_id: CommentId,
        *,
        by: Viewer,
        reason: str | None,
        expects: Expected | None,
        seen: str | None,
    ) -> Decided:
        comment = await self._comment_queries.by_id(site.id, comment_id)
        if comment is not None and (refusal := await self._impartiality.objection(site.id, comment, by.id, "delete")):
            raise refusal
        return await self._deleting.delete(site, comment_id, by=by, reason=reason, expects=expects, seen=seen)

    async def _checked(self, site: Site, comment: Comment, verdict: _Verdict) -> _Verdict:
        """The verdict with the text that it is about. Raises for who may not give it, and when that text is gone."""
        by, action = verdict.by, verdict.action
        if by and (refusal := await self._impartiality.objection(site.id, comment, by, action)):
            raise refusal
        return replace(verdict, seen=comment.text_seen(verdict.seen))

    async def _case(self, site: Site, comment: Comment, verdict: _Verdict) -> Case:
        under = await self._comment_queries.under(comment, most=MOST_UNDER) if comment.reply_count else []
        together = [one for one in under if one.page_id == comment.page_id]
        now_ms = self._clock.now_ms()
        action, by, reason = verdict.action, verdict.by, verdict.reason
        events = []
        if action != "unshadow":  # neither told of, nor learnt from
            events = _events(comment, verdict, now_ms=now_ms)
        if verdict.renamed:
            events.append(verdict.renamed)
        if under:  # there may be more of it than that, more by now, or some on a page that is being merged
            events.append(settling(comment.id))
        entry: dict[str, Any] = {"site_id": site.id, "action": action, "comment_id": comment.id, "by": by}
        entry |= {"user_id": comment.author_id, "reason": reason, "at_ms": now_ms}
        return Case(
            ranked=self._ranked(site, comment),
            under=[self._ranked(site, one) for one in together],
            above=[self._ranked(site, one) for one in await self._places_above(comment)],
            status=verdict.status,
            allowed=_allowed(comment, verdict),
            now_ms=now_ms,
            **verdict.fields,
            entry=entry,
            events=events,
            shown_events=(
                posted_event(comment, at_ms=now_ms),
                _seen_again(comment.id, None if verdict.undoes else now_ms),
            ),
            closing=_closing(comment, action, verdict.status, by=by, now_ms=now_ms),
            undoes=verdict.undoes,
            least_reports=verdict.least_reports,
            is_out_of_shadow=bool(comment.is_shadowed)
            and not await self._standing.is_in_shadow(site.id, comment.author_id),
            seen=verdict.seen,
            is_edit=verdict.edit is not None,
        )

    async def _places_above(self, comment: Comment) -> list[Comment]:
        """Everything above a comment, if what is right above it is only a place, which may go or come back with it."""
        if comment.parent_id is None:
            return []
        parent = await self._comment_queries.by_id(comment.site_id, comment.parent_id)
        if parent is None or parent.status is not Status.DELETED:
            return []
        return await self._comment_queries.ancestors(comment)

    def _ranked(self, site: Site, comment: Comment) -> Ranked:
        hot = scoring.hot(site.settings.hot, comment.upvotes, comment.downvotes, comment.created_ms)
        return Ranked(comment, scoring.as_text(hot))


def _verdict(action: Action, *, by: UserId | None, reason: str | None, expects: Expected | None) -> _Verdict:
    allowed = (Status.PENDING,) if expects else _FROM[action]
    return _Verdict(action=action, status=_BECOMES[action], allowed=allowed, by=by, reason=reason)


def _seen_again(comment_id: CommentId, at_ms: int | None) -> bytes:
    """With a time people hear of it anew; without, it is as if it had never gone."""
    event = {"type": "comment_restored", "comment_id": comment_id}
    return msgspec.json.encode(event | ({"at_ms": at_ms} if at_ms else {}))


def _said_of(comment: Comment) -> dict[str, str]:
    """What is said of a comment now, as its record has it."""
    fields = to_hash(comment)
    return {name: fields[name] for name in _SAID if name in fields}


def _allowed(comment: Comment, verdict: _Verdict) -> Sequence[Status]:
    """One's own comment that somebody turns down in between is not approved over that."""
    if comment.author_id != verdict.by or comment.status is Status.REJECTED:
        return verdict.allowed
    return [status for status in verdict.allowed if status is not Status.REJECTED]


def _plainly(error: ThreadKitError, expects: Expected | None) -> ThreadKitError:
    """To whoever expected that it waits, another state means that somebody else was quicker."""
    if expects and isinstance(error, NotInThisState):
        return AlreadyDecided(**error.facts)
    return error


def _doer(by: Viewer | None) -> Viewer:
    if by is None:
        raise Forbidden
    return by


def _fields(status: Status, *, by: UserId | None, reason: str | None) -> dict[str, Any]:
    """Which fields of the record a decision sets and takes away."""
    fields: dict[str, str | None] = {"decided_by": by}
    if status is Status.APPROVED:
        fields |= {"held_for": None, "told_why": None}
    elif reason:  # without one the reason before still stands
        fields |= {"held_for": msgspec.json.encode([reason]).decode(), "told_why": None}
    return {
        "set_fields": {name: value for name, value in fields.items() if value},
        "remove_fields": [name for name, value in fields.items() if not value],
    }


def _closing(comment: Comment, action: str, status: Status, *, by: UserId | None, now_ms: int) -> Closing | None:
    if action not in ("approve", "reject", "spam", "appeal_granted"):
        return None
    outcome: Literal["stays", "removed"] = "stays" if status is Status.APPROVED else "removed"
    return Closing(comment_id=comment.id, outcome=outcome, by=by, at_ms=now_ms, is_verdict=by != comment.author_id)


def _events(comment: Comment, verdict: _Verdict, *, now_ms: int) -> list[bytes]:
    """What follows elsewhere: filters learn of the text that was decided about, and the author hears of it."""
    moderated = {
        "type": "moderated",
        "comment_id": comment.id,
        "user_id": comment.author_id,
        "action": verdict.action,
        "by": verdict.by,
        "at": iso(now_ms),
        "seen": comment.updated_at,
        "becomes": verdict.status,
    }
    told = ModAction(
        user_id=comment.author_id,
        action=verdict.action,
        comment_id=comment.id,
        by=verdict.by,
        reason=verdict.told or verdict.reason,
        at_ms=now_ms,
    )
    return [msgspec.json.encode(moderated), told.encoded]
