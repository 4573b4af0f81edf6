"""What moderators do with people: bans, for a while or for ever, and shadow bans."""

from collections.abc import Callable
from typing import Any

from threadkit.clock import Clock
from threadkit.comments.model import Status
from threadkit.comments.queries import CommentQueries
from threadkit.comments.service import CommentService
from threadkit.errors import Forbidden, Invalid
from threadkit.ids import SiteId, UserId
from threadkit.moderation.decision_scripts import SetStanding
from threadkit.notifications.model import ModAction
from threadkit.sites.model import Site
from threadkit.sites.roles import Role, RoleService
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.viewer import Viewer

MOST_DELETED = 10_000
BATCH = 200
REMOVED_TEXT = "[deleted by admin]"


class CannotBanOneself(Invalid):
    """Cannot {deed} yourself"""

    code = "cannot_ban_oneself"


class HigherRole(Forbidden):
    """Cannot {deed} a user with an equal or higher role"""

    code = "higher_role"


class PeopleService:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        roles: RoleService,
        comments: CommentService,
        comment_queries: CommentQueries,
        wake_outbox: Callable[[SiteId], None],
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._roles = roles
        self._comments = comments
        self._comment_queries = comment_queries
        self._wake_outbox = wake_outbox
        self._set_standing = SetStanding(redis, keys)

    async def ban(self, site: Site, user_id: UserId, *, by: Viewer, hours: int | None, reason: str | None) -> None:
        await self._check(site, user_id, by, "ban")
        now_ms = self._clock.now_ms()
        until_ms = now_ms + hours * 3_600_000 if hours else None
        told = ModAction(user_id=user_id, action="ban", by=by.id, reason=reason, at_ms=now_ms)
        entry = self._entry(site, "ban", user_id, by, reason) | {"until_ms": until_ms}
        await self._set_standing(
            site.id, user_id, is_shadow=False, is_on=True, until_ms=until_ms, entry=entry, event=told.encoded
        )
        await self._tell(site, user_id)

    async def unban(self, site: Site, user_id: UserId, *, by: Viewer) -> None:
        await self._check(site, user_id, by, "unban")
        entry = self._entry(site, "unban", user_id, by, None)
        await self._set_standing(site.id, user_id, is_shadow=False, is_on=False, until_ms=None, entry=entry)
        await self._tell(site, user_id)

    async def shadowban(self, site: Site, user_id: UserId, *, by: Viewer, is_on: bool) -> None:
        """They are not told: that is what it is for."""
        await self._check(site, user_id, by, "shadowban")
        entry = self._entry(site, "shadowban" if is_on else "unshadowban", user_id, by, None)
        await self._set_standing(site.id, user_id, is_shadow=True, is_on=is_on, until_ms=None, entry=entry)
        await self._tell(site, user_id)

    async def delete_comments(self, site: Site, user_id: UserId, *, by: Viewer) -> int:
        """Everything they wrote here, up to ten thousand comments; says how many."""
        deleted = offset = 0
        while deleted < MOST_DELETED:
            ids = await self._comment_queries.ids_by_author(site.id, user_id, offset=offset, limit=BATCH)
            if not ids:
                break
            offset += BATCH
            for comment in await self._comment_queries.by_ids(site.id, ids):
                if comment.status is not Status.DELETED and comment.author_id == user_id:
                    await self._comments.delete(site, comment.id, by=by, text=REMOVED_TEXT)
                    deleted += 1
        return deleted

    async def _check(self, site: Site, user_id: UserId, by: Viewer, deed: str) -> None:
        if user_id == by.id:
            raise CannotBanOneself(deed=deed)
        theirs = next((role for found, role in await self._roles.staff(site.id) if found == user_id), Role.USER)
        if theirs >= by.role:
            raise HigherRole(deed=deed)

    async def _tell(self, site: Site, user_id: UserId) -> None:
        """Their open sockets find out at once."""
        self._wake_outbox(site.id)
        await self._redis.publish(self._keys.user(user_id).channel(), '{"type":"rights_changed"}')

    def _entry(self, site: Site, action: str, user_id: UserId, by: Viewer, reason: str | None) -> dict[str, Any]:
        facts: dict[str, Any] = {"site_id": site.id, "action": action, "user_id": user_id, "by": by.id}
        return facts | {"reason": reason, "at_ms": self._clock.now_ms()}
