"""Bans and shadow bans on every site of the server at once.

Somebody's record and the sites' logs cannot change in one step. So the deed is kept with the record until every log
tells of it: whoever asks again after a crash finishes it, and no log tells of it twice.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from threadkit.clock import Clock
from threadkit.ids import SiteId, UserId, new_uuid
from threadkit.moderation.log import LogEntry
from threadkit.moderation.people_model import CannotBanOneself, HigherRole, List, NotOwnerEverywhere, StandsOtherwise
from threadkit.moderation.people_scripts import NoteDeed
from threadkit.moderation.standing import StandingQueries
from threadkit.moderation.unshadowing import lifting
from threadkit.sites.model import Site
from threadkit.sites.queries import SiteQueries
from threadkit.sites.roles import Role
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.model import User
from threadkit.users.registry import UserRegistry
from threadkit.users.viewer import Viewer

Noted = dict[SiteId, str]
"""Where a deed stands in the log of each site."""


class _Deed(Struct, frozen=True, kw_only=True):
    """What was done to somebody on every site; the JSON in their record until it is noted everywhere."""

    id: str
    action: str
    by: UserId | None
    reason: str | None
    at_ms: int
    before: str
    after: str


class BansEverywhere:
    """`by` nobody is whoever runs the server, who may do anything."""

    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        standing: StandingQueries,
        registry: UserRegistry,
        site_queries: SiteQueries,
        wake_outbox: Callable[[SiteId], None],
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._standing = standing
        self._registry = registry
        self._site_queries = site_queries
        self._wake_outbox = wake_outbox
        self._note_deed = NoteDeed(redis, keys)

    async def ban(
        self, user: User, *, is_on: bool, by: UserId | None, reason: str | None, which: List = "ban"
    ) -> Noted | None:
        """At once, or not any more; every site's log tells. None when it was so already."""
        return await self._set(user.id, which, f"{'' if is_on else 'un'}{which}_everywhere", is_on, by, reason)

    async def take_back(self, site: Site, entry: LogEntry, *, by: Viewer) -> str:
        """Undo one of these, if nobody did another since. The answer is the id of the entry in this site's log."""
        if entry.user_id is None or entry.job_id is None:
            raise StandsOtherwise
        await self.check(entry.user_id, by.id)
        which: List = "shadowban" if "shadow" in entry.action else "ban"
        noted = await self._set(
            entry.user_id, which, f"undo_{entry.action}", entry.before == "on", by.id, None, undoes=entry.job_id
        )
        if noted is None or site.id not in noted:
            raise StandsOtherwise
        return noted[site.id]

    async def check(self, user_id: UserId, by: UserId | None) -> None:
        """Who bans somebody from all sites must own all of them: a site's secret key speaks for that site only."""
        sites = await self._site_queries.all()
        if by is None and len(sites) > 1:
            raise NotOwnerEverywhere
        if by == user_id:
            raise CannotBanOneself(deed="ban")
        for site in sites:
            if by is not None and (await self._standing.of(site.id, by)).role < Role.OWNER:
                raise NotOwnerEverywhere
            if (await self._standing.of(site.id, user_id)).role >= Role.OWNER:
                raise HigherRole(deed="ban")

    async def _set(
        self,
        user_id: UserId,
        which: List,
        action: str,
        is_on: bool,
        by: UserId | None,
        reason: str | None,
        *,
        undoes: str | None = None,
    ) -> Noted | None:
        noted = await self._finish(user_id, which)
        deed = _Deed(
            id=new_uuid(),
            action=action,
            by=by,
            reason=reason,
            at_ms=self._clock.now_ms(),
            before="off" if is_on else "on",
            after="on" if is_on else "off",
        )
        encoded = msgspec.json.encode(deed).decode()
        changed = await self._registry.set_standing(
            user_id, which, is_on=is_on, deed_id=deed.id, deed=encoded, undoes=undoes
        )
        if changed:
            noted = await self._finish(user_id, which)
        return noted if changed or undoes is None else None

    async def _finish(self, user_id: UserId, which: List) -> Noted | None:
        """Tell of the newest deed wherever it is not told of yet: their open sockets first, then the logs."""
        encoded = await self._registry.unnoted(user_id, which)
        if encoded is None:
            return None
        deed = msgspec.json.decode(encoded, type=_Deed)
        await self._redis.publish(self._keys.user(user_id).channel(), '{"type":"rights_changed"}')
        event = lifting(user_id) if which == "shadowban" and deed.after == "off" else b""
        noted = {}
        for site in await self._site_queries.all():
            entry: dict[str, Any] = {"site_id": site.id, "user_id": user_id, "job_id": deed.id}
            facts = {name: value for name, value in msgspec.structs.asdict(deed).items() if name != "id"}
            noted[site.id] = await self._note_deed(site.id, deed.id, entry | facts, event)
            self._wake_outbox(site.id)
        await self._registry.is_noted(user_id, which, encoded)
        return noted
