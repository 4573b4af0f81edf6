"""Who may do what on a site: owner > admin > moderator > user."""

import enum
from typing import Any

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


# Scripts and not MULTI, which the library's cluster client cannot do safely.
_SET_ROLE = """
local had = 0
for number, key in ipairs(KEYS) do
  if number == tonumber(ARGV[2]) then
    redis.call('SADD', key, ARGV[1])
  else
    had = had + redis.call('SREM', key, ARGV[1])
  end
end
return had
"""
_MEMBERS = """
local found = {}
for number, key in ipairs(KEYS) do found[number] = redis.call('SMEMBERS', key) end
return found
"""

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
        await self._run(_SET_ROLE, list(members.values()), user_id, list(members).index(role) + 1)

    async def revoke(self, site_id: SiteId, user_id: UserId) -> bool:
        """Take every staff role away; says whether there was one."""
        return bool(await self._run(_SET_ROLE, list(self._sets(site_id).values()), user_id, 0))

    async def forget(self, site_id: SiteId, user_id: UserId) -> None:
        """Take a user who leaves out of every list of the site, bans included."""
        keys = self._keys.site(site_id)
        lists = [*self._sets(site_id).values(), keys.blocked(), keys.shadowbanned()]
        await self._run(_SET_ROLE, lists, user_id, 0)

    async def staff(self, site_id: SiteId) -> list[tuple[UserId, Role]]:
        sets = self._sets(site_id)
        answers = await self._run(_MEMBERS, list(sets.values()))
        return [(user_id, role) for role, members in zip(sets, answers, strict=True) for user_id in sorted(members)]

    async def _run(self, script: str, keys: list[str], *args: str | int) -> Any:
        return await self._redis.execute_command("EVAL", script, len(keys), *keys, *args)

    def _sets(self, site_id: SiteId) -> dict[Role, str]:
        keys = self._keys.site(site_id)
        return {Role.OWNER: keys.owners(), Role.ADMIN: keys.admins(), Role.MODERATOR: keys.moderators()}
