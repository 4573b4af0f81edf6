"""From what happened on a site to what people are told: the handlers of the outbox.

Each of them can be repeated. A notification's id follows from what it is about, and a vote is known by its entry. What
may have changed while a handler was at work is looked at once more afterwards, and taken back if need be.
"""

from collections.abc import Mapping
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from threadkit.clock import Clock, iso
from threadkit.comments.model import Comment
from threadkit.comments.queries import CommentQueries
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.notifications.model import (
    NOBODY,
    Kind,
    ModAction,
    Notification,
    about_comment,
    is_told,
    notification_id,
    view_of,
)
from threadkit.notifications.queries import NotificationQueries
from threadkit.notifications.scripts import (
    AddNotification,
    AddUpvote,
    BringBackNotifications,
    ForgetComment,
    ForgetSender,
    RemoveNotifications,
    SetAsideNotifications,
    TakeUpvote,
)
from threadkit.outbox.handlers import Event, Handlers
from threadkit.outbox.model import NotUnderstood, entry_ms
from threadkit.pages.queries import PageQueries
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.model import DELETED_USER

T = TypeVar("T")


class _Posted(Struct):
    """`at_ms` is there when a comment is shown later than it was written, or again."""

    comment_id: CommentId | None = None
    at_ms: int | None = None


class _Edited(Struct):
    """Whom an edited comment names now, and whom it does not name any more."""

    comment_id: CommentId
    named: list[UserId] = []
    unnamed: list[UserId] = []
    at_ms: int | None = None


class _Deleted(Struct):
    """Whoever may have been told of a comment. `is_kept` when the moderator who deleted it can take that back."""

    comment_id: CommentId
    told: list[UserId] = []
    is_kept: bool = False


class _Voted(Struct):
    """Karma of an older server says neither who voted nor on what; then nobody is told."""

    user_id: UserId
    comment_id: CommentId | None = None
    voter: UserId | None = None
    vote: str = ""


class _ReportsClosed(Struct):
    """What became of a comment, and who had reported it."""

    comment_id: CommentId
    outcome: Literal["stays", "removed"]
    at_ms: int
    by: UserId | None = None
    reporters: list[UserId] = []


class _ReportsReopened(Struct):
    comment_id: CommentId
    reporters: list[UserId] = []


class Telling:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        queries: NotificationQueries,
        comment_queries: CommentQueries,
        page_queries: PageQueries,
        most: int,
    ) -> None:
        self._clock = clock
        self._queries = queries
        self._comments = comment_queries
        self._pages = page_queries
        self._most = most
        self._add = AddNotification(redis, keys)
        self._add_upvote = AddUpvote(redis, keys)
        self._take_upvote = TakeUpvote(redis, keys)
        self._remove = RemoveNotifications(redis, keys)
        self._set_aside = SetAsideNotifications(redis, keys)
        self._bring_back = BringBackNotifications(redis, keys)
        self._forget_comment = ForgetComment(redis, keys)
        self._forget_sender = ForgetSender(redis, keys)

    def register(self, handlers: Handlers) -> None:
        handlers.on("comment_posted", "notifications", self.comment_posted)
        handlers.on("comment_restored", "notifications", self.comment_restored)
        handlers.on("comment_edited", "notifications", self.comment_edited)
        handlers.on("comment_deleted", "notifications", self.comment_deleted)
        handlers.on("karma", "notifications", self.voted)
        handlers.on("mod_action", "notifications", self.moderated)
        handlers.on("reports_closed", "notifications", self.reports_closed)
        handlers.on("reports_reopened", "notifications", self.reports_reopened)

    async def comment_posted(self, site_id: SiteId, _entry_id: str, event: Event) -> None:
        posted = _understood(event, _Posted)
        comment = await self._comments.by_id(site_id, posted.comment_id) if posted.comment_id else None
        if comment is None:
            return
        await self._tell(comment, await self._concerned(comment), posted.at_ms or comment.created_ms)

    async def comment_restored(self, site_id: SiteId, _entry_id: str, event: Event) -> None:
        """It can be seen again, and what was set aside about it comes back. With a time, what nobody has read is told anew;
        without, whatever hid it was only taken back."""
        posted = _understood(event, _Posted)
        comment = await self._comments.by_id(site_id, posted.comment_id) if posted.comment_id else None
        if comment is None or not is_told(comment):
            return
        kinds = await self._concerned(comment)
        found = await self._queries.circumstances(site_id, comment.author_id, list(kinds))
        url = await self._url(comment)
        if comment.author_id not in NOBODY:
            await self._bring_back(comment.author_id, site_id, comment.id)  # votes
        for hearer in found.hearers:
            if not hearer.is_there or hearer.has_blocked_sender:
                continue
            anew = None
            if posted.at_ms and not found.is_silenced and hearer.wants(kinds[hearer.id]):
                notice = about_comment(kinds[hearer.id], comment, hearer.id, posted.at_ms)
                anew = notice, view_of(notice, comment=comment, page_url=url, sender=found.sender)
            await self._bring_back(hearer.id, site_id, comment.id, anew=anew, most=self._most)
        now = await self._comments.by_id(site_id, comment.id)
        if now is None or not is_told(now):
            for name in {*kinds, comment.author_id} - NOBODY:
                await self._forget_comment(name, site_id, comment.id, is_for_now=now is not None)

    async def comment_edited(self, site_id: SiteId, _entry_id: str, event: Event) -> None:
        edited = _understood(event, _Edited)
        comment = await self._comments.by_id(site_id, edited.comment_id)
        if comment is None:
            return
        named = [name for name in edited.named if name in (comment.mentions or [])]
        unnamed = [name for name in edited.unnamed if name not in (comment.mentions or [])]
        parent = await self._comments.by_id(site_id, comment.answered_id) if comment.answered_id else None
        answered = {parent.author_id} if parent else set()  # whoever was answered knows of it already
        for name in unnamed:
            await self._forget_comment(name, site_id, comment.id, kind="mention")
        at_ms = edited.at_ms or comment.created_ms
        await self._tell(comment, {name: "mention" for name in named if name not in answered}, at_ms)

    async def comment_deleted(self, site_id: SiteId, _entry_id: str, event: Event) -> None:
        deleted = _understood(event, _Deleted)
        told = dict.fromkeys(deleted.told)
        comment = await self._comments.by_id(site_id, deleted.comment_id)
        if deleted.is_kept and is_told(comment):
            return  # taken back meanwhile
        if comment and comment.answers and (answered := await self._comments.by_id(site_id, comment.answers)):
            told[answered.author_id] = None
        for user_id in told:
            if user_id not in NOBODY:
                await self._forget_comment(user_id, site_id, deleted.comment_id, is_for_now=deleted.is_kept)

    async def voted(self, site_id: SiteId, entry_id: str, event: Event) -> None:
        vote = _understood(event, _Voted)
        if not vote.comment_id or not vote.voter or vote.user_id in NOBODY:
            return
        if vote.vote != "up":
            await self._take_upvote(vote.user_id, vote.comment_id, vote.voter, entry_id)
            return
        found = await self._queries.circumstances(site_id, vote.voter, [vote.user_id], comment_id=vote.comment_id)
        comment = found.comment
        if comment is None or not is_told(comment) or comment.author_id != vote.user_id:
            return
        if found.is_silenced or not any(hearer.wants("upvote") for hearer in found.hearers):
            return
        now_ms = self._clock.now_ms()
        of_vote = vote.user_id, comment.id, vote.voter, entry_id, now_ms
        if await self._add_upvote(*of_vote, most=self._most) == "FIRST":
            notice = Notification(
                id=notification_id(now_ms, "upvote", site_id, entry_id, vote.user_id),
                notification_type="upvote",
                comment_id=comment.id,
                from_user_id=vote.voter,
                read=False,
                created_at=iso(now_ms),
                site_id=site_id,
                count=1,
            )
            view = view_of(notice, comment=comment, page_url=await self._url(comment), sender=found.sender)
            await self._add_upvote(*of_vote, most=self._most, first=(notice, view))
        if not await self._queries.is_there(vote.voter):
            await self._forget_sender(vote.user_id, vote.voter, [comment.id])

    async def moderated(self, site_id: SiteId, entry_id: str, event: Event) -> None:
        deed = _understood(event, ModAction)
        # Moderators cannot be blocked away: only the person's own choice counts.
        found = await self._queries.circumstances(site_id, None, [deed.user_id])
        if deed.user_id == deed.by or not any(hearer.wants("mod_action") for hearer in found.hearers):
            return
        at_ms = deed.at_ms if deed.at_ms is not None else entry_ms(entry_id)
        notice = Notification(
            id=notification_id(at_ms, "mod_action", site_id, entry_id, deed.user_id),
            notification_type="mod_action",
            comment_id=deed.comment_id,
            from_user_id=None,
            read=False,
            created_at=iso(at_ms),
            site_id=site_id,
            action=deed.action,
            reason=deed.reason,
            excerpt=deed.excerpt,
        )
        comment = await self._comments.by_id(site_id, deed.comment_id) if deed.comment_id else None
        url = await self._url(comment) if comment else None
        await self._add(
            deed.user_id, notice, view_of(notice, comment=comment, page_url=url, sender=None), most=self._most
        )

    async def reports_closed(self, site_id: SiteId, entry_id: str, event: Event) -> None:
        """Not who decided, and not to whoever decided: they know."""
        closed = _understood(event, _ReportsClosed)
        told = [reporter for reporter in dict.fromkeys(closed.reporters) if reporter != closed.by]
        found = await self._queries.circumstances(site_id, None, told)
        comment = await self._comments.by_id(site_id, closed.comment_id)
        url = await self._url(comment) if comment else None
        for hearer in found.hearers:
            if not hearer.wants("report_outcome"):
                continue
            notice = Notification(
                id=notification_id(closed.at_ms, "report_outcome", site_id, entry_id, hearer.id),
                notification_type="mod_action",
                comment_id=closed.comment_id,
                from_user_id=None,
                read=False,
                created_at=iso(closed.at_ms),
                site_id=site_id,
                action="report_outcome",
                outcome=closed.outcome,
            )
            view = view_of(notice, comment=comment, page_url=url, sender=None)
            await self._add(hearer.id, notice, view, most=self._most)

    async def reports_reopened(self, site_id: SiteId, _entry_id: str, event: Event) -> None:
        """A decision was taken back: whoever was told the outcome was told wrongly, and will hear another."""
        opened = _understood(event, _ReportsReopened)
        for reporter in opened.reporters:
            told = [
                notice.id
                for notice in await self._queries.all(reporter)
                if notice.action == "report_outcome" and notice.comment_id == opened.comment_id
            ]
            if told:
                await self._remove(reporter, site_id, told[:1])

    async def _tell(self, comment: Comment, kinds: Mapping[UserId, Kind], at_ms: int) -> None:
        """While a comment is hidden, what there is to tell of it is set aside."""
        notices = {name: about_comment(kind, comment, name, at_ms) for name, kind in kinds.items()}
        if not notices:
            return
        if comment.is_gone or comment.author_id == DELETED_USER:
            await self._take_back(notices, comment.site_id)
            return
        found = await self._queries.circumstances(comment.site_id, comment.author_id, list(notices))
        if found.is_silenced:
            return
        url = await self._url(comment)
        wanted = [hearer.id for hearer in found.hearers if hearer.wants(kinds[hearer.id])]
        told = {
            name: (notices[name], view_of(notices[name], comment=comment, page_url=url, sender=found.sender))
            for name in wanted
        }
        for name in wanted:
            if is_told(comment):
                await self._add(name, *told[name], most=self._most)
            else:
                await self._set_aside(name, [notices[name]], may_be_new=True)
        now = await self._comments.by_id(comment.site_id, comment.id)
        if now is None or now.is_gone or now.author_id != comment.author_id:
            await self._take_back(notices, comment.site_id)
        elif is_told(now) != is_told(comment):
            for name in wanted:
                if is_told(now):
                    await self._bring_back(name, comment.site_id, comment.id, anew=told[name], most=self._most)
                else:
                    await self._set_aside(name, [notices[name]])

    async def _concerned(self, comment: Comment) -> dict[UserId, Kind]:
        """Whom a comment names, and whom it answers."""
        kinds: dict[UserId, Kind] = dict.fromkeys(comment.mentions or [], "mention")
        if comment.answered_id and (parent := await self._comments.by_id(comment.site_id, comment.answered_id)):
            kinds[parent.author_id] = "reply"
        return kinds

    async def _take_back(self, notices: Mapping[UserId, Notification], site_id: SiteId) -> None:
        for user_id, notice in notices.items():
            if user_id not in NOBODY:
                await self._remove(user_id, site_id, [notice.id])

    async def _url(self, comment: Comment) -> str | None:
        return (await self._pages.urls(comment.site_id, [comment.page_id])).get(comment.page_id)


def _understood(event: Event, kind: type[T]) -> T:
    try:
        return msgspec.convert(event, kind)
    except msgspec.ValidationError as error:
        raise NotUnderstood(f"{event.get('type')}: {error}") from None
