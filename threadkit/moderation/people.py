"""What moderators do with people: bans, for a while or for ever, and shadow bans."""

from collections.abc import Callable
from typing import Any

import msgspec

from threadkit.clock import Clock, from_iso, iso
from threadkit.ids import SiteId, UserId
from threadkit.moderation.log import LogEntry
from threadkit.moderation.people_model import (
    CannotBanOneself,
    HigherRole,
    List,
    Mark,
    StandsOtherwise,
)
from threadkit.moderation.people_scripts import SetStanding
from threadkit.moderation.standing import StandingQueries
from threadkit.moderation.unshadowing import lifting
from threadkit.notifications.model import ModAction
from threadkit.sites.model import Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.viewer import Viewer


class PeopleService:
    """`by` nobody is whoever runs the server, who may do anything. What was done is answered with the id of its entry in
    the log; what was so already, with None."""

    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        standing: StandingQueries,
        wake_outbox: Callable[[SiteId], None],
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._standing = standing
        self._wake_outbox = wake_outbox
        self._set_standing = SetStanding(redis, keys)

    async def ban(
        self, site: Site, user_id: UserId, *, by: Viewer | None, hours: int | None, reason: str | None
    ) -> str | None:
        now_ms = self._clock.now_ms()
        until_ms = now_ms + hours * 3_600_000 if hours else None
        told = ModAction(user_id=user_id, action="ban", by=by.id if by else None, reason=reason, at_ms=now_ms)
        return await self._set(
            site, user_id, "ban", is_on=True, by=by, reason=reason, until_ms=until_ms, event=told.encoded
        )

    async def unban(self, site: Site, user_id: UserId, *, by: Viewer | None) -> str | None:
        return await self._set(site, user_id, "ban", is_on=False, by=by)

    async def shadowban(
        self, site: Site, user_id: UserId, *, by: Viewer | None, is_on: bool, reason: str | None = None
    ) -> str | None:
        """They are not told: that is what it is for."""
        return await self._set(site, user_id, "shadowban", is_on=is_on, by=by, reason=reason)

    async def take_back(self, site: Site, entry: LogEntry, *, by: Viewer) -> str:
        """Undo a ban, a shadow ban, or the end of one, if it still stands as that entry left it. What stood there before
        is back with its reason and who gave it."""
        if entry.user_id is None or entry.before is None or entry.after is None:
            raise StandsOtherwise
        which: List = "shadowban" if "shadow" in entry.action else "ban"
        until = entry.before.removeprefix("until ")
        mark = (entry.said or {}).get("mark")
        told = ModAction(user_id=entry.user_id, action=f"undo_{entry.action}", by=by.id, at_ms=self._clock.now_ms())
        done = await self._set(
            site,
            entry.user_id,
            which,
            is_on=entry.before != "off",
            by=by,
            until_ms=from_iso(until) if until != entry.before else None,
            event=told.encoded if which == "ban" else b"",
            action=f"undo_{entry.action}",
            expects=entry.after,
            undoes=entry.id,
            mark=msgspec.json.decode(mark, type=Mark) if mark else None,
        )
        if done is None:
            raise StandsOtherwise
        return done

    async def check(self, site: Site, user_id: UserId, by: Viewer | None, deed: str) -> None:
        """Raises for who may not do this to that person."""
        if by is None:
            return
        if user_id == by.id:
            raise CannotBanOneself(deed=deed)
        if (await self._standing.of(site.id, user_id)).role >= by.role:
            raise HigherRole(deed=deed)

    async def _set(
        self,
        site: Site,
        user_id: UserId,
        which: List,
        *,
        is_on: bool,
        by: Viewer | None,
        reason: str | None = None,
        until_ms: int | None = None,
        event: bytes = b"",
        action: str = "",
        expects: str = "",
        undoes: str = "",
        mark: Mark | None = None,
    ) -> str | None:
        deed = f"{'' if is_on else 'un'}{which}"
        await self.check(site, user_id, by, deed if is_on or which == "ban" else "shadowban")
        entry = self._entry(site, action or deed, user_id, by.id if by else None, reason) | {"until_ms": until_ms}
        now_ms: int = entry["at_ms"]
        mark = mark or Mark(
            by=by.id if by else None,
            reason=reason,
            at_ms=now_ms,
            state=f"until {iso(until_ms)}" if until_ms else "on",
        )
        if which == "shadowban" and not is_on:
            event = lifting(user_id)
        done = await self._set_standing(
            site.id,
            user_id,
            which,
            mark if is_on else None,
            until_ms=until_ms,
            now_ms=now_ms,
            by=by.id if by else None,
            entry=entry,
            event=event,
            expects=expects,
            undoes=undoes,
        )
        self._wake_outbox(site.id)
        await self._tell(user_id)
        return done

    async def _tell(self, user_id: UserId) -> None:
        """Their open sockets find out at once."""
        await self._redis.publish(self._keys.user(user_id).channel(), '{"type":"rights_changed"}')

    def _entry(self, site: Site, action: str, user_id: UserId, by: UserId | None, reason: str | None) -> dict[str, Any]:
        facts: dict[str, Any] = {"site_id": site.id, "action": action, "user_id": user_id, "by": by}
        return facts | {"reason": reason, "at_ms": self._clock.now_ms()}
