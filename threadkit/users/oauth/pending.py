"""Sign-ins that are under way at a provider, one per `state`."""

import msgspec

from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.oauth.model import STATE, PendingSignIn

LIFE_S = 600


class PendingSignIns:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def save(self, provider: str, state: str, pending: PendingSignIn) -> None:
        text = msgspec.json.encode(pending)
        await self._redis.set(self._keys.shared.provider_state(provider, state), text, ex=LIFE_S)

    async def get(self, provider: str, state: str) -> PendingSignIn | None:
        """Look without using it up; a sign-in is never finished with this."""
        return _read(await self._redis.get(self._keys.shared.provider_state(provider, state)))

    async def consume(self, provider: str, state: str) -> PendingSignIn | None:
        """Use it up: whoever comes second finds nothing."""
        if not STATE.match(state):
            return None
        return _read(await self._redis.getdel(self._keys.shared.provider_state(provider, state)))

    async def delete(self, provider: str, state: str) -> None:
        await self._redis.unlink(self._keys.shared.provider_state(provider, state))


def _read(text: str | None) -> PendingSignIn | None:
    try:
        return msgspec.json.decode(text, type=PendingSignIn) if text else None
    except msgspec.DecodeError:  # written by another version of ThreadKit
        return None
