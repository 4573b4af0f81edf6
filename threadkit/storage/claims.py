"""Unique entries (a key, an address, a name) that lead to their owner: taken and given up by compare-and-set."""

from threadkit.storage.lua import LuaScript


class Claim(LuaScript):
    file = "claim.lua"
    repeatable = True

    async def __call__(self, entry: str, owner: str, *, instead_of: str = "") -> str:
        """The holder afterwards: `owner` if the claim was taken."""
        return str(await self._run(keys=[entry], args=[owner, instead_of]))


class Release(LuaScript):
    file = "release.lua"
    repeatable = True

    async def __call__(self, entry: str, owner: str) -> bool:
        """Whether it was this owner's to release."""
        return bool(await self._run(keys=[entry], args=[owner]))
