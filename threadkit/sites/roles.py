"""Who may do what on a site: owner > admin > moderator > user."""

import enum

from threadkit.errors import InvalidParameter
from threadkit.ids import SiteId, UserId
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys


class Role(enum.IntEnum):
    BLOCKED = 0
    USER = 1
    MODERATOR = 2
    ADMIN = 3
    OWNER = 4

    @property
    def label(self) -> str:
        return self.name.lower()


STAFF = (Role.OWNER, Role.ADMIN, Role.MODERATOR)


class RoleService:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def grant(self, site_id: SiteId, user_id: UserId, role: Role) -> None:
        """Give a staff role; a person has one role on a site, so the others go in the same step."""
        members = self._sets(site_id)
        if role not in members:
            raise InvalidParameter(name="role", why="must be owner, admin or moderator")
        async with self._redis.pipeline(transaction=True) as pipe:
            for other, key in members.items():
                if other is role:
                    pipe.sadd(key, user_id)
                else:
                    pipe.srem(key, user_id)
            await pipe.execute()

    async def revoke(self, site_id: SiteId, user_id: UserId) -> bool:
        """Take every staff role away; says whether there was one."""
        async with self._redis.pipeline(transaction=True) as pipe:
            for key in self._sets(site_id).values():
                pipe.srem(key, user_id)
            return any(await pipe.execute())

    async def forget(self, site_id: SiteId, user_id: UserId) -> None:
        """Take a user who leaves out of every list of the site, bans included."""
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=True) as pipe:
            for key in (*self._sets(site_id).values(), keys.blocked(), keys.shadowbanned()):
                pipe.srem(key, user_id)
            await pipe.execute()

    async def staff(self, site_id: SiteId) -> list[tuple[UserId, Role]]:
        sets = self._sets(site_id)
        async with self._redis.pipeline(transaction=True) as pipe:
            for key in sets.values():
                pipe.smembers(key)
            answers = await pipe.execute()
        return [(user_id, role) for role, members in zip(sets, answers, strict=True) for user_id in sorted(members)]

    def _sets(self, site_id: SiteId) -> dict[Role, str]:
        keys = self._keys.site(site_id)
        return {Role.OWNER: keys.owners(), Role.ADMIN: keys.admins(), Role.MODERATOR: keys.moderators()}
