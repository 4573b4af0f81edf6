"""Atomic writes of notifications: all that belongs to one user changes in one step, the counters with it."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from threadkit.ids import CommentId, SiteId, UserId, uuid_ms
from threadkit.notifications.model import (
    UPVOTES_GROUPED_MS,
    Kind,
    Notification,
    NotificationId,
    NotificationView,
    Preferences,
)
from threadkit.storage.lua import KeyedScript


class Listed(Struct, frozen=True):
    notices: list[Notification]
    aside: list[Notification]
    """About what is hidden for now, or was when somebody looked last."""
    unread: int
    has_more: bool


class _NoticeScript(KeyedScript):
    uses = ("notices.lua",)
    repeatable = True

    def _box(self, user_id: UserId) -> list[str]:
        keys = self._keys.user(user_id)
        return [keys.notifications(), keys.unread(), keys.unread_by_site()]

    def _delivery(self, user_id: UserId) -> list[str]:
        keys = self._keys.user(user_id)
        return [keys.profile(), *self._box(user_id), keys.channel()]


class AddNotification(_NoticeScript):
    file = "add_notification.lua"

    async def __call__(self, user_id: UserId, notice: Notification, view: NotificationView, *, most: int) -> bool:
        """False when it was told before, or cannot be told."""
        return bool(await self._run(keys=self._delivery(user_id), args=_delivered(notice, view, most)) == "ADDED")


class AddUpvote(_NoticeScript):
    file = "add_upvote.lua"

    async def __call__(
        self,
        user_id: UserId,
        comment_id: CommentId,
        voter: UserId,
        entry_id: str,
        now_ms: int,
        *,
        most: int,
        first: tuple[Notification, NotificationView] | None = None,
    ) -> str:
        """`first` is what a new notification is, if this vote is the hour's first; without it nothing is done then."""
        told: list[str | int] = _delivered(*first, most) if first else ["", now_ms, "", most, "", ""]
        return str(
            await self._run(
                keys=[*self._delivery(user_id), self._keys.user(user_id).upvoters(comment_id)],
                args=[*told, voter, _comparable(entry_id), UPVOTES_GROUPED_MS],
            )
        )


class TakeUpvote(_NoticeScript):
    file = "take_upvote.lua"

    async def __call__(self, user_id: UserId, comment_id: CommentId, voter: UserId, entry_id: str) -> None:
        await self._run(
            keys=[*self._box(user_id), self._keys.user(user_id).upvoters(comment_id)],
            args=[voter, _comparable(entry_id)],
        )


class ReadNotification(_NoticeScript):
    file = "read_notification.lua"

    async def __call__(self, user_id: UserId, site_id: SiteId, notice_id: NotificationId) -> bool:
        return bool(await self._run(keys=self._box(user_id), args=[notice_id, uuid_ms(notice_id), site_id]))


class ReadAllNotifications(_NoticeScript):
    file = "read_all_notifications.lua"

    async def __call__(self, user_id: UserId, site_id: SiteId) -> int:
        return int(await self._run(keys=self._box(user_id), args=[site_id]))


class RemoveNotifications(_NoticeScript):
    file = "remove_notifications.lua"

    async def __call__(self, user_id: UserId, site_id: SiteId, ids: Sequence[NotificationId]) -> int:
        named = [part for notice_id in ids for part in (notice_id, uuid_ms(notice_id))]
        return int(await self._run(keys=self._box(user_id), args=[site_id, *named]))


class SetAsideNotifications(_NoticeScript):
    file = "set_aside_notifications.lua"

    async def __call__(self, user_id: UserId, notices: Sequence[Notification], *, may_be_new: bool = False) -> None:
        """With `may_be_new` also those that were never told."""
        keys = [self._keys.user(user_id).profile(), *self._box(user_id)]
        args = [(one.id, uuid_ms(one.id), _text(one) if may_be_new else "") for one in notices]
        await self._run(keys=keys, args=[part for arg in args for part in arg])


class BringBackNotifications(_NoticeScript):
    file = "bring_back_notifications.lua"

    async def __call__(
        self,
        user_id: UserId,
        site_id: SiteId,
        comment_id: CommentId,
        *,
        anew: tuple[Notification, NotificationView] | None = None,
        most: int = 0,
    ) -> None:
        """What was set aside about a comment. `anew` is told instead of one that nobody has read."""
        told: list[str | int] = [most, "", "", "", ""]
        if anew:
            _, ms, text, _, _, sent = _delivered(*anew, most)
            told = [most, anew[0].notification_type, ms, text, sent]
        await self._run(keys=self._delivery(user_id), args=[comment_id, site_id, *told])


class ForgetComment(_NoticeScript):
    file = "forget_comment.lua"

    async def __call__(
        self,
        user_id: UserId,
        site_id: SiteId,
        comment_id: CommentId,
        *,
        kind: Kind | None = None,
        is_for_now: bool = False,
    ) -> None:
        """With a `kind` only those of it; `is_for_now` sets them aside."""
        upvoters = self._keys.user(user_id).upvoters(comment_id)
        args = [comment_id, site_id, kind or "", "1" if is_for_now else ""]
        await self._run(keys=[*self._box(user_id), upvoters], args=args)


class ForgetSender(_NoticeScript):
    file = "forget_sender.lua"

    async def __call__(self, user_id: UserId, sender: UserId, voted: Sequence[CommentId] = ()) -> None:
        upvoters = [self._keys.user(user_id).upvoters(comment_id) for comment_id in voted]
        await self._run(keys=[*self._box(user_id), *upvoters], args=[sender])


class ListNotifications(KeyedScript):
    file = "list_notifications.lua"
    repeatable = True

    async def __call__(self, user_id: UserId, site_id: SiteId, *, offset: int, limit: int) -> Listed:
        keys = self._keys.user(user_id)
        unread, has_more, *found = await self._run(
            keys=[keys.notifications(), keys.unread_by_site()], args=[site_id, offset, limit]
        )
        listed, aside = [[msgspec.json.decode(text, type=Notification) for text in texts] for texts in found]
        return Listed(listed, aside, int(unread), bool(has_more))


class ChooseKinds(KeyedScript):
    file = "choose_kinds.lua"
    repeatable = True

    async def __call__(self, user_id: UserId, preferences: Preferences) -> None:
        await self._run(keys=[self._keys.user(user_id).profile()], args=[preferences.switched_off])


def _delivered(notice: Notification, view: NotificationView, most: int) -> list[str | int]:
    # Over a WebSocket the kind is called `type` (contract 6).
    sent = msgspec.to_builtins(view) | {"type": view.notification_type}
    return [notice.id, uuid_ms(notice.id), _text(notice), most, notice.site_id, _text(sent)]


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _comparable(entry_id: str) -> str:
    """Stream ids as texts that compare like the ids."""
    ms, _, number = entry_id.partition("-")
    return f"{int(ms):020d}-{int(number):010d}"
