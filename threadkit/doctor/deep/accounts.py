"""People and the entries that lead to them: names, addresses, numbers, accounts elsewhere, one to one. (V12, V17)"""

import msgspec

from threadkit.clock import Clock
from threadkit.doctor.deep.look import DeepLook
from threadkit.doctor.deep.names import Known
from threadkit.ids import UserId, is_uuid, uuid_ms
from threadkit.rebuild.model import Finding
from threadkit.storage.claims import Claim, Release
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.records import from_hash
from threadkit.users.model import User
from threadkit.users.registry import UNFINISHED_MS, UserRegistry

ENTRIES = frozenset({"shared.email", "shared.phone", "shared.username", "shared.look_alike", "shared.provider"})
# What is kept under a person, and goes with them at once.
BELONGINGS = frozenset(
    {"user.password", "user.sessions", "user.notifications", "user.unread", "user.unread_by_site", "user.blocked"}
)


class Accounts:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock, registry: UserRegistry) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._registry = registry
        self._claim = Claim(redis)
        self._release = Release(redis)

    async def go_through(self, found: list[Known], look: DeepLook) -> None:
        profiles = [name for name in found if name.of == "user.profile"]
        users = await self._users([UserId(name.parts["user_id"]) for name in profiles], look)
        await self._profiles([user for user in users.values() if user is not None], look)
        await self._entries([name for name in found if name.of in ENTRIES], look)
        await self._belongings([name for name in found if name.of in BELONGINGS], look)

    async def _users(self, ids: list[UserId], look: DeepLook | None = None) -> dict[UserId, User | None]:
        """None for whoever is not there, or cannot be read; the latter is told to `look`."""
        async with self._redis.pipeline(transaction=False) as pipe:
            for user_id in ids:
                pipe.hgetall(self._keys.user(user_id).profile())
            answers = await pipe.execute(raise_on_error=False)
        users: dict[UserId, User | None] = {}
        for user_id, fields in zip(ids, answers, strict=True):
            users[user_id] = None
            if isinstance(fields, dict) and fields:
                try:
                    users[user_id] = from_hash(User, fields)
                except (msgspec.ValidationError, msgspec.DecodeError) as error:
                    if look:
                        look.note(Finding("user", "damaged", f"user {user_id}", str(error)))
        return users

    async def _profiles(self, users: list[User], look: DeepLook) -> None:
        wanted = [(user, entry) for user in users for entry in self._registry.unique_entries(user)]
        for (user, entry), holder in zip(wanted, await self._holders([entry for _, entry in wanted]), strict=True):
            if holder == user.id or holder is None:
                continue
            kind = entry.removeprefix(self._keys.prefix).partition(":")[0]
            subject = f"{entry} of user {user.id}"
            if holder == "":
                if look.note_and_may_mend(Finding(kind, "missing", subject)):
                    await self._claim(entry, user.id)
                continue
            other = (await self._users([UserId(holder)]))[UserId(holder)]
            if other is not None and entry in self._registry.unique_entries(other):
                if kind == "lookalike":  # names of before look-alikes were refused
                    continue
                look.note(Finding(kind, "damaged", subject, f"user {holder} says the same of themselves"))
            elif look.note_and_may_mend(Finding(kind, "value", subject, holder, user.id)):
                await self._claim(entry, user.id, instead_of=holder)

    async def _entries(self, names: list[Known], look: DeepLook) -> None:
        holders = await self._holders([name.key for name in names])
        pairs = [(name, UserId(holder)) for name, holder in zip(names, holders, strict=True) if holder]
        users = await self._users(list({holder for _, holder in pairs}))
        for name, holder in pairs:
            user = users[holder]
            if user is None and self._may_be_being_made(holder):
                continue
            if user is None or name.key not in self._registry.unique_entries(user):
                finding = Finding(name.entry.name, "stray", f"{name.key} leads to user {holder}")
                if look.note_and_may_mend(finding):
                    await self._release(name.key, holder)

    async def _belongings(self, names: list[Known], look: DeepLook) -> None:
        ids = [UserId(name.parts["user_id"]) for name in names]
        async with self._redis.pipeline(transaction=False) as pipe:
            for name, user_id in zip(names, ids, strict=True):
                pipe.exists(self._keys.user(user_id).profile())
                pipe.exists(name.key)
            answers = await pipe.execute()
        for place, name in enumerate(names):
            is_somebody, is_there = answers[2 * place : 2 * place + 2]
            if is_there and not is_somebody:
                look.note(Finding(name.of, "damaged", name.key, "there is no such user"))

    async def _holders(self, entries: list[str]) -> list[str | None]:
        """'' where there is none, and None where the entry is no text, which is told elsewhere."""
        async with self._redis.pipeline(transaction=False) as pipe:
            for entry in entries:
                pipe.get(entry)
            answers = await pipe.execute(raise_on_error=False)
        return [None if isinstance(answer, Exception) else answer or "" for answer in answers]

    def _may_be_being_made(self, user_id: UserId) -> bool:
        """Claims come first, the profile last."""
        return is_uuid(user_id) and self._clock.now_ms() - uuid_ms(user_id) <= UNFINISHED_MS
