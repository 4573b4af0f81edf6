"""What people can do with what they were told, and what becomes of it when somebody leaves."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from threadkit.comments.model import Comment
from threadkit.comments.queries import CommentQueries
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.notifications.model import (
    NOBODY,
    ModAction,
    Notification,
    NotificationId,
    NotificationNotFound,
    NotificationPage,
    NotificationView,
    Preferences,
    is_hidden_for_now,
    still_stands,
    view_of,
)
from threadkit.notifications.queries import NotificationQueries
from threadkit.notifications.scripts import (
    BringBackNotifications,
    ChooseKinds,
    ForgetSender,
    ListNotifications,
    ReadAllNotifications,
    ReadNotification,
    RemoveNotifications,
    SetAsideNotifications,
)
from threadkit.pages.queries import PageQueries
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.queries import UserQueries

MOST_LOOKS = 10


class NotificationService:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        queries: NotificationQueries,
        comment_queries: CommentQueries,
        page_queries: PageQueries,
        user_queries: UserQueries,
        wake_outbox: Callable[[SiteId], None],
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._queries = queries
        self._comments = comment_queries
        self._pages = page_queries
        self._users = user_queries
        self._wake_outbox = wake_outbox
        self._list = ListNotifications(redis, keys)
        self._read = ReadNotification(redis, keys)
        self._read_all = ReadAllNotifications(redis, keys)
        self._remove = RemoveNotifications(redis, keys)
        self._set_aside = SetAsideNotifications(redis, keys)
        self._bring_back = BringBackNotifications(redis, keys)
        self._choose = ChooseKinds(redis, keys)
        self._forget_sender = ForgetSender(redis, keys)

    async def page(self, site_id: SiteId, user_id: UserId, *, offset: int, limit: int) -> NotificationPage:
        """A site's notifications of a user, newest first. What is about something that cannot be seen any more is
        taken away on the way, or set aside as long as it is hidden, so that what is counted is what is shown."""
        for _ in range(MOST_LOOKS):
            found = await self._list(user_id, site_id, offset=offset, limit=limit)
            back, _, _ = await self._shown(site_id, user_id, found.aside)
            shown, hidden, fallen = await self._shown(site_id, user_id, found.notices)
            if not (back or hidden or fallen):
                break
            await self._remove(user_id, site_id, fallen)
            await self._set_aside(user_id, hidden)
            for comment_id in {one.comment_id for one in back if one.comment_id}:
                await self._bring_back(user_id, site_id, comment_id)
        return NotificationPage(shown, found.unread, found.has_more)

    async def read(self, site_id: SiteId, user_id: UserId, notice_id: NotificationId) -> None:
        if not await self._read(user_id, site_id, notice_id):
            raise NotificationNotFound

    async def read_all(self, site_id: SiteId, user_id: UserId) -> int:
        """How many were unread."""
        return await self._read_all(user_id, site_id)

    async def remove(self, site_id: SiteId, user_id: UserId, notice_id: NotificationId) -> None:
        if not await self._remove(user_id, site_id, [notice_id]):
            raise NotificationNotFound

    async def preferences(self, user_id: UserId) -> Preferences:
        return await self._queries.preferences(user_id)

    async def choose(self, user_id: UserId, preferences: Preferences) -> Preferences:
        await self._choose(user_id, preferences)
        return await self._queries.preferences(user_id)

    async def tell_mod_action(self, site_id: SiteId, deed: ModAction) -> None:
        """For a deed without a script of its own; a script appends `deed.encoded` to the outbox itself."""
        await self._redis.xadd(self._keys.site(site_id).outbox(), {"event": deed.encoded})
        self._wake_outbox(site_id)

    async def forget_author(self, site_id: SiteId, author_id: UserId, comments: Sequence[Comment]) -> None:
        """Nobody is told any more who wrote these; before the author's name is taken from them."""
        parents = await self._comments.by_ids(
            site_id, sorted({comment.answered_id for comment in comments if comment.answered_id})
        )
        told = {parent.author_id for parent in parents}.union(*(comment.mentions or [] for comment in comments))
        for user_id in sorted(told - NOBODY - {author_id}):
            await self._forget_sender(user_id, author_id)

    async def forget_voter(self, site_id: SiteId, voter: UserId, comment_ids: Sequence[CommentId]) -> None:
        """Nobody is told any more who liked these; before the votes are forgotten."""
        voted: dict[UserId, list[CommentId]] = defaultdict(list)
        for comment in await self._comments.by_ids(site_id, comment_ids):
            voted[comment.author_id].append(comment.id)
        for user_id in sorted(voted.keys() - NOBODY - {voter}):
            await self._forget_sender(user_id, voter, voted[user_id])

    async def export(self, user_id: UserId) -> dict[str, Any]:
        return {
            "notifications": [msgspec.to_builtins(notice) for notice in await self._queries.all(user_id)],
            "notification_settings": msgspec.to_builtins(await self._queries.preferences(user_id)),
        }

    async def _shown(
        self, site_id: SiteId, user_id: UserId, notices: Sequence[Notification]
    ) -> tuple[list[NotificationView], list[Notification], list[NotificationId]]:
        """Those that still stand, ready to be sent; those that may stand again; and the ids of the others."""
        if not notices:
            return [], [], []
        comment_ids = dict.fromkeys(notice.comment_id for notice in notices if notice.comment_id)
        sender_ids = dict.fromkeys(notice.from_user_id for notice in notices if notice.from_user_id)
        comments, senders, blocked = await asyncio.gather(
            self._comments.by_ids(site_id, list(comment_ids)),
            self._users.by_ids(list(sender_ids)),
            self._users.blocked_by(user_id),
        )
        urls = await self._pages.urls(site_id, sorted({comment.page_id for comment in comments}))
        by_id = {comment.id: comment for comment in comments}
        known = {sender.id: sender for sender in senders if sender.id not in blocked}
        shown: list[NotificationView] = []
        hidden: list[Notification] = []
        fallen: list[NotificationId] = []
        for notice in notices:
            comment = by_id.get(notice.comment_id) if notice.comment_id else None
            if still_stands(notice, comment, user_id, blocked):
                sender = known.get(notice.from_user_id) if notice.from_user_id else None
                url = urls.get(comment.page_id) if comment else None
                shown.append(view_of(notice, comment=comment, page_url=url, sender=sender))
            elif is_hidden_for_now(notice, comment, user_id, blocked):
                hidden.append(notice)
            else:
                fallen.append(notice.id)
        return shown, hidden, fallen
