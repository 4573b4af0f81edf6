"""What can be asked about people."""

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from threadkit.clock import Clock
from threadkit.ids import SessionId, SiteId, UserId
from threadkit.sites.roles import Role
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.records import from_hash
from threadkit.text.names import look_alike_key
from threadkit.users.model import DELETED_USER, Session, User, name_key
from threadkit.users.viewer import Viewer


class Company(Protocol):
    """A question that travels along in a pipeline, as its first command."""

    def put(self, pipe: Any) -> None: ...

    async def got(self, reply: Any) -> Any: ...


class _Demands(Struct):
    """Of a site's settings what is asked of its staff."""

    staff_second_step: bool = False


class UserQueries:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock) -> None:
        self._redis = redis
        self._clock = clock
        self._keys = keys

    async def by_id(self, user_id: UserId) -> User | None:
        fields = await self._redis.hgetall(self._keys.user(user_id).profile())
        return from_hash(User, fields) if "id" in fields else None

    async def by_ids(self, user_ids: Iterable[UserId]) -> list[User]:
        """Those of them who are still there, in one round trip."""
        async with self._redis.pipeline(transaction=False) as pipe:
            for user_id in user_ids:
                pipe.hgetall(self._keys.user(user_id).profile())
            answers = await pipe.execute()
        return [from_hash(User, fields) for fields in answers if "id" in fields]

    async def by_email(self, email: str) -> User | None:
        return await self._behind(self._keys.shared.email(email))

    async def by_phone(self, phone: str) -> User | None:
        return await self._behind(self._keys.shared.phone(phone))

    async def by_name(self, name: str) -> User | None:
        return await self._behind(self._keys.shared.username(name_key(name)))

    async def by_looks(self, name: str) -> User | None:
        """Whose name looks like this one. One round trip when it is nobody's."""
        shared, looks = self._keys.shared, name_key(look_alike_key(name))
        # Members of before look-alikes were noted have nothing but their name.
        entries = [shared.look_alike(looks), shared.username(name_key(name)), shared.username(looks)]
        async with self._redis.pipeline(transaction=False) as pipe:
            for entry in entries:
                pipe.get(entry)
            holders = await pipe.execute()
        for holder in dict.fromkeys(filter(None, holders)):
            if (user := await self.by_id(UserId(holder))) is not None:
                return user
        return None

    async def by_provider(self, provider: str, provider_id: str) -> User | None:
        return await self._behind(self._keys.shared.provider(provider, provider_id))

    async def password_hash(self, user_id: UserId) -> str | None:
        stored = await self._redis.get(self._keys.user(user_id).password())
        return None if stored is None else str(stored)

    async def knows_network(self, user: User | None, client: str) -> bool:
        """Whether somebody has signed in from there before. Takes as long for nobody."""
        keys = self._keys.user(user.id if user else DELETED_USER)
        return await self._redis.zscore(keys.networks(), client) is not None

    async def networks(self, user_id: UserId) -> list[tuple[str, int]]:
        """From where somebody signed in, and when last, ms."""
        found = await self._redis.zrange(self._keys.user(user_id).networks(), 0, -1, withscores=True)
        return [(client, int(at_ms)) for client, at_ms in found]

    async def unread(self, user_id: UserId) -> int:
        return int(await self._redis.get(self._keys.user(user_id).unread()) or 0)

    async def unread_on(self, user_id: UserId, site_id: SiteId) -> int:
        return int(await self._redis.hget(self._keys.user(user_id).unread_by_site(), site_id) or 0)

    async def blocked_by(self, user_id: UserId) -> list[UserId]:
        """The people whom this user has blocked."""
        return sorted(await self._redis.smembers(self._keys.user(user_id).blocked()))

    async def sessions(self, user_id: UserId) -> list[Session]:
        """Newest first."""
        keys = self._keys.user(user_id)
        ids = await self._redis.smembers(keys.sessions())
        async with self._redis.pipeline(transaction=False) as pipe:
            for session_id in ids:
                pipe.hgetall(keys.session(session_id))
            answers = await pipe.execute()
        found = [from_hash(Session, fields) for fields in answers if fields]
        return sorted(found, key=lambda session: (session.created_at, session.id), reverse=True)

    async def viewer(
        self, user_id: UserId, session_id: SessionId, site_id: SiteId, *, company: Company | None = None
    ) -> Viewer | None:
        """Who is behind a token, with role and bans on the site; None when the session is over. One round trip, in
        which somebody else may ask something too."""
        user_keys, site_keys = self._keys.user(user_id), self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            if company:
                company.put(pipe)
            pipe.hgetall(user_keys.session(session_id))
            pipe.hgetall(user_keys.profile())
            for key in (site_keys.owners(), site_keys.admins(), site_keys.moderators()):
                pipe.sismember(key, user_id)
            pipe.sismember(site_keys.blocked(), user_id)
            pipe.sismember(site_keys.shadowbanned(), user_id)
            pipe.zscore(site_keys.ban_ends(), user_id)
            replies = await pipe.execute(raise_on_error=company is None)
        if company:
            await company.got(replies.pop(0))
            if error := next((reply for reply in replies if isinstance(reply, Exception)), None):
                raise error
        session, profile, owner, admin, moderator, blocked, shadowed, ban_ends = replies
        if not session or "id" not in profile or session["user_id"] != user_id:
            return None
        user = from_hash(User, profile)
        # A ban for a while ends by itself; the entry stays until somebody lifts or renews it.
        blocked = blocked and (ban_ends is None or ban_ends > self._clock.now_ms())
        role = Role.USER
        for held, candidate in ((owner, Role.OWNER), (admin, Role.ADMIN), (moderator, Role.MODERATOR)):
            if held:
                role = candidate
                break
        viewer = Viewer(
            user=user,
            session=from_hash(Session, session),
            site_id=site_id,
            role=Role.BLOCKED if blocked or user.global_banned else role,
            is_shadowed=bool(shadowed) or user.shadow_banned,
            banned_until_ms=int(ban_ends) if blocked and ban_ends is not None and not user.global_banned else None,
        )
        has_passed = viewer.session.passed_second_step
        if (
            viewer.role > Role.USER
            and not has_passed
            and (user.has_second_step or await self._demands_second_step(site_id))
        ):
            # Half a sign-in is good for what everybody may do, and for nothing more.
            return replace(viewer, role=Role.USER, withheld_role=viewer.role)
        return viewer

    async def _demands_second_step(self, site_id: SiteId) -> bool:
        """Asked for staff without one only, so that nobody else pays for it."""
        settings = await self._redis.hget(self._keys.site(site_id).config(), "settings")
        return msgspec.json.decode(settings, type=_Demands).staff_second_step if settings else False

    async def _behind(self, entry: str) -> User | None:
        """Takes as many steps when there is nobody, or the time would tell."""
        user_id = await self._redis.get(entry)
        return await self.by_id(UserId(user_id or DELETED_USER))
