"""What people can do with their own profile, with each other, and when they leave."""

from typing import Any, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from threadkit.clock import Clock, iso
from threadkit.errors import Invalid, NotFound
from threadkit.ids import SiteId, UserId, new_uuid
from threadkit.sites.model import Site
from threadkit.sites.queries import SiteQueries
from threadkit.sites.roles import RoleService
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.text.names import is_reserved, tidy_name, why_unfit
from threadkit.users.model import (
    GUEST_PREFIX,
    EmailTaken,
    Me,
    SocialLinks,
    User,
    UsernameTaken,
    UserPublic,
    check_avatar_url,
    check_links,
    guest_name,
    normal_email,
    shown_name,
)
from threadkit.users.name_rules import NameRules, words_of
from threadkit.users.queries import UserQueries
from threadkit.users.registry import UserRegistry
from threadkit.users.scripts import EndSessions, RemoveUser, entries_of
from threadkit.users.second_step.queries import FactorQueries


class UserNotFound(NotFound):
    """User not found"""

    code = "user_not_found"


class CannotBlockYourself(Invalid):
    """Cannot block yourself"""

    code = "cannot_block_yourself"


class CannotCreateUser(Invalid):
    """{why}"""

    code = "cannot_create_user"


class Departure(Struct, frozen=True):
    """What a deleted account took along."""

    comments_deleted: int
    votes_deleted: int


class Traces(Protocol):
    """What a person left on pages."""

    async def forget(self, user_id: UserId) -> tuple[int, int]:
        """How many comments lost their author, and how many votes were forgotten."""

    async def export(self, user_id: UserId) -> dict[str, Any]:
        """All of it, for the person themselves."""


class Journal(Protocol):
    """Remembers outside the store who left, for the day an older backup is put back."""

    async def note_user(self, user_id: UserId) -> None: ...


class UserService:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        queries: UserQueries,
        factors: FactorQueries,
        registry: UserRegistry,
        names: NameRules,
        site_queries: SiteQueries,
        roles: RoleService,
        traces: Traces,
        journal: Journal,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._queries = queries
        self._factors = factors
        self._registry = registry
        self._names = names
        self._site_queries = site_queries
        self._roles = roles
        self._traces = traces
        self._journal = journal
        self._remove = RemoveUser(redis, keys)
        self._end_sessions = EndSessions(redis, keys)

    async def create_by_owner(self, site: Site, name: str, email: str | None, *, allow_reserved: bool = False) -> User:
        """A user made with the secret key: a name in any script, and an address that counts as proved."""
        name = tidy_name(name)
        if not name or len(name) > 100:
            raise CannotCreateUser(why="name: must have 1 to 100 printable characters")
        if why := why_unfit(name):
            raise CannotCreateUser(why=f"name: {why}")
        if name.lower().startswith(GUEST_PREFIX):
            raise CannotCreateUser(why=f"name: cannot start with {GUEST_PREFIX}")
        if not allow_reserved and is_reserved(name, also=words_of(site)):
            raise CannotCreateUser(
                why="name: is kept for those who run the site; with allow_reserved it can be given all the same"
            )
        user = User(
            id=UserId(new_uuid()),
            name=name,
            provider="email",
            created_at=iso(self._clock.now_ms()),
            email=normal_email(email) if email else None,
            email_verified=bool(email),
            vouched=True if email else None,
            username_set=True,
        )
        try:
            return await self._registry.create(user)
        except (UsernameTaken, EmailTaken) as error:
            raise CannotCreateUser(why=error.message) from None

    async def existing(self, user_id: UserId) -> User:
        user = await self._queries.by_id(user_id)
        if user is None:
            raise UserNotFound
        return user

    async def me(self, user: User, site_id: SiteId) -> Me:
        unread = await self._queries.unread_on(user.id, site_id)
        me: Me = Me.of(user, karma=user.karma, unread_notifications=unread)
        return me

    async def change_profile(
        self, user: User, site: Site, *, name: str | None, avatar_url: str | None, social_links: SocialLinks | None
    ) -> User:
        """Absent means unchanged; an empty avatar address takes the avatar away; links replace all links."""
        after = user
        if name is not None and user.is_guest:
            after = replace(after, name=guest_name(name, instead_of=user.name))
            await self._names.check_guest(shown_name(after.name), site)
        elif name is not None and (name != user.name or not user.username_set):
            after = replace(after, name=self._names.check_member(name, site), username_set=True)
        if avatar_url is not None:
            after = replace(after, avatar_url=check_avatar_url(avatar_url) if avatar_url else None)
        if social_links is not None:
            after = replace(after, social_links=check_links(social_links))
        return await self._registry.change(user, after)

    async def block(self, user: User, other_id: UserId) -> None:
        if other_id == user.id:
            raise CannotBlockYourself
        await self.existing(other_id)
        # The other's side first: it only serves to clean up, and may name somebody who is not blocked after a crash.
        await self._redis.sadd(self._keys.user(other_id).blocked_by(), user.id)
        await self._redis.sadd(self._keys.user(user.id).blocked(), other_id)
        await self._tell_sockets(user.id)

    async def unblock(self, user: User, other_id: UserId) -> None:
        await self._redis.srem(self._keys.user(user.id).blocked(), other_id)
        await self._redis.srem(self._keys.user(other_id).blocked_by(), user.id)
        await self._tell_sockets(user.id)

    async def _tell_sockets(self, user_id: UserId) -> None:
        """Open pages leave out at once whom their reader blocked."""
        await self._redis.publish(self._keys.user(user_id).channel(), '{"type":"blocks_changed"}')

    async def blocked(self, user: User) -> list[UserPublic]:
        found = await self._queries.by_ids(await self._queries.blocked_by(user.id))
        return [UserPublic.of(blocked) for blocked in found]

    async def leave(self, user: User) -> Departure:
        """Delete an account. The profile goes last, so that a crash in between leaves a way to ask again."""
        keys = self._keys.user(user.id)
        await self._journal.note_user(user.id)
        # Other devices first, so that nothing new is written while the old is taken away.
        await self._end_sessions(user.id)
        comments, votes = await self._traces.forget(user.id)
        for site in await self._site_queries.all():
            await self._roles.forget(site.id, user.id)
        for other in await self._redis.smembers(keys.blocked()):
            await self._redis.srem(self._keys.user(other).blocked_by(), user.id)
        for other in await self._redis.smembers(keys.blocked_by()):
            await self._redis.srem(self._keys.user(other).blocked(), user.id)
        for held in filter(None, (user.email, user.phone)):
            await self._redis.unlink(*entries_of(self._keys, held))
        await self._registry.release_all(user)
        await self._remove(user.id)
        # What was under way when the sessions ended.
        late_comments, late_votes = await self._traces.forget(user.id)
        comments, votes = comments + late_comments, votes + late_votes
        return Departure(comments_deleted=comments, votes_deleted=votes)

    async def export(self, user: User) -> dict[str, Any]:
        """Everything we hold about a person."""
        sites = await self._site_queries.all()
        roles = [
            {"site_id": site.id, "role": role.label}
            for site in sites
            for user_id, role in await self._roles.staff(site.id)
            if user_id == user.id
        ]
        sessions = [
            {name: value for name, value in msgspec.to_builtins(session).items() if name not in _NOT_EXPORTED}
            for session in await self._queries.sessions(user.id)
        ]
        return {
            "exported_at": iso(self._clock.now_ms()),
            "profile": {name: value for name, value in msgspec.to_builtins(user).items() if name not in _NOT_EXPORTED},
            "has_password": await self._queries.password_hash(user.id) is not None,
            "second_step": msgspec.to_builtins(await self._factors.of(user.id)),
            "sessions": sessions,
            "networks": [
                {"network": network, "last_sign_in": iso(at_ms)}
                for network, at_ms in await self._queries.networks(user.id)
            ],
            "roles": roles,
            "blocked": await self._queries.blocked_by(user.id),
            "unread_notifications": await self._queries.unread(user.id),
            **await self._traces.export(user.id),
        }


# Secrets of a session, with which whoever reads an export could go on; and what somebody who is shadowed must not learn.
_NOT_EXPORTED = {"refresh_id", "previous_id", "rotated_ms", "ver", "shadow_banned", "auth_epoch"}
