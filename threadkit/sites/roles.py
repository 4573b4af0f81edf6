"""Who may do what on a site: owner > admin > moderator > user."""

import enum
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
import structlog
from redis.exceptions import RedisError

from threadkit.clock import Clock
from threadkit.errors import Conflict, Forbidden, Invalid, InvalidParameter
from threadkit.ids import SiteId, UserId
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.lua import LuaScript

log = structlog.get_logger()


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


class Role(enum.IntEnum):
    BLOCKED = 0
    USER = 1
    MODERATOR = 2
    ADMIN = 3
    OWNER = 4

    @property
    def label(self) -> str:
        return self.name.lower()


class RoleOutOfReach(Forbidden):
    """You may not give or take this role"""

    code = "role_out_of_reach"


class RoleTooHigh(Forbidden):
    """You cannot act on somebody with an equal or higher role"""

    code = "role_too_high"


class HasHigherRole(Invalid):
    """User is already an admin or an owner"""

    code = "has_higher_role"


class LastOwner(Conflict):
    """This is the site's last owner. Make somebody else an owner first."""

    code = "last_owner"


class SetRole(LuaScript):
    """A script and not MULTI, which the client library cannot do safely in a cluster."""

    file = "set_role.lua"
    repeatable = True

    async def __call__(
        self,
        modlog: str,
        lists: Mapping[str, str],
        user_id: UserId,
        *,
        into: str | None = None,
        entry: dict[str, Any] | None = None,
    ) -> int:
        """`lists` by what they are called. Without an entry nothing is written down."""
        names = list(lists)
        return int(
            await self._run(
                keys=[modlog, *lists.values()],
                args=[user_id, names.index(into) + 1 if into else 0, _json(entry) if entry else "", _json(names)],
            )
        )


_REFUSALS = {
    "NOT_ALLOWED": RoleOutOfReach,
    "TOO_HIGH": RoleTooHigh,
    "HAS_MORE": HasHigherRole,
    "LAST_OWNER": LastOwner,
}


class ChangeRole(LuaScript):
    file = "change_role.lua"
    repeatable = True

    async def __call__(
        self,
        lists: list[str],
        modlog: str,
        user_id: UserId,
        verb: Literal["grant", "revoke"],
        place: int,
        *,
        by: UserId | None,
        entry: dict[str, Any],
    ) -> bool:
        """Whether anything changed. `lists` from the highest role to the lowest, `place` counted from 1."""
        reply = await self._run(keys=[*lists, modlog], args=[user_id, verb, place, by or "", _json(entry)])
        if reply in _REFUSALS:
            raise _REFUSALS[reply]
        return bool(reply == "CHANGED")


async def _nobody_minds(_user_id: UserId) -> None:
    """Until somebody registers."""


STAFF = (Role.OWNER, Role.ADMIN, Role.MODERATOR)


class RoleService:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._set_role = SetRole(redis)
        self._change_role = ChangeRole(redis)
        self.on_loss: Callable[[UserId], Awaitable[object]] = _nobody_minds

    async def give(self, site_id: SiteId, user_id: UserId, role: Role, *, by: UserId | None) -> None:
        """Raise somebody to a role, if whoever does it may; `by` nobody is the secret key, which may."""
        await self._change(site_id, user_id, "grant", role, by)

    async def take(self, site_id: SiteId, user_id: UserId, role: Role, *, by: UserId | None) -> None:
        """Take this one role from somebody; whoever does not have it keeps what they have."""
        await self._change(site_id, user_id, "revoke", role, by)

    async def _change(
        self, site_id: SiteId, user_id: UserId, verb: Literal["grant", "revoke"], role: Role, by: UserId | None
    ) -> None:
        lists, modlog = list(self._sets(site_id).values()), self._keys.site(site_id).modlog()
        entry = self._entry(site_id, user_id, by)
        if await self._change_role(lists, modlog, user_id, verb, STAFF.index(role) + 1, by=by, entry=entry):
            await self._tell(user_id, has_lost=verb == "revoke")

    async def grant(self, site_id: SiteId, user_id: UserId, role: Role) -> None:
        """Give a staff role; a person has one role on a site, so the others go in the same step."""
        if role not in STAFF:
            raise InvalidParameter(name="role", why="must be owner, admin or moderator")
        had_another = await self._set(site_id, user_id, role)
        await self._tell(user_id, has_lost=bool(had_another))

    async def revoke(self, site_id: SiteId, user_id: UserId) -> bool:
        """Take every staff role away; says whether there was one."""
        had_one = bool(await self._set(site_id, user_id, None))
        await self._tell(user_id, has_lost=had_one)
        return had_one

    async def _set(self, site_id: SiteId, user_id: UserId, role: Role | None) -> int:
        lists = {one.label: key for one, key in self._sets(site_id).items()}
        modlog = self._keys.site(site_id).modlog()
        return await self._set_role(
            modlog,
            lists,
            user_id,
            into=role.label if role else None,
            entry=self._entry(site_id, user_id, None),
        )

    def _entry(self, site_id: SiteId, user_id: UserId, by: UserId | None) -> dict[str, Any]:
        facts: dict[str, Any] = {"site_id": site_id, "action": "role", "user_id": user_id, "by": by}
        return facts | {"at_ms": self._clock.now_ms()}

    async def forget(self, site_id: SiteId, user_id: UserId) -> None:
        """Take a user who leaves out of every list of the site, bans included."""
        keys = self._keys.site(site_id)
        lists = {one.label: key for one, key in self._sets(site_id).items()}
        lists |= {"blocked": keys.blocked(), "shadowbanned": keys.shadowbanned()}
        modlog = keys.modlog()
        await self._set_role(modlog, lists, user_id)
        await self._redis.zrem(keys.ban_ends(), user_id)
        await self._redis.hdel(keys.standings(), f"ban {user_id}", f"shadowban {user_id}")

    async def holders(self, site_id: SiteId, role: Role) -> list[UserId]:
        return sorted(await self._redis.smembers(self._sets(site_id)[role]))

    async def roles_of(self, user_id: UserId, site_ids: Sequence[SiteId]) -> dict[SiteId, Role]:
        """Where somebody is on the staff, and as what."""
        async with self._redis.pipeline(transaction=False) as pipe:
            for site_id in site_ids:
                for key in self._sets(site_id).values():
                    pipe.sismember(key, user_id)
            answers = iter(await pipe.execute())
        found = {}
        for site_id in site_ids:
            held = [role for role in STAFF if next(answers)]
            if held:
                found[site_id] = held[0]
        return found

    async def staff(self, site_id: SiteId) -> list[tuple[UserId, Role]]:
        sets = self._sets(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            for key in sets.values():
                pipe.smembers(key)
            answers = await pipe.execute()
        return [(user_id, role) for role, members in zip(sets, answers, strict=True) for user_id in sorted(members)]

    async def _tell(self, user_id: UserId, *, has_lost: bool) -> None:
        """Open sockets look again, and sessions on the pages for staff end with the role. Requests need no telling: their
        guards read the lists each time."""
        try:
            if has_lost:
                await self.on_loss(user_id)
            await self._redis.publish(self._keys.user(user_id).channel(), '{"type":"rights_changed"}')
        except (RedisError, OSError) as error:  # sockets also look by themselves now and then
            log.warning("rights_not_told", user_id=user_id, why=str(error))

    def _sets(self, site_id: SiteId) -> dict[Role, str]:
        keys = self._keys.site(site_id)
        return {Role.OWNER: keys.owners(), Role.ADMIN: keys.admins(), Role.MODERATOR: keys.moderators()}
