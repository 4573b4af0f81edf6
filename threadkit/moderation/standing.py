"""What can be asked about somebody's standing on a site."""

import msgspec

from threadkit.clock import Clock
from threadkit.ids import SiteId, UserId
from threadkit.moderation.people_model import Mark, Standing
from threadkit.sites.roles import Role
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys


class StandingQueries:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock

    async def is_in_shadow(self, site_id: SiteId, user_id: UserId) -> bool:
        """Whether only they themselves see what somebody writes here."""
        if await self._redis.sismember(self._keys.site(site_id).shadowbanned(), user_id):
            return True
        return bool(await self._redis.hget(self._keys.user(user_id).profile(), "shadow_banned") == "true")

    async def of(self, site_id: SiteId, user_id: UserId) -> Standing:
        """One round trip."""
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            for members in (keys.owners(), keys.admins(), keys.moderators(), keys.blocked(), keys.shadowbanned()):
                pipe.sismember(members, user_id)
            pipe.zscore(keys.ban_ends(), user_id)
            pipe.hmget(keys.standings(), f"ban {user_id}", f"shadowban {user_id}")
            owner, admin, moderator, blocked, shadowed, ends, (ban, shadow) = await pipe.execute()
        is_banned = bool(blocked) and (ends is None or ends > self._clock.now_ms())
        return Standing(
            role=Role.OWNER if owner else Role.ADMIN if admin else Role.MODERATOR if moderator else Role.USER,
            is_banned=is_banned,
            until_ms=int(ends) if is_banned and ends is not None else None,
            is_shadowed=bool(shadowed),
            ban=_mark(ban) if is_banned else None,
            shadow=_mark(shadow) if shadowed else None,
        )


def _mark(text: str | None) -> Mark | None:
    return msgspec.json.decode(text, type=Mark) if text else None
