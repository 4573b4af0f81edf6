"""What somebody has for the second step."""

import msgspec

from threadkit.ids import UserId
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.records import from_hash
from threadkit.users.second_step.model import Factors, Passkey, PasskeyView, Totp


class FactorQueries:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def of(self, user_id: UserId) -> Factors:
        keys = self._keys.user(user_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.hget(keys.totp(), "since")
            pipe.hgetall(keys.passkeys())
            pipe.scard(keys.recovery_codes())
            since, passkeys, codes = await pipe.execute()
        views = [PasskeyView.of(passkey_id, _read(text)) for passkey_id, text in passkeys.items()]
        return Factors(
            totp_since=since,
            passkeys=sorted(views, key=lambda view: (view.created_at, view.id)),
            recovery_codes_left=int(codes),
        )

    async def totp(self, user_id: UserId) -> Totp | None:
        fields = await self._redis.hgetall(self._keys.user(user_id).totp())
        return from_hash(Totp, fields) if fields else None

    async def totp_draft(self, user_id: UserId) -> str | None:
        """The secret, encrypted."""
        found: str | None = await self._redis.get(self._keys.user(user_id).totp_draft())
        return found

    async def passkey(self, user_id: UserId, passkey_id: str) -> Passkey | None:
        text = await self._redis.hget(self._keys.user(user_id).passkeys(), passkey_id)
        return _read(text) if text else None

    async def passkeys(self, user_id: UserId) -> list[Passkey]:
        return [_read(text) for text in await self._redis.hvals(self._keys.user(user_id).passkeys())]


def _read(text: str) -> Passkey:
    return msgspec.json.decode(text, type=Passkey)
