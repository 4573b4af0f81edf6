"""Whether two keys hold the same, where the store's own form of it (DUMP) is not: that depends on the order in which a set
was filled, and on the version of the store."""

from typing import Any

from threadkit.copying.side import Side

CHUNK = 1_000


class Contents:
    """Goes through both piece by piece, so that the largest list needs no more memory than the smallest."""

    def __init__(self, source: Side, target: Side) -> None:
        self._source = source
        self._target = target

    async def are_same(self, source_key: bytes, target_key: bytes) -> bool:
        kind, other_kind = await self._both("TYPE", source_key, target_key)
        if kind != other_kind:
            return False
        match kind:
            case b"string":
                return await self._answers_are_same("GET", source_key, target_key)
            case b"hash":
                return await self._answers_are_same("HLEN", source_key, target_key) and await self._are_in(
                    "HSCAN", source_key, target_key
                )
            case b"set":
                return await self._answers_are_same("SCARD", source_key, target_key) and await self._are_in(
                    "SSCAN", source_key, target_key
                )
            case b"zset":
                return await self._answers_are_same("ZCARD", source_key, target_key) and await self._ranks_are_same(
                    source_key, target_key
                )
            case b"stream":
                return await self._answers_are_same("XLEN", source_key, target_key) and await self._entries_are_same(
                    source_key, target_key
                )
        return False

    async def _are_in(self, scan: str, source_key: bytes, target_key: bytes) -> bool:
        cursor: Any = b"0"
        while True:
            cursor, found = await self._source.ask_one(scan, source_key, cursor, "COUNT", CHUNK)
            if found and scan == "SSCAN" and not all(await self._target.ask_one("SMISMEMBER", target_key, *found)):
                return False
            if (
                found
                and scan == "HSCAN"
                and await self._target.ask_one("HMGET", target_key, *found[::2]) != found[1::2]
            ):
                return False
            if cursor == b"0":
                return True

    async def _ranks_are_same(self, source_key: bytes, target_key: bytes) -> bool:
        start = 0
        while True:
            found, other = await self._both("ZRANGE", source_key, target_key, start, start + CHUNK - 1, "WITHSCORES")
            if found != other:
                return False
            if not found:
                return True
            start += CHUNK

    async def _entries_are_same(self, source_key: bytes, target_key: bytes) -> bool:
        after = b"-"
        while True:
            found, other = await self._both("XRANGE", source_key, target_key, after, "+", "COUNT", CHUNK)
            if found != other:
                return False
            if not found:
                return True
            after = b"(" + found[-1][0]

    async def _answers_are_same(self, command: str, source_key: bytes, target_key: bytes) -> bool:
        found, other = await self._both(command, source_key, target_key)
        return bool(found == other)

    async def _both(self, command: str, source_key: bytes, target_key: bytes, *rest: Any) -> tuple[Any, Any]:
        return (
            await self._source.ask_one(command, source_key, *rest),
            await self._target.ask_one(command, target_key, *rest),
        )
