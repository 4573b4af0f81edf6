"""Atomic writes of a provider's session."""

import msgspec

from threadkit.storage.lua import LuaScript


class SettleProviderSession(LuaScript):
    file = "settle_provider_session.lua"
    repeatable = True

    async def __call__(self, entry: str, ver: int, changes: dict[str, str | int | None] | None) -> bool:
        """Without changes the session ends. False when it was not this version any more."""
        text = "" if changes is None else msgspec.json.encode(changes).decode()
        return bool(await self._run(keys=[entry], args=[ver, text]))
