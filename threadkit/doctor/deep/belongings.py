"""What follows from other keys of the same person: sessions in their list, unread notifications counted, blocks known on
both sides; and staff and bans that name somebody. (V10, V13)"""

import asyncio
from collections.abc import AsyncIterator

from threadkit.doctor.deep.look import DeepLook
from threadkit.doctor.deep.names import Known
from threadkit.doctor.deep.scripts import SettleSession, SettleUnread
from threadkit.ids import SessionId, UserId
from threadkit.rebuild.model import Finding
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

NOTICES = frozenset({"user.notifications", "user.unread", "user.unread_by_site"})
STAFF = frozenset({"site.owners", "site.admins", "site.moderators", "site.blocked", "site.shadowbanned"})
CHUNK = 500


class Belongings:
    def __init__(self, *, redis: Commands, keys: Keys, most_notices: int) -> None:
        self._redis = redis
        self._keys = keys
        self._most_notices = most_notices
        self._settle_session = SettleSession(redis, keys)
        self._settle_unread = SettleUnread(redis, keys)

    async def go_through(self, found: list[Known], look: DeepLook) -> None:
        # Together, so that they travel together.
        await asyncio.gather(
            *(self._session(name, look) for name in found if name.of == "user.session"),
            *(self._unread(user_id, look) for user_id in _people(found)),
        )
        for name in found:
            if name.of == "user.blocked":
                await self._blocks(name, look)
            elif name.of in STAFF:
                await self._staff(name, look)

    async def _session(self, name: Known, look: DeepLook) -> None:
        if await self._redis.type(name.key) != "hash":
            return  # gone, or told elsewhere
        session_id = SessionId(name.parts["session_id"])
        user_id = await self._redis.hget(name.key, "user_id")
        if not user_id:
            look.note(Finding("session", "damaged", f"session {session_id}", "it has no user_id"))
            return
        match await self._settle_session(look.mode, UserId(user_id), session_id):
            case "NO_USER":
                look.note(Finding("session", "damaged", f"session {session_id}", f"there is no user {user_id}"))
            case "MISSING":
                look.note(Finding("sessions", "missing", f"session {session_id} of user {user_id}"))
            case "SHORT":
                look.note(Finding("sessions", "lifetime", f"sessions of user {user_id}"))

    async def _unread(self, user_id: UserId, look: DeepLook) -> None:
        for kind, subject, was, wanted in await self._settle_unread(look.mode, user_id, self._most_notices):
            what = "damaged" if wanted == "" else "value"
            look.note(Finding(kind, what, subject, was, wanted))  # type: ignore[arg-type]

    async def _blocks(self, name: Known, look: DeepLook) -> None:
        user_id = name.parts["user_id"]
        async for others in self._members(name.key):
            async with self._redis.pipeline(transaction=False) as pipe:
                for other in others:
                    pipe.sismember(self._keys.user(UserId(other)).blocked_by(), user_id)
                    pipe.exists(self._keys.user(UserId(other)).profile())
                answers = await pipe.execute(raise_on_error=False)
            for place, other in enumerate(others):
                is_known, is_there = answers[2 * place : 2 * place + 2]
                if isinstance(is_known, Exception) or is_known or not is_there:
                    continue  # of the wrong type, which is told elsewhere; as it should be; or leaving just now
                finding = Finding("blocked_by", "missing", f"user {user_id} blocks user {other}")
                if look.note_and_may_mend(finding) and await self._redis.sismember(name.key, other):
                    await self._redis.sadd(self._keys.user(UserId(other)).blocked_by(), user_id)

    async def _staff(self, name: Known, look: DeepLook) -> None:
        async for members in self._members(name.key):
            async with self._redis.pipeline(transaction=False) as pipe:
                for member in members:
                    pipe.exists(self._keys.user(UserId(member)).profile())
                answers = await pipe.execute()
            for member, is_there in zip(members, answers, strict=True):
                if not is_there:
                    look.note(Finding(name.entry.name, "damaged", f"{member} in {name.key}", "there is no such user"))

    async def _members(self, key: str) -> AsyncIterator[list[str]]:
        if await self._redis.type(key) != "set":
            return
        cursor = -1
        while cursor:
            cursor, members = await self._redis.sscan(key, max(cursor, 0), count=CHUNK)
            yield list(members)


def _people(found: list[Known]) -> set[UserId]:
    return {UserId(name.parts["user_id"]) for name in found if name.of in NOTICES}
