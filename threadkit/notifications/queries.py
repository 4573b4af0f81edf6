"""What can be asked about notifications, and about who may be told of whom."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from threadkit.comments.model import Comment
from threadkit.comments.queries import comment_of
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.notifications.model import NOBODY, Notification, Preferences, Topic
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.records import from_hash
from threadkit.users.model import User


class Hearer(Struct, frozen=True):
    """Somebody who might be told."""

    id: UserId
    is_there: bool
    has_blocked_sender: bool
    preferences: Preferences

    def wants(self, topic: Topic) -> bool:
        return self.is_there and not self.has_blocked_sender and self.preferences.wants(topic)


class Circumstances(Struct, frozen=True):
    """Of whom, who might be told, and the comment that was asked for."""

    sender: User | None
    is_silenced: bool
    hearers: list[Hearer]
    comment: Comment | None


class NotificationQueries:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def circumstances(
        self,
        site_id: SiteId,
        sender_id: UserId | None,
        hearer_ids: Sequence[UserId],
        *,
        comment_id: CommentId | None = None,
    ) -> Circumstances:
        """All that decides who is told of something somebody did, in one round trip. Nobody is told of oneself."""
        hearer_ids = [hearer for hearer in hearer_ids if hearer != sender_id and hearer not in NOBODY]
        has_account = sender_id is not None and sender_id not in NOBODY
        async with self._redis.pipeline(transaction=False) as pipe:
            if has_account and sender_id:
                pipe.hgetall(self._keys.user(sender_id).profile())
                pipe.sismember(self._keys.site(site_id).shadowbanned(), sender_id)
            for hearer in hearer_ids:
                pipe.hmget(self._keys.user(hearer).profile(), "id", "notifications_off")
                pipe.sismember(self._keys.user(hearer).blocked(), sender_id or "")
            if comment_id:
                pipe.hgetall(self._keys.site(site_id).comment(comment_id))
            answers = await pipe.execute()
        comment = comment_of(site_id, answers.pop()) if comment_id else None
        sender, is_silenced = None, False
        if has_account:
            profile, is_shadowed, *answers = answers
            sender = from_hash(User, profile) if "id" in profile else None
            # Whoever left says nothing any more.
            is_silenced = sender is None or bool(is_shadowed) or sender.shadow_banned
        hearers = [
            Hearer(hearer, known is not None, bool(has_blocked), Preferences.stored(off))
            for hearer, (known, off), has_blocked in zip(hearer_ids, answers[::2], answers[1::2], strict=True)
        ]
        return Circumstances(sender, is_silenced, hearers, comment)

    async def is_there(self, user_id: UserId) -> bool:
        return bool(await self._redis.exists(self._keys.user(user_id).profile()))

    async def preferences(self, user_id: UserId) -> Preferences:
        return Preferences.stored(await self._redis.hget(self._keys.user(user_id).profile(), "notifications_off"))

    async def all(self, user_id: UserId) -> list[Notification]:
        """Newest first, of every site; without what is set aside."""
        key = self._keys.user(user_id).notifications()
        found = await self._redis.zrange(key, "+inf", 0, desc=True, byscore=True)
        return [msgspec.json.decode(text, type=Notification) for text in found]
