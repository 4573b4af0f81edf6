"""Who may do what on a site: owner > admin > moderator > user."""

import enum

from threadkit.errors import InvalidParameter
from threadkit.ids import SiteId, UserId
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.lua import LuaScript


class Role(enum.IntEnum):
    BLOCKED = 0
    USER = 1
    MODERATOR = 2
    ADMIN = 3
    OWNER = 4

    @property
    def label(self) -> str:
        return self.name.lower()


class SetRole(LuaScript):
    """A script and not MULTI, which the client library cannot do safely in a cluster."""

    file = "set_role.lua"
    repeatable = True

    async def __call__(self, lists: list[str], user_id: UserId, *, into: str | None = None) -> int:
        return int(await self._run(keys=lists, args=[user_id, lists.index(into) + 1 if into else 0]))


STAFF = (Role.OWNER, Role.ADMIN, Role.MODERATOR)


class RoleService:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._set_role = SetRole(redis)

    async def grant(self, site_id: SiteId, user_id: UserId, role: Role) -> None:
        """Give a staff role; a person has one role on a site, so the others go in the same step."""
        members = self._sets(site_id)
        if role not in members:
            raise InvalidParameter(name="role", why="must be owner, admin or moderator")
        await self._set_role(list(members.values()), user_id, into=members[role])

    async def revoke(self, site_id: SiteId, user_id: UserId) -> bool:
        """Take every staff role away; says whether there was one."""
        return bool(await self._set_role(list(self._sets(site_id).values()), user_id))

    async def forget(self, site_id: SiteId, user_id: UserId) -> None:
        """Take a user who leaves out of every list of the site, bans included."""
        keys = self._keys.site(site_id)
        lists = [*self._sets(site_id).values(), keys.blocked(), keys.shadowbanned()]
        await self._set_role(lists, user_id)

    async def staff(self, site_id: SiteId) -> list[tuple[UserId, Role]]:
        sets = self._sets(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            for key in sets.values():
                pipe.smembers(key)
            answers = await pipe.execute()
        return [(user_id, role) for role, members in zip(sets, answers, strict=True) for user_id in sorted(members)]

    def _sets(self, site_id: SiteId) -> dict[Role, str]:
        keys = self._keys.site(site_id)
        return {Role.OWNER: keys.owners(), Role.ADMIN: keys.admins(), Role.MODERATOR: keys.moderators()}
