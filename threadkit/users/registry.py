"""Making users, and keeping their names, addresses, numbers and provider ids unique.

Each unique thing is claimed in an entry of its own before the profile is written. A claim whose user was never written
(a crash in between) can be taken over after a while; the profile is the authority.
"""

import contextlib
from contextlib import AsyncExitStack
from typing import Literal

from msgspec.structs import replace

from threadkit.clock import Clock
from threadkit.errors import Conflict
from threadkit.ids import UserId, uuid_ms
from threadkit.storage.claims import Claim, Release
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.records import to_hash
from threadkit.text.names import look_alike_key
from threadkit.users.model import (
    EmailTaken,
    PhoneTaken,
    ProfileChanged,
    User,
    UsernameLooksTaken,
    UsernameTaken,
    name_key,
    username_with_suffix,
)
from threadkit.users.queries import UserQueries
from threadkit.users.scripts import ChangeProfile

UNFINISHED_MS = 10_000
Standing = Literal["ban", "shadowban"]
_UNIQUE = ("name", "email", "phone", "provider", "provider_id", "linked")
_UNSAID = {"username_set": "false", "total_comments": "0", "auth_epoch": "0", "has_second_step": "false"}


class ProviderTaken(Conflict):
    """This account already belongs to another user."""

    code = "provider_taken"


class UserRegistry:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock, queries: UserQueries) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._queries = queries
        self._claim = Claim(redis)
        self._release = Release(redis)
        self._change = ChangeProfile(redis, keys)

    async def create(self, user: User, *, may_rename: bool = False) -> User:
        """Write a new user, or raise what is taken. `may_rename` puts a suffix to a name that is."""
        async with AsyncExitStack() as undo:
            await self._claim_contacts(undo, user.id, user)
            try:
                await self._claim_name(undo, user)
            except UsernameTaken:
                if not may_rename:
                    raise
                user = replace(user, name=username_with_suffix(user.name, user.id))
                await self._claim_name(undo, user)
            await self._redis.hset(self._keys.user(user.id).profile(), mapping=_fields(user))
            undo.pop_all()
        return user

    async def change(self, before: User, after: User) -> User:
        """Write a changed user; whatever unique thing changed is claimed first and the old one given up last."""
        async with AsyncExitStack() as undo:
            await self._claim_contacts(undo, before.id, after, before=before)
            await self._claim_name(undo, after, before=before)
            old, new = _fields(before), _fields(after)
            changed = {name: value for name, value in new.items() if old.get(name) != value}
            gone = tuple(name for name in old if name not in new)
            unless_changed = {name: old.get(name, "") for name in _UNIQUE}
            if (changed or gone) and not await self._change(
                before.id, fields=changed, remove=gone, unless_changed=unless_changed
            ):
                return after  # deleted meanwhile: the claims are undone
            undo.pop_all()
        # Only what the profile does not (again) hold by now.
        now = await self._queries.by_id(before.id) or after
        for entry in set(self._entries(before)) - set(self._entries(now)):
            await self._release(entry, before.id)
        return after

    async def set_standing(
        self, user_id: UserId, which: Standing, *, is_on: bool, deed_id: str, deed: str, undoes: str | None = None
    ) -> bool:
        """Ban or shadow-ban somebody on every site, or take it back; says whether that changed anything. The deed is kept
        with it until it is noted in every log. With `undoes` that must have been the newest deed of this kind."""
        field = "global_banned" if which == "ban" else "shadow_banned"
        before = await self._redis.hget(self._keys.user(user_id).profile(), field) or ""
        if (before == "true") == is_on:
            return False
        newest = f"{which}_deed"
        unless_changed = {field: before} | ({newest: undoes} if undoes is not None else {})
        fields = {field: "true" if is_on else "false", newest: deed_id, f"{which}_unnoted": deed}
        try:
            return await self._change(user_id, fields=fields, remove=(), unless_changed=unless_changed)
        except ProfileChanged:  # somebody was quicker with the same
            return False

    async def unnoted(self, user_id: UserId, which: Standing) -> str | None:
        """The newest deed of this kind, if some log may not tell of it yet."""
        found: str | None = await self._redis.hget(self._keys.user(user_id).profile(), f"{which}_unnoted")
        return found

    async def is_noted(self, user_id: UserId, which: Standing, deed: str) -> None:
        """Every log tells of a deed."""
        field = f"{which}_unnoted"
        with contextlib.suppress(ProfileChanged):  # somebody else finished it
            await self._change(user_id, fields={}, remove=(field,), unless_changed={field: deed})

    async def release_all(self, user: User) -> None:
        """Give up everything unique about a user who leaves."""
        for entry in self._entries(user):
            await self._release(entry, user.id)

    async def check_free(self, name: str, *, for_user: UserId | None = None) -> None:
        """Raise when somebody else has this name, or one that looks like it."""
        for holder, taken in (
            (await self._queries.by_name(name), UsernameTaken),
            (await self._queries.by_looks(name), UsernameLooksTaken),
        ):
            if holder is not None and holder.id != for_user:
                raise taken

    def unique_entries(self, user: User) -> list[str]:
        """The entries that must lead to this user, and to nobody else."""
        return self._entries(user)

    def _entries(self, user: User) -> list[str]:
        shared = self._keys.shared
        entries = self._name_entries(user)
        if user.email:
            entries.append(shared.email(user.email))
        if user.phone:
            entries.append(shared.phone(user.phone))
        entries += [shared.provider(provider, provider_id) for provider, provider_id in _accounts(user)]
        return entries

    async def _claim_contacts(
        self, undo: AsyncExitStack, user_id: UserId, user: User, *, before: User | None = None
    ) -> None:
        shared = self._keys.shared
        known = _accounts(before) if before else []
        for provider, provider_id in _accounts(user):
            if (provider, provider_id) not in known:
                await self._take(undo, shared.provider(provider, provider_id), user_id, ProviderTaken)
        if user.email and (before is None or before.email != user.email):
            await self._take(undo, shared.email(user.email), user_id, EmailTaken)
        if user.phone and (before is None or before.phone != user.phone):
            await self._take(undo, shared.phone(user.phone), user_id, PhoneTaken)

    def _name_entries(self, user: User) -> list[str]:
        """The name itself, and what it looks like; not for guests, who may look like each other."""
        shared = self._keys.shared
        entries = [shared.username(name_key(user.name))]
        if not user.is_guest:
            entries.append(shared.look_alike(name_key(look_alike_key(user.name))))
        return entries

    async def _claim_name(self, undo: AsyncExitStack, user: User, *, before: User | None = None) -> None:
        held = self._name_entries(before) if before else []
        for entry, taken in zip(self._name_entries(user), (UsernameTaken, UsernameLooksTaken), strict=False):
            if entry not in held:
                await self._take(undo, entry, user.id, taken)

    async def _take(self, undo: AsyncExitStack, entry: str, user_id: UserId, taken: type[Conflict]) -> None:
        holder = UserId(await self._claim(entry, user_id))
        if holder != user_id and await self._is_abandoned(holder):
            holder = UserId(await self._claim(entry, user_id, instead_of=holder))
        if holder != user_id:
            raise taken
        undo.push_async_callback(self._give_back, entry, user_id)

    async def _give_back(self, entry: str, user_id: UserId) -> None:
        """Undo a claim, unless the same user holds it by another change that went through."""
        now = await self._queries.by_id(user_id)
        if now is None or entry not in self._entries(now):
            await self._release(entry, user_id)

    async def _is_abandoned(self, holder: UserId) -> bool:
        made_long_ago = self._clock.now_ms() - uuid_ms(holder) > UNFINISHED_MS
        return made_long_ago and await self._queries.by_id(holder) is None


def _fields(user: User) -> dict[str, str]:
    """A user's hash. Fields beside the documented ones are left out while they say nothing: most people never need them."""
    return {name: value for name, value in to_hash(user).items() if _UNSAID.get(name) != value}


def _accounts(user: User) -> list[tuple[str, str]]:
    """The accounts elsewhere with which a user signs in."""
    first = [(user.provider, user.provider_id)] if user.provider_id else []
    others = [account.partition(":") for account in user.linked or []]
    return first + [(provider, provider_id) for provider, _, provider_id in others]
